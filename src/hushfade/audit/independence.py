"""Noise that must be unrelated: of other streams, epochs, keys, starts and forked children."""

from __future__ import annotations

import hashlib
import math
import os
import select
import signal
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from hushfade.audit.correlations import (
    correlation,
    either_side,
    repeated,
    sparseness,
    unlikely,
)
from hushfade.audit.effort import Size
from hushfade.audit.finding import Finding, by_chance, distinct, exact, info
from hushfade.audit.observer import crossed, wide
from hushfade.audit.randomness import Chance
from hushfade.audit.subject import Subject, doors, reloaded, taken
from hushfade.check import Column
from hushfade.crossing.noise_sources import FreshNoise, KeyedNoise, NoiseSource
from hushfade.crossing.random_bits import Drawer
from hushfade.crossing.sampling_tables import Table, table
from hushfade.decays import Exponential
from hushfade.errors import Refused
from hushfade.laws import Law
from hushfade.planning.largest_total import sized
from hushfade.planning.plan import Plan

CHECK, STARTS, FORK = "noise apart", "fresh keys", "fork"

_VALUES, _MOST = 4000, 1 << 18
_STEPS = (0, *(1 << bits for bits in (8, 16, 31, 32, 48, 61)))
_LANES = (0, *(1 << bits for bits in (8, 16, 31, 32, 46)))
_SECONDS = 30
_BOUND, _BINDINGS = 200, 300  # the least number of values per binding; the most bindings
_STARTS = 3000  # streams; making one takes half a millisecond


def apart(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """Findings that the noise in the releases of two streams is unrelated.

    The two streams differ in their name, epoch or key only, or both have fresh noise.
    """
    plan = subject.plan(plan)
    key, other = chance.key(), chance.key()
    first = KeyedNoise(key, stream="one")
    pairs: dict[str, tuple[NoiseSource, NoiseSource]] = {
        "another stream": (first, KeyedNoise(key, stream="two")),
        "another epoch": (first, KeyedNoise(key, stream="one", epoch=1)),
        "another key": (first, KeyedNoise(other, stream="one")),
        "fresh noise twice": (FreshNoise(), FreshNoise()),
    }
    found = []
    for what, (one, two) in pairs.items():
        a, b = _noise(subject, plan, one), _noise(subject, plan, two)
        found.append(_unrelated(f"{name}, {what}", plan.law, a, b))
    return found


def bindings(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """Findings that keyed noise differs between 200 similar keys, names, epochs and plans.

    No two of them share a run of draws at any distance.
    """
    plan, steps = _sized(plan, max(_BOUND, unlikely(subject.plan(plan).law, _BINDINGS)))
    plans = [subject.plan(plan), subject.plan(_larger(plan))]
    lanes = plan.grid.lanes
    found = []
    for at, source in _near(chance.key()):
        released = subject.start(plans[at], source).run(np.zeros((steps, lanes)))
        y = np.rint(crossed(plans[at], released.reshape(steps, lanes)))
        found.append(y.astype(np.int64))
    alike = len(found) - len({z.tobytes() for z in found})
    measured = f"{alike} of {len(found)} equal, with similar keys, names, epochs and plans"
    return [
        distinct(CHECK, f"{name}, keyed noise", "all different", measured, passed=not alike),
        repeated(CHECK, f"{name}, keyed noise", plans[0].law, found),
        _plans_apart(subject, plan, name, chance),
    ]


def _plans_apart(subject: Subject, plan: Plan, name: str, chance: Chance) -> Finding:
    """The finding that plans which differ in one parameter have different noise under one key.

    All plans draw from one law, because another scale would hide equal random bits.
    """
    source, law = KeyedNoise(chance.key(), stream="n"), table(plan.law)
    near = list(map(subject.plan, _near_plans(plan)))
    draws = unlikely(plan.law, len(near))
    drawn = {subject.bound(source, each.digest).draws(law, 0, 1, draws).tobytes() for each in near}
    alike = len(near) - len(drawn)
    measured = f"{alike} of {len(near)} equal, with other bounds, guarantee, decay, horizon, keys"
    return distinct(CHECK, f"{name}, near plans", "all different", measured, passed=not alike)


def starts(subject: Subject, plan: Plan, size: Size) -> list[Finding]:
    """Findings that no two of `size.starts` fresh streams have equal noise.

    In the full form, streams with seeds of 32 bits would collide.
    """
    plan = subject.plan(plan)
    law, lanes = table(plan.law), plan.grid.lanes
    draws = unlikely(plan.law, size.starts)
    steps = -(-draws // lanes)
    if steps > (plan.horizon or steps):
        plan = subject.plan(wide(plan, steps))
        lanes, steps = plan.grid.lanes, 1
    row = np.zeros((steps, lanes))
    ways: dict[str, tuple[int, Callable[[], bytes]]] = {
        "fresh noise": (
            size.starts,
            lambda: subject.bound(FreshNoise(), plan.digest).draws(law, 0, 1, draws).tobytes(),
        ),
        "streams with default noise": (
            min(size.starts, _STARTS),
            lambda: subject.start(plan, None).run(row).tobytes(),
        ),
        "streams with fresh noise": (
            min(size.starts, _STARTS),
            lambda: subject.start(plan, FreshNoise()).run(row).tobytes(),
        ),
    }
    return [_different(what, count, work) for what, (count, work) in ways.items()]


def positions(subject: Subject, plan: Plan, chance: Chance) -> list[Finding]:
    """The finding that noise at distant steps and lanes differs: a short counter would wrap."""
    plan = subject.plan(plan)
    law, drawer = table(plan.law), subject.bound(chance.noise(), plan.digest)
    places = [(step, lane) for step in _STEPS for lane in _LANES]
    draws = unlikely(plan.law, len(places))
    far = [drawer.draws(law, step, 1, draws, lane=lane).tobytes() for step, lane in places]
    same = len(far) - len(set(far))
    measured = f"{same} of {len(far)} positions equal, steps to 2^61, lanes to 2^46"
    return [distinct(CHECK, "far positions", "all different", measured, passed=same == 0)]


def fork(subject: Subject, plan: Plan, name: str) -> list[Finding]:
    """Findings that a forked child cannot take its parent's steps or draw its parent's noise."""
    if not hasattr(os, "fork"):
        return []
    plan = subject.plan(plan)
    law, draws = table(plan.law), max(64, unlikely(plan.law, 2))
    streams = [subject.start(plan, source) for source in (FreshNoise(), None)]
    for stream in streams:
        stream.run(np.zeros((min(1, (plan.horizon or 2) - 1), plan.grid.lanes)))
    gone = subject.start(plan, FreshNoise())  # released after `before` was saved
    before = gone.save()
    gone.run(np.zeros((1, plan.grid.lanes)))
    drawer = subject.bound(FreshNoise(), plan.digest)
    own = _drawn(drawer, law, draws)  # before the fork: the child inherits the drawer's buffers
    step = _child(
        lambda: (
            ", ".join(chain(*(taken(doors(plan, each)) for each in streams))).encode() or b"refused"
        )
    )
    noise = _child(lambda: _drawn(drawer, law, draws))
    other = noise is not None and noise != own
    again = reloaded(subject, plan, before, None)
    older = _child(lambda: ", ".join(taken(again)).encode() or b"refused")
    return [
        *(
            exact(
                FORK, f"{name}, {what}", "refused in the child",
                "refused" if reply == b"refused" else f"the child took the step by {reply!r}",
                passed=reply == b"refused",
            )
            for what, reply in (
                ("a state older than the parent's stream", older), ("the parent's stream", step),
            )
        ),
        distinct(
            FORK, f"{name}, the parent's noise", "other draws in the child",
            "other draws" if other else "the same draws", passed=other,
        ),
    ]  # fmt: skip


def _drawn(drawer: Drawer, law: Table, draws: int) -> bytes:
    """A digest of the first draws."""
    return hashlib.sha256(drawer.draws(law, 0, 1, draws).tobytes()).digest()


def _noise(subject: Subject, plan: Plan, source: NoiseSource) -> Column:
    """The values that crossed in empty steps, which are noise alone.

    A plan with a short horizon runs in copies.
    """
    many, steps = _sized(plan, min(_MOST, round(_VALUES * sparseness(plan.law))))
    many = plan if many is plan else subject.plan(many)
    shape = steps, many.grid.lanes
    released = subject.start(many, source).run(np.zeros(shape))
    return np.asarray(np.rint(crossed(many, released.reshape(shape)))).ravel()


def _sized(plan: Plan, values: int) -> tuple[Plan, int]:
    """A plan and a number of steps that give about `values` values; copies if it ends early."""
    lanes = plan.grid.lanes
    steps = min(plan.horizon or values, max(2, values // lanes))
    if steps * lanes < values // 2:
        plan = wide(plan, -(-values // (steps * lanes)))
    return plan, steps


def _unrelated(subject: str, law: Law, a: Column, b: Column) -> Finding:
    alike, claim = int(np.count_nonzero(a == b)), "no correlation"
    if len(a) < _VALUES * sparseness(law) / 4.0:
        shown = f"not tested: nearly all of {len(a):,} draws are zero"
        return info(CHECK, subject, claim, shown, "none")
    z = [correlation(a[: len(a) - k], b[k:]) * math.sqrt(max(len(a) - k - 3, 1)) for k in (0, 1, 2)]
    largest = float(np.max(np.abs(z)))
    measured = f"{alike} of {len(a):,} draws equal, correlation {largest:.2f} standard errors"
    return by_chance(CHECK, subject, claim, measured, either_side(np.array(z)))


def _different(what: str, count: int, work: Callable[[], bytes]) -> Finding:
    same = count - len(
        {hashlib.sha256(work()).digest() for _ in range(count)}
    )  # keeps digests only
    bits = math.floor(2 * math.log2(count) - math.log2(2 * -math.log(1e-6)))
    measured = f"{same} of {count:,} equal; seeds of {bits} bits or fewer would collide"
    return distinct(STARTS, what, "all different", measured, passed=same == 0)


def _near(key: bytes) -> Iterator[tuple[int, KeyedNoise]]:
    """Sources that differ as little as possible, each with the index of its plan (0 or 1)."""
    name = "a stream's name that is long enough to be cut somewhere, "
    for end in range(1, len(name)):
        yield 0, KeyedNoise(key, stream=name[:end])
    for last in "12":
        yield 0, KeyedNoise(key, stream=name + last)
    epochs = {0, 10, *(1 << bits for bits in range(63)), *((1 << bits) - 1 for bits in range(64))}
    for epoch in sorted(epochs):
        yield 0, KeyedNoise(key, stream="n", epoch=epoch)
    for similar in ("n1", "n0", "0n", "1n", "N", " n", "n ", "n\0"):
        yield 0, KeyedNoise(key, stream=similar)
    for place in range(len(key)):
        other = bytes(byte ^ (1 << place % 8) * (at == place) for at, byte in enumerate(key))
        yield 0, KeyedNoise(other, stream="n")
    yield 1, KeyedNoise(key, stream="n")
    yield 1, KeyedNoise(key, stream="n", epoch=1)


def _near_plans(plan: Plan) -> Iterator[Plan]:
    """The plan, and plans that differ from it in one parameter.  Only their digests matter."""
    yield plan
    guarantee, grid = plan.guarantee, plan.grid
    yield _larger(plan)
    for factor in (0.5, 0.75):
        yield replace(plan, guarantee=replace(guarantee, delta=factor + guarantee.delta / 4))
    for half_life in (12.25, 12.5):
        yield replace(plan, decay=Exponential(half_life=half_life))
    for more in (1, 2):
        yield replace(plan, horizon=(plan.horizon or 0) + more)
    for keys in (("a", "b"), ("a", "c"), ("b", "a")):
        if keys != grid.keys:  # otherwise it is the plan itself
            yield replace(plan, grid=replace(grid, keys=keys, width=1, norm=None))


def _larger(plan: Plan) -> Plan:
    """The plan for records twice as large on a grid twice as coarse: equal in whole units."""
    grid = plan.grid
    norm = None if grid.norm is None else 2.0 * grid.norm
    low, high, resolution = 2.0 * grid.low, 2.0 * grid.high, 2.0 * grid.resolution
    doubled = replace(grid, low=low, high=high, resolution=resolution, norm=norm)
    return sized(replace(plan, grid=doubled))


def _child(work: Callable[[], bytes]) -> bytes | None:
    """The reply of a forked child: bytes, b"refused", or None after a timeout."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads: the child uses none
        child = os.fork()
    if child == 0:  # pragma: no cover
        try:
            os.write(writer, work())
        except Refused:
            os.write(writer, b"refused")
        finally:
            os._exit(0)
    os.close(writer)
    try:
        ready, _, _ = select.select([reader], [], [], _SECONDS)
        answer = os.read(reader, 1 << 16) if ready else None
    finally:
        os.close(reader)
        if not ready:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return answer
