"""Independent noise: no correlation at any lag or between keys, and no repeated run of draws.

Fisher's transform (1915) makes a correlation nearly normal far into the tails.  A check that tests
several numbers combines them by the union bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from hushfade.audit.finding import COINCIDENCE, Finding, by_chance, distinct, info
from hushfade.audit.noise_probabilities import beyond, coincidence, nonzero
from hushfade.check import Column, Matrix, Signed
from hushfade.laws import Gaussian, Law

_LONGEST = 256  # draws in a run whose repetition is tested, at most
_PAIRED = 64  # lanes of which every pair is tested
_DRAWS, _MAGNITUDES = 500, 4000  # pairs in a correlation, at least: magnitudes are skewed


def independence(check: str, name: str, law: Law, parts: list[Signed]) -> Iterator[Finding]:
    """Findings that noise and its magnitude are uncorrelated between steps and between lanes.

    For laws with geometric tails the check uses P[|Z| < |z|] with the sign of z.  Correlations of
    these bounded numbers are nearly normal far into the tails; correlations of z itself are not.
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
    """The factor P[z ≠ 0]^-2: a correlation needs this many times more draws if most are zero."""
    return nonzero(law) ** -2


def repeated(check: str, name: str, law: Law, parts: list[Signed]) -> Finding:
    """The finding that no run of draws occurs twice, at any distance.

    The runs are too long to coincide by chance.  There is no verdict if no stream is long enough.
    """
    count = sum(part.size for part in parts)
    length, claim = unlikely(law, count), "no run of draws occurs twice"
    if length > _LONGEST:
        shown = f"not tested: most draws are zero, so runs would need {length:,} draws"
        return info(check, f"{name}, repeats", claim, shown, "none")
    rows = [
        np.lib.stride_tricks.sliding_window_view(column, length)
        for part in parts
        for column in np.ascontiguousarray(part.T)
        if len(column) >= length
    ]
    if not rows:
        return info(check, f"{name}, repeats", claim, "not tested: too few steps", "none")
    windows = np.concatenate(rows)
    again = _equal_rows(windows)
    measured = f"{again} of {len(windows):,} runs of {length} draws are repeated"
    return distinct(check, f"{name}, repeats", claim, measured, passed=not again)


def unlikely(law: Law, count: int) -> int:
    """The length at which two of `count` runs coincide with probability at most 1e-12."""
    return math.ceil(math.log(count**2 / COINCIDENCE) / -math.log(coincidence(law)))


def correlation(a: Column, b: Column) -> float:
    """Fisher's transform of the correlation of two columns; infinite if they are equal."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(fisher(np.corrcoef(a, b)[0, 1]))


def fisher(r: Column | float) -> Column:
    """artanh r."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.arctanh(np.clip(r, -1.0, 1.0)))


def either_side(z: Column | float) -> float:
    """An upper bound on the p-value of the largest |z| of normal scores: the union bound."""
    from scipy.special import ndtr

    far = np.abs(np.nan_to_num(np.ravel(z), nan=np.inf))  # 0/0: there should be a spread
    return min(1.0, 2.0 * float(ndtr(-np.max(far))) * len(far))


def two_sided(square: Column | float, freedom: int) -> Column:
    """The two-sided p-value of a χ² statistic."""
    from scipy.stats import chi2

    tails = np.minimum(chi2.sf(square, freedom), chi2.cdf(square, freedom))
    return np.minimum(1.0, 2.0 * tails)


def _unrelated(check: str, subject: str, what: str, z: Column) -> Finding:
    largest = float(np.max(np.abs(z)))
    measured = f"{what}: largest of {len(z):,} correlations is {largest:.2f} standard errors"
    claim = "values and magnitudes are uncorrelated"
    return by_chance(check, subject, claim, measured, either_side(z))


def _lagged(x: Matrix, least: int) -> Column:
    """Correlations at all lags with at least `least` pairs, in standard errors, by one FFT."""
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
    both = energy[n - lag] * (energy[n] - energy[lag])  # of the earlier and the later draws
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(fisher(products / np.sqrt(both)) * np.sqrt((n - lag) * each))


def _between(x: Matrix, least: int, fewest: int) -> Column:
    """Correlations between keys in standard errors: some distances, and every pair of keys."""
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
    """The number of rows that are equal to another: sort by a hash, then compare neighbours."""
    mixing = np.array([pow(0x9E3779B97F4A7C15, k + 1, 2**64) for k in range(rows.shape[1])])
    sums = np.zeros(len(rows), dtype=np.uint64)
    for column, factor in zip(rows.T, mixing.astype(np.uint64), strict=True):
        sums += column.astype(np.uint64) * factor
    order = np.argsort(sums)
    near = np.flatnonzero(sums[order[1:]] == sums[order[:-1]])
    return int(np.sum(np.all(rows[order[near]] == rows[order[near + 1]], axis=1)))
