"""Seeded bugs: mechanisms with one thing wrong, behind one of the doors of `Subject`.

They are here to show that the audit would notice, and nowhere else: the package has none of them.
"""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from scipy.signal import fftconvolve

from hushfade import (
    Exponential,
    FreshNoise,
    Guarantee,
    InvalidValue,
    KeyedNoise,
    NoDecay,
    Plan,
    PowerLaw,
    Stream,
    plan,
)
from hushfade.audit import FULL, QUICK, TINY, Size, Subject
from hushfade.audit.observer import gain_of
from hushfade.audit.second_process import single
from hushfade.crossing.laws import gaussian
from hushfade.crossing.noise_sources import Drawer
from hushfade.factors import factorization as factor
from hushfade.public.release import Release
from hushfade.stream.saved_state import read
from hushfade.stream.stream import Errors

ONE = Guarantee(1, 1e-6)
KEYED = plan(Exponential(half_life=8), ONE, keys=["at", "ch", "de"])
SINGLE = plan(Exponential(half_life=8), ONE)
SWAPPED = plan(PowerLaw(power=1), Guarantee(1, 1e-6, neighbours="replace"), low=-1, high=2)
OFTEN = plan(Exponential(half_life=8), Guarantee(1, 1e-6, participations=3, separation=4))
CROWDED = plan(Exponential(half_life=8), Guarantee(1, 1e-6, records_per_step=3))
ENDING = plan(NoDecay(), ONE, horizon=48)


@dataclass(frozen=True)
class Bug:
    """A subject, the plan that it breaks, and how much must be drawn to see it."""

    subject: Subject
    plan: Plan
    size: Size = TINY


class Seeded(Subject):
    """A subject whose streams are all wrong in the same way, also those that are loaded.

    By itself it is right.  Its second process is this one: what the audit finds must be the bug,
    not the lack of it there.
    """

    def wrong(self, stream, plan, noise):
        return stream

    def start(self, plan, noise):
        return self.wrong(plan.start(noise), plan, noise)

    def load(self, data, noise, traces=()):
        stream = super().load(data, noise, traces)
        return self.wrong(stream, stream.plan, noise)

    def elsewhere(self, plan, key, stream, totals):
        return single(plan, self.start(plan, KeyedNoise(key, stream=stream)), totals)


class Proxy:
    """A stream that does one thing otherwise."""

    def __init__(self, stream, plan):
        self.stream, self.plan = stream, plan
        self._errors = Errors(plan)

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def step_total(self, total):
        row = np.asarray(self.run(np.reshape(np.asarray(total, dtype=float), (1, -1))))[0]
        return Release(
            self.stream.steps,
            row if len(row) > 1 else float(row[0]),
            self._errors.of(self.stream.steps - 1, 1)[0],
        )


# The plan's numbers --------------------------------------------------------------------------


def followed(promised: Plan, **numbers: Any) -> Plan:
    """The plan with other numbers than those that follow from it."""
    found = replace(promised)
    found.__dict__.update(numbers)
    return found


class Planned(Seeded):
    """The plan has another sigma: the promised one times a factor."""

    def __init__(self, factor):
        self.factor = factor

    def plan(self, promised):
        return followed(promised, sigma=promised.sigma * self.factor(promised))


def without_norm(promised):
    return 1.0 / promised.pair.sensitivity().value


def _left_out(promised, kept):
    taps = promised.taps.integers.tolist()
    return math.sqrt(sum(tap**2 for tap in kept(taps)) / sum(tap**2 for tap in taps))


def without_first_tap(promised):
    return _left_out(promised, lambda taps: taps[1:])


def without_last_tap(promised):
    return _left_out(promised, lambda taps: taps[:-1])


def of_unrounded_taps(promised):
    """Merged taps have less energy than those they stand for: here it is too much noise."""
    exact = factor.square_root(promised.decay)
    return exact.sensitivity().value / promised.pair.sensitivity().value


def of_shorter_taps(promised):
    """The norm of taps with two binary places fewer than those in use, cut off."""
    taps = promised.taps.integers
    return float(np.linalg.norm(taps // 4 * 4) / np.linalg.norm(taps))


def for_adding(promised):
    """Calibrated for a record more or less where its replacement was promised."""
    guarantee, grid = promised.guarantee, promised.grid
    adding = replace(guarantee, neighbours="add_remove")
    units = grid.low_unit, grid.high_unit
    return adding.change(*units) / guarantee.change(*units)


def for_one_participation(promised):
    guarantee = promised.guarantee
    whole = promised.pair.sensitivity(
        participations=guarantee.participations, separation=guarantee.separation
    )
    return promised.pair.sensitivity().value / whole.value


def for_one_record(promised):
    return 1.0 / promised.guarantee.records_per_step


def for_half_the_horizon(promised):
    half = promised.pair.sensitivity((promised.horizon or 2) // 2)
    return half.value / promised.pair.sensitivity().value


class Miscalibrated(Seeded):
    """mu by the classical formula turned round, without its condition that epsilon is below 1."""

    def plan(self, promised):
        guarantee = replace(promised.guarantee)
        wrong = guarantee.epsilon / math.sqrt(2.0 * math.log(1.25 / guarantee.delta)) * 1.3
        object.__setattr__(guarantee, "mu", wrong)
        return replace(promised, guarantee=guarantee)


# The stream's noise --------------------------------------------------------------------------


class Sized(Seeded):
    """The stream draws with another sigma than its plan says."""

    def __init__(self, sigma):
        self.sigma = sigma

    def wrong(self, stream, plan, noise):
        stream._law = gaussian.table(self.sigma(plan))
        return stream


class Wrapped:
    """A drawer whose draws pass through a function."""

    def __init__(self, drawer, change):
        self.drawer, self.change = drawer, change

    def draws(self, law, step, steps, lanes, *, lane=0):
        return self.change(self.drawer.draws(law, step, steps, lanes, lane=lane), step)


class Changed(Seeded):
    """Every draw passes through a function of the draws and the first step."""

    def __init__(self, change):
        self.change = change

    def wrong(self, stream, plan, noise):
        stream._drawer = Wrapped(stream._drawer, self.change)
        return stream

    def bound(self, noise, digest):
        return Wrapped(noise.bound(digest), self.change)


def biased(z, step):
    return np.where(z % 64 == 1, z - 1, z)  # one pattern of low bits never comes


def shared(z, step):
    return np.repeat(z[:, :1], z.shape[1], axis=1)


def silent_first(z, step):
    z = z.copy()
    z[: 1 if step == 0 else 0] = 0
    return z


class Periodic(Seeded):
    """The noise of step t is that of step t modulo 1000."""

    def wrong(self, stream, plan, noise):
        drawer = stream._drawer

        class Again:
            def draws(self, law, step, steps, lanes, *, lane=0):
                whole = drawer.draws(law, 0, 1000, lanes)
                return whole[(step + np.arange(steps)) % 1000]

        stream._drawer = Again()
        return stream


class Counting(Seeded):
    """The noise's counter of steps has 32 bits."""

    def bound(self, noise, digest):
        drawer = noise.bound(digest)

        class Short:
            def draws(self, law, step, steps, lanes, *, lane=0):
                return drawer.draws(law, step % 2**32, steps, lanes, lane=lane)

        return Short()

    def wrong(self, stream, plan, noise):
        stream._drawer = self.bound(noise, plan.digest)
        return stream


class Quiet(Proxy):
    """No noise where `quiet(records seen so far, records now)` says so."""

    def __init__(self, stream, plan, quiet):
        super().__init__(stream, plan)
        self.drawer, self.quiet = stream._drawer, quiet
        self.seen = np.zeros(plan.grid.lanes, dtype=bool)

    def run(self, totals):
        now = np.asarray(totals).reshape(len(totals), -1) != 0
        seen = (np.cumsum(now, axis=0) > 0) | self.seen
        self.seen = seen[-1]
        proxy, first = self, self.stream.steps

        class Drawing:
            def draws(self, law, step, steps, lanes, *, lane=0):
                z = proxy.drawer.draws(law, step, steps, lanes)
                rows = slice(step - first, step - first + steps)
                z[proxy.quiet(seen[rows], now[rows])] = 0
                return z

        self.stream._drawer = Drawing()
        return self.stream.run(totals)


class Silent(Seeded):
    def __init__(self, quiet):
        self.quiet = quiet

    def wrong(self, stream, plan, noise):
        return Quiet(stream, plan, self.quiet)


class Float(Proxy):
    """Normals in float64 are added to the decayed sums, with the right covariance."""

    def __init__(self, stream, plan, noise):
        super().__init__(stream, plan)
        known = hashlib.sha256(repr(noise).encode()).digest()
        secret = os.urandom(32) if isinstance(noise, FreshNoise) else known
        self.seed = int.from_bytes(secret, "big")

    def run(self, totals):
        plan, first = self.plan, self.stream.steps
        self.stream.run(totals)  # takes the steps, and refuses what must be refused
        x = np.asarray(totals, dtype=float).reshape(len(totals), -1)
        n, bits = len(x), 0 if plan.pair.gain is None else plan.taps.bits
        gain = np.ldexp(gain_of(plan, n), -bits)[:, None]
        z = np.random.default_rng([self.seed, first]).normal(size=x.shape) * plan.noise_stddev
        noise = fftconvolve(z / gain, plan.pair.left(n)[:, None], axes=0)[:n]
        truth = fftconvolve(x, plan.decay.weights(n)[:, None], axes=0)[:n]
        return (truth + noise).reshape(np.shape(totals))


class Floating(Seeded):
    def wrong(self, stream, plan, noise):
        return Float(stream, plan, noise)


# Records -------------------------------------------------------------------------------------


class Reading(Proxy):
    """Records are read in another way."""

    def __init__(self, stream, plan, read):
        super().__init__(stream, plan)
        self.read = read

    def step(self, records=()):
        if isinstance(records, dict):
            total = {key: self.read(self.plan, each) for key, each in records.items()}
        else:
            total = self.read(self.plan, records)
        return self.stream.step_total(total)


class Misread(Seeded):
    def __init__(self, read):
        self.read = read

    def wrong(self, stream, plan, noise):
        return Reading(stream, plan, self.read)


def clipped_sum(plan, records):
    total = float(np.sum(records))
    if not math.isfinite(total):
        raise InvalidValue("records must be finite")
    grid = plan.grid.resolution
    return math.floor(np.clip(total, -100, 100) / grid + 0.5) * grid


def sum_with_nan_as_zero(plan, records):
    return float(np.sum(plan.quantise(np.nan_to_num(np.asarray(records, dtype=float)))))


class Saturated(Proxy):
    def run(self, totals):
        most = 2.0**20 * self.plan.grid.resolution
        return self.stream.run(np.clip(totals, -most, most))


class Saturating(Seeded):
    """Totals beyond 2^20 units count as 2^20."""

    def wrong(self, stream, plan, noise):
        return Saturated(stream, plan)


class Late(Proxy):
    def __init__(self, stream, plan):
        super().__init__(stream, plan)
        self.waiting = np.zeros((1, plan.grid.lanes))

    def run(self, totals):
        x = np.concatenate([self.waiting, np.reshape(totals, (len(totals), -1))])
        self.waiting = x[-1:]
        return self.stream.run(x[:-1]).reshape(np.shape(totals))


class Delayed(Seeded):
    """The private half is one tap off: a total enters a step late."""

    def wrong(self, stream, plan, noise):
        return Late(stream, plan)


# Keys, copies, processes ---------------------------------------------------------------------


class OneName(Seeded):
    """The stream's name, or its epoch, has no part in the key."""

    def __init__(self, **same):
        self.same = same

    def wrong(self, stream, plan, noise):
        if isinstance(noise, KeyedNoise):
            said = {"stream": noise.stream, "epoch": noise.epoch} | self.same
            stream._drawer = KeyedNoise(noise._key, **said).bound(plan.digest)
        return stream


class Redrawing(Seeded):
    """Keyed noise takes a part of its key from the moment: a re-run draws again."""

    def wrong(self, stream, plan, noise):
        if isinstance(noise, KeyedNoise):
            stream._drawer = Drawer(os.urandom(32), fresh=False)
        return stream


class Rolling(Seeded):
    """An older state is taken back, and its steps are drawn again."""

    def load(self, data, noise, traces=()):
        found = read(data)
        return Stream(found.plan, noise, os.urandom(16), found.steps, found.state)


class Everywhere:
    """A turn that knows nothing of forks."""

    def __init__(self, turn):
        self.turn, self.lock = turn, Lock()

    taken = property(
        lambda self: self.turn.taken, lambda self, step: setattr(self.turn, "taken", step)
    )

    def own(self):
        return self.lock


class Inherited(Seeded):
    """A forked child goes on with its parent's stream and its parent's noise."""

    def wrong(self, stream, plan, noise):
        if isinstance(noise, FreshNoise):
            stream._drawer = self.bound(noise, plan.digest)
        stream._turn = Everywhere(stream._turn)
        return stream

    def bound(self, noise, digest):
        if isinstance(noise, FreshNoise):
            return Drawer(os.urandom(32), fresh=False)
        return noise.bound(digest)


class ShortSeeds(Seeded):
    """Fresh noise from a seed of so many bits."""

    def __init__(self, bits):
        self.bits = bits

    def bound(self, noise, digest):
        if isinstance(noise, FreshNoise):
            seed = int.from_bytes(os.urandom(8), "big") >> (64 - self.bits)
            return Drawer(hashlib.sha256(b"%d" % seed).digest(), fresh=True)
        return noise.bound(digest)


class Endless(Seeded):
    """The stream goes on after its horizon, with taps and noise made for fewer steps."""

    def wrong(self, stream, plan, noise):
        if plan.horizon is not None and plan.pair.gain is None:
            stream.plan = replace(plan, horizon=4 * plan.horizon)
        return stream


BUGS: dict[str, Bug] = {
    "half noise": Bug(Sized(lambda plan: plan.sigma / 2), SINGLE),
    "noise one per cent short": Bug(Sized(lambda plan: plan.sigma * 0.99), SINGLE, QUICK),
    "variance for deviation": Bug(Sized(lambda plan: math.sqrt(plan.sigma)), SINGLE),
    "forgotten norm of R": Bug(Planned(without_norm), SINGLE),
    "first tap left out of the norm": Bug(Planned(without_first_tap), SINGLE),
    "off by one: last tap left out of the norm": Bug(Planned(without_last_tap), SINGLE),
    "off by one: totals enter a step late": Bug(Delayed(), SINGLE),
    "sensitivity from unrounded taps": Bug(Planned(of_unrounded_taps), SINGLE),
    "sensitivity from taps of fewer bits": Bug(Planned(of_shorter_taps), SINGLE),
    "wrong neighbours": Bug(Planned(for_adding), SWAPPED),
    "participation ignored": Bug(Planned(for_one_participation), OFTEN),
    "several records in a step ignored": Bug(Planned(for_one_record), CROWDED),
    "horizon ignored: steps after it": Bug(Endless(), ENDING),
    "horizon ignored: norm of half of it": Bug(Planned(for_half_the_horizon), ENDING),
    "mu by the classical formula": Bug(Miscalibrated(), SINGLE),
    "clip after sum": Bug(Misread(clipped_sum), SINGLE),
    "totals saturate": Bug(Saturating(), SINGLE),
    "nan counts as a number": Bug(Misread(sum_with_nan_as_zero), SINGLE),
    "noise skipped on empty steps": Bug(Silent(lambda seen, now: ~now), SINGLE),
    "a key without noise until its first record": Bug(Silent(lambda seen, now: ~seen), KEYED),
    "first step without noise": Bug(Changed(silent_first), SINGLE),
    "noise shared between keys": Bug(Changed(shared), KEYED),
    "noise that comes again after 1000 steps": Bug(Periodic(), SINGLE),
    "a counter of 32 bits": Bug(Counting(), SINGLE),
    "biased low bits": Bug(Changed(biased), SINGLE),
    "float noise": Bug(Floating(), SINGLE),
    "redraw on replay: keyed noise": Bug(Redrawing(), SINGLE),
    "redraw on replay: an older state": Bug(Rolling(), SINGLE),
    "key reuse across streams": Bug(OneName(stream="same"), SINGLE),
    "epoch without effect": Bug(OneName(epoch=0), SINGLE),
    "fork sharing noise": Bug(Inherited(), SINGLE),
    "seeds of 16 bits": Bug(ShortSeeds(16), SINGLE),
    "seeds of 32 bits": Bug(ShortSeeds(32), SINGLE, replace(TINY, starts=FULL.starts)),
}
