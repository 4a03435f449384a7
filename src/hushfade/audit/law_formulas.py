"""Probabilities and privacy losses of the noise laws, computed for the audit.

The sampler builds its tables from integers, and the accountant uses `laws` and upper bounds.  The
formulas here share no code with either, so the audit compares independent computations.

    h(x) = -ln p(x) up to a constant
    Gaussian    x²/(2σ²)
    Laplace     slope |x|                                      on the integers
    Huber       slope x²/(2 core) for |x| ≤ core, slope (|x| - core/2) beyond
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import erfc, log_ndtr

from hushfade.check import Column, Signed
from hushfade.laws import Gaussian, Huber, Laplace, Law

_CELLS = 1 << 12  # cells of the noise for the loss of one shift
_FINE = 1 << 16  # cells for moments, and points of the grid for sums of losses
_REACH = 60.0  # standard deviations, beyond which every law has a probability below 1e-30


def energy(law: Law, x: Column | Signed) -> Column:
    """h(x)."""
    size = np.abs(np.asarray(x, dtype=np.float64))
    if isinstance(law, Gaussian):
        return np.asarray(0.5 * (size / law.sigma) ** 2)
    inner = np.minimum(size, _core(law)) if isinstance(law, Huber) else np.zeros_like(size)
    curved = inner * inner / (2.0 * _core(law)) if isinstance(law, Huber) else 0.0
    return np.asarray(slope(law) * (curved + size - inner))


def beyond(law: Law, m: Column | Signed) -> Column:
    """P[z ≥ m] for integers m ≥ 1, with a small relative error also far out in the tail.

    >>> beyond(Laplace(slope=math.log(2)), np.array([1, 2])).round(6)  # ⅓, ⅙
    array([0.333333, 0.166667])
    """
    x = np.asarray(m, dtype=np.float64) - 0.5
    if isinstance(law, Gaussian):
        return np.asarray(0.5 * erfc(x / (law.sigma * math.sqrt(2.0))))
    if isinstance(law, Laplace):
        return np.asarray(np.exp(-law.slope * (x + 0.5)) / (1.0 + math.exp(-law.slope)))
    rate, core = slope(law), _core(law)
    width = math.sqrt(2.0 * core / rate)
    tail = math.exp(-rate * core / 2.0) / rate
    half = math.sqrt(math.pi) / 2.0 * width
    inner = half * (erfc(np.minimum(x, core) / width) - erfc(core / width))
    outer = np.exp(-rate * np.maximum(x - core, 0.0)) * tail
    whole = 2.0 * half * math.erf(core / width) + 2.0 * tail
    return np.asarray(np.where(x < core, inner + tail, outer) / whole)


def at_least(law: Law, m: Column | Signed) -> Column:
    """P[z ≥ m] for all integers m."""
    upper, lower = beyond(law, np.maximum(m, 1)), beyond(law, np.maximum(1 - m, 1))
    return np.where(np.asarray(m) > 0, upper, 1.0 - lower)


class Cells(NamedTuple):
    """Whole numbers in cells: the middle and the probability of each."""

    middle: Column
    mass: Column


@lru_cache(maxsize=16)
def sizes(law: Law) -> Cells:
    """|z| in fine cells."""
    edges = np.unique(np.rint(np.linspace(1.0, _REACH * max(law.stddev, 1.0) + 2.0, _FINE)))
    tails = 2.0 * beyond(law, edges)
    middle = np.append(0.0, (edges[:-1] + edges[1:] - 1.0) / 2.0)
    return Cells(middle, np.append(1.0 - tails[0], -np.diff(tails)))


def moments(law: Law, values: Column) -> tuple[float, float]:
    """The mean and the variance of a function of |z|, given at the cells of `sizes`."""
    mass = sizes(law).mass
    mean = float(np.sum(mass * values))
    return mean, float(np.sum(mass * (values - mean) ** 2))


@lru_cache(maxsize=4096)
def loss(law: Law, shift: int) -> Cells:
    """The privacy loss ln p(z)/p(z - shift) of one shift: values and probabilities."""
    core = 12.0 * law.sigma if isinstance(law, Gaussian) else _core(law)
    edges = np.unique(np.rint(np.linspace(-core, shift + core + 1.0, _CELLS)))
    tails = at_least(law, edges)
    middle = (edges[:-1] + edges[1:] - 1.0) / 2.0
    inner = energy(law, middle - shift) - energy(law, middle)
    ends = energy(law, np.array([edges[0] - shift])) - energy(law, edges[:1])
    values = np.concatenate([ends, inner, -ends])
    return Cells(values, np.concatenate([1.0 - tails[:1], -np.diff(tails), tails[-1:]]))


def loss_moments(law: Law, shifts: Mapping[int, int]) -> tuple[float, float]:
    """The mean and the variance of the loss of {shift: number of steps}."""
    mean = variance = 0.0
    for shift, times in shifts.items():
        values, mass = loss(law, shift)
        centre = float(np.sum(mass * values))
        mean += times * centre
        variance += times * float(np.sum(mass * (values - centre) ** 2))
    return mean, variance


def delta(law: Law, shifts: Mapping[int, int], epsilons: Column) -> Column:
    """δ(ε) of {shift: number of steps}: closed for Gaussian noise, otherwise within .1 %.

    Each loss is spread over a grid with weights that keep its mass, mean and variance, and an FFT
    adds the losses of all steps.  The absolute error is about 1e-14.

    >>> delta(Laplace(slope=0.01), {200: 1}, np.array([1.0])).round(4)  # 1 - e^((1 - 2)/2)
    array([0.3935])
    """
    if isinstance(law, Gaussian):
        mu = math.sqrt(sum(d * d * times for d, times in shifts.items())) / law.sigma
        far = np.exp(epsilons + log_ndtr(-mu / 2.0 - epsilons / mu))
        return np.asarray(np.exp(log_ndtr(mu / 2.0 - epsilons / mu)) - far)
    mean, variance = loss_moments(law, shifts)
    most = slope(law) * sum(d * times for d, times in shifts.items())
    half = 1.001 * min(most, 16.0 * math.sqrt(variance) + mean + float(np.max(epsilons)))
    step = 2.0 * half / (_FINE - 8)
    spectrum = np.ones(_FINE // 2 + 1, dtype=np.complex128)
    for shift, times in shifts.items():
        values, mass = loss(law, shift)
        near = np.rint(values / step)
        x, place = values / step - near, near.astype(np.int64)
        row = np.zeros(_FINE)
        for offset, share in ((-1, x * (x - 1) / 2), (0, 1 - x * x), (1, x * (x + 1) / 2)):
            row += np.bincount((place + offset) % _FINE, mass * share, _FINE)
        spectrum *= np.fft.rfft(row) ** times
    total = np.fft.irfft(spectrum, _FINE)
    losses = step * np.fft.fftfreq(_FINE, 1.0 / _FINE)
    over = np.maximum(losses[None, :] - np.asarray(epsilons)[:, None], 0.0)
    return np.where(epsilons >= most * (1.0 - 1e-12), 0.0, -np.expm1(-over) @ total)


def unlikely(law: Law, runs: int, level: float) -> int:
    """The length at which two of `runs` runs of draws coincide with probability `level` at most."""
    middle, mass = sizes(law)
    widths = np.maximum(np.diff(np.append(middle, middle[-1])), 1.0)
    same = float(mass[0] ** 2 + np.sum(mass[1:] ** 2 / widths[1:]) / 2.0)
    return math.ceil(math.log(runs**2 / level) / -math.log(min(same, 0.999)))


def slope(law: Law) -> float:
    """The slope of a law with geometric tails."""
    return float(law.slope)  # type: ignore[attr-defined]


def _core(law: Law) -> float:
    return float(getattr(law, "core", 0.0))
