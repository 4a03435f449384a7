"""Seeded bugs in one of the ways to close a step: `step`, `step_total` or `run`."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

from hushfade import Plan, Refused, Stream
from hushfade.audit.subject import Live
from hushfade.crossing.noise_sources import NoiseSource
from hushfade.public.release import Release
from hushfade.stream.saved_state import read
from lab.audits.seeded_bugs.subjects import ENDING, KEYED, SINGLE, Bug, ChangedDrawer, Seeded

Method = Callable[..., Any]
MakeMethod = Callable[[Any], Method]
"""From a stream to the method that replaces one of its methods."""


class ReplacedMethods:
    """A stream with other methods in place of some of its own."""

    def __init__(self, stream: Any, **methods: MakeMethod) -> None:
        self.stream = stream
        self.__dict__.update({name: make(stream) for name, make in methods.items()})

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class WrongMethods(Seeded):
    """Some methods of every stream are wrong."""

    def __init__(self, **methods: MakeMethod) -> None:
        self.methods = methods

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream with wrong methods."""
        return ReplacedMethods(stream, **self.methods)


def without_noise(stream: Any) -> Method:
    """A step without noise."""

    def step(records: Any = ()) -> Release:
        drawer, stream._ahead_until = stream._engine.drawer, stream.steps
        stream._engine.drawer = ChangedDrawer(drawer, lambda z, step: z * 0)
        try:
            release: Release = stream.step(records)
            return release
        finally:
            stream._engine.drawer, stream._ahead_until = drawer, stream.steps

    return step


def small_stddev(method: str) -> MakeMethod:
    """A step that states a tenth of its standard deviation."""

    def make(stream: Any) -> Method:
        def step(records: Any = ()) -> Release:
            release: Release = getattr(stream, method)(records)
            return release._replace(stddev=release.stddev / 10)

        return step

    return make


def past_the_end(method: str) -> MakeMethod:
    """A step that releases something after the horizon."""

    def make(stream: Any) -> Method:
        end = stream.plan.horizon or math.inf
        return _released_if(lambda: stream.steps >= end, stream, method)

    return make


def also_in_children(method: str) -> MakeMethod:
    """A step that releases something in a forked process."""

    def make(stream: Any) -> Method:
        process = os.getpid()
        return _released_if(lambda: os.getpid() != process, stream, method)

    return make


def _released_if(condition: Callable[[], bool], stream: Any, method: str) -> Method:
    def step(records: Any = ()) -> Release:
        if condition():
            return Release(stream.steps + 1, 0.0, 1.0)
        release: Release = getattr(stream, method)(records)
        return release

    return step


class TakenByStep(Seeded):
    """`run` and `step_total` refuse an older state, `step` accepts it."""

    def load(self, data: bytes, noise: NoiseSource | None, traces: Sequence[bytes] = ()) -> Live:
        """The stream of the state, however old."""
        try:
            return super().load(data, noise, traces)
        except Refused:
            older = read(data)
            stream = Stream(older.plan, noise, os.urandom(16), older)
            taken: Any = ReplacedMethods(stream, run=_refusing, step_total=_refusing)
            loaded: Live = taken
            return loaded


def _refusing(stream: Any) -> Method:
    def refused(totals: Any) -> Any:
        raise Refused("not again")

    return refused


BUGS: dict[str, Bug] = {
    "step without noise": Bug(WrongMethods(step=without_noise), SINGLE),
    "step without noise, keys": Bug(WrongMethods(step=without_noise), KEYED),
    "stddev of step a tenth": Bug(WrongMethods(step=small_stddev("step")), SINGLE),
    "stddev of step_total a tenth": Bug(
        WrongMethods(step_total=small_stddev("step_total")), SINGLE
    ),
    "step after the horizon": Bug(WrongMethods(step=past_the_end("step")), ENDING),
    "step_total after the horizon": Bug(
        WrongMethods(step_total=past_the_end("step_total")), ENDING
    ),
    "step accepts an older state": Bug(TakenByStep(), SINGLE),
    "fork by step": Bug(WrongMethods(step=also_in_children("step")), SINGLE),
    "fork by step_total": Bug(WrongMethods(step_total=also_in_children("step_total")), SINGLE),
}
