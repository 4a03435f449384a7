"""Replay: keyed noise gives the same bytes again, and no other noise is ever drawn twice."""

from __future__ import annotations

import os
import select
import signal
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from hushfade.audit import law_formulas
from hushfade.audit.exact_checks import inputs, refuses
from hushfade.audit.findings import COINCIDENCE, Chance, Finding, Size
from hushfade.audit.subject import DOORS, Subject, crossed, legible, released
from hushfade.check import Signed
from hushfade.crossing.noise_sources import FreshNoise, KeyedNoise, NoiseSource
from hushfade.crossing.sampling_tables import table
from hushfade.planning.plan import Plan

_STEPS = 48
_LONG = 1 << 15  # draws of one source
_WINDOW = 256  # the longest run of draws whose repetition is tested
_SECONDS = 30


def replay(
    subject: Subject, plan: Plan, name: str, chance: Chance, *, alone: bool
) -> Iterator[Finding]:
    """Findings that keyed noise gives the same bytes by every method, and in another process."""
    plan = subject.plan(plan)
    n = _steps(plan)
    units, key, half = inputs(plan, n, chance), chance.key(), n // 2

    def start() -> Any:
        return subject.start(plan, KeyedNoise(key, stream="audit"))

    first = released(plan, start(), units)
    again = {door: released(plan, start(), units, door) for door in DOORS}
    stream = start()
    before = released(plan, stream, units[:half])
    state, traces = stream.save(), []
    loaded = subject.load(state, KeyedNoise(key, stream="audit"))
    again["a saved state"] = np.concatenate([before, released(plan, loaded, units[half:])])
    copy = start()
    kept, rows = [copy.save()], []
    for row in units:
        rows.append(released(plan, copy, row[None, :], "step_units"))
        traces.append(copy.trace())
    restored = subject.load(kept[0], KeyedNoise(key, stream="audit"), traces)
    again["traces"] = np.concatenate(rows) if restored.steps == n else first[:0]
    if alone:
        again["a second process"] = subject.elsewhere(plan, key, "audit", units)
    differ = [way for way, found in again.items() if found.tobytes() != first.tobytes()]
    shown = f"{first.size:,} values in {len(again)} ways" + (
        f"; not by {', '.join(differ)}" if differ else ""
    )
    yield Finding("replay", f"{name}, keyed noise", "the same bytes", shown, not differ)
    if plan.statistic is None:
        stream, told = start(), []
        for row in units:
            told.append(stream.step_units(row.item() if plan.grid.scalar else row).stddev)
        off = float(np.max(np.abs(np.array(told) / plan.stddevs(n) - 1.0)))
        shown = f"{off:.1g} off in {n} steps"
        yield Finding(
            "claims", f"{name}, stated errors", "release.stddev is plan.stddevs", shown, off < 1e-9
        )


def second_draws(subject: Subject, plan: Plan, name: str, chance: Chance) -> Iterator[Finding]:
    """Findings that no state, copy or forked child draws the noise of a released step again."""
    plan = subject.plan(plan)
    nothing = np.zeros((1, plan.grid.lanes), dtype=np.int64)
    if plan.horizon == 1:
        return
    taken = []
    for door in DOORS:
        stream = subject.start(plan, None)
        released(plan, stream, nothing)
        state = stream.save()
        copy = subject.load(state, None)
        released(plan, stream, nothing, door)
        for ahead in DOORS:
            if not refuses(lambda: released(plan, copy, nothing, ahead)):
                taken.append(f"a copy that fell behind, by {ahead}")
            if not refuses(lambda: released(plan, subject.load(state, None), nothing, ahead)):
                taken.append(f"an older state, by {ahead}")
    shown = f"released by {'; '.join(dict.fromkeys(taken))}" if taken else "refused in every way"
    claim = "a released step is never drawn again"
    yield Finding("replay", f"{name}, older states", claim, shown, not taken)
    if hasattr(os, "fork"):
        stream = subject.start(plan, None)
        older = stream.save()
        released(plan, stream, nothing)
        drawer, law = FreshNoise().bound(plan.digest), table(plan.law)
        length = law_formulas.unlikely(plan.law, 2, COINCIDENCE)
        z = drawer.draws(law, 0, length, 1)
        ways = [
            lambda: released(plan, stream, nothing, "run_units"),
            lambda: released(plan, stream, nothing, "step_units"),
            lambda: released(plan, subject.load(older, None), nothing),
        ]
        refused = _in_child(lambda: all(map(refuses, ways)))
        other = _in_child(lambda: bool(np.any(drawer.draws(law, 0, length, 1) != z)))
        claim = "a forked child draws no noise of its parent"
        shown = ("refused" if refused else "released a step") + (
            "" if other else "; the same draws"
        )
        passed = refused and other
        yield Finding("replay", f"{name}, fork", claim, shown, passed, COINCIDENCE)


def unrelated(subject: Subject, plan: Plan, name: str, chance: Chance) -> Iterator[Finding]:
    """Findings that similar keys, names, epochs and far positions share no run of draws."""
    plan = subject.plan(plan)
    key = chance.key()
    n = _steps(plan)
    nothing = np.zeros((n, plan.grid.lanes), dtype=np.int64)
    found: list[Signed] = []
    sources = [
        *_similar(key),
        *(source() for source in (FreshNoise, FreshNoise, lambda: None, lambda: None)),
    ]
    n = legible(plan, released(plan, subject.start(plan, sources[0]), nothing))
    for source in sources:
        y = crossed(plan, released(plan, subject.start(plan, source), nothing[:n]))
        found.append(np.rint(y).astype(np.int64))
    yield _repeated(f"{name}, {len(sources)} streams", plan, found)
    first = KeyedNoise(key, stream="audit")
    steps = [int(step) for step in (0, *(2**bits for bits in (16, 31, 32, 48, 61)))]
    lanes = [2**bits for bits in (10, 16, 31, 32, 46)]
    places = [*((step, 0) for step in steps), *((0, lane) for lane in lanes)]
    rows = [subject.draws(plan, first, place, (1, 400)).T for place in places]
    rows += [
        subject.draws(plan, source, (0, 0), (400, 1))
        for source in sources[1:]
        if source is not None
    ]
    near = replace(plan.guarantee, delta=0.5 + plan.guarantee.delta / 4.0)
    plans = replace(plan, horizon=(plan.horizon or 0) + 1), replace(plan, guarantee=near)
    rows += [subject.draws(other, first, (0, 0), (400, 1)) for other in plans]
    rows.append(subject.draws(plan, first, (1 << 20, 0), (_LONG, 1)))
    yield _repeated(f"{name}, similar keys and far positions", plan, rows)


def _similar(key: bytes) -> Iterator[NoiseSource]:
    """Keyed sources that differ as little as possible; no two are equal."""
    for stream in ("audit", "audit1", "Audit", "au", "x" * 40 + "1", "x" * 40 + "2"):
        yield KeyedNoise(key, stream=stream)
    for epoch in (1, 2, 3, 256, 2**16, 2**31, 2**32, 2**63 - 1):
        yield KeyedNoise(key, stream="audit", epoch=epoch)
    for place in range(32):
        changed = bytearray(key)
        changed[place] ^= 1
        yield KeyedNoise(bytes(changed), stream="audit")


def _repeated(subject: str, plan: Plan, found: list[Signed]) -> Finding:
    """The finding that no run of draws, along steps or lanes, occurs twice at any distance."""
    claim = "no run of draws occurs twice"
    count = sum(z.size for z in found)
    length = law_formulas.unlikely(plan.law, count, COINCIDENCE)
    rows = [row for z in found for row in (*z.T, *z) if len(row) >= length]
    if length > _WINDOW or not rows:
        shown = f"not tested: runs would need {length:,} draws"
        return Finding("replay", subject, claim, shown, None)
    runs = np.concatenate([np.lib.stride_tricks.sliding_window_view(row, length) for row in rows])
    runs = np.ascontiguousarray(runs)
    again = len(runs) - len(np.unique(runs.view([("", runs.dtype)] * length)))
    shown = f"{again} of {len(runs):,} runs of {length} draws are repeated"
    return Finding("replay", subject, claim, shown, not again, COINCIDENCE)


def fresh_starts(subject: Subject, plan: Plan, name: str, size: Size) -> Iterator[Finding]:
    """The finding that no two of many streams with default noise have the same noise."""
    plan = subject.plan(plan)
    length = law_formulas.unlikely(plan.law, size.starts, COINCIDENCE)
    n = -(-length // plan.grid.lanes)
    claim = "no two have the same noise"
    subject_name = f"{name}, {size.starts:,} streams with default noise"
    if n > min(plan.horizon or _WINDOW, _WINDOW):
        yield Finding("replay", subject_name, claim, "not tested: too few draws per stream", None)
        return
    nothing = np.zeros((n, plan.grid.lanes), dtype=np.int64)
    seen = {
        released(plan, subject.start(plan, None), nothing).tobytes() for _ in range(size.starts)
    }
    again = size.starts - len(seen)
    yield Finding("replay", subject_name, claim, f"{again} are repeated", not again, COINCIDENCE)


def _steps(plan: Plan) -> int:
    return min(plan.horizon or _STEPS, max(4, min(_STEPS, (1 << 13) // plan.grid.lanes)))


def _in_child(work: Callable[[], bool]) -> bool:
    """What the work returns in a forked child; False if the child gives no answer."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork in a process with threads
        child = os.fork()
    if child == 0:
        try:
            os.write(writer, b"1" if work() else b"0")
        finally:
            os._exit(0)
    try:
        if not select.select([reader], [], [], _SECONDS)[0]:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(writer)
        return os.read(reader, 1) == b"1"
    finally:
        os.close(reader)
