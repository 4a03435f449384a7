"""The sampler: its table, and its draws against round(N(0, σ²)), computed without the table.

χ² for the bulk, which ends at 3 σ, and counts beyond some distances for the tails.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from hushfade.audit.finding import Finding, by_chance, exact
from hushfade.audit.randomness import Chance
from hushfade.audit.subject import Subject
from hushfade.check import Column, Signed
from hushfade.crossing.sampling_tables import Table, table
from hushfade.laws import Gaussian

SIGMAS = (3.0, 300.0, 700.0, 65_536.0, 1.5e6)  # by entries of a table, and by cells
CHECK = "sampler"

_BINS = 1000
_LEAST = 50.0  # draws expected in a bin
_CHUNK = 1 << 18
_BITS = 6  # looked at together
_MANY = 31  # degrees of freedom from which a fit may be too good
_FAR = (3.0, 3.5, 4.0, 4.5, 5.0, 5.5)  # in σ
_CLOSE = 1e-11


def sampler(subject: Subject, sigma: float, draws: int, chance: Chance) -> list[Finding]:
    """The table, the law of the draws in bins and in the tails, and their low bits."""
    edges = edges_of(sigma, draws)
    counts = np.zeros(len(edges) + 1, dtype=np.int64)
    bits = Bits(sigma)
    beyond = np.zeros(len(_FAR), dtype=np.int64)
    drawer, law = subject.bound(chance.noise(), b""), table(Gaussian(sigma))
    for start in range(0, draws, _CHUNK):
        z = drawer.draws(law, start, min(_CHUNK, draws - start), 1)[:, 0]
        counts += binned(z, edges)
        beyond += far(sigma, z)
        bits.add(z)
    name = f"σ = {sigma:.6g}"
    found = [
        tabled(name, law),
        followed(CHECK, name, counts, probabilities(sigma, edges)),
        tails(CHECK, name, sigma, beyond, draws),
    ]
    return [*found, *bits.judged(CHECK, name)]


def tabled(name: str, law: Table) -> Finding:
    """P[|z| ≥ m] of every entry, and that the table does not end before 2^-126 is left."""
    m = np.ldexp(np.arange(1.0, len(law.above)), law.k)
    left = np.array([((1 << 127) - above) / 2.0**127 for above in law.above[:-1]])
    exactly = 2.0 * law.law.below(0.5 - m)
    off = np.abs(left - exactly) - 2.0**-126
    passed = bool(np.all(off <= _CLOSE * exactly) and exactly[-1] < 2.0**-120)
    worst = float(np.max(np.maximum(off, 0.0) / exactly, initial=0.0, where=exactly > 2.0**-100))
    measured = f"{len(m):,} entries to {m[-1] / law.law.stddev:.1f} σ, at most {worst:.1g} off"
    return exact(
        CHECK, f"{name}, table", "the probabilities of round(N(0, σ²))", measured, passed=passed
    )


def far(sigma: float, z: Signed) -> Signed:
    """How many draws are at least so many σ from zero, for each of some distances."""
    size = np.abs(z.ravel())
    return np.array([np.count_nonzero(size >= limit) for limit in _limits(sigma)])


def tails(check: str, subject: str, sigma: float, beyond: Signed, draws: int) -> Finding:
    """Are there as many draws far out as there should be?  Each count is binomial."""
    from scipy.special import erfc
    from scipy.stats import binom

    share = erfc((_limits(sigma) - 0.5) / (sigma * math.sqrt(2.0)))
    below, above = binom.cdf(beyond, draws, share), binom.sf(beyond - 1, draws, share)
    p = min(1.0, 2.0 * float(min(np.min(below), np.min(above))) * len(_FAR))
    expected = draws * share
    shown = ", ".join(
        f"{count:,} beyond {limit:g} σ ({mean:,.0f})"
        for limit, count, mean in zip(_FAR, beyond, expected, strict=True)
        if mean >= 1.0
    )
    measured = f"{shown} of {draws:,}" if shown else f"none is expected in {draws:,} draws"
    return by_chance(check, f"{subject}, tails", "as many far out as the law has", measured, p)


def _limits(sigma: float) -> Column:
    return np.ceil(np.array(_FAR) * sigma)


def followed(check: str, subject: str, counts: Signed, exact: Column) -> Finding:
    """Do the counts follow the exact probabilities?"""
    measured = f"{counts.sum():,} draws in {len(counts)} bins, χ² = {chi_square(counts, exact):.4g}"
    return by_chance(check, subject, "the law round(N(0, σ²))", measured, p_value(counts, exact))


class Bits:
    """The bits of draws, six at a time: uniform, and the sign is a fair coin whatever they are.

    The lowest bits of z are uniform to within 1e-21 as long as 2^bits ≤ σ/1.6 (Poisson summation);
    sign and magnitude are independent, but for 0.
    """

    def __init__(self, sigma: float) -> None:
        total = low_bits(sigma)
        width = min(_BITS, total)
        starts = {*range(0, total - width, _BITS), total - width} if total else ()
        self.windows = [(k, width) for k in sorted(starts)]
        self.uniform = [np.zeros(1 << width, dtype=np.int64) for _, width in self.windows]
        self.signs = np.zeros((len(self.windows), 2, 1 << _BITS), dtype=np.int64)

    def add(self, z: Signed) -> None:
        """Count some draws."""
        z = z.ravel()
        size, side = np.abs(z[z != 0]), (z[z != 0] > 0) << _BITS
        for place, (k, width) in enumerate(self.windows):
            mask = (1 << width) - 1
            self.uniform[place] += np.bincount((z >> k) & mask, minlength=mask + 1)
            both = np.bincount(((size >> k) & mask) + side, minlength=2 << _BITS)
            self.signs[place] += both.reshape(2, -1)

    def judged(self, check: str, subject: str) -> Iterator[Finding]:
        """The findings, none where σ is too small to have uniform bits."""
        if not self.windows:
            return
        total = sum(self.windows[-1])
        even = [p_value(seen, np.full(len(seen), 1.0 / len(seen))) for seen in self.uniform]
        draws = int(self.uniform[0].sum())
        measured = f"{draws:,} draws, {self.windows[0][1]} bits at {len(even)} places"
        coins = [_fair(seen) for seen in self.signs]
        for what, claim, found in (
            ("low bits", f"the low {total} bits are uniform", even),
            ("signs", "a fair coin whatever the bits of the magnitude", coins),
        ):
            p = min(1.0, min(found) * len(found))
            yield by_chance(check, f"{subject}, {what}", claim, measured, p)


def _fair(seen: Signed) -> float:
    """χ² of the signs under each pattern of bits: of n draws half are above zero."""
    seen = seen[:, seen.sum(axis=0) >= _LEAST]
    if not seen.size:
        return 1.0
    return _unlike(float(np.sum((seen[1] - seen[0]) ** 2 / seen.sum(axis=0))), seen.shape[1])


def binned(z: Signed, edges: Signed) -> Signed:
    """How many values lie between the edges."""
    return np.bincount(np.searchsorted(edges, z.ravel()), minlength=len(edges) + 1)


def probabilities(sigma: float, edges: Signed) -> Column:
    """P[z ≤ e_0], P[e_0 < z ≤ e_1], ..., P[z > e_last], by the complement in the upper half.

    >>> probabilities(3.0, np.array([-1, 0])).round(6)  # the middle: erf(1 / (6 √2))
    array([0.433816, 0.132368, 0.433816])
    """
    from scipy.special import ndtr

    x = (edges + 0.5) / sigma
    below, above = ndtr(x), ndtr(-x)
    middle = np.where(x[1:] <= 0, np.diff(below), -np.diff(above))
    return np.concatenate([below[:1], middle, above[-1:]])


def edges_of(sigma: float, draws: int) -> Signed:
    """The largest value of each bin but the last: every value, or bins of like probability."""
    from scipy.special import ndtri

    bins = min(_BINS, max(2, int(draws / (4.0 * _LEAST))))
    edges = np.unique(np.rint(ndtri(np.arange(1, bins) / bins) * sigma)).astype(np.int64)
    if 8.0 * sigma < bins:
        edges = np.arange(-math.ceil(8.0 * sigma), math.ceil(8.0 * sigma))
        below = np.cumsum(probabilities(sigma, edges))[:-1] * draws
        edges = edges[(below >= _LEAST) & (below <= draws - _LEAST)]
        keep = np.diff(np.cumsum(probabilities(sigma, edges))[:-1], prepend=0.0) * draws >= _LEAST
        edges = edges[keep]
    return edges


def low_bits(sigma: float) -> int:
    """How many low bits are uniform to within 1e-21: 2^bits ≤ σ / 1.6 (Poisson summation)."""
    return max(0, math.floor(math.log2(sigma / 1.6)))


def chi_square(counts: Signed, exact: Column) -> float:
    """Σ (count - expected)² / expected."""
    expected = exact * counts.sum()
    return float(np.sum((counts - expected) ** 2 / expected))


def p_value(counts: Signed, exact: Column) -> float:
    """How often a χ² lies at least so far out."""
    if len(counts) < 2:
        return 1.0
    return _unlike(chi_square(counts, exact), len(counts) - 1)


def _unlike(square: float, freedom: int) -> float:
    """How often a χ² is at least so large, or, as a fit may be too good, so small.

    Counts are whole: a few of them meet their means exactly far more often than χ² says, so that
    only of many too good a fit counts.
    """
    from scipy.stats import chi2

    large, small = float(chi2.sf(square, freedom)), float(chi2.cdf(square, freedom))
    return min(1.0, 2.0 * min(large, small)) if freedom >= _MANY else large
