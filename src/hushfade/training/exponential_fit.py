"""Exponentials fitted to the square root of a decay, on the unit circle.

    c(x) = 1 + Σ_j ω_j x / (1 - (1-q_j) x)   near √g
    c(x) / C(x^w)                            for a sliding window of length w, C of the same form

On the circle let e(θ) = ln|r/√g|, where r = c or c / C.  Under the weights |g| dθ, the error factor
of r divided by the error factor of √g is √(mean(e^2e) · mean(e^-2e)) = 1 + 2 var(e) + ....  So the
Levenberg-Marquardt method minimises var(e) over rates and weights together.  A horizon of n steps
sets the radius of the circle, e^(-1/n).

circle_of_sum(f, steps)         points at which to compare r with √g, for a sum f of exponentials
circle_of_window(length)        the same for a sliding window
best_fit(circle, order, rings)  the fit with the least variance
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hushfade.check import Column, ComplexColumn, Matrix
from hushfade.training.exponentials import Exponentials

_FASTEST = 25.0  # the largest rate, at which almost nothing is left after one step


class Circle(NamedTuple):
    """The points at which r is compared with √g, by falling angle."""

    angle: Column
    over_x: ComplexColumn  # 1/x
    over_y: ComplexColumn  # 1/x^w
    aim: ComplexColumn  # the target of c
    size: Column  # ln|√g|
    mass: Column  # |g| dθ, normalised to 1
    slowest: float  # the smallest rate


def circle_of_sum(f: Exponentials, n: int) -> Circle:
    """Six points per octave on the circle of radius e^(-1/n), down to where g is constant."""
    with np.errstate(divide="ignore"):
        slowest = min(6.0, float(np.min(-np.log1p(-f.fades))))
    octaves = math.ceil(math.log2(20.0 * math.pi / (slowest + 1.0 / n))) + 1
    nodes, weights = np.polynomial.legendre.leggauss(6)
    angle = math.pi * np.exp2(-(np.arange(octaves)[:, None] + (nodes + 1) / 2)).ravel()
    over_x = np.exp(1.0 / n - 1j * angle)
    g = 1.0 + f.weights @ (1.0 / (np.expm1(1.0 / n - 1j * angle) + f.fades[:, None]))
    mass = np.tile(weights, octaves) * angle * np.abs(g)
    size = np.log(np.abs(g)) / 2
    return Circle(angle, over_x, over_x, np.sqrt(g), size, mass / np.sum(mass), slowest)


def circle_of_window(w: int) -> Circle:
    """Points of the unit circle for a window, √g = (1-x)^-½ (1-y)^½ with y = x^w.

    θ = (2πk + φ)/w.  The near lobes k are sampled one by one, the first in octaves of φ.  Far lobes
    differ so little that k may be a real number; four values represent each octave of k.
    """
    turn, near = 2.0 * math.pi, min(16, w // 2)
    octaves = [0.0, *(turn * np.exp2(np.arange(-8.0, 1.0)))]
    panels = [(0.0, low, high, 1.0) for low, high in pairwise(octaves)]  # k, from φ, to φ, weight
    panels += [(float(k), 0.0, turn, 1.0) for k in range(1, near)]
    if w == 2 * near + 1:
        panels.append((float(near), 0.0, turn / 2, 1.0))
    nodes, weights = np.polynomial.legendre.leggauss(4)
    low, end = near - 0.5, w // 2 - 0.5
    while low < end:
        half = min(low, end - low) / 2
        panels += [
            (low + half * (1 + node), 0.0, turn, half * weight)
            for node, weight in zip(nodes, weights, strict=True)
        ]
        low += 2 * half
    panels.sort(reverse=True)
    nodes, weights = np.polynomial.legendre.leggauss(16)
    k, start, stop, factor = np.array(panels).T[:, :, None]
    phi = start + (stop - start) * (1 - nodes) / 2
    angle = ((turn * k + phi) / w).ravel()
    over_x, over_y = np.exp(-1j * angle), np.exp(-1j * phi).ravel()
    aim = (1 - over_x.conj()) ** -0.5
    size = np.log(np.abs(aim) * np.sqrt(np.abs(1 - over_y)))
    mass = (factor * (stop - start) * weights).ravel() * np.exp(2 * size)
    return Circle(angle, over_x, over_y, aim, size, mass / np.sum(mass), 0.0)


class Fit(NamedTuple):
    """Exponentials that approximate √g."""

    variance: float  # the variance of ln|r/√g|; the loss is twice as much, to first order
    fading: Exponentials  # c
    comb: Exponentials  # C; empty without rings


def best_fit(circle: Circle, order: int, rings: int) -> Fit:
    """The best fit from three starts, where c has `order` terms and C has `rings` terms."""
    return min(
        (fit(circle, order, rings, low) for low in (0.1, 0.01, 0.001)),
        key=lambda each: each.variance,
    )


def fit(circle: Circle, order: int, rings: int, low: float) -> Fit:
    """The fit with the least variance near one start; `low` is the mass below the first rates.

    The unknowns are y = ln(rate - slowest) and z with ω_j = (1 + e^-rate) t_j and
    t_j = e^z_j / (1 + Σ e^z).  So all rates are above the slowest, all weights are above 0, and
    c(-1) = 1 - Σ t is above 0.
    """
    from scipy.optimize import least_squares

    comb = np.repeat(np.log([[0.3], [0.3]]), rings, axis=1)
    comb[0] -= math.log(4.0) * np.arange(rings)
    start = np.concatenate([_start(circle, order, low).ravel(), comb.ravel()])
    cut = len(start) - comb.size
    root = np.sqrt(circle.mass)
    anchor = 1e-7 * np.eye(len(start))  # fixes directions that do not change the fit

    def halves(p: Column) -> Iterator[tuple[float, ComplexColumn, Column, Column, Column]]:
        for sign, over, slowest, part in (
            (1.0, circle.over_x, circle.slowest, p[:cut]),
            (-1.0, circle.over_y, 0.0, p[cut:]),
        ):
            above, t = np.exp(np.clip(part, -60.0, math.log(_FASTEST))).reshape(2, -1)
            yield sign, over, above, slowest + above, t / (1.0 + np.sum(t))

    def compared(p: Column) -> tuple[Column, Matrix]:
        e, slopes = -circle.size, []
        for sign, over, above, rates, t in halves(p):
            theta = np.exp(-rates)[:, None]
            term = 1.0 / (over - theta)
            c = 1.0 + (t * (1.0 + theta[:, 0])) @ term
            e = e + sign * np.log(np.abs(c))
            each = sign * t[:, None] * term / c
            share = (1.0 + theta) * each
            by_y = -theta * above[:, None] * (each + share * term)
            slopes += [by_y.real, (share - t[:, None] * np.sum(share, axis=0)).real]
        J = np.concatenate(slopes)
        return (
            np.concatenate([root * (e - circle.mass @ e), anchor @ (p - start)]),
            np.concatenate([(root * (J - (J @ circle.mass)[:, None])).T, anchor]),
        )

    def distance(p: Column) -> Column:
        return compared(p)[0]

    def slope(p: Column) -> Matrix:
        return compared(p)[1]

    p = start
    if len(p):
        p = least_squares(distance, p, slope, ftol=1e-4, xtol=1e-4, method="lm", max_nfev=100).x
    c, C = (_merged(rates, t) for _, _, _, rates, t in halves(p))
    return Fit(float(np.sum(distance(p)[: len(root)] ** 2)), c, C)


def _start(circle: Circle, d: int, low: float) -> Matrix:
    """The start of a fit: ln(rate - slowest) and z of d exponentials.

    The rates are geometric, from the angle below which the share `low` of the mass lies, up to 1.
    The density of exponentials at rate s is about 0.45 of the imaginary part of √g at angle s.
    """
    below = np.cumsum(circle.mass[::-1])[::-1]
    least = min(float(circle.angle[np.argmin(np.abs(below - low))]), 0.25)
    apart = -math.log(least) / max(d - 1, 1)
    y = math.log(least) + apart * (np.arange(d) if d > 1 else np.full(d, 0.5))
    density = np.interp(y, np.log(circle.angle[::-1]), circle.aim.imag[::-1])
    t = np.maximum(0.45 * apart * np.exp(y - circle.slowest) * density, 1e-12) / 2
    t *= 0.3 / max(0.3, np.sum(t))  # f_1 / 2 = a_1 ≤ ½
    return np.stack([y, np.log(t / (1.0 - np.sum(t)))])


def _merged(rates: Column, t: Column) -> Exponentials:
    """The exponentials in order; rates within a relative 1e-6 of each other are merged."""
    order = np.argsort(rates)
    weights, fades = (t * (1.0 + np.exp(-rates)))[order], -np.expm1(-rates[order])
    groups = np.flatnonzero(np.diff(fades, prepend=-1.0) > 1e-6 * fades)
    return Exponentials(np.add.reduceat(weights, groups) if len(groups) else weights, fades[groups])
