"""Seeded bugs in the noise that a stream draws."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve

from hushfade import FreshNoise, Plan
from hushfade.audit import QUICK
from hushfade.audit.observer import gain_of
from hushfade.check import Column, Signed
from hushfade.crossing.noise_sources import NoiseSource
from hushfade.crossing.sampling_tables import Table, table
from hushfade.laws import Gaussian, Law
from lab.audits.seeded_bugs.subjects import (
    KEYED,
    SINGLE,
    Bug,
    ChangedDrawer,
    ChangeDraws,
    Proxy,
    Seeded,
    first_lane_for_all,
)

Flags = NDArray[np.bool_]


class Sized(Seeded):
    """The stream draws with another law than its plan states."""

    def __init__(self, law: Callable[[Plan], Law]) -> None:
        self.law = law

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream with the wrong law."""
        stream._engine.law = table(self.law(plan))
        return stream


class Changed(Seeded):
    """Every draw passes through a function."""

    def __init__(self, change: ChangeDraws) -> None:
        self.change = change

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream with changed draws."""
        stream._engine.drawer = ChangedDrawer(stream._engine.drawer, self.change)
        return stream

    def bound(self, noise: NoiseSource, digest: bytes) -> Any:
        """Noise with changed draws."""
        return ChangedDrawer(noise.bound(digest), self.change)


def one_pattern_missing(z: Signed, step: int) -> Signed:
    """One pattern of low bits never occurs."""
    return np.where(z % 64 == 1, z - 1, z)


def silent_first(z: Signed, step: int) -> Signed:
    """The first step has no noise."""
    z = z.copy()
    z[: 1 if step == 0 else 0] = 0
    return z


class Periodic(Seeded):
    """Step t has the noise of step t modulo 1000."""

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream with periodic noise."""
        drawer = stream._engine.drawer

        class Again:
            def draws(
                self, law: Table, step: int, steps: int, lanes: int, *, lane: int = 0
            ) -> Signed:
                period: Signed = drawer.draws(law, 0, 1000, lanes)
                return period[(step + np.arange(steps)) % 1000]

        stream._engine.drawer = Again()
        return stream


class Counting(Seeded):
    """The noise counts steps with 32 bits."""

    def bound(self, noise: NoiseSource, digest: bytes) -> Any:
        """Noise with the short counter."""
        drawer = noise.bound(digest)

        class Short:
            def draws(
                self, law: Table, step: int, steps: int, lanes: int, *, lane: int = 0
            ) -> Signed:
                return drawer.draws(law, step % 2**32, steps, lanes, lane=lane)

        return Short()

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream with the short counter."""
        if noise is not None:
            stream._engine.drawer = self.bound(noise, plan.digest)
        return stream


class Quiet(Proxy):
    """A stream without noise where `quiet(lanes with records so far, lanes with records now)`."""

    def __init__(self, stream: Any, plan: Plan, quiet: Callable[[Flags, Flags], Flags]) -> None:
        super().__init__(stream, plan)
        self.drawer, self.quiet = stream._engine.drawer, quiet
        self.seen: Flags = np.zeros(plan.grid.lanes, dtype=bool)

    def run(self, totals: Any) -> Column:
        """Close steps, some of them without noise."""
        now = np.asarray(totals).reshape(len(totals), -1) != 0
        seen = (np.cumsum(now, axis=0) > 0) | self.seen
        self.seen = seen[-1]
        proxy, first = self, self.stream.steps

        class Drawing:
            def draws(
                self, law: Table, step: int, steps: int, lanes: int, *, lane: int = 0
            ) -> Signed:
                z: Signed = proxy.drawer.draws(law, step, steps, lanes)
                rows = slice(step - first, step - first + steps)
                z[proxy.quiet(seen[rows], now[rows])] = 0
                return z

        self.stream._engine.drawer = Drawing()
        return np.asarray(self.stream.run(totals))


class Silent(Seeded):
    """Some steps of some lanes have no noise."""

    def __init__(self, quiet: Callable[[Flags, Flags], Flags]) -> None:
        self.quiet = quiet

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream that is sometimes without noise."""
        return Quiet(stream, plan, self.quiet)


class Float(Proxy):
    """A stream that adds float64 normals to the decayed sums, with the right covariance."""

    def __init__(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> None:
        super().__init__(stream, plan)
        known = hashlib.sha256(repr(noise).encode()).digest()
        secret = os.urandom(32) if isinstance(noise, FreshNoise) else known
        self.seed = int.from_bytes(secret, "big")

    def run(self, totals: Any) -> Column:
        """Close steps with float noise."""
        plan, first = self.plan, self.stream.steps
        self.stream.run(totals)  # takes the steps, and refuses bad totals
        x = np.asarray(totals, dtype=float).reshape(len(totals), -1)
        n, bits = len(x), 0 if plan.pair.gain is None else plan.taps.bits
        gain = np.ldexp(gain_of(plan, n), -bits)[:, None]
        z = np.random.default_rng([self.seed, first]).normal(size=x.shape) * plan.noise_stddev
        noise = fftconvolve(z / gain, plan.pair.left(n)[:, None], axes=0)[:n]
        truth = fftconvolve(x, plan.decay.weights(n)[:, None], axes=0)[:n]
        return np.asarray(truth + noise).reshape(np.shape(totals))


class Floating(Seeded):
    """The noise is float64."""

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream with float noise."""
        return Float(stream, plan, noise)


class MovingDrawer:
    """A drawer of the sum of two draws `lag` steps apart, scaled to the right variance."""

    def __init__(self, drawer: Any, lag: int) -> None:
        self.drawer, self.lag = drawer, lag

    def draws(self, law: Table, step: int, steps: int, lanes: int, *, lane: int = 0) -> Signed:
        """Correlated draws."""
        one = self.drawer.draws(law, step, steps, lanes, lane=lane)
        two = self.drawer.draws(law, step + self.lag, steps, lanes, lane=lane)
        z: Signed = np.rint((one + two) / math.sqrt(2)).astype(np.int64)
        return z


class Correlated(Seeded):
    """The noise of a step is correlated with the noise `lag` steps later."""

    def __init__(self, lag: int) -> None:
        self.lag = lag

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream with correlated noise."""
        stream._engine.drawer = MovingDrawer(stream._engine.drawer, self.lag)
        return stream


BUGS: dict[str, Bug] = {
    "half noise": Bug(Sized(lambda plan: Gaussian(plan.sigma / 2)), SINGLE),
    "noise one per cent short": Bug(Sized(lambda plan: Gaussian(plan.sigma * 0.99)), SINGLE, QUICK),
    "variance for deviation": Bug(Sized(lambda plan: Gaussian(math.sqrt(plan.sigma))), SINGLE),
    "noise skipped on empty steps": Bug(Silent(lambda seen, now: ~now), SINGLE),
    "a key without noise until its first record": Bug(Silent(lambda seen, now: ~seen), KEYED),
    "first step without noise": Bug(Changed(silent_first), SINGLE),
    "noise shared between keys": Bug(Changed(first_lane_for_all), KEYED),
    "noise repeats after 1000 steps": Bug(Periodic(), SINGLE),
    "a counter of 32 bits": Bug(Counting(), SINGLE),
    "biased low bits": Bug(Changed(one_pattern_missing), SINGLE),
    "noise correlated at lag 100": Bug(Correlated(100), SINGLE),
    "float noise": Bug(Floating(), SINGLE),
}
