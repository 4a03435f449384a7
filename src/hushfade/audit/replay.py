"""Replay: keyed noise gives the same bytes again; fresh noise never draws for a published step.

The same bytes by run, step_total and step: what is found of the noise in one holds for all three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from hushfade.audit.accuracy import inputs
from hushfade.audit.chance import Chance
from hushfade.audit.finding import Finding, exact
from hushfade.audit.second import single
from hushfade.audit.subject import Live, Subject, doors, taken
from hushfade.check import Matrix
from hushfade.noise import FreshNoise, KeyedNoise, NoiseSource
from hushfade.plan import Plan

KEYED, FRESH = "replay", "no second draw"

_STEPS = 600
_VALUES = 1 << 16
_STREAM = "audit"
_DOORS = ("run", "step_total", "step")
_CLOSE = 1e-9


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
    found = [_same(f"{name}, {way}", first, work()) for way, work in ways.items()]
    return [*found, *_doors(plan, name, started, chance)]


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
    found = []
    for kind, source in {"": FreshNoise(), ", default noise": None}.items():
        stream = subject.start(plan, source)
        stream.run(first)
        state = stream.save()
        copies = [subject.load(state, source) for _ in _DOORS]
        stream.run(next_one)
        attempts: dict[str, dict[str, Callable[[], Any]]] = {
            "an older state": {
                door: partial(_again, subject, plan, state, source, door) for door in _DOORS
            },
            "a copy left behind": {
                door: doors(plan, copy)[door] for door, copy in zip(_DOORS, copies, strict=True)
            },
        }
        for what, ways in attempts.items():
            drawn = taken(ways)
            shown = f"the published step was drawn again by {drawn}" if drawn else "refused"
            found.append(exact(FRESH, f"{name}, {what}{kind}", "refused", shown, passed=not drawn))
    return found


def _again(
    subject: Subject, plan: Plan, state: bytes, source: NoiseSource | None, door: str
) -> None:
    doors(plan, subject.load(state, source))[door]()


def _doors(plan: Plan, name: str, started: Callable[[], Live], chance: Chance) -> Iterator[Finding]:
    """The same steps from records and from totals, each with its own standard deviation."""
    records, totals = _records(plan, chance)
    first = started().run(totals)
    scalar = plan.intake.scalar
    stream, other = started(), started()
    ways = {
        "step": [stream.step(each) for each in records],
        "step_total": [other.step_total(float(row[0]) if scalar else row) for row in totals],
    }
    stated = plan.stddevs(len(totals))
    for way, releases in ways.items():
        values = np.array([release.value for release in releases]).reshape(first.shape)
        yield _same(f"{name}, records by {way}", first, values)
        told = np.array([release.stddev for release in releases])
        off = float(np.max(np.abs(told / stated - 1.0)))
        steps = [release.step for release in releases] == list(range(1, len(totals) + 1))
        yield exact(
            KEYED, f"{name}, stddev told by {way}", "plan.stddevs at every step",
            f"at most {off:.1g} off in {len(told)} steps" + ("" if steps else ", wrong steps"),
            passed=off <= _CLOSE and steps,
        )  # fmt: skip


def _records(plan: Plan, chance: Chance) -> tuple[list[Any], Matrix]:
    """Records of some steps, a few of each key, and what they sum to."""
    rng, intake = chance.inputs(), plan.intake
    steps = len(_totals(plan, chance))
    if intake.norm is not None:
        low, high = -intake.norm_unit, intake.norm_unit
    else:
        low, high = intake.low_unit, intake.high_unit
    most = min(3, intake.largest_total // max(abs(low), abs(high), 1))
    units = rng.integers(low, high, size=(steps, intake.lanes, most), endpoint=True)
    there = rng.integers(0, 2, size=units.shape)
    totals = np.sum(units * there, axis=2) * intake.resolution
    records: list[Any] = []
    for row, some in zip(units * intake.resolution, there.astype(bool), strict=True):
        each = [values[chosen].tolist() for values, chosen in zip(row, some, strict=True)]
        if intake.norm is not None:  # vectors along the axes: on the grid, none longer than allowed
            axes = np.eye(intake.lanes)
            rows = [value * axes[k] for k, values in enumerate(each) for value in values]
            records.append(np.reshape(rows, (-1, intake.lanes)))
        elif intake.keys is not None:
            records.append(dict(zip(intake.keys, each, strict=True)))
        else:
            records.append(each[0])
    return records, totals


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
