"""χ² of the noise against its exact probabilities, streamed so that memory stays small."""

from __future__ import annotations

import numpy as np
from scipy import special, stats

from audits.finding import Finding, Part, Size
from benchmarks.timing import progress
from hushfade import UnsafeSeededNoise, gaussian
from hushfade.check import Column, Signed

SIGMAS = (3.0, 300.0, 700.0, 65_536.0, 1.5e6)
EVERY_VALUE = 3.0  # up to here each value is a bin
BINS = 1000
CHUNK = 1 << 18
LOW_BITS = 6  # σ ≥ 300 makes them uniform to within e^-400
SEED = 1
LOWEST, HIGHEST = 0.001, 0.999
WRONG = 1.01  # the control's width

CLAIM = f"p in ({LOWEST}, {HIGHEST})"


def part(size: Size) -> Part:
    """χ² for every sigma, its low bits, and the control of a wrong width."""
    findings: list[Finding] = []
    for number, sigma in enumerate(SIGMAS):
        edges = _edges(sigma, size.draws)
        counts, low = counted(sigma, edges, size.draws, SEED + number)
        found = _followed(f"σ = {sigma:g}", p_value(counts, probabilities(sigma, edges)), edges)
        findings.append(found)
        if sigma > EVERY_VALUE:
            uniform = np.full(1 << LOW_BITS, 2.0**-LOW_BITS)
            findings.append(
                _followed(f"σ = {sigma:g}, low {LOW_BITS} bits", p_value(low, uniform), uniform[1:])
            )
        findings.append(_control(sigma, edges, counts))
        progress(f"χ², σ = {sigma:g}: {found.measurement}, {found.verdict}")
    return Part(
        "Noise",
        f"χ² of {len(SIGMAS) * size.draws:.0e} draws in all, {size.draws:.0e} for each σ, against "
        "the exact probabilities of round(N(0, σ²)): every value for σ = 3, values expected less "
        f"than ten times pooled; else {BINS} bins of about equal probability.  The seeds are fixed "
        f"({SEED} to {SEED + len(SIGMAS) - 1}).  The control holds the same draws against a σ that "
        "is 1 % larger.",
        findings,
    )


def probabilities(sigma: float, edges: Signed) -> Column:
    """P[z ≤ e_0], P[e_0 < z ≤ e_1], ..., P[z > e_last], by the complement in the upper half.

    >>> probabilities(3.0, np.array([-1, 0])).round(6)  # the middle: erf(1 / (6 √2))
    array([0.433816, 0.132368, 0.433816])
    """
    x = (edges + 0.5) / sigma
    below, above = special.ndtr(x), special.ndtr(-x)
    middle = np.where(x[1:] <= 0, np.diff(below), -np.diff(above))
    return np.concatenate([below[:1], middle, above[-1:]])


def counted(sigma: float, edges: Signed, draws: int, seed: int) -> tuple[Signed, Signed]:
    """How many draws fell between the edges, and how many had each pattern of low bits."""
    drawer = UnsafeSeededNoise(seed).bound(b"")
    law = gaussian.table(sigma)
    counts = np.zeros(len(edges) + 1, dtype=np.int64)
    low = np.zeros(1 << LOW_BITS, dtype=np.int64)
    for start in range(0, draws, CHUNK):
        z = drawer.draws(law, start, min(CHUNK, draws - start), 1)[:, 0]
        counts += np.bincount(np.searchsorted(edges, z), minlength=len(counts))
        low += np.bincount(z & ((1 << LOW_BITS) - 1), minlength=len(low))
    return counts, low


def p_value(counts: Signed, exact: Column) -> float:
    """The probability of a χ² at least as large, were the counts from `exact`."""
    expected = exact * counts.sum()
    statistic = np.sum((counts - expected) ** 2 / expected)
    return float(stats.chi2.sf(statistic, len(counts) - 1))


def _edges(sigma: float, draws: int) -> Signed:
    """The largest value of each bin but the last."""
    if sigma <= EVERY_VALUE:
        values = np.arange(-100, 101)
        often = np.array([gaussian.probability(sigma, int(z)) * draws >= 10.0 for z in values])
        edges = values[often][:-1]
    else:
        quantiles = special.ndtri(np.arange(1, BINS) / BINS) * sigma
        edges = np.unique(np.rint(quantiles))
    return np.asarray(edges, dtype=np.int64)


def _followed(subject: str, p: float, edges: Signed | Column) -> Finding:
    measured = f"p = {p:.4f} in {len(edges) + 1} bins"
    return Finding(subject, CLAIM, measured, LOWEST < p < HIGHEST)


def _control(sigma: float, edges: Signed, counts: Signed) -> Finding:
    p = p_value(counts, probabilities(WRONG * sigma, edges))
    shown = f"p = {p:.0e}" if p > 0.0 else "p < 1e-300"
    return Finding(
        f"control: σ = {sigma:g} taken for {WRONG * sigma:g}", "p < 1e-9", shown, p < 1e-9
    )
