"""Replay: keyed noise repeats the same bytes; fresh noise is never drawn for a published step.

All methods that close steps give the same bytes, so findings on the noise hold for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfade.audit.finding import Finding, exact
from hushfade.audit.randomness import Chance
from hushfade.audit.released_lanes import lanes_of, stddev_of
from hushfade.audit.second_process import single
from hushfade.audit.statistic_records import samples
from hushfade.audit.subject import DOORS, Live, Subject, as_total, doors, reloaded, taken
from hushfade.check import Matrix, Signed
from hushfade.crossing.noise_sources import FreshNoise, KeyedNoise, NoiseSource
from hushfade.errors import HushfadeError
from hushfade.planning.plan import Plan

KEYED, FRESH = "replay", "no second draw"

_STEPS = 8700  # of a stream: enough to draw noise ahead and to renew sums several times
_VALUES = 1 << 16
_TRACED = 40
_DAMAGED = 30  # bits; only a checksum detects a fifth or more, so all 30 miss those in < 1/800
_TURN = 90  # the most steps by one method before the next
_STREAM = "audit"
_CLOSE = 1e-9
_DENSE = 1 << 22  # numbers in the vectors of all steps; wide vectors use a few axes per step


def keyed(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """Findings that one input under one key gives the same bytes by every method.

    The streams run with one call, step by step, by all methods in turn, and restored half way.
    They are long enough to draw noise ahead several times, and to renew sums.
    """
    plan = subject.plan(plan)
    key, given = chance.key(), _given(plan, chance)

    def source() -> KeyedNoise:
        return KeyedNoise(key, stream=_STREAM)

    def started() -> Live:
        return subject.start(plan, source())

    first = started().run(given.totals)
    restored = partial(_restored, subject, plan, source, given)
    ways: dict[str, Callable[[], Matrix]] = {
        "again": lambda: started().run(given.totals),
        "all methods in turn": lambda: _in_turn(plan, started(), given, chance),
        **{f"restored, then by {door}": partial(restored, door) for door in DOORS},
    }
    found = [_same(f"{name}, {way}", first, work()) for way, work in ways.items()]
    half_way = started()
    half_way.run(given.totals[: len(given.totals) // 2])
    found += [
        _other_noise(subject, name, started(), key, chance),
        _damaged(subject, name, half_way, source(), chance),
    ]
    return [*found, *_doors(plan, name, started, given, first)]


def traced(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """Findings that a state and the traces of later steps restore a stream, as in a store."""
    plan = subject.plan(plan)
    source, given = KeyedNoise(chance.key(), stream=_STREAM), _given(plan, chance)
    first = subject.start(plan, source).run(given.totals)
    stream = subject.start(plan, source)
    half = len(given.totals) // 2
    released = [stream.run(given.totals[:half])]
    state, traces = stream.save(), []
    until = min(half + _TRACED, len(given.totals))
    for step in range(half, until):
        released.append(_by(plan, stream, "step_total", given, slice(step, step + 1)))
        traces.append(stream.trace())
    try:
        again = subject.load(state, source, traces)
    except HushfadeError as refusal:
        shown = f"refused: {refusal}"
        return [exact(KEYED, f"{name}, {len(traces)} traces", "restored", shown, passed=False)]
    released.append(_by(plan, again, "step_total", given, slice(until, None)))
    parts = [np.reshape(part, (-1, plan.grid.lanes)) for part in released]
    other = subject.start(plan, source)
    other.run(given.totals[:half])
    foreign = (
        taken({"traces": partial(subject.load, other.save(), source, traces)}) if traces else []
    )
    return [
        _same(f"{name}, restored by {len(traces)} traces", first, np.concatenate(parts)),
        exact(
            KEYED, f"{name}, traces of another stream", "refused",
            "accepted" if foreign else "refused", passed=not foreign,
        ),
    ]  # fmt: skip


def twice(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """The finding that a second process gives the same bytes."""
    plan = subject.plan(plan)
    key, totals = chance.key(), _totals(plan, chance)
    first = subject.start(plan, KeyedNoise(key, stream=_STREAM)).run(totals)
    again = subject.elsewhere(plan, key, _STREAM, totals)
    return [_same(f"{name}, in a second process", first, again)]


def fresh(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """Findings that hushfade refuses a state older than the last release, and a second copy.

    They cover every method that continued the stream, and copies with and without noise drawn
    ahead.
    """
    plan = subject.plan(plan)
    totals = _totals(plan, chance)[:3]
    found = []
    for kind, source in {"": FreshNoise(), ", default noise": None}.items():
        drawn: dict[str, list[str]] = {}
        for onward in DOORS:
            for what, ways in _attempts(subject, plan, source, totals, onward).items():
                drawn.setdefault(what, []).extend(f"{way} after {onward}" for way in taken(ways))
        for what, doors_taken in drawn.items():
            again = ", ".join(doors_taken)
            shown = f"the published step was drawn again by {again}" if again else "refused"
            claim = "refused"
            found.append(exact(FRESH, f"{name}, {what}{kind}", claim, shown, passed=not again))
    return found


def _attempts(
    subject: Subject, plan: Plan, source: NoiseSource | None, totals: Matrix, onward: str
) -> dict[str, dict[str, Callable[[], Any]]]:
    """Ways to draw a step again that the method `onward` published.

    `step_total` closes the step before it, so that the stream has drawn noise ahead.
    """
    ahead = subject.start(plan, source)
    ahead.run(totals[:-2])
    for row in totals[-2:-1]:
        ahead.step_total(as_total(plan, row))
    state = ahead.save()
    copies = {door: subject.load(state, source) for door in DOORS}
    doors(plan, subject.load(state, source))[onward]()
    return {
        "an older state": reloaded(subject, plan, state, source),
        "an outdated copy": {door: doors(plan, copy)[door] for door, copy in copies.items()},
        "a copy with noise drawn ahead": doors(plan, ahead),
    }


def _other_noise(subject: Subject, name: str, stream: Live, key: bytes, chance: Chance) -> Finding:
    """The finding that a saved stream refuses another key, name, epoch or kind of noise."""
    state = stream.save()
    others: dict[str, NoiseSource | None] = {
        "another key": KeyedNoise(chance.key(), stream=_STREAM),
        "another name": KeyedNoise(key, stream=f"{_STREAM} "),
        "another epoch": KeyedNoise(key, stream=_STREAM, epoch=1),
        "default noise": None,
        "noise from a seed": chance.noise(),
    }
    accepted = taken({what: partial(subject.load, state, noise) for what, noise in others.items()})
    shown = f"accepted with {', '.join(accepted)}" if accepted else "refused"
    return exact(KEYED, f"{name}, loaded with other noise", "refused", shown, passed=not accepted)


def _damaged(
    subject: Subject, name: str, stream: Live, source: NoiseSource, chance: Chance
) -> Finding:
    """The finding that hushfade refuses a state that is truncated or has one bit changed.

    Only a checksum detects a changed bit of the totals.  So the stream must have closed steps: the
    state of a new stream is almost entirely plan, and the plan's own checks refuse most changes.
    """
    state, rng = stream.save(), chance.inputs()
    damaged = [state[:at] for at in rng.integers(0, len(state), size=_DAMAGED)]
    for at in rng.integers(0, len(state), size=_DAMAGED).tolist():
        damaged.append(state[:at] + bytes([state[at] ^ 1 << at % 8]) + state[at + 1 :])
    ways = {str(k): partial(subject.load, data, source) for k, data in enumerate(damaged)}
    accepted = taken(ways)
    shown = f"{len(damaged) - len(accepted)} of {len(damaged)} refused"
    return exact(KEYED, f"{name}, a damaged state", "refused", shown, passed=not accepted)


@dataclass(frozen=True)
class _Given:
    """Records of some steps, a few per key, and their totals in units and in floats."""

    records: list[Any]
    units: Signed
    totals: Matrix


def _doors(
    plan: Plan, name: str, started: Callable[[], Live], given: _Given, first: Matrix
) -> Iterator[Finding]:
    """Findings that steps from records, totals and units give the same bytes and stddevs."""
    stream, other, third = started(), started(), started()
    ways = {
        "step": [stream.step(each) for each in given.records],
        "step_total": [other.step_total(as_total(plan, row)) for row in given.totals],
        "step_units": [third.step_units(as_total(plan, row)) for row in given.units],
    }
    stated = plan.stddevs(len(given.totals))
    for way, releases in ways.items():
        values = np.array([lanes_of(release) for release in releases]).reshape(first.shape)
        yield _same(f"{name}, by {way}", first, values)
        released = np.array([stddev_of(plan, release) for release in releases])
        off = float(np.max(np.abs(released / stated - 1.0)))
        steps = [release.step for release in releases] == list(range(1, len(stated) + 1))
        yield exact(
            KEYED, f"{name}, stddev by {way}", "plan.stddevs at every step",
            f"largest relative error {off:.1g} in {len(released)} steps"
            + ("" if steps else ", wrong step numbers"),
            passed=off <= _CLOSE and steps,
        )  # fmt: skip


def _given(plan: Plan, chance: Chance) -> _Given:
    """Records on the grid and within their bounds; vectors lie along some of the axes."""
    grid = plan.grid
    if plan.statistic is not None:
        return _spread(plan, chance)
    units, there = _drawn(plan, chance)
    steps, lanes, _ = units.shape
    axes = max(1, _DENSE // (steps * lanes))
    if grid.norm is not None and axes < lanes:
        rank = np.argsort(chance.inputs().random((steps, lanes)), axis=1)
        there &= rank[:, :, None] < axes
    records: list[Any] = []
    for row, some in zip(units * grid.resolution, there, strict=True):
        if grid.norm is not None:
            axis, _ = np.nonzero(some)
            vectors = np.zeros((len(axis), lanes))
            vectors[np.arange(len(axis)), axis] = row[some]
            records.append(vectors)
            continue
        each = [values[chosen].tolist() for values, chosen in zip(row, some, strict=True)]
        if grid.keys is not None:
            records.append(dict(zip(grid.keys, each, strict=True)))
        else:
            records.append(each[0])
    totals = np.sum(units * there, axis=2)
    return _Given(records, totals, totals * grid.resolution)


def _spread(plan: Plan, chance: Chance) -> _Given:
    """Records of a statistic, up to three per step and key."""
    rng, grid = chance.inputs(), plan.grid
    assert plan.statistic is not None
    tried = list(samples(plan.statistic, chance).values())
    steps = _length(plan)
    records: list[Any] = []
    for _ in range(steps):
        each = [
            [tried[place] for place in rng.integers(0, len(tried), rng.integers(0, 4)).tolist()]
            for _ in range(grid.lanes // grid.parts)
        ]
        records.append(each[0] if grid.keys is None else dict(zip(grid.keys, each, strict=True)))
    units = np.array([grid.record_sums(row) for row in records])
    return _Given(records, units, units * grid.resolution)


def _length(plan: Plan) -> int:
    """The number of steps that are replayed."""
    # a step of a statistic takes longer
    most = _STEPS if plan.statistic is None else _STEPS // 8
    steps = max(4, min(most, _VALUES // plan.grid.lanes))
    return min(steps, plan.horizon or steps)


def _totals(plan: Plan, chance: Chance) -> Matrix:
    """Totals of records on the grid."""
    if plan.statistic is not None:
        return _spread(plan, chance).totals
    units, there = _drawn(plan, chance)
    return np.asarray(np.sum(units * there, axis=2) * plan.grid.resolution)


def _drawn(plan: Plan, chance: Chance) -> tuple[Signed, NDArray[np.bool_]]:
    """Sizes of up to three records per step and lane, in units, and which records exist."""
    rng, grid = chance.inputs(), plan.grid
    steps = _length(plan)
    if grid.norm is not None:
        low, high = -grid.norm_unit, grid.norm_unit
    else:
        low, high = grid.low_unit, grid.high_unit
    most = min(3, grid.largest_total // max(grid.largest_unit, 1))
    units = rng.integers(low, high, size=(steps, grid.lanes, most), endpoint=True)
    return units, rng.integers(0, 2, size=units.shape).astype(bool)


def _by(plan: Plan, stream: Live, door: str, given: _Given, steps: slice) -> Matrix:
    """The releases of some steps by one method."""
    if door == "run":
        found = stream.run(given.totals[steps])
    elif door == "run_units":
        found = stream.run_units(given.units[steps])
    elif door == "step_total":
        found = single(plan, stream, given.totals[steps])
    elif door == "step_units":
        rows = given.units[steps]
        found = np.array([lanes_of(stream.step_units(as_total(plan, row))) for row in rows])
    else:
        found = np.array([lanes_of(stream.step(each)) for each in given.records[steps]])
    return found.reshape(-1, plan.grid.lanes)


def _in_turn(plan: Plan, stream: Live, given: _Given, chance: Chance) -> Matrix:
    """The releases if the methods take turns, a random number of steps each."""
    rng, found, step = chance.inputs(), [], 0
    while step < len(given.totals):
        for door in DOORS:
            until = step + int(rng.integers(1, _TURN))
            found.append(_by(plan, stream, door, given, slice(step, until)))
            step = until
    return np.concatenate(found)


def _same(subject: str, first: Matrix, again: Matrix) -> Finding:
    differ = int(np.count_nonzero(again.reshape(first.shape) != first))
    measured = f"{differ} of {first.size:,} values differ"
    same = np.asarray(again).tobytes() == first.tobytes()
    return exact(KEYED, subject, "the same bytes", measured, passed=same)


def _restored(
    subject: Subject, plan: Plan, source: Callable[[], KeyedNoise], given: _Given, door: str
) -> Matrix:
    """The releases if a stream is saved after half of the steps, loaded, and continued."""
    half = len(given.totals) // 2
    stream = subject.start(plan, source())
    first = _by(plan, stream, "step_total", given, slice(0, half))
    again = subject.load(stream.save(), source())
    return np.concatenate([first, _by(plan, again, door, given, slice(half, None))])
