"""Geometric scaling: a column times 2^(θk), so that a geometric decay has blocks of one magnitude.

θ is read off what is known: `slope` of the columns, `held` back where a part still to come would be
lifted above the rest.  `power_series` multiplies tilted columns and tilts the product back.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from hushfade.check import Column
from hushfade.numerics.fft_products import Words


def slope(*columns: Column) -> float:
    """θ by which to tilt: that of the slowest column, whose products decay like it.

    A column's own θ comes from the envelope |c_k| ≈ C k^-p 2^(-θk) of its last octaves; it is
    capped so that tilting makes none of the columns grow by more than a few bits an octave.
    """
    measured = [_octave_bits(column) for column in columns]
    slopes = [own for bits, m in measured if (own := _envelope_slope(bits, m)) is not None]
    theta = min(slopes, default=0.0)
    for bits, m in measured:
        for (later, earlier), octave in zip(pairwise(bits), (m, m / 2, m / 4), strict=True):
            if math.isfinite(drop := earlier - later):
                theta = min(theta, max(0.0, (drop + 8.0) / _apart(drop, octave)))
    return round(theta * 2**24) / 2**24  # so that θk is exact for k < 2^28


def held(theta: float, *columns: Column) -> float:
    """θ, halved until tilting lifts no column's new half by more than 8 bits above its old one."""
    for column in columns:
        m = len(column) // 2
        with np.errstate(divide="ignore"):
            bits = np.log2(np.abs(column[m // 2 :]))
        index = np.arange(m // 2, 2 * m)
        while theta > 0.0:
            lifted = bits + theta * index
            old, new = float(np.max(lifted[: m - m // 2])), float(np.max(lifted[m - m // 2 :]))
            if not (math.isfinite(old) and new > old + 8.0):
                break
            theta = math.floor(theta * 2**23) / 2**24
    return theta


def _octave_bits(column: Column) -> tuple[list[float], int]:
    """log2 of the largest entry of the last four octaves, last first; -inf for zeros."""
    m = len(column)
    largest = [float(np.max(np.abs(column[m >> j : m >> (j - 1)]))) for j in (1, 2, 3, 4)]
    return [math.log2(value) if value > 0.0 else -math.inf for value in largest], m


def _envelope_slope(bits: list[float], m: int) -> float | None:
    """θ estimated twice; None where the octaves follow no envelope of that form.

    A θ that moves less than four bits across the column counts as 0.
    """
    if not math.isfinite(sum(bits)):
        return None
    drop, previous, first = (earlier - later for later, earlier in pairwise(bits))
    apart = _apart(drop, m)
    late, early = (drop - previous) / (apart / 2), (previous - first) / (apart / 4)
    if max(abs(early), abs(late)) * m <= 4.0:
        return 0.0
    agree = drop * late > 0.0 and 0.5 <= early / late <= 2.0
    return math.copysign(min(abs(late), abs(drop) / apart), late) if agree else None


def _apart(drop: float, m: float) -> float:
    """Between the largest entries of two octaves up to m: at their starts if falling, else ends."""
    return m / 4 if drop > 0.0 else m / 2


def tilted(column: Words, theta: float, start: int = 0) -> Words:
    """column_k · 2^(θ(start + k)), without overflow of the factor itself."""
    if theta == 0.0:
        return column
    exponent = theta * np.arange(start, start + len(column.high))
    whole = np.floor(exponent)
    factor = np.exp2(exponent - whole)
    shift = whole.astype(np.int32)
    return Words(np.ldexp(column.high * factor, shift), np.ldexp(column.low * factor, shift))
