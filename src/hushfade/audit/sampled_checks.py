"""Statistical checks on real releases: the noise, and the best test of neighbouring streams.

The audit recovers the noise z = y - R̃ x of every release.  Half of the streams have the records of
one person more.  Their log-likelihood ratio is the best test between the two inputs (Neyman and
Pearson 1933), and under the plan its distribution is known for every law:

    ℓ = Σ_n h(u_n) - h(u_n - d_n),   u = y - R̃ x,  d = R̃ Δx

With Gaussian noise this is the μ-test: the mean of ℓ is μ²/2, and its standard deviation is μ.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
from scipy.special import betaincinv, ndtr
from scipy.stats import binom, chi2, gamma

from hushfade.audit import law_formulas
from hushfade.audit.exact_checks import persons
from hushfade.audit.findings import LEVEL, Finding, by_chance
from hushfade.audit.subject import DOORS, Case, crossed, legible, released, right
from hushfade.check import Column, Matrix, Signed
from hushfade.crossing.noise_sources import FreshNoise, KeyedNoise
from hushfade.crossing.sampling_tables import table
from hushfade.laws import Law

_STEPS = 64
_BINS = 100  # of each sign
_LEAST = 50.0  # the fewest expected draws in a bin
_FAR = 40.0  # expected draws in both tails together
_FEW = 24  # streams that are loaded half way, and streams that are closed step by step
_SPARSE = 1e4  # nonzero draws, below which the law of a sparse sample is not tested
_LAGS = (*range(1, 9), 16, 31, 32, 48, 100, 256, 1000)
_PAIRED = 32  # lanes of which every pair is compared
_MANY = 31  # with this many degrees of freedom, a fit that is too good fails too
_CHUNK = 1 << 18
_SHARES = (0.0, 0.25, 0.5, 1.0)  # of epsilon


def sampler(case: Case) -> Iterator[Finding]:
    """Findings on the sampling table and on its draws."""
    law, entries, size = case.plan.law, table(case.plan.law), case.size.draws
    m = np.ldexp(np.arange(1.0, len(entries.above) + 1), entries.k)
    share = np.array([((1 << 127) - above) / 2.0**127 for above in entries.above])
    exact = 2.0 * law_formulas.beyond(law, m)
    off = np.max(np.maximum(np.abs(share - exact) - 2.0**-126, 0.0)[:-1] / exact[:-1])
    shown = f"{len(m):,} entries, at most {off:.1g} off; {exact[-1]:.1g} is left beyond them"
    passed = bool(off <= 1e-10 and exact[-1] < 2.0**-119)
    yield Finding("table", f"the probabilities of {law!r}", shown, passed)
    source = KeyedNoise(case.chance.key(), stream="audit")
    parts = range(0, size, _CHUNK)
    draw, plan = case.subject.draws, case.plan
    z = np.concatenate([draw(plan, source, at, 0, min(_CHUNK, size - at)) for at in parts])
    yield from of_law("draws", law, z)
    yield from _independent("draws", law, z[: 1 << 20, None, None])


def releases(case: Case) -> Iterator[Finding]:
    """Findings on the noise of real releases, and on neighbouring streams."""
    plan, size = case.plan, case.size
    n = case.steps(_STEPS, size.values // 400)
    law, base, delta = plan.law, case.inputs(n), case.nothing(n)
    worst = max(persons(case), key=lambda one: np.sum(law_formulas.energy(law, one.shifts[:n])))
    for step, units in zip(worst.steps, worst.units, strict=True):
        if step < n:
            delta[step] += units
    n = legible(plan, released(case.start(None), base))
    base, delta = base[:n], delta[:n]
    copies = max(6 * _FEW, min(size.copies, size.values // base.size)) // 2 * 2
    streams = [_one(case, base + copy % 2 * delta, copy) for copy in range(copies)]
    y = crossed(plan, np.stack(streams, axis=1))  # steps, copies, lanes
    whole = np.rint(y)
    off, claim = float(np.max(np.abs(y - whole))), "whole numbers of units cross"
    yield Finding("grid", claim, f"{off:.1g} off in {y.size:,} values", off < 0.1)
    u, d = whole.astype(np.int64) - right(plan, base)[:, None, :], right(plan, delta)
    z = u.copy()
    z[:, 1::2] -= d[:, None, :]
    ways = {"loaded": z[:, :_FEW], "step by step": z[:, _FEW : 2 * _FEW], "in one run": z}
    for way, some in ways.items():
        yield from of_law(f"noise {way}", law, some.ravel())
    yield from _independent("noise", law, z)
    if np.any(d):
        yield from _neighbours(case, worst.name, u, d)


def _one(case: Case, units: Signed, copy: int) -> Matrix:
    """The releases of one stream, with noise of every source in turn."""
    keyed = KeyedNoise(case.chance.key(), stream="audit")
    source = (None, FreshNoise(), keyed)[copy // 2 % 3]
    stream, half = case.start(source), len(units) // 2
    if copy >= _FEW:
        return released(stream, units, DOORS[2 + copy % 2] if copy < 2 * _FEW else DOORS[0])
    first = released(stream, units[:half])
    return np.concatenate([first, released(case.load(stream.save(), source), units[half:])])


# The noise ------------------------------------------------------------------------------------


def of_law(name: str, law: Law, z: Signed) -> Iterator[Finding]:
    """Findings that draws have the law: mean, scale, bins, and low bits given the sign."""
    share, sizes = 2.0 * float(law_formulas.beyond(law, np.array([1]))[0]), law_formulas.sizes(law)
    if share < 0.5 and len(z) * share < _SPARSE:
        seen = int(np.count_nonzero(z))
        tails = binom.cdf(seen, len(z), share), binom.sf(seen - 1, len(z), share)
        yield by_chance(f"{name}, nonzero", f"{share:.3g}", f"{seen} of {len(z):,}", 2 * min(tails))
        return
    second, _ = law_formulas.moments(law, sizes.middle**2)
    mean = float(np.sum(z)) / math.sqrt(second * len(z))
    p = 2.0 * float(ndtr(-abs(mean)))
    yield by_chance(f"{name}, mean", "zero", f"{mean:.2f} standard errors", p)
    average, spread = law_formulas.moments(law, law_formulas.energy(law, sizes.middle))
    shape, total = len(z) * average**2 / spread, float(np.sum(law_formulas.energy(law, z)))
    tails = gamma.sf(total * average / spread, shape), gamma.cdf(total * average / spread, shape)
    ratio = math.sqrt(float(np.mean(np.square(z, dtype=np.float64))) / second)
    shown = f"{ratio:.5f} times that, {len(z):,} values"
    yield by_chance(f"{name}, scale", "as the plan states", shown, 2.0 * min(tails))
    edges = _edges(law, len(z))
    counts = np.bincount(np.searchsorted(edges, z, side="right"), minlength=len(edges) + 1)
    left_over = np.concatenate([[1.0], law_formulas.at_least(law, edges), [0.0]])
    yield _fit(f"{name}, law", repr(law), counts, -np.diff(left_over) * len(z))
    far = _quantiles(law, np.array([_FAR / len(z) / 2.0]))
    seen, share = int(np.sum(np.abs(z) >= far)), 2.0 * float(law_formulas.beyond(law, far)[0])
    tails = binom.cdf(seen, len(z), share), binom.sf(seen - 1, len(z), share)
    claim, shown = f"{share * len(z):.1f} draws beyond {far[0]:.4g}", f"{seen}"
    yield by_chance(f"{name}, tails", claim, shown, 2.0 * min(tails))
    bits = min(6, math.floor(math.log2(max(law.stddev / 300.0, 1.0))))
    kept = z[z != 0]
    pattern = (np.abs(kept) & ((1 << bits) - 1)) + ((kept > 0) << bits)
    counts = np.bincount(pattern, minlength=2 << bits)
    yield _fit(
        f"{name}, sign and {bits} bits",
        "uniform",
        counts,
        np.full(2 << bits, len(kept) / (2 << bits)),
    )


def _edges(law: Law, draws: int) -> Signed:
    """Edges of bins with at least 50 expected draws: equal shares, and finer ones in the tails."""
    finer = np.geomspace(_LEAST / draws, 0.5 / _BINS, 12)
    upper = _quantiles(law, np.concatenate([np.arange(1, _BINS) / _BINS / 2.0, finer]))
    edges = np.unique(np.concatenate([1.0 - upper, upper]))
    above, kept, last = law_formulas.at_least(law, edges) * draws, [], float(draws)
    for edge, left_over in zip(edges.tolist(), above.tolist(), strict=True):
        if last - left_over >= _LEAST and left_over >= _LEAST:
            kept.append(int(edge))
            last = left_over
    return np.array(kept, dtype=np.int64)


def _quantiles(law: Law, shares: Column) -> Column:
    """The smallest m ≥ 1 with P[z ≥ m] below the share, by bisection."""
    low, high = np.zeros(len(shares)), np.full(len(shares), 60.0 * max(law.stddev, 1.0) + 2.0)
    while np.any(high - low > 1.0):
        middle = np.floor((low + high) / 2.0)
        small = law_formulas.beyond(law, np.maximum(middle, 1.0)) < shares
        low, high = np.where(small, low, middle), np.where(small, middle, high)
    return np.asarray(np.maximum(high, 1.0))


def _fit(subject: str, claim: str, counts: Signed, expected: Column) -> Finding:
    """The finding of a χ² test, two-sided for many bins."""
    square, freedom = float(np.sum((counts - expected) ** 2 / expected)), len(counts) - 1
    p = float(chi2.sf(square, freedom)) if freedom else 1.0
    if freedom >= _MANY:
        p = 2.0 * min(p, float(chi2.cdf(square, freedom)))
    return by_chance(subject, claim, f"χ² = {square:.4g} in {len(counts)} bins", p)


def _independent(name: str, law: Law, z: Signed) -> Iterator[Finding]:
    """Findings that noise (steps, copies, lanes) and its magnitude is uncorrelated.

    The scores, sign(z) P[|Z| < |z|], are bounded, so that sums of products are nearly normal.
    """
    if np.count_nonzero(z) ** 2 < _SPARSE * z.size:
        yield Finding(f"{name}, independence", "uncorrelated", "not tested: mostly zeros", None)
        return
    size = np.maximum(np.abs(z), 1).astype(np.float64)
    signed = np.sign(z) * (1.0 - 2.0 * law_formulas.beyond(law, size))
    few = np.unique(np.linspace(0, z.shape[2] - 1, min(_PAIRED, z.shape[2])).astype(int))
    normal: list[float] = []
    for x in (signed, np.abs(signed) - np.mean(np.abs(signed))):
        for lag in (lag for lag in _LAGS if lag < len(z)):
            both = x[lag:] * x[:-lag]
            normal.append(float(np.sum(both) / np.sqrt(np.sum(both**2))))
        rows = x[:, :, few].reshape(-1, len(few))
        pairs = (rows.T @ rows) / np.sqrt((rows**2).T @ rows**2)
        normal += pairs[np.triu_indices(len(few), 1)].tolist()
    if normal:
        far = float(np.max(np.abs(np.nan_to_num(normal, nan=np.inf))))
        shown = f"{len(normal)} correlations, at most {far:.2f} standard errors"
        p = 2.0 * float(ndtr(-far)) * len(normal)
        yield by_chance(f"{name}, independence", "steps and lanes are uncorrelated", shown, p)


# Neighbouring streams -------------------------------------------------------------------------


def _neighbours(case: Case, name: str, u: Signed, d: Signed) -> Iterator[Finding]:
    """Findings on the mean of ℓ, and on the events 'ℓ is large' under both inputs."""
    law, promised, places = case.plan.law, case.promised, np.nonzero(d)
    moved, each = d[places][:, None], np.moveaxis(u, 1, 2)[places]
    ratio = np.sum(law_formulas.energy(law, each) - law_formulas.energy(law, each - moved), axis=0)
    without, loud = ratio[0::2], ratio[1::2]
    mean, variance = law_formulas.loss_moments(law, Counter(np.abs(d[places]).tolist()))
    error, seen = math.sqrt(variance / len(ratio)), float(np.mean(loud) - np.mean(without)) / 2.0
    p = 2.0 * float(ndtr(-abs(seen - mean) / error))
    shown = f"{seen:.4f} ± {error:.4f} from {len(ratio):,} streams: {name}"
    yield by_chance("mean loss", f"{mean:.4f} under both inputs", shown, p)
    excess, told = -math.inf, []
    for epsilon in (share * promised.guarantee.epsilon for share in _SHARES):
        claimed, best = promised.privacy.delta(epsilon), 0.0
        for one, other in ((loud, without), (-without, -loud)):
            least, seen = event(one, other, epsilon)
            excess, best = max(excess, least - claimed), max(best, seen)
        told.append(f"{best:.3g} at ε = {epsilon:.3g} (at most {claimed:.3g})")
    claim = "P[event] - e^ε P'[event] is at most plan.privacy.delta"
    yield Finding("events", claim, "; ".join(told), excess <= 0.0, LEVEL)


def event(one: Column, other: Column, epsilon: float) -> tuple[float, float]:
    """A lower confidence bound on δ(ε), and its estimate, from the event that ℓ exceeds ε.

    The bounds follow Clopper and Pearson (1934).  Two bounds for each of eight events share
    the level of the finding.
    """
    level, factor = LEVEL / 16.0, math.exp(epsilon)
    hits, false = int(np.count_nonzero(one > epsilon)), int(np.count_nonzero(other > epsilon))
    least = float(betaincinv(hits, len(one) - hits + 1, level)) if hits else 0.0
    rest = len(other) - false
    most = float(betaincinv(false + 1, rest, 1.0 - level)) if rest else 1.0
    return least - factor * most, hits / len(one) - factor * false / len(other)
