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
    """One input under one key: in blocks, by single steps, restored, and in another process."""
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
        "in a second process": lambda: subject.elsewhere(plan, key, _STREAM, totals),
    }
    found = []
    for way, work in ways.items():
        again = np.asarray(work()).reshape(first.shape)
        differ = int(np.count_nonzero(again != first))
        same = again.tobytes() == first.tobytes()
        measured = f"{differ} of {first.size:,} values differ"
        found.append(exact(KEYED, f"{name}, {way}", "the same bytes", measured, passed=same))
    return found


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
