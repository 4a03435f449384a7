"""The released error: its mean, its deviation at each step, its covariance, and the noise in it.

Correlations are compared after Fisher's transform (1915), which is near normal far into the tails;
sums of squares by χ²; several numbers in one check by the union bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from hushfade.audit.chance import Chance
from hushfade.audit.finding import Finding, by_chance, exact
from hushfade.audit.observed import copies_of, crossed, decayed, private, wide
from hushfade.audit.sampler import binned, edges_of, followed, low_bits, probabilities, uniform
from hushfade.audit.size import Size
from hushfade.audit.subject import Subject
from hushfade.check import Column, Matrix, Signed
from hushfade.plan import Plan

ERROR, NOISE = "released error", "noise in releases"

_CORRELATED = 40  # steps of the covariance
_LAGS = 64
_RUNS = 100  # streams of one plan, at most
_LONGEST = 1 << 16
_OFF_GRID = 0.05  # of a unit: what rounding in float64 may amount to, by far


def accuracy(subject: Subject, plan: Plan, name: str, size: Size, chance: Chance) -> list[Finding]:
    """Copies of the plan, many times over: unbiased, with the stated deviations and covariance."""
    steps = min(plan.horizon or size.steps, size.steps)
    copies = max(100 // plan.intake.lanes + 1, copies_of(plan, steps, size.work, size.copies))
    plan = subject.plan(wide(plan, copies))
    units = inputs(plan, steps, chance)
    released = _run(subject, plan, units, chance)
    error = released - decayed(plan, units)
    stated = plan.stddevs(steps)
    return [
        _unbiased(name, error / stated[:, None]),
        _deviations(name, error / stated[:, None]),
        _covariance(name, plan, error),
    ]


def noise(subject: Subject, plan: Plan, name: str, size: Size, chance: Chance) -> list[Finding]:
    """Streams of the plan itself, at length: whole numbers, of the stated law, unrelated.

    A plan that ends early runs in copies.
    """
    lanes = plan.intake.lanes
    steps = min(plan.horizon or _LONGEST, max(2, size.work // lanes), _LONGEST)
    if steps * lanes * _RUNS < size.work:
        plan = wide(plan, copies_of(plan, steps, size.work // _RUNS, size.work))
    plan = subject.plan(plan)
    lanes = plan.intake.lanes
    runs = max(1, min(_RUNS, size.work // (steps * lanes)))
    found = []
    everything, empty = [], []
    worst = 0.0
    for _ in range(runs):
        units = inputs(plan, steps, chance)
        y = crossed(plan, _run(subject, plan, units, chance))
        whole = np.rint(y)
        worst = max(worst, float(np.max(np.abs(y - whole))))
        z = whole.astype(np.int64) - private(plan, units)
        everything.append(z)
        empty.append(z[units == 0])
    found.append(
        exact(
            NOISE,
            f"{name}, the grid",
            "what crossed is a whole number of units",
            f"at most {worst:.1g} off in {runs * steps * lanes:,} values",
            passed=worst < _OFF_GRID,
        )
    )
    together = np.concatenate([z.ravel() for z in everything])
    found += [_variance(name, plan.sigma, together), *_law(name, plan.sigma, together)]
    found += _law(f"{name}, empty steps", plan.sigma, np.concatenate(empty))[:1]
    found += list(_independence(name, everything))
    return [*found, _repeated(name, plan.sigma, everything)]


def inputs(plan: Plan, steps: int, chance: Chance) -> Signed:
    """Totals in grid units, half of the steps empty, some lanes from the middle on, some never."""
    rng, intake = chance.inputs(), plan.intake
    each = intake.norm_unit if intake.norm is not None else max(abs(intake.high_unit), 1)
    records = rng.integers(0, 4, size=(steps, 1)) * rng.integers(0, 2, size=(steps, 1))
    units = np.repeat(records * min(each, intake.largest_total // 8), intake.lanes, axis=1)
    units[: steps // 2, 1::3] = 0
    units[:, 2::3] = 0
    return units.astype(np.int64)


def _run(subject: Subject, plan: Plan, units: Signed, chance: Chance) -> Matrix:
    released = subject.start(plan, chance.noise()).run(units * plan.intake.resolution)
    return released.reshape(units.shape)


def _unbiased(name: str, scaled: Matrix) -> Finding:
    z = np.mean(scaled, axis=1) * math.sqrt(scaled.shape[1])
    p = min(1.0, 2.0 * float(_above(np.max(np.abs(z)))) * len(z))
    measured = f"largest mean {np.max(np.abs(z)):.2f} standard errors, {len(z)} steps"
    return by_chance(ERROR, f"{name}, mean", "zero at every step", measured, p)


def _deviations(name: str, scaled: Matrix) -> Finding:
    """At each step: of all lanes, of those whose records come late, of those without any."""
    from scipy.stats import chi2

    smallest, count, worst = 1.0, 0, 1.0
    for lanes in (slice(0, None, 3), slice(1, None, 3), slice(2, None, 3)):
        group = scaled[:, lanes]
        if group.shape[1] == 0:
            continue
        sums = np.sum(group**2, axis=1)
        p = 2.0 * np.minimum(chi2.sf(sums, group.shape[1]), chi2.cdf(sums, group.shape[1]))
        count += len(p)
        if np.min(p) < smallest:
            smallest = float(np.min(p))
            worst = math.sqrt(float(sums[np.argmin(p)]) / group.shape[1])
    measured = f"farthest {worst:.4f} times as stated, {scaled.shape[0]} steps, {scaled.shape[1]:,}"
    return by_chance(
        ERROR, f"{name}, stddevs", "plan.stddevs at every step", f"{measured} copies",
        min(1.0, smallest * count),
    )  # fmt: skip


def _covariance(name: str, plan: Plan, error: Matrix) -> Finding:
    """Correlations of the errors of two steps against those of L Lᵀ."""
    n = min(_CORRELATED, len(error))
    L = plan.pair.matrices(len(error))[0][:n]
    expected = L @ L.T
    scale = np.sqrt(np.diag(expected))
    pairs = np.triu_indices(n, 1)
    if not pairs[0].size:
        return by_chance(ERROR, f"{name}, covariance", "σ² L Lᵀ", "a single step", 1.0)
    wanted = (expected / np.outer(scale, scale))[pairs]
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = np.asarray(np.corrcoef(error[:n]))[pairs]
    near = np.clip(1.0 - np.abs(wanted), 1e-12, None)
    z = (_fisher(seen) - _fisher(wanted)) * math.sqrt(error.shape[1] - 3)
    z = np.where(near < 1e-9, 0.0, z)
    largest = float(np.max(np.abs(z)))
    p = min(1.0, 2.0 * float(_above(largest)) * len(z))
    measured = f"largest of {len(z)} correlations {largest:.2f} standard errors off"
    return by_chance(ERROR, f"{name}, covariance", "σ² L Lᵀ", measured, p)


def _variance(name: str, sigma: float, z: Signed) -> Finding:
    """All of them together, which shows a wrong scale first."""
    from scipy.stats import chi2

    square = float(np.sum(z.astype(np.float64) ** 2)) / (sigma**2 + 1.0 / 12.0)
    p = 2.0 * min(float(chi2.sf(square, len(z))), float(chi2.cdf(square, len(z))))
    measured = f"{math.sqrt(square / len(z)):.6f} times as stated, {len(z):,} values"
    return by_chance(NOISE, f"{name}, scale", "σ as the plan says", measured, min(1.0, p))


def _law(name: str, sigma: float, z: Signed) -> list[Finding]:
    if len(z) < 200:
        return []
    edges, bits = edges_of(sigma, len(z)), low_bits(sigma)
    found = [followed(NOISE, name, binned(z, edges), probabilities(sigma, edges))]
    if bits:
        low = np.bincount(z & ((1 << bits) - 1), minlength=1 << bits)
        found.append(uniform(NOISE, name, low))
    return found


def _independence(name: str, parts: list[Signed]) -> Iterator[Finding]:
    """Noise of different steps, and of different lanes, has no correlation, nor its size."""
    n, lanes = parts[0].shape
    values = np.stack(parts, axis=1).astype(np.float64)  # steps, runs, lanes
    sizes = np.abs(values)
    sizes -= sizes.mean()
    lags = min(_LAGS, n - 1)
    if lags > 0:
        z = np.concatenate([_lagged(values, lags), _lagged(sizes, lags)])
        yield _unrelated(f"{name}, steps", f"lags to {lags}", z)
    if lanes > 1:
        shifts = sorted({1, 2, 3, lanes // 2} & set(range(1, lanes)))
        pairs = [(x[:, :, k:], x[:, :, :-k]) for k in shifts for x in (values, sizes)]
        z = np.array([correlation(a.ravel(), b.ravel()) for a, b in pairs])
        counts = np.array([a.size for a, _ in pairs])
        what = f"keys {', '.join(map(str, shifts))} apart"
        yield _unrelated(f"{name}, keys", what, z * np.sqrt(counts - 3))


def _lagged(x: Matrix, lags: int) -> Column:
    """Correlations at lags 1, ..., lags in standard errors, along the first axis."""
    from scipy import fft

    n = len(x)
    N = fft.next_fast_len(2 * n, real=True)
    power = np.abs(fft.rfft(x, N, axis=0)) ** 2
    products = fft.irfft(power.reshape(len(power), -1).sum(axis=1), N)[: lags + 1]
    counts = (n - np.arange(1, lags + 1)) * (x.size // n)
    share = counts / x.size
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(_fisher(products[1:] / (products[0] * share)) * np.sqrt(counts))


def _repeated(name: str, sigma: float, parts: list[Signed]) -> Finding:
    """No run of draws comes twice, at whatever distance: as long as chance would not repeat it."""
    count = sum(part.size for part in parts)
    # P[two draws alike] is 1/(2σ√π); so many in a row are alike by chance in 1 of 10^12 audits
    length = math.ceil(math.log(count**2 * 1e12) / math.log(2.0 * sigma * math.sqrt(math.pi)))
    rows = [
        np.lib.stride_tricks.sliding_window_view(column, length)
        for part in parts
        for column in np.ascontiguousarray(part.T)
        if len(column) >= length
    ]
    if not rows:
        return exact(NOISE, f"{name}, repeats", "none", "too few steps", passed=True)
    windows = np.concatenate(rows)
    again = _equal_rows(windows)
    measured = f"{again} of {len(windows):,} runs of {length} draws come again"
    return exact(
        NOISE, f"{name}, repeats", "no run of draws comes twice", measured, passed=not again
    )


def _equal_rows(rows: Signed) -> int:
    """How many rows are equal to another: sorted by a sum that mixes them, then compared."""
    mixing = np.array([pow(0x9E3779B97F4A7C15, k + 1, 2**64) for k in range(rows.shape[1])])
    sums = np.zeros(len(rows), dtype=np.uint64)
    for column, factor in zip(rows.T, mixing.astype(np.uint64), strict=True):
        sums += column.astype(np.uint64) * factor
    order = np.argsort(sums)
    near = np.flatnonzero(sums[order[1:]] == sums[order[:-1]])
    return int(np.sum(np.all(rows[order[near]] == rows[order[near + 1]], axis=1)))


def _unrelated(subject: str, what: str, z: Column) -> Finding:
    largest = float(np.max(np.abs(z)))
    p = min(1.0, 2.0 * float(_above(largest)) * len(z))
    measured = f"{what}: largest of {len(z)} correlations {largest:.2f} standard errors"
    return by_chance(NOISE, subject, "no correlation, nor of magnitudes", measured, p)


def correlation(a: Column, b: Column) -> float:
    """Fisher's transform of the correlation of two columns; infinite where they are the same."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(_fisher(np.corrcoef(a, b)[0, 1]))


def _fisher(r: Column | float) -> Column:
    with np.errstate(divide="ignore"):
        return np.asarray(np.arctanh(np.clip(r, -1.0, 1.0)))


def _above(z: float) -> Column:
    from scipy.special import ndtr

    return np.asarray(ndtr(-z))
