"""Noise that has nothing to do with other noise: no correlation at any lag or between keys, no
run of draws that comes again.

Correlations are compared after Fisher's transform (1915), which is near normal far into the tails;
several numbers in one check by the union bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from hushfade.audit.finding import COINCIDENCE, Finding, by_chance, distinct, told
from hushfade.audit.noise_probabilities import beyond, coincidence, nonzero
from hushfade.check import Column, Matrix, Signed
from hushfade.laws import Gaussian, Law

_LONGEST = 256  # draws of a run that is sought again
_PAIRED = 64  # lanes of which every pair is looked at
_DRAWS, _MAGNITUDES = 500, 4000  # pairs in a correlation, at least: magnitudes are skew


def independence(check: str, name: str, law: Law, parts: list[Signed]) -> Iterator[Finding]:
    """Noise of different steps, and of different lanes, has no correlation, nor its size.

    Laws with geometric tails are compared as P[|Z| < |z|] with the sign of z: correlations of
    bounded numbers are near normal far into the tails, those of the draws themselves are not.
    """
    lanes = parts[0].shape[1]
    values = np.stack(parts, axis=1).astype(np.float64)  # steps, runs, lanes
    if not isinstance(law, Gaussian):
        values = np.sign(values) * (1.0 - 2.0 * beyond(law, np.maximum(np.abs(values), 1.0)))
    sizes = np.abs(values)
    sizes -= sizes.mean()
    few = sparseness(law)
    both = ((values, math.ceil(_DRAWS * few)), (sizes, math.ceil(_MAGNITUDES * few)))
    steps = [_lagged(x, least) for x, least in both]
    if any(map(len, steps)):
        longest = max(map(len, steps))
        yield _unrelated(check, f"{name}, steps", f"lags to {longest:,}", np.concatenate(steps))
    if lanes > 1:
        keys = np.concatenate([_between(x, least, math.ceil(_DRAWS * few)) for x, least in both])
    if lanes > 1 and len(keys):
        yield _unrelated(check, f"{name}, keys", f"{lanes} keys", keys)


def sparseness(law: Law) -> float:
    """By how much more draws a correlation needs where most draws are zero: P[z ≠ 0]^-2."""
    return nonzero(law) ** -2


def repeated(check: str, name: str, law: Law, parts: list[Signed]) -> Finding:
    """No run of draws comes twice, at whatever distance: as long as chance would not repeat it.

    Told, without a verdict, where no stream has so many steps.
    """
    count = sum(part.size for part in parts)
    length, claim = unlikely(law, count), "no run of draws comes twice"
    if length > _LONGEST:
        shown = f"not tested: runs of {length:,} draws would be needed, most of them zero"
        return told(check, f"{name}, repeats", claim, shown, "none")
    rows = [
        np.lib.stride_tricks.sliding_window_view(column, length)
        for part in parts
        for column in np.ascontiguousarray(part.T)
        if len(column) >= length
    ]
    if not rows:
        return told(check, f"{name}, repeats", claim, "not looked at: too few steps", "none")
    windows = np.concatenate(rows)
    again = _equal_rows(windows)
    measured = f"{again} of {len(windows):,} runs of {length} draws come again"
    return distinct(check, f"{name}, repeats", claim, measured, passed=not again)


def unlikely(law: Law, count: int) -> int:
    """The length of a run that no two of `count` places share, but for 1 of 10^12 audits."""
    return math.ceil(math.log(count**2 / COINCIDENCE) / -math.log(coincidence(law)))


def correlation(a: Column, b: Column) -> float:
    """Fisher's transform of the correlation of two columns; infinite where they are the same."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(fisher(np.corrcoef(a, b)[0, 1]))


def fisher(r: Column | float) -> Column:
    """artanh r."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.arctanh(np.clip(r, -1.0, 1.0)))


def either_side(z: Column | float) -> float:
    """How often the largest of so many standard normals is as far out, at most: the union bound."""
    from scipy.special import ndtr

    far = np.abs(np.nan_to_num(np.ravel(z), nan=np.inf))  # 0/0: no spread where one should be
    return min(1.0, 2.0 * float(ndtr(-np.max(far))) * len(far))


def two_sided(square: Column | float, freedom: int) -> Column:
    """How often a χ² is as far out, on either side."""
    from scipy.stats import chi2

    tails = np.minimum(chi2.sf(square, freedom), chi2.cdf(square, freedom))
    return np.minimum(1.0, 2.0 * tails)


def _unrelated(check: str, subject: str, what: str, z: Column) -> Finding:
    largest = float(np.max(np.abs(z)))
    measured = f"{what}: largest of {len(z):,} correlations {largest:.2f} standard errors"
    return by_chance(check, subject, "no correlation, nor of magnitudes", measured, either_side(z))


def _lagged(x: Matrix, least: int) -> Column:
    """Correlations at all lags that have so many pairs, in standard errors, by one transform."""
    from scipy import fft

    n, each = len(x), x.size // len(x)
    lags = n - max(1, -(-least // each))
    if lags < 1:
        return np.empty(0)
    N = fft.next_fast_len(2 * n, real=True)
    power = np.abs(fft.rfft(x, N, axis=0)) ** 2
    products = fft.irfft(power.reshape(len(power), -1).sum(axis=1), N)[1 : lags + 1]
    energy = np.concatenate([[0.0], np.cumsum(np.sum(x.reshape(n, -1) ** 2, axis=1))])
    lag = np.arange(1, lags + 1)
    both = energy[n - lag] * (energy[n] - energy[lag])  # of the earlier ones, and of the later
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(fisher(products / np.sqrt(both)) * np.sqrt((n - lag) * each))


def _between(x: Matrix, least: int, fewest: int) -> Column:
    """Correlations of keys in standard errors: some distances over all keys, and every pair."""
    lanes = x.shape[2]
    shifts = sorted({1, 2, 3, lanes // 2} & set(range(1, lanes)))
    pairs = [(x[:, :, k:].ravel(), x[:, :, :-k].ravel()) for k in shifts]
    found = [
        correlation(a, b) * math.sqrt(max(len(a) - 3, 1)) for a, b in pairs if len(a) >= fewest
    ]
    rows = x[:, :, :_PAIRED].reshape(-1, min(lanes, _PAIRED))
    if len(rows) < least:
        return np.array(found)
    products = rows.T @ rows
    scale = np.sqrt(np.diag(products))
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (products / np.outer(scale, scale))[np.triu_indices(len(scale), 1)]
        return np.concatenate([found, fisher(r) * math.sqrt(len(rows))])


def _equal_rows(rows: Signed) -> int:
    """How many rows are equal to another: sorted by a sum that mixes them, then compared."""
    mixing = np.array([pow(0x9E3779B97F4A7C15, k + 1, 2**64) for k in range(rows.shape[1])])
    sums = np.zeros(len(rows), dtype=np.uint64)
    for column, factor in zip(rows.T, mixing.astype(np.uint64), strict=True):
        sums += column.astype(np.uint64) * factor
    order = np.argsort(sums)
    near = np.flatnonzero(sums[order[1:]] == sums[order[:-1]])
    return int(np.sum(np.all(rows[order[near]] == rows[order[near + 1]], axis=1)))
