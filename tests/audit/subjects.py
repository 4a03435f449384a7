"""Subjects and plans for the tests of the audit."""

from functools import partial

from hushfade import Exponential, Guarantee, KeyedNoise, NoDecay, PowerLaw, plan
from hushfade.audit import Subject
from hushfade.audit.second_process import single

ONE = Guarantee(1, 1e-6)
SINGLE = plan(Exponential(half_life=8), ONE)
KEYED = plan(Exponential(half_life=8), ONE, keys=["at", "ch", "de"])
SWAPPED = plan(PowerLaw(power=1), Guarantee(1, 1e-6, neighbours="replace"), low=-1, high=2)
ENDING = plan(NoDecay(), ONE, horizon=48)


class InProcess(Subject):
    """hushfade; what the audit asks of a second process, this process does."""

    def elsewhere(self, plan, key, stream, totals):
        return single(plan, self.start(plan, KeyedNoise(key, stream=stream)), totals)


class Wrong(InProcess):
    """Some methods of every new stream are replaced by functions of the stream and arguments."""

    def __init__(self, **methods):
        self.methods = methods

    def start(self, plan, noise):
        return _Replaced(plan.start(noise), self.methods)


class _Replaced:
    def __init__(self, stream, methods):
        self._stream, self._methods = stream, methods

    def __getattr__(self, name):
        if name in self._methods:
            return partial(self._methods[name], self._stream)
        return getattr(self._stream, name)
