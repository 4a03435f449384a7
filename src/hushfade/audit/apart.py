"""Noise that must have nothing in common: other streams, epochs, keys, starts, forked children."""

from __future__ import annotations

import math
import os
import select
import signal
import warnings
from collections.abc import Callable

import numpy as np

from hushfade import gaussian
from hushfade.audit.chance import Chance
from hushfade.audit.finding import Finding, by_chance, exact
from hushfade.audit.observed import crossed, wide
from hushfade.audit.size import Size
from hushfade.audit.subject import Subject
from hushfade.audit.unrelated import correlation
from hushfade.check import Column
from hushfade.errors import Refused
from hushfade.noise import FreshNoise, KeyedNoise, NoiseSource
from hushfade.plan import Plan

CHECK, STARTS, FORK = "noise apart", "fresh keys", "fork"

_VALUES = 4000
_STEPS = (0, *(1 << bits for bits in (8, 16, 31, 32, 48, 61)))
_LANES = (0, *(1 << bits for bits in (8, 16, 31, 32, 46)))
_SECONDS = 30


def apart(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """The noise of two streams that differ in one thing, as it shows in their releases."""
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
        found.append(_unrelated(f"{name}, {what}", a, b))
    return found


def starts(subject: Subject, plan: Plan, size: Size) -> list[Finding]:
    """So many fresh streams, no two with the same noise: seeds of 32 bits would meet by chance."""
    plan = subject.plan(plan)
    law = gaussian.table(plan.sigma)
    seen = {
        subject.bound(FreshNoise(), plan.digest).draws(law, 0, 1, 8).tobytes()
        for _ in range(size.starts)
    }
    same = size.starts - len(seen)
    bits = math.floor(2 * math.log2(size.starts) - math.log2(2 * -math.log(1e-6)))
    measured = f"{same} of {size.starts:,} alike; seeds of {bits} bits or fewer would have met"
    return [exact(STARTS, "fresh noise", "all different", measured, passed=same == 0)]


def positions(subject: Subject, plan: Plan, chance: Chance) -> list[Finding]:
    """Noise of steps and lanes so far apart that a short counter would begin anew."""
    plan = subject.plan(plan)
    law, drawer = gaussian.table(plan.sigma), subject.bound(chance.noise(), plan.digest)
    far = [
        drawer.draws(law, step, 1, 16, lane=lane).tobytes() for step in _STEPS for lane in _LANES
    ]
    same = len(far) - len(set(far))
    measured = f"{same} of {len(far)} positions alike, steps to 2^61, lanes to 2^46"
    return [exact(CHECK, "far positions", "all different", measured, passed=same == 0)]


def fork(subject: Subject, plan: Plan, name: str) -> list[Finding]:
    """A forked child may not take its parent's steps, nor draw its parent's noise."""
    if not hasattr(os, "fork"):
        return []
    plan = subject.plan(plan)
    lanes = plan.intake.lanes
    law = gaussian.table(plan.sigma)
    stream = subject.start(plan, FreshNoise())
    stream.run(np.zeros((1, lanes)))
    drawer = subject.bound(FreshNoise(), plan.digest)
    row = np.zeros((1, lanes))
    step = _child(lambda: np.asarray(stream.run(row)).tobytes())
    noise = _child(lambda: drawer.draws(law, 0, 1, 64).tobytes())
    own = drawer.draws(law, 0, 1, 64).tobytes()
    other = noise is not None and noise != own
    return [
        exact(
            FORK, f"{name}, the parent's stream", "refused in the child",
            "refused" if step == b"refused" else "the child took the step",
            passed=step == b"refused",
        ),
        exact(
            FORK, f"{name}, the parent's noise", "other draws in the child",
            "other draws" if other else "the same draws", passed=other,
        ),
    ]  # fmt: skip


def _noise(subject: Subject, plan: Plan, source: NoiseSource) -> Column:
    """What crossed, with nothing but noise in it: of the plan, or of copies if it ends early."""
    lanes = plan.intake.lanes
    steps = min(max(2, _VALUES // lanes), plan.horizon or _VALUES)
    if steps * lanes < _VALUES // 2:
        plan = subject.plan(wide(plan, -(-_VALUES // (steps * lanes))))
        lanes = plan.intake.lanes
    released = subject.start(plan, source).run(np.zeros((steps, lanes)))
    return np.asarray(np.rint(crossed(plan, released.reshape(steps, lanes)))).ravel()


def _unrelated(subject: str, a: Column, b: Column) -> Finding:
    from scipy.special import ndtr

    alike = int(np.count_nonzero(a == b))
    z = [correlation(a[: len(a) - k], b[k:]) * math.sqrt(max(len(a) - k - 3, 1)) for k in (0, 1, 2)]
    largest = float(np.max(np.abs(z)))
    p = min(1.0, 2.0 * float(ndtr(-largest)) * len(z))
    measured = f"{alike} of {len(a):,} draws alike, correlation {largest:.2f} standard errors"
    return by_chance(CHECK, subject, "no correlation", measured, p)


def _child(work: Callable[[], bytes]) -> bytes | None:
    """What a forked child answers: bytes, b"refused", or None if it says nothing in time."""
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
