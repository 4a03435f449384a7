"""The precision attack: does a release have bits that only one of two inputs can produce?

Noise that is added in float64 leaves traces: in a quarter of all releases of x + N(0, 1) the
property 'not a multiple of 2^-53' proves x = 0 against x = 1 (Mironov 2012).  In hushfade the first
release is a function of one integer, and a later release is a function of the integers that
crossed so far.  The bits of the releases reveal these integers and nothing else.
"""

from __future__ import annotations

import math

import numpy as np

from hushfade.audit.audited_streams import Way, inputs, kinds_of_noise, loaded, started
from hushfade.audit.effort import Size
from hushfade.audit.finding import Finding, by_chance, exact
from hushfade.audit.neighbouring_streams import kinds
from hushfade.audit.observer import crossed, gain_of, legible, wide
from hushfade.audit.randomness import Chance
from hushfade.audit.subject import Subject
from hushfade.check import Column, Matrix, Signed
from hushfade.planning.plan import Plan

CHECK = "precision attack"

_BATCH = 100_000  # releases that are compared with each other
_RINGS = 1 << 25  # the most numbers in the memory of one run: a quarter of a gibibyte
_OFF_GRID = 0.05
_LOW_BITS = 6
_LONG, _SHORT = 1 << 16, 1 << 12  # values of a stream that are recomputed from y
_LANES = 256  # the most lanes that are recomputed


def precision(subject: Subject, plan: Plan, name: str, size: Size, chance: Chance) -> list[Finding]:
    """Findings that compare the last bits of first releases for two neighbouring inputs."""
    batch = min(_BATCH, size.releases)
    lanes = max(1, min(batch, _RINGS // plan.taps.support))
    many = subject.plan(wide(plan, max(1, lanes // plan.grid.lanes)))
    lanes = many.grid.lanes
    most = max(next(iter(kinds(plan).values())))  # the change of one lane
    bits = min(_LOW_BITS, max(0, math.floor(math.log2(many.law.stddev / 1.6))))
    patterns = np.zeros((2, 1 << bits), dtype=np.int64)
    grid: list[Column] = []
    values: list[Column] = []
    off = several = seen = 0
    runs = max(1, size.releases // lanes)
    for run in range(runs):
        for which, units in enumerate((0, most)):
            row = np.full((1, lanes), units * many.grid.resolution)
            released = subject.start(many, chance.noise()).run(row)
            y = crossed(many, released)[0]
            whole = np.rint(y)
            off += int(np.count_nonzero(np.abs(y - whole) > _OFF_GRID))
            z = whole.astype(np.int64) - _answer(many, units)
            patterns[which] += np.bincount(z & ((1 << bits) - 1), minlength=1 << bits)
            grid.append(whole)
            values.append(released[0])
        seen += 2 * lanes
        if len(grid) * lanes >= 2 * batch or run + 1 == runs:
            several += _ambiguous(np.concatenate(grid), np.concatenate(values))
            grid, values = [], []
    found = [
        exact(
            CHECK,
            f"{name}, bits",
            "a release is a function of its grid point",
            f"{off} of {seen:,} not on the grid; {several} grid points with two values",
            passed=off == 0 and several == 0,
        )
    ]
    if bits:
        p = _alike(patterns)
        measured = f"{len(patterns[0])} patterns of low bits, {seen // 2:,} releases of each input"
        claim = "the same distribution for both inputs"
        found.append(by_chance(CHECK, f"{name}, low bits", claim, measured, p))
    return found


def last_bits(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """The finding that releases, recomputed from y alone, are equal to the last bit.

    An implementation that adds the true sum and the noise as floats has the same y, but rounds
    differently, which reveals the sum.  The first step cannot show this, because it rounds nothing.
    """
    plan = subject.plan(plan)
    sources = kinds_of_noise(chance).values()
    ways = [way(subject, source) for source in sources for way in (started, loaded)]
    runs = [(started(subject, chance.noise), _LONG), *((way, _SHORT) for way in ways)]
    found = [_remade(plan, way, values, chance) for way, values in runs]
    differ, seen = sum(other for other, _ in found), sum(values for _, values in found)
    return [
        exact(
            CHECK,
            f"{name}, last bits",
            "a release is a function of the values that crossed",
            f"{differ:,} of {seen:,} releases of {len(runs)} streams differ from L y",
            passed=differ == 0,
        )
    ]


def _remade(plan: Plan, way: Way, values: int, chance: Chance) -> tuple[int, int]:
    """The number of releases of a stream that differ from L y, and the number compared."""
    lanes = plan.grid.lanes
    steps = max(2, values // lanes)
    units = inputs(plan, legible(plan, min(plan.horizon or steps, steps)), chance)
    released = way(plan, units)
    y = np.rint(crossed(plan, released)).astype(np.int64)
    kept = np.unique(np.linspace(0, lanes - 1, min(lanes, _LANES)).astype(np.int64))
    seen, again = np.ascontiguousarray(released[:, kept]), _public(plan, y[:, kept])
    return int(np.count_nonzero(seen.view(np.int64) != again.view(np.int64))), seen.size


def _public(plan: Plan, y: Signed) -> Matrix:
    """L y for y of shape (n, lanes) in grid units, computed by the public half's own loops."""
    from hushfade.public.left_product import left_of, left_product

    crossing = y / gain_of(plan, len(y))[:, None]  # a float64, rounded once
    found = np.empty(y.shape)
    for lane in range(y.shape[1]):
        answer = np.empty(len(y))
        left_product(0, crossing[:, lane].copy(), left_of(plan), answer)
        found[:, lane] = answer
    return found


def _answer(plan: Plan, units: int) -> int:
    """R̃ x at the first step."""
    return int(plan.taps.integers[0]) * int(gain_of(plan, 1)[0]) * units


def _ambiguous(grid: Column, values: Column) -> int:
    """The number of grid points that have releases with different bits."""
    order = np.lexsort((values, grid))
    grid, values = grid[order], values[order]
    return int(np.count_nonzero((grid[1:] == grid[:-1]) & (values[1:] != values[:-1])))


def _alike(patterns: Signed) -> float:
    from scipy.stats import chi2_contingency

    if np.any(patterns.sum(axis=0) == 0):
        return 0.0
    return float(chi2_contingency(patterns).pvalue)
