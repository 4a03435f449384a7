"""Subjects and plans for the tests of the audit."""

from functools import partial

from hushfade import Exponential, Guarantee, KeyedNoise, NoDecay, PowerLaw, SlidingWindow, plan
from hushfade.audit import Subject
from hushfade.audit.cases import few
from hushfade.audit.second_process import single

ONE = Guarantee(1, 1e-6)
SWAP = Guarantee(1, 1e-6, neighbours="replace")
# Gaussian noise
SINGLE = plan(Exponential(half_life=8), ONE, method="square_root")
KEYED = plan(Exponential(half_life=8), ONE, keys=["at", "ch", "de"], method="square_root")
SWAPPED = plan(PowerLaw(power=1), SWAP, low=-1, high=2, method="square_root")
ENDING = plan(NoDecay(), ONE, horizon=48, method="square_root")
# other laws
LAPLACE = plan(SlidingWindow(length=7), ONE, law="laplace")
COUNTS = plan(SlidingWindow(length=7), Guarantee(1, 0), resolution=1.0)
HUBER = plan(Exponential(half_life=24), ONE, method="blend")
MOVED = plan(Exponential(half_life=24), SWAP, keys=["at", "ch"], method="blend")
FEW = few()
OTHER_LAWS = {"Laplace": LAPLACE, "counts": COUNTS, "Huber": HUBER, "Huber, keys": MOVED}


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
