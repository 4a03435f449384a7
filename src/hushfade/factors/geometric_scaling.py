"""Geometric scaling of a column by 2^(θk), so that the blocks of a geometric decay have similar
magnitudes.

`slope` estimates θ from the known part of the columns.  `held` reduces θ if scaling would lift the
unknown part above the rest.  `power_series` multiplies tilted columns and tilts the product back.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from hushfade.check import Column
from hushfade.factors.fft_products import Words


def slope(*columns: Column) -> float:
    """The θ by which to tilt: the θ of the slowest column, which dominates all products.

    The θ of a column comes from the envelope |c_k| ≈ C k^-p 2^(-θk) of its last octaves.  It is
    capped so that tilting lets no column grow by more than a few bits per octave.
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
    """θ, halved until tilting lifts no column's new half more than 8 bits above its old half."""
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
    """log2 of the largest entry in each of the last four octaves, last first; -inf for zeros."""
    m = len(column)
    largest = [float(np.max(np.abs(column[m >> j : m >> (j - 1)]))) for j in (1, 2, 3, 4)]
    return [math.log2(value) if value > 0.0 else -math.inf for value in largest], m


def _envelope_slope(bits: list[float], m: int) -> float | None:
    """θ, estimated twice; None if the octaves do not follow an envelope of this form.

    A θ that changes the column by less than four bits counts as 0.
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
    """The distance between the largest entries of two octaves up to m.

    The largest entry is at the start of a falling octave, and at the end of a rising one.
    """
    return m / 4 if drop > 0.0 else m / 2


def tilted(column: Words, theta: float, start: int = 0) -> Words:
    """column_k · 2^(θ(start + k)), computed so that the factor does not overflow."""
    if theta == 0.0:
        return column
    exponent = theta * np.arange(start, start + len(column.high))
    whole = np.floor(exponent)
    factor = np.exp2(exponent - whole)
    shift = whole.astype(np.int32)
    return Words(np.ldexp(column.high * factor, shift), np.ldexp(column.low * factor, shift))
