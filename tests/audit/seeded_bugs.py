"""Seeded bugs: implementations with one deliberate bug each, which the audit must detect.

A bug changes the plan that the implementation follows, its noise, its streams, or its loading.
Most bugs exist for every law; `PLANS` has plans that they break.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

import hushfade as hf
from hushfade.audit import Subject
from hushfade.audit.exact_checks import scaled
from hushfade.audit.subject import ChosenNoise, released
from hushfade.check import Matrix, Signed
from hushfade.crossing.noise_sources import FreshNoise, NoiseSource
from hushfade.crossing.sampling_tables import table
from hushfade.errors import Refused
from hushfade.factors.block_factors import BlockSums
from hushfade.privacy.loss import PrivacyLoss
from hushfade.stream import saved_state

DAY, ONE, PURE = hf.Exponential(half_life=8), hf.Guarantee(1, 1e-6), hf.Guarantee(1, 0)
SWAP, TWO = replace(ONE, neighbours="replace"), replace(ONE, protects=hf.Person(records_per_step=2))
LAWS: dict[str, dict[str, Any]] = {
    "gaussian": {"decay": DAY, "method": "square_root"},
    "laplace": {"decay": hf.NoDecay(), "horizon": 64, "method": "blocks"},
    "huber": {"decay": DAY, "method": "blend"},
}


def plan(law: str, guarantee: hf.Guarantee = ONE, **more: Any) -> hf.Plan:
    """A plan of this law whose right factor has several taps, or levels of blocks."""
    given = {**LAWS[law], **more}
    guarantee = replace(guarantee, delta=0) if law == "laplace" else guarantee
    return hf.plan(given.pop("decay"), guarantee, **given)


def same(found: Any) -> Any:
    return found


@dataclass
class Bug(Subject):
    """A subject with one function in place of what hushfade does."""

    planned: Callable[[hf.Plan], hf.Plan] = same
    noise: Callable[[NoiseSource], NoiseSource] = same
    stream: Callable[[Any], Any] = same
    loading: Callable[..., Any] = hf.Stream.load
    patched: Callable[[], AbstractContextManager[Any]] = nullcontext

    def plan(self, promised: hf.Plan) -> hf.Plan:
        return self.planned(promised)

    def start(self, plan: hf.Plan, noise: NoiseSource | None) -> Any:
        return self.stream(plan.start(self.noise(FreshNoise() if noise is None else noise)))

    def load(self, data: bytes, noise: NoiseSource | None, traces: Sequence[bytes] = ()) -> Any:
        source = self.noise(FreshNoise() if noise is None else noise)
        return self.stream(self.loading(data, noise=source, traces=traces))

    def draws(self, plan: hf.Plan, noise: NoiseSource, step: int, lane: int, count: int) -> Signed:
        return super().draws(plan, self.noise(noise), step, lane, count)

    def elsewhere(self, plan: hf.Plan, noise: Any, key: bytes, units: Signed) -> Matrix:
        return released(self.start(plan, noise), units)  # a correct process would reveal the bug


# Noise ----------------------------------------------------------------------------------------


class Redrawn:
    """A noise source whose draws pass through `change(draw, law, step, steps, lanes, lane)`."""

    def __init__(self, source: Any, change: Callable[..., Signed]) -> None:
        self.source, self.change, self.identity = source, change, source.identity

    def bound(self, digest: bytes) -> Any:
        drawer = self.source.bound(digest)
        return drawer if isinstance(self.source, ChosenNoise) else _Drawer(drawer, self.change)


class _Drawer:
    def __init__(self, drawer: Any, change: Callable[..., Signed]) -> None:
        self.drawer, self.change = drawer, change

    def draws(self, law: Any, step: int, steps: int, lanes: int, *, lane: int = 0) -> Signed:
        def draw(law: Any = law, step: int = step, lane: int = lane) -> Any:
            return self.drawer.draws(law, step, steps, lanes, lane=lane)

        return self.change(draw, law, step, lane)


def drawn(change: Callable[..., Any]) -> Bug:
    return Bug(noise=lambda source: Redrawn(source, change))


def silent_first(draw: Any, law: Any, step: int, lane: int) -> Any:
    z = draw()
    z[: max(0, 1 - step)] = 0
    return z


def one_pattern_missing(draw: Any, law: Any, step: int, lane: int) -> Any:
    z = draw()
    z[z & 31 == 0] += 1
    return z


def clipped_noise(draw: Any, law: Any, step: int, lane: int) -> Any:
    most = round(3.3 * law.law.sigma)
    return np.clip(draw(), -most, most)


class Reseeded:
    """A noise source with a key that depends on too little of what it should depend on."""

    def __init__(self, source: Any, key: Callable[[Any, bytes], bytes]) -> None:
        self.source, self.key, self.identity = source, key, source.identity

    def bound(self, digest: bytes) -> Any:
        if isinstance(self.source, ChosenNoise):
            return self.source.bound(digest)
        shared = hf.KeyedNoise(bytes(range(32)), stream="shared")
        return shared.bound(self.key(self.source, digest))


def keyed(key: Callable[[Any, bytes], bytes], kind: type = hf.KeyedNoise) -> Bug:
    """Noise of one kind whose key depends on `key(source, digest)` alone."""
    return Bug(noise=lambda one: Reseeded(one, key) if isinstance(one, kind) else one)


def named(source: Any, *, letters: int = 1000, epoch: int = 2**63, key: int = 32) -> Any:
    found = source._key[:key] + source.stream[:letters].encode()
    return found + (source.epoch % epoch).to_bytes(8, "little")


# Streams --------------------------------------------------------------------------------------


class Wrapped:
    """A stream of which a bug replaces some methods."""

    def __init__(self, stream: Any) -> None:
        self.inner, self.made_in, self.before = stream, os.getpid(), 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def units_of(self, records: Any) -> Signed:
        """The total of a step in units, as a stream computes it."""
        grid = self.inner.plan.grid
        return np.atleast_1d(grid.record_sum(records) if grid.scalar else grid.record_sums(records))


class ClippedSum(Wrapped):
    """Clips the sum of a step, not each record."""

    def step(self, records: Any = ()) -> Any:
        grid, total = self.inner.plan.grid, float(np.sum(records))
        return self.inner.step([min(max(total, grid.low), grid.high)])


class Carried(Wrapped):
    """Counts a share of each total in the next step: also, or instead of in its own step."""

    own = 1

    def run_units(self, units: Any) -> Any:
        late = np.concatenate([np.full_like(units[:1], self.before), units[:-1]])
        self.before = units[-1]
        return self.inner.run_units(self.own * units + late)

    def step_units(self, units: Any) -> Any:
        before, self.before = self.before, units
        return self.inner.step_units(self.own * units + before)

    def run(self, totals: Any) -> Any:
        return self.run_units(np.rint(totals / self.plan.grid.resolution).astype(np.int64))

    def step_total(self, total: Any) -> Any:
        return self.step_units(self.plan.grid.total(total))

    def step(self, records: Any = ()) -> Any:
        return self.step_units(int(self.units_of(records)[0]))


class Late(Carried):
    own = 0


class LastBits(Wrapped):
    """Releases carry a last bit of the totals, as if true sums and noise were added as floats."""

    def run_units(self, units: Any) -> Any:
        values = self.inner.run_units(units)
        return np.where(np.asarray(units) > 0, np.nextafter(values, np.inf), values)


class Endless(Wrapped):
    """Releases something after the horizon."""

    def run_units(self, units: Any) -> Any:
        if self.inner.steps + len(units) > (self.inner.plan.horizon or np.inf):
            return np.zeros_like(units, dtype=float)
        return self.inner.run_units(units)


class Forked(Wrapped):
    """Releases a step in a forked child."""

    def step_units(self, units: Any) -> Any:
        here = os.getpid() == self.made_in
        return self.inner.step_units(units) if here else SimpleNamespace(value=0.0)


class Lenient(Wrapped):
    """Counts a record that is not a number as zero."""

    def step(self, records: Any = ()) -> Any:
        return self.inner.step(np.nan_to_num(np.asarray(records, dtype=float)))


class Saturating(Wrapped):
    """Accepts any total, and counts the largest one instead."""

    def step_units(self, units: Any) -> Any:
        most = self.inner.plan.grid.largest_total
        return self.inner.step_units(min(max(units, -most), most))


class Proud(Wrapped):
    """States a tenth of its standard deviation."""

    def step_units(self, units: Any) -> Any:
        release = self.inner.step_units(units)
        return release._replace(stddev=release.stddev / 10)


class FirstKey(Wrapped):
    """Counts the records of every key in the first one too."""

    def step(self, records: Any = ()) -> Any:
        first = self.inner.plan.keys[0]
        every = [one for some in dict(records or {}).values() for one in some]
        return self.inner.step({**dict(records or {}), first: every} if every else records)


def accepting(data: bytes, *, noise: Any, traces: Sequence[bytes] = ()) -> Any:
    """The stream of any state, however old."""
    try:
        return hf.Stream.load(data, noise=noise, traces=traces)
    except Refused:
        state = saved_state.read(data)
        return hf.Stream(state.plan, noise, os.urandom(16), state)


def loaded_quietly(data: bytes, *, noise: Any, traces: Sequence[bytes] = ()) -> Any:
    quiet = Redrawn(noise, lambda draw, *rest: draw() // 2)
    return hf.Stream.load(
        data, noise=quiet, traces=traces if noise.identity["kind"] != "keyed" else ()
    )


# Plans ----------------------------------------------------------------------------------------


def without_norm(promised: hf.Plan) -> hf.Plan:
    """The noise for the first tap, or for one block, alone."""
    taps = promised.taps.integers.astype(float)
    if isinstance(promised.pair, BlockSums):
        return quieter(promised, 1.0 / promised.pair.squared_sensitivity())
    return quieter(promised, taps[0] / float(np.linalg.norm(taps)))


def quieter(promised: hf.Plan, factor: float) -> hf.Plan:
    return replace(promised, law=scaled(promised.law, factor))


def followed(promised: hf.Plan, **changed: Any) -> hf.Plan:
    """The plan that hushfade would make for another guarantee, under the promised one."""
    law = next(law for law in LAWS if law == promised.law.name)
    grid = promised.grid
    made = plan(law, replace(promised.guarantee, **changed), low=grid.low, high=grid.high)
    return replace(promised, law=made.law, pair=made.pair, method=made.method)


def optimistic() -> AbstractContextManager[Any]:
    """An accountant whose δ(ε) is a tenth too small."""
    right = PrivacyLoss.delta
    return patch.object(PrivacyLoss, "delta", lambda loss, epsilon: 0.9 * right(loss, epsilon))


# The list -------------------------------------------------------------------------------------

EACH_LAW: dict[str, tuple[Bug, dict[str, Any]]] = {
    "noise 5 % too small": (
        drawn(lambda draw, law, *rest: draw(table(scaled(law.law, 0.95)))), {}),
    "noise planned 5 % too small": (Bug(planned=lambda one: quieter(one, 0.95)), {}),
    "norm of R ignored": (Bug(planned=without_norm), {}),
    "person counted as a record": (
        Bug(planned=lambda one: followed(one, protects=hf.Record())), {"guarantee": TWO}),
    "wrong neighbours": (
        Bug(planned=lambda one: followed(one, neighbours="add_remove")),
        {"guarantee": SWAP, "low": -1, "high": 1}),
    "resampling on replay": (keyed(lambda source, digest: os.urandom(32)), {}),
    "clip after sum": (Bug(stream=ClippedSum), {}),
    "off by one step: counted in the next step too": (Bug(stream=Carried), {}),
    "off by one step: counted a step late": (Bug(stream=Late), {}),
    "key reuse: the same noise for two streams": (
        keyed(lambda source, digest: named(source, letters=0) + digest), {}),
    "default noise from a fixed seed": (keyed(lambda source, digest: digest, FreshNoise), {}),
    "releases carry a bit of the totals": (Bug(stream=LastBits), {}),
    "first step without noise": (drawn(silent_first), {}),
    "noise shared between keys": (
        drawn(lambda draw, *rest: np.repeat(draw()[:, :1], draw().shape[1], axis=1)),
        {"keys": ["a", "b", "c"]}),
    "older states accepted": (Bug(loading=accepting), {}),
    "accountant a tenth too small": (Bug(patched=optimistic), {}),
}  # fmt: skip
"""Bugs for every law, each with changes of the plan that it breaks."""

GAUSSIAN: dict[str, tuple[Bug, dict[str, Any]]] = {
    "variance for deviation": (
        drawn(lambda draw, law, *rest: draw(table(scaled(law.law, law.law.sigma**-0.5)))), {}),
    "Laplace noise drawn": (
        drawn(lambda draw, law, *rest: draw(table(hf.laws.Laplace(1.414 / law.law.sigma)))), {}),
    "noise clipped at 3.3 standard deviations": (
        drawn(clipped_noise), {}),
    "noise with a mean": (drawn(lambda draw, *rest: np.abs(draw())), {}),
    "one pattern of low bits missing": (drawn(one_pattern_missing), {}),
    "noise correlated at lag 100": (
        drawn(lambda draw, law, step, lane: (draw() + draw(law, step + 100)) * 5 // 7), {}),
    "noise repeats after 1000 steps": (
        drawn(lambda draw, law, step, lane: draw(law, step % 1000)), {}),
    "a step counter of 32 bits": (drawn(lambda draw, law, step, lane: draw(law, step % 2**32)), {}),
    "a lane counter of 16 bits": (
        drawn(lambda draw, law, step, lane: draw(law, step, lane % 2**16)), {}),
    "epoch without effect": (keyed(lambda one, digest: named(one, epoch=1) + digest), {}),
    "epoch of 32 bits": (keyed(lambda one, digest: named(one, epoch=2**32) + digest), {}),
    "stream's name cut to 40 letters": (
        keyed(lambda one, digest: named(one, letters=40) + digest), {}),
    "31 bytes of the key": (keyed(lambda one, digest: named(one, key=31) + digest), {}),
    "the plan is not in the key": (keyed(lambda one, digest: named(one)), {}),
    "seeds of 8 bits": (keyed(lambda one, digest: digest + os.urandom(1), FreshNoise), {}),
    "loaded streams with half the noise": (Bug(loading=loaded_quietly), {}),
    "steps after the horizon": (Bug(stream=Endless), {"decay": hf.NoDecay(), "horizon": 48}),
    "steps in a forked child": (Bug(stream=Forked), {}),
    "nan counts as zero": (Bug(stream=Lenient), {}),
    "totals saturate": (Bug(stream=Saturating), {}),
    "stated stddev a tenth": (Bug(stream=Proud), {}),
    "records counted in the first key too": (Bug(stream=FirstKey), {"keys": ["a", "b"]}),
    "several steps of a person ignored": (
        Bug(planned=lambda one: followed(one, protects=hf.Record())),
        {"guarantee": replace(ONE, protects=hf.Person(steps=3, apart=4))}),
    "mu for twice delta": (Bug(planned=lambda one: followed(one, delta=2e-6)), {}),
}  # fmt: skip
"""More bugs, with Gaussian noise."""


def every_bug() -> dict[str, tuple[Bug, hf.Plan]]:
    """Every bug with a plan that it breaks."""
    found = {}
    for law in LAWS:
        several = EACH_LAW | GAUSSIAN if law == "gaussian" else EACH_LAW
        for name, (bug, changes) in several.items():
            found[f"{name}, {law}"] = bug, plan(law, **changes)
    return found
