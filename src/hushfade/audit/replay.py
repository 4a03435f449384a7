"""Replay: keyed noise gives the same bytes again; fresh noise never draws for a published step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hushfade.audit.accuracy import inputs
from hushfade.audit.chance import Chance
from hushfade.audit.finding import Finding, exact
from hushfade.audit.second import single
from hushfade.audit.subject import Live, Subject
from hushfade.check import Matrix
from hushfade.errors import Refused
from hushfade.noise import FreshNoise, KeyedNoise
from hushfade.plan import Plan

KEYED, FRESH = "replay", "no second draw"

_STEPS = 600
_VALUES = 1 << 16
_STREAM = "audit"


def keyed(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """One input under one key: in one go, by single steps, and restored in the middle."""
    plan = subject.plan(plan)
    key, totals = chance.key(), _totals(plan, chance)

    def source() -> KeyedNoise:
        return KeyedNoise(key, stream=_STREAM)

    def started() -> Live:
        return subject.start(plan, source())

    first = started().run(totals)
    ways: dict[str, Callable[[], Matrix]] = {
        "again": lambda: started().run(totals),
        "by single steps": lambda: single(plan, started(), totals),
        "restored in the middle": lambda: _restored(subject, plan, source, totals),
    }
    return [_same(f"{name}, {way}", first, work()) for way, work in ways.items()]


def twice(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """The same in a second process."""
    plan = subject.plan(plan)
    key, totals = chance.key(), _totals(plan, chance)
    first = subject.start(plan, KeyedNoise(key, stream=_STREAM)).run(totals)
    again = subject.elsewhere(plan, key, _STREAM, totals)
    return [_same(f"{name}, in a second process", first, again)]


def fresh(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """A state that is older than what was published is refused, and so is a second copy."""
    plan = subject.plan(plan)
    totals = _totals(plan, chance)[:2]
    first, next_one = totals[:-1], totals[-1:]
    stream = subject.start(plan, FreshNoise())
    stream.run(first)
    state = stream.save()
    copy = subject.load(state, FreshNoise())
    stream.run(next_one)
    attempts = {
        "an older state": lambda: subject.load(state, FreshNoise()).run(next_one),
        "a copy left behind": lambda: copy.run(next_one),
    }
    found = []
    for what, work in attempts.items():
        refused = _refused(work)
        shown = "refused" if refused else "the published step was drawn again"
        found.append(exact(FRESH, f"{name}, {what}", "refused", shown, passed=refused))
    return found


def _same(subject: str, first: Matrix, again: Matrix) -> Finding:
    differ = int(np.count_nonzero(again.reshape(first.shape) != first))
    measured = f"{differ} of {first.size:,} values differ"
    same = np.asarray(again).tobytes() == first.tobytes()
    return exact(KEYED, subject, "the same bytes", measured, passed=same)


def _totals(plan: Plan, chance: Chance) -> Matrix:
    lanes = plan.intake.lanes
    steps = max(4, min(_STEPS, _VALUES // lanes))
    steps = min(steps, plan.horizon or steps)
    return np.asarray(inputs(plan, steps, chance) * plan.intake.resolution)


def _restored(subject: Subject, plan: Plan, source: Any, totals: Matrix) -> Matrix:
    """The first half, saved; the second by the stream that was loaded."""
    half = len(totals) // 2
    stream = subject.start(plan, source())
    first = stream.run(totals[:half])
    return np.concatenate([first, subject.load(stream.save(), source()).run(totals[half:])])


def _refused(work: Any) -> bool:
    try:
        work()
    except Refused:
        return True
    return False
