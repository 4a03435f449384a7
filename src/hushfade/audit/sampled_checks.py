"""Statistical checks on real releases: the noise, and the best test of neighbouring streams.

The audit recovers the noise z = y - R̃ x of every release.  Half of the streams have the records of
one person more.  Their log-likelihood ratio is the best test between the two inputs (Neyman and
Pearson 1933), and under the plan its distribution is known for every law:

    ℓ = Σ_n h(u_n) - h(u_n - d_n),   u = y - R̃ x,  d = R̃ Δx
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
from scipy.special import betaincinv, ndtr
from scipy.stats import binom, chi2, gamma

from hushfade.audit import law_formulas
from hushfade.audit.exact_checks import Moved, each_record, inputs, persons
from hushfade.audit.findings import LEVEL, Chance, Finding, Size, by_chance
from hushfade.audit.subject import DOORS, Subject, crossed, legible, released, right
from hushfade.check import Column, Matrix, Signed
from hushfade.crossing.noise_sources import FreshNoise, KeyedNoise, NoiseSource
from hushfade.crossing.sampling_tables import table
from hushfade.laws import Law
from hushfade.planning.plan import Plan

_STEPS = 64
_BINS = 200
_LEAST = 50.0  # the fewest expected draws in a bin
_LAGS = (*range(1, 9), 16, 31, 32, 48)
_PAIRED = 32  # lanes of which every pair is compared
_MANY = 31  # with this many degrees of freedom, a fit that is too good fails too
_SHARES = (0.0, 0.25, 0.5, 1.0)  # of epsilon


def releases(
    subject: Subject, plan: Plan, name: str, size: Size, chance: Chance
) -> Iterator[Finding]:
    """Findings on the noise of real releases, and on neighbouring streams."""
    promised, plan = plan, subject.plan(plan)
    lanes = plan.grid.lanes
    n = min(plan.horizon or _STEPS, max(4, min(_STEPS, size.values // (400 * lanes))))
    change = _worst(plan, promised, n, each_record(subject, plan, chance), chance)
    base = inputs(plan, n, chance)
    n = legible(plan, released(plan, subject.start(plan, None), base))
    copies = 2 * max(100, min(size.copies, size.values // (n * lanes)) // 2)
    delta = np.zeros((base.shape[0], lanes), dtype=np.int64)
    inside = [step for step in change.steps if step < len(base)]
    delta[inside] = change.units[: len(inside)]
    base, delta = base[:n], delta[:n]
    y = np.empty((copies, n, lanes))
    for copy in range(copies):
        units = base + delta if copy % 2 else base
        y[copy] = _one(subject, plan, units, copy, chance)
    y = crossed(plan, np.moveaxis(y, 1, 0))  # steps, copies, lanes
    whole = np.rint(y)
    off = float(np.max(np.abs(y - whole)))
    claim = "the values that cross are whole numbers of units"
    yield Finding("noise", f"{name}, grid", claim, f"{off:.1g} off in {y.size:,} values", off < 0.1)
    u = whole.astype(np.int64) - right(plan, base)[:, None, :]
    d = right(plan, delta)
    z = u.copy()
    z[:, 1::2] -= d[:, None, :]
    yield from of_law("noise", name, plan.law, z.ravel())
    yield from _independent(name, plan.law, z)
    yield from _neighbours(promised, plan, f"{name}, {change.name}", u, d)


def _one(subject: Subject, plan: Plan, units: Signed, copy: int, chance: Chance) -> Matrix:
    """The releases of one stream: with noise of every source, and by every method in turn."""
    sources: tuple[NoiseSource | None, ...] = (
        None,
        FreshNoise(),
        KeyedNoise(chance.key(), stream="audit"),
    )
    source, way = sources[copy // 2 % 3], copy // 6 % 40
    stream = subject.start(plan, source)
    if way > 1:
        return released(plan, stream, units)
    if way:
        return released(plan, stream, units, DOORS[2 + copy // 240 % 2])
    half = len(units) // 2
    first = released(plan, stream, units[:half])
    return np.concatenate(
        [first, released(plan, subject.load(stream.save(), source), units[half:])]
    )


def _worst(plan: Plan, promised: Plan, n: int, known: list, chance: Chance) -> Moved:
    """The person whose records move the first n steps farthest."""

    def reach(one: Moved) -> float:
        return float(np.sum(law_formulas.energy(plan.law, one.shifts[:n])))

    return max(persons(plan, known, promised.guarantee, chance), key=reach)


def sampler(
    subject: Subject, plan: Plan, name: str, size: Size, chance: Chance
) -> Iterator[Finding]:
    """Findings on the sampling table, on its draws, and on draws of one long stream."""
    plan = subject.plan(plan)
    law, entries = plan.law, table(plan.law)
    m = np.ldexp(np.arange(1.0, len(entries.above)), entries.k)
    share = np.array([((1 << 127) - above) / 2.0**127 for above in entries.above[:-1]])
    exact = 2.0 * law_formulas.beyond(law, m)
    off = np.max(np.maximum(np.abs(share - exact) - 2.0**-126, 0.0) / exact)
    after = 2.0 * float(
        law_formulas.beyond(law, np.array([float(len(entries.above) << entries.k)]))[0]
    )
    passed = bool(off <= 1e-10 and after < 2.0**-119)
    shown = f"{len(m):,} entries, at most {off:.1g} off; {after:.1g} is left beyond the table"
    yield Finding("sampler", f"{name}, table", f"the probabilities of {law!r}", shown, passed)
    source, chunk = KeyedNoise(chance.key(), stream="audit"), 1 << 18
    rows = [
        subject.draws(plan, source, (start, 0), (min(chunk, size.draws - start), 1)).ravel()
        for start in range(0, size.draws, chunk)
    ]
    z = np.concatenate(rows)
    yield from of_law("sampler", name, law, z)
    scores = _scores(law, z[: 1 << 20])
    power = np.abs(np.fft.rfft(scores, 2 * len(scores))) ** 2
    lags = np.fft.irfft(power)[1 : len(scores) // 2] / power.mean()
    normal = (
        lags * math.sqrt(len(scores)) / np.sqrt(1.0 - np.arange(1, len(scores) // 2) / len(scores))
    )
    yield _largest("sampler", f"{name}, lags", f"{len(lags):,} lags", normal)


def of_law(check: str, name: str, law: Law, z: Signed) -> Iterator[Finding]:
    """Findings that draws have the law: mean, scale, bins, and low bits given the sign."""
    values = law_formulas.sizes(law).middle
    second, _ = law_formulas.moments(law, values**2)
    share = 2.0 * float(law_formulas.beyond(law, np.array([1]))[0])
    if len(z) * share < 1e4:
        seen = int(np.count_nonzero(z))
        p = 2.0 * float(min(binom.cdf(seen, len(z), share), binom.sf(seen - 1, len(z), share)))
        yield by_chance(
            check, f"{name}, draws", "P[z ≠ 0] of the law", f"{seen} of {len(z):,}", min(1.0, p)
        )
        return
    mean = float(np.sum(z)) / math.sqrt(second * len(z))
    yield by_chance(
        check, f"{name}, mean", "zero", f"{mean:.2f} standard errors", 2.0 * float(ndtr(-abs(mean)))
    )
    average, spread = law_formulas.moments(law, law_formulas.energy(law, values))
    total, shape = float(np.sum(law_formulas.energy(law, z))), len(z) * average**2 / spread
    p = 2.0 * float(
        min(gamma.sf(total * average / spread, shape), gamma.cdf(total * average / spread, shape))
    )
    measured = f"{math.sqrt(np.mean(z.astype(float) ** 2) / second):.5f} times the stated scale, {len(z):,} values"
    yield by_chance(check, f"{name}, scale", "as the plan states", measured, min(1.0, p))
    edges = _edges(law, len(z))
    tails = np.concatenate([[1.0], law_formulas.at_least(law, edges), [0.0]])
    counts = np.bincount(np.searchsorted(edges, z, side="right"), minlength=len(edges) + 1)
    expected = -np.diff(tails) * len(z)
    yield _fit(check, f"{name}, law", repr(law), counts, expected)
    bits = min(6, math.floor(math.log2(max(law.stddev / 300.0, 1.0))))
    kept = z[z != 0]
    pattern = (np.abs(kept) & ((1 << bits) - 1)) + ((kept > 0) << bits)
    counts = np.bincount(pattern, minlength=2 << bits)
    even = np.full(2 << bits, len(kept) / (2 << bits))
    yield _fit(check, f"{name}, sign and {bits} low bits", "uniform", counts, even)


def _edges(law: Law, draws: int) -> Signed:
    """Edges of bins with at least 50 expected draws: equal shares, and finer ones in the tails."""
    share = np.concatenate(
        [np.arange(1, _BINS // 2) / _BINS, np.geomspace(_LEAST / draws, 1.0 / _BINS, 12)]
    )
    low, high = np.ones(len(share)), np.full(len(share), 60.0 * max(law.stddev, 1.0) + 2.0)
    for _ in range(64):  # bisect for the smallest m with P[z ≥ m] at most the share
        middle = np.floor((low + high) / 2.0)
        small = law_formulas.beyond(law, middle) < share
        low, high = np.where(small, low, middle), np.where(small, middle, high)
    edges = np.unique(np.concatenate([1.0 - low, low]))
    kept = [edges[0]]
    tails = dict(zip(edges.tolist(), law_formulas.at_least(law, edges).tolist(), strict=True))
    for edge in edges[1:].tolist():
        if (tails[kept[-1]] - tails[edge]) * draws >= _LEAST:
            kept.append(edge)
    return np.array(kept).astype(np.int64)


def _fit(check: str, subject: str, claim: str, counts: Signed, expected: Column) -> Finding:
    """The finding of a χ² test: two-sided for many bins."""
    square, freedom = float(np.sum((counts - expected) ** 2 / expected)), len(counts) - 1
    p = float(chi2.sf(square, freedom))
    if freedom >= _MANY:
        p = 2.0 * min(p, float(chi2.cdf(square, freedom)))
    return by_chance(check, subject, claim, f"χ² = {square:.4g} in {len(counts)} bins", min(1.0, p))


def _scores(law: Law, z: Signed) -> Column:
    """The sign of z times P[|Z| < |z|]: bounded, so that correlations are nearly normal."""
    size = np.abs(z).astype(np.float64)
    return np.asarray(np.sign(z) * (1.0 - 2.0 * law_formulas.beyond(law, np.maximum(size, 1.0))))


def _independent(name: str, law: Law, z: Signed) -> Iterator[Finding]:
    """Findings that noise, and its magnitude, is uncorrelated between steps and between lanes."""
    signed = _scores(law, z)
    large = np.abs(signed) - np.mean(np.abs(signed))
    if np.count_nonzero(z) ** 2 < 4e3 * z.size:
        claim, shown = "uncorrelated", "not tested: nearly all draws are zero"
        yield Finding("noise", f"{name}, independence", claim, shown, None)
        return
    found = [
        float(np.sum(x[lag:] * x[:-lag]) / math.sqrt(np.sum(x[lag:] ** 2 * x[:-lag] ** 2)))
        for x in (signed, large)
        for lag in _LAGS
        if lag < len(z) and np.any(x[lag:] * x[:-lag])
    ]
    if found:
        yield _largest("noise", f"{name}, steps", f"{len(found)} correlations", np.array(found))
    few = np.unique(np.linspace(0, z.shape[2] - 1, min(_PAIRED, z.shape[2])).astype(int))
    if len(few) > 1:
        pairs = []
        for x in (signed, large):
            rows = x[:, :, few].reshape(-1, len(few))
            spread = np.sqrt((rows**2).T @ rows**2)
            pairs.append(((rows.T @ rows) / spread)[np.triu_indices(len(few), 1)])
        yield _largest("noise", f"{name}, lanes", f"{len(few)} lanes", np.concatenate(pairs))


def _largest(check: str, subject: str, what: str, normal: Column) -> Finding:
    far = float(np.max(np.abs(np.nan_to_num(normal, nan=np.inf))))
    p = min(1.0, 2.0 * float(ndtr(-far)) * len(normal))
    return by_chance(
        check, subject, "uncorrelated", f"{what}, at most {far:.2f} standard errors", p
    )


# Neighbouring streams -------------------------------------------------------------------------


def _neighbours(promised: Plan, plan: Plan, name: str, u: Signed, d: Signed) -> Iterator[Finding]:
    """Findings on the mean of ℓ, and on the events 'ℓ is large' under both inputs."""
    law, guarantee = plan.law, promised.guarantee
    places = np.nonzero(d)
    moved, each = d[places][:, None], np.moveaxis(u, 1, 2)[places]
    ratio = np.sum(law_formulas.energy(law, each) - law_formulas.energy(law, each - moved), axis=0)
    without, loud = ratio[0::2], ratio[1::2]
    sizes = Counter(np.abs(d[places]).tolist())
    mean, variance = law_formulas.loss_moments(law, sizes)
    error = math.sqrt(variance / len(ratio))
    seen = float(np.mean(np.concatenate([-without, loud])))
    shown = f"{seen:.4f} ± {error:.4f} from {len(ratio):,} streams"
    p = 2.0 * float(ndtr(-abs(seen - mean) / error))
    yield by_chance("likelihood ratio", f"{name}, mean loss", f"{mean:.4f}", shown, p)
    worst, told = -math.inf, []
    for share in _SHARES:
        epsilon = share * guarantee.epsilon
        claimed = promised.privacy.delta(epsilon)
        for one, other in ((loud, without), (-without, -loud)):
            low, best = _event(one, other, epsilon)
            worst = max(worst, low - claimed)
        told.append(f"{best:.3g} at ε = {epsilon:.3g} (claimed {claimed:.3g})")
    claim = "P[event] - e^ε P'[event] is at most plan.privacy.delta (Clopper and Pearson 1934)"
    yield Finding("likelihood ratio", f"{name}, δ(ε)", claim, "; ".join(told), worst <= 0.0, LEVEL)


def _event(one: Column, other: Column, epsilon: float) -> tuple[float, float]:
    """A lower confidence bound on δ(ε), and its estimate, from the event that ℓ exceeds ε.

    Two bounds per event and eight events share the level of the finding.
    """
    level = LEVEL / 16.0
    hits, false = int(np.count_nonzero(one > epsilon)), int(np.count_nonzero(other > epsilon))
    least = float(betaincinv(hits, len(one) - hits + 1, level)) if hits else 0.0
    most = (
        float(betaincinv(false + 1, len(other) - false, 1.0 - level)) if false < len(other) else 1.0
    )
    factor = math.exp(epsilon)
    return least - factor * most, hits / len(one) - factor * false / len(other)
