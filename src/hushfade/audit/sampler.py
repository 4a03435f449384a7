"""The sampler: its tables and its draws, compared with the exact probabilities of each law.

A χ² test covers the bulk, and counts beyond some distances cover the tails.  `noise_probabilities`
computes the probabilities without the tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from hushfade.audit.finding import Finding, by_chance, exact
from hushfade.audit.noise_probabilities import (
    beyond,
    cumulative,
    described,
    formula,
    nonzero,
    quantiles,
)
from hushfade.audit.randomness import Chance
from hushfade.audit.subject import Subject
from hushfade.check import Column, Signed
from hushfade.crossing.sampling_tables import Table, table
from hushfade.laws import Gaussian, Huber, Laplace, Law

# small and large scales: the sampler's table has an entry per value, or per cell of values
LAWS: tuple[Law, ...] = (
    *map(Gaussian, (3.0, 300.0, 700.0, 65_536.0, 1.5e6)),
    *map(Laplace, (1.0, 0.02, 1.0 / 1024, 1e-6)),
    *(
        Huber(slope, core)
        for slope, core in ((0.2, 5), (0.01, 100), (1e-3, 3000), (8e-7, 2_500_000))
    ),
)
CHECK = "sampler"

_BINS = 1000
_LEAST = 50.0  # the fewest expected draws in a bin
_CHUNK = 1 << 18
_BITS = 6  # tested together
_MANY = 31  # with this many degrees of freedom, the test also fails a fit that is too good
_FAR = (3.0, 3.5, 4.0, 4.5, 5.0, 5.5)  # in σ, for Gaussian noise
_FARTHER = (3.0, 4.5, 6.0, 8.0, 10.0, 12.0)  # in standard deviations, for geometric tails
_UNEVEN = 2e-5  # the largest deviation of low bits from uniform; 4·10^7 draws cannot detect it
_CLOSE = 1e-11


def sampler(subject: Subject, law: Law, draws: int, chance: Chance) -> list[Finding]:
    """Findings on the table, on the draws in bins and in the tails, and on their low bits."""
    edges = edges_of(law, draws)
    counts = np.zeros(len(edges) + 1, dtype=np.int64)
    bits = Bits(law)
    out = np.zeros(len(distances(law)), dtype=np.int64)
    drawer, entries = subject.bound(chance.noise(), b""), table(law)
    for start in range(0, draws, _CHUNK):
        z = drawer.draws(entries, start, min(_CHUNK, draws - start), 1)[:, 0]
        counts += binned(z, edges)
        out += far(law, z)
        bits.add(z)
    name = described(law)
    found = [
        tabled(name, entries),
        followed(CHECK, name, law, counts, probabilities(law, edges)),
        tails(CHECK, name, law, out, draws),
    ]
    return [*found, *bits.judged(CHECK, name)]


def tabled(name: str, entries: Table) -> Finding:
    """The finding on P[|z| ≥ m] of every entry, and on the probability beyond the table."""
    law = entries.law
    m = np.ldexp(np.arange(1.0, len(entries.above)), entries.k)
    left = np.array([((1 << 127) - above) / 2.0**127 for above in entries.above[:-1]])
    exactly = 2.0 * beyond(law, m)
    off = np.abs(left - exactly) - 2.0**-126
    end = np.array([float(len(entries.above) << entries.k)])
    passed = bool(np.all(off <= _CLOSE * exactly) and beyond(law, end)[0] < 2.0**-120)
    worst = float(np.max(np.maximum(off, 0.0) / exactly, initial=0.0, where=exactly > 2.0**-100))
    reach = m[-1] / law.stddev
    measured = f"{len(m):,} entries to {reach:.1f} σ, largest relative error {worst:.1g}"
    claim = f"the probabilities of {formula(law)}"
    return exact(CHECK, f"{name}, table", claim, measured, passed=passed)


def distances(law: Law) -> tuple[float, ...]:
    """The distances from zero beyond which `tails` counts draws, in standard deviations."""
    return _FAR if isinstance(law, Gaussian) else _FARTHER


def far(law: Law, z: Signed) -> Signed:
    """The number of draws beyond each of `distances`."""
    size = np.abs(z.ravel())
    return np.array([np.count_nonzero(size >= limit) for limit in _limits(law)])


def tails(check: str, subject: str, law: Law, out: Signed, draws: int) -> Finding:
    """The finding that the number of draws in the tails fits the law.  Each count is binomial."""
    from scipy.stats import binom

    share = 2.0 * beyond(law, _limits(law))
    below, above = binom.cdf(out, draws, share), binom.sf(out - 1, draws, share)
    p = min(1.0, 2.0 * float(min(np.min(below), np.min(above))) * len(share))
    shown = ", ".join(
        f"{count:,} beyond {limit:g} σ (expected {mean:,.0f})"
        for limit, count, mean in zip(distances(law), out, draws * share, strict=True)
        if mean >= 1.0
    )
    measured = f"{shown} of {draws:,}" if shown else f"no draws are expected there in {draws:,}"
    return by_chance(check, f"{subject}, tails", "tail counts as in the law", measured, p)


def _limits(law: Law) -> Column:
    scale = law.sigma if isinstance(law, Gaussian) else law.stddev
    return np.maximum(np.ceil(np.array(distances(law)) * scale), 1.0)


def followed(check: str, subject: str, law: Law, counts: Signed, exact: Column) -> Finding:
    """The finding that the counts follow the exact probabilities."""
    measured = f"{counts.sum():,} draws in {len(counts)} bins, χ² = {chi_square(counts, exact):.4g}"
    return by_chance(check, subject, f"the law {formula(law)}", measured, p_value(counts, exact))


class Bits:
    """Counts of the bits of draws, six at a time: uniform, and independent of the sign.

    `low_bits` states which bits are uniform.  Sign and magnitude are independent, except for 0.
    """

    def __init__(self, law: Law) -> None:
        self.total = low_bits(law)
        width = min(_BITS, self.total) or _BITS
        starts = {*range(0, self.total - width, _BITS), max(0, self.total - width)}
        self.windows = [(k, width) for k in sorted(starts)]
        self.uniform = [np.zeros(1 << width, dtype=np.int64) for _, width in self.windows]
        self.signs = np.zeros((len(self.windows), 2, 1 << _BITS), dtype=np.int64)

    def add(self, z: Signed) -> None:
        """Add the bits of some draws to the counts."""
        z = z.ravel()
        size, side = np.abs(z[z != 0]), (z[z != 0] > 0) << _BITS
        for place, (k, width) in enumerate(self.windows):
            mask = (1 << width) - 1
            self.uniform[place] += np.bincount((z >> k) & mask, minlength=mask + 1)
            pattern = (size >> k) & ((1 << _BITS) - 1)
            both = np.bincount(pattern + side, minlength=2 << _BITS)
            self.signs[place] += both.reshape(2, -1)

    def judged(self, check: str, subject: str) -> Iterator[Finding]:
        """The findings; only on the signs if the scale is too small for uniform bits."""
        even = [p_value(seen, np.full(len(seen), 1.0 / len(seen))) for seen in self.uniform]
        draws = int(self.uniform[0].sum())
        measured = f"{draws:,} draws, {self.windows[0][1]} bits at {len(even)} places"
        coins = [_fair(seen) for seen in self.signs]
        checks = [("signs", "fair, given the bits of the magnitude", coins)]
        if self.total:
            checks.insert(0, ("low bits", f"the low {self.total} bits are uniform", even))
        for what, claim, found in checks:
            p = min(1.0, min(found) * len(found))
            yield by_chance(check, f"{subject}, {what}", claim, measured, p)


def _fair(seen: Signed) -> float:
    """The p-value of the signs, given each pattern of bits: half of the draws are positive."""
    seen = seen[:, seen.sum(axis=0) >= _LEAST]
    if not seen.size:
        return 1.0
    return _unlike(float(np.sum((seen[1] - seen[0]) ** 2 / seen.sum(axis=0))), seen.shape[1])


def binned(z: Signed, edges: Signed) -> Signed:
    """The number of values in each bin."""
    return np.bincount(np.searchsorted(edges, z.ravel()), minlength=len(edges) + 1)


def probabilities(law: Law, edges: Signed) -> Column:
    """P[z ≤ e_0], P[e_0 < z ≤ e_1], ..., P[z > e_last], by the complement in the upper half.

    >>> probabilities(Gaussian(3.0), np.array([-1, 0])).round(6)  # the middle: erf(1 / (6 √2))
    array([0.433816, 0.132368, 0.433816])
    """
    if not len(edges):
        return np.ones(1)
    below, above = cumulative(law, edges)
    middle = np.where(edges[1:] < 0, np.diff(below), -np.diff(above))
    return np.concatenate([below[:1], middle, above[-1:]])


def edges_of(law: Law, draws: int) -> Signed:
    """The largest value of each bin except the last: one bin per value, or of equal probability."""
    bins = min(_BINS, max(2, int(draws / (4.0 * _LEAST))))
    if 8.0 * law.stddev >= bins:
        upper = quantiles(law, np.arange(1, (bins + 1) // 2) / bins)
        return np.unique(np.concatenate([-upper, upper - 1]))
    reach = int(quantiles(law, np.array([_LEAST / draws / 2.0]))[0]) + 1
    edges = np.arange(-reach, reach)
    kept: list[int] = []
    below, last = cumulative(law, edges)[0] * draws, 0.0
    for edge, expected in zip(edges.tolist(), below.tolist(), strict=True):
        if expected - last >= _LEAST and draws - expected >= _LEAST:
            kept.append(edge)
            last = expected
    return np.array(kept, dtype=np.int64)


def low_bits(law: Law) -> int:
    """The number of low bits that are uniform, up to a deviation that no test can detect.

    A pattern of the lowest b bits has probability 2^-b (1 + Σ_j E e^(2πij z/2^b)), by Poisson
    summation.  With Gaussian noise the sum is below 1e-21 for 2^b ≤ σ/1.6.  With other laws
    |E e^(iuz)| is at most ∫|p''|/u² ≤ 4 slope p(0)/u².
    """
    if isinstance(law, Gaussian):
        return max(0, math.floor(math.log2(law.sigma / 1.6)))
    if isinstance(law, Huber | Laplace):
        most = 2.0 * math.pi * math.sqrt(_UNEVEN / (4.0 * law.slope * (1.0 - nonzero(law))))
        return max(0, math.floor(math.log2(most)))
    return 0


def chi_square(counts: Signed, exact: Column) -> float:
    """Σ (count - expected)² / expected."""
    expected = exact * counts.sum()
    return float(np.sum((counts - expected) ** 2 / expected))


def p_value(counts: Signed, exact: Column) -> float:
    """The p-value of a χ² test."""
    if len(counts) < 2:
        return 1.0  # a single bin contains all draws
    return _unlike(chi_square(counts, exact), len(counts) - 1)


def _unlike(square: float, freedom: int) -> float:
    """The p-value of a χ² statistic: two-sided for many bins, since a fit may be too good.

    Counts are integers.  A few of them equal their means far more often than χ² predicts, so a
    test with few bins is one-sided.
    """
    from scipy.stats import chi2

    large, small = float(chi2.sf(square, freedom)), float(chi2.cdf(square, freedom))
    return min(1.0, 2.0 * min(large, small)) if freedom >= _MANY else large
