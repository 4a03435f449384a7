"""Replay: keyed noise gives the same bytes again, and no other noise is ever drawn twice."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

from hushfade.audit import law_formulas
from hushfade.audit.findings import COINCIDENCE, Finding
from hushfade.audit.records import refuses
from hushfade.audit.subject import DOORS, Case, crossed, legible, released
from hushfade.check import Matrix, Signed
from hushfade.crossing.noise_sources import FreshNoise, KeyedNoise, NoiseSource
from hushfade.crossing.sampling_tables import table
from hushfade.errors import HushfadeError

_STEPS, _VALUES = 48, 1 << 13
_SOME, _LONG = 400, 1 << 15  # draws of one source
_WINDOW = 256  # the longest run of draws whose repetition is tested
_SECONDS = 30


def replay(case: Case) -> Iterator[Finding]:
    """Findings that keyed noise repeats in every way, and that no other noise does."""
    yield from _again(case)
    if case.plan.horizon != 1:
        yield from _second_draws(case)
    yield from _unrelated(case)
    if case.first:
        yield _fresh_starts(case)


def _again(case: Case) -> Iterator[Finding]:
    """Findings that keyed noise gives the same bytes by every method, and in another process."""
    n, key = case.steps(_STEPS, _VALUES), case.chance.key()
    noise, units, half = KeyedNoise(key, stream="audit"), case.inputs(n), n // 2

    def loaded() -> Matrix:
        stream = case.start(noise)
        before = released(stream, units[:half])
        return np.concatenate([before, released(case.load(stream.save(), noise), units[half:])])

    def traced() -> Matrix:
        stream, traces = case.start(noise), []
        older = stream.save()
        for row in units:
            released(stream, row[None, :], "step_units")
            traces.append(stream.trace())
        same = case.load(older, noise, traces).save() == stream.save()
        return first if same else first[:0]

    first = released(case.start(noise), units)
    ways: dict[str, Callable[[], Matrix]] = {
        door: lambda door=door: released(case.start(noise), units, door) for door in DOORS
    } | {"a saved state": loaded, "a state with traces": traced}
    if case.first:
        ways["a second process"] = lambda: case.subject.elsewhere(case.plan, noise, key, units)
    differ = []
    for way, work in ways.items():
        try:
            differ += [] if work().tobytes() == first.tobytes() else [way]
        except HushfadeError:  # refused: also a difference
            differ.append(way)
    shown = f"{first.size:,} values in {len(ways)} ways; {', '.join(differ) or 'none'} differ"
    yield Finding("keyed noise", "the same bytes", shown, not differ)
    if case.plan.statistic is None:
        stream, scalar = case.start(noise), case.plan.grid.scalar
        told = [stream.step_units(row.item() if scalar else row).stddev for row in units]
        off = float(np.max(np.abs(np.array(told) / case.plan.stddevs(n) - 1.0)))
        yield Finding("stated errors", "plan.stddevs", f"{off:.1g} off in {n} steps", off < 1e-9)


def _second_draws(case: Case) -> Iterator[Finding]:
    """Findings that no state, copy or forked child draws the noise of a released step again."""
    taken = []
    for door in DOORS:
        stream = case.start(None)
        older = stream.save()
        copy = case.load(older, None)
        _step(stream, door)
        ways = {f"a copy that fell behind, by {one}": partial(_step, copy, one) for one in DOORS}
        for one in ("run_units", "step_units"):
            ways[f"an older state, by {one}"] = partial(_loaded_step, case, older, one)
        taken += [what for what, work in ways.items() if not refuses(work)]
    claim, shown = "no released step is drawn again", ", ".join(dict.fromkeys(taken)) or "refused"
    yield Finding("older states", claim, shown, not taken)
    if not hasattr(os, "fork"):
        return
    drawer, law = FreshNoise().bound(case.plan.digest), table(case.plan.law)
    length = law_formulas.unlikely(case.plan.law, 2, COINCIDENCE)
    z = drawer.draws(law, 0, length, 1)
    works: dict[str, Callable[[], bool]] = {
        f"took a step by {door}": partial(refuses, partial(_step, stream, door)) for door in DOORS
    }
    works["took an older step"] = partial(refuses, partial(_loaded_step, case, older, DOORS[0]))
    works["has the same draws"] = lambda: bool(np.any(drawer.draws(law, 0, length, 1) != z))
    wrong = [what for what, work in works.items() if not _in_child(work)]
    claim = "a forked child draws no noise of its parent"
    yield Finding("fork", claim, ", ".join(wrong) or "refused", not wrong, COINCIDENCE)


def _step(stream: Any, door: str) -> Matrix:
    return released(stream, np.zeros((1, stream.plan.grid.lanes), dtype=np.int64), door)


def _loaded_step(case: Case, state: bytes, door: str) -> Matrix:
    return _step(case.load(state, None), door)


def _unrelated(case: Case) -> Iterator[Finding]:
    """Findings that similar keys, names, epochs, plans and far positions share no run of draws."""
    plan, key = case.plan, case.chance.key()
    keyed = list(_similar(key))
    sources = [*keyed, FreshNoise(), FreshNoise(), None, None]
    nothing = case.nothing(case.steps(_STEPS, _VALUES))
    nothing = nothing[: legible(plan, released(case.start(keyed[0]), nothing))]
    streams = [crossed(plan, released(case.start(source), nothing)) for source in sources]
    yield _repeated(case, f"{len(sources)} streams", [np.rint(y).astype(int) for y in streams])

    def draws(source: NoiseSource, step: int = 0, lane: int = 0, count: int = _SOME) -> Signed:
        return case.subject.draws(plan, source, step, lane, count)[:, None]

    near = replace(plan.guarantee, delta=0.5 + plan.guarantee.delta / 4.0)
    plans = replace(plan, horizon=(plan.horizon or 0) + 1), replace(plan, guarantee=near)
    found = [draws(source) for source in (*keyed, FreshNoise(), FreshNoise())]
    found += [draws(keyed[0], step=2**bits) for bits in (16, 31, 32, 48, 61)]
    found += [draws(keyed[0], lane=2**bits) for bits in (0, 8, 16, 31, 32, 46)]
    found += [case.subject.draws(one, keyed[0], 0, 0, _SOME)[:, None] for one in plans]
    found.append(draws(keyed[0], step=1 << 20, count=_LONG))
    yield _repeated(case, "similar keys and far positions", found)


def _similar(key: bytes) -> Iterator[NoiseSource]:
    """Keyed sources that differ as little as possible; no two are equal."""
    for stream in ("audit", "audit1", "Audit", "au", "x" * 60 + "1", "x" * 60 + "2"):
        yield KeyedNoise(key, stream=stream)
    for epoch in (1, 2, 3, 256, 2**16, 2**31, 2**32, 2**63 - 1):
        yield KeyedNoise(key, stream="audit", epoch=epoch)
    for place in range(32):
        changed = bytes(byte ^ (at == place) for at, byte in enumerate(key))
        yield KeyedNoise(changed, stream="audit")


def _repeated(case: Case, subject: str, found: list[Signed]) -> Finding:
    """The finding that no run of draws, along steps or lanes, occurs twice at any distance."""
    length = law_formulas.unlikely(case.plan.law, sum(z.size for z in found), COINCIDENCE)
    rows = [row for z in found for row in (*z.T, *z) if len(row) >= length]
    claim = f"no run of {length} draws occurs twice"
    if length > _WINDOW or not rows:
        return Finding(subject, claim, "not tested: too few draws", None)
    runs = np.concatenate([np.lib.stride_tricks.sliding_window_view(row, length) for row in rows])
    again = len(runs) - len({run.tobytes() for run in runs})
    return Finding(subject, claim, f"{again} of {len(runs):,} do", not again, COINCIDENCE)


def _fresh_starts(case: Case) -> Finding:
    """The finding that no two of many streams with default noise have the same noise."""
    starts = case.size.starts
    n = -(-law_formulas.unlikely(case.plan.law, starts, COINCIDENCE) // case.lanes)
    claim = f"no two of {starts:,} streams with default noise have the same"
    if n > min(case.plan.horizon or _WINDOW, _WINDOW):
        return Finding("fresh starts", claim, "not tested: too few draws", None)
    nothing = case.nothing(n)
    again = starts - len({released(case.start(None), nothing).tobytes() for _ in range(starts)})
    return Finding("fresh starts", claim, f"{again} are repeated", not again, COINCIDENCE)


def _in_child(work: Callable[[], bool]) -> bool:
    """What the work returns in a forked child; False if the child gives no answer."""
    child = get_context("fork").Process(target=lambda: os._exit(0 if work() else 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork in a process with threads
        child.start()
    child.join(_SECONDS)
    child.kill()
    return child.exitcode == 0
