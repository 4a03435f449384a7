"""Banded square roots: √g or 1/√g cut after b taps, so that a stream keeps b - 1 noises.

    banded square root           r = a_0 + ... + a_{b-1} x^{b-1},       l = g/r
    banded inverse square root   1/r = c_0 + ... + c_{b-1} x^{b-1},     l = g · (1/r)

with √g = Σ a_k x^k and 1/√g = Σ c_k x^k.  The stream publishes s = M (x + R⁻¹z), which has the same
distribution as L (R x + z).  R⁻¹z is a recursion over its own last b - 1 values, or a sum over the
last b values of z.  The memory holds these values and the state of M.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

import numpy as np

from hushfade import check
from hushfade.baselines.independent_noise import Cost, from_columns, sum_cost, weights
from hushfade.baselines.mechanism import Mechanism
from hushfade.check import Column
from hushfade.decays import Decay
from hushfade.errors import InvalidValue, Unstable
from hushfade.factors import power_series, zeros

_MOST = 1 << 31  # steps times bands: the recursion takes a few seconds

Pair: TypeAlias = tuple[Column, Column]  # l_0, ..., l_{T-1} and r_0, ..., r_{T-1}


def banded_root(decay: Decay, horizon: int, *, bands: int | None = None) -> Mechanism:
    """The mechanism of √g cut after `bands` taps; by default, the number with the smallest error.

    ‖R‖₁→₂² = Σ_{k<b} a_k²,  ‖L_t‖² = Σ_{k≤t} l_k²,  l = g / (a_0 + ... + a_{b-1} x^{b-1})

    Kalinin & Lampert 2024.  It applies to any decay; a cut whose left factor grows geometrically
    raises an error.  A completely monotone decay has a decreasing root, and then no left factor
    grows.  Cost: T b multiplications.

    Bands save memory at the price of a larger error.  With one participation no cut was better than
    the complete root, b = T, for any tested decay whose root does not grow.

    >>> from hushfade import NoDecay
    >>> banded_root(NoDecay(), 4, bands=1).error_factor  # noise on the input: √4
    2.0
    """
    f = weights(decay, horizon)
    a = power_series.square_root(f)

    def cut(b: int) -> Pair:
        from scipy.signal import lfilter

        # a recursion, because an FFT has errors relative to the largest term of 1/r
        left = np.asarray(lfilter([1.0], a[:b], f))
        if zeros.zeros_inside(a[:b]) != 0:
            _refuse_growth(left, b)
        return left, np.where(np.arange(len(f)) < b, a, 0.0)

    name, source = "banded square root", "Kalinin & Lampert 2024"
    return _mechanism(name, source, decay, *_chosen(cut, a, bands))


def banded_inverse_root(decay: Decay, horizon: int, *, bands: int | None = None) -> Mechanism:
    """The mechanism of 1/√g cut after `bands` taps; by default, the number of smallest error.

    ‖R‖₁→₂² = Σ_{k<T} r_k²,  r = 1 / (c_0 + ... + c_{b-1} x^{b-1});  ‖L_t‖² = Σ_{k≤t} l_k²,  l = g/r

    Kalinin, McMahan, Upadhyay, Lampert 2025.  It applies to any decay; a cut whose right factor
    grows geometrically raises an error.  For completely monotone decays no right factor grows.
    Cost: T b multiplications.  r and l begin with b taps of √g.  With the same number of bands it
    is better than the banded square root for counting, exponentials and power laws.  Here, too, no
    cut was better than b = T.

    >>> from hushfade import NoDecay
    >>> found = banded_inverse_root(NoDecay(), 4, bands=2)  # 1/r = 1 - x/2, r = Σ 2^-k x^k
    >>> round(found.sensitivity**2 * 64), round(found.errors[-1] ** 2 * 4)  # l = 1, ½, ½, ½
    (85, 7)
    """
    f = weights(decay, horizon)
    a = power_series.square_root(f)
    c = power_series.inverse(a)

    def cut(b: int) -> Pair:
        from scipy.signal import lfilter

        right = np.asarray(lfilter([1.0], c[:b], np.eye(1, len(f))[0]))
        if zeros.zeros_inside(c[:b]) != 0:
            _refuse_growth(right, b)
        return np.asarray(lfilter(c[:b], [1.0], f)), right

    name, source = "banded inverse square root", "Kalinin, McMahan, Upadhyay, Lampert 2025"
    return _mechanism(name, source, decay, *_chosen(cut, a, bands))


def _chosen(cut: Callable[[int], Pair], a: Column, bands: int | None) -> tuple[int, Pair]:
    """The number of bands and their pair: the best of the powers of two and T, or the fewest."""
    n = len(a)
    if bands is not None:
        b = check.count(bands=bands, most=n)
        if b < n and not b * n <= _MOST:
            raise InvalidValue(f"bands must be at most {_MOST // n} or all {n}", got=b)
        return b, cut(b) if b < n else _whole(a)
    found = None
    for b in [1 << i for i in range((n - 1).bit_length()) if n << i <= _MOST] + [n]:
        with suppress(Unstable):
            pair = cut(b) if b < n else _whole(a)
            # the sums of a factor have an error of 1e-13, so closer results count as equal
            if found is None or _error_factor(pair) < _error_factor(found[1]) * (1.0 - 1e-13):
                found = b, pair
    assert found is not None  # one band never grows
    return found


def _whole(a: Column) -> Pair:
    _refuse_growth(a, len(a))
    return a, a


def _mechanism(name: str, source: str, decay: Decay, bands: int, pair: Pair) -> Mechanism:
    left, right = pair
    memory, work = sum_cost(decay, len(left))
    # b products, b - 1 additions, and one addition to the step's total
    cost = Cost(memory + bands - 1, work + 2.0 * bands)
    counted = f"{name}, {bands} band{'s' if bands > 1 else ''}"
    return from_columns(counted, source, decay, left, right, cost)


def _error_factor(pair: Pair) -> float:
    return float(np.linalg.norm(pair[0])) * float(np.linalg.norm(pair[1]))


def _refuse_growth(taps: Column, bands: int) -> None:
    """Raise Unstable if the taps grow because of a zero inside the unit disk."""
    half = (len(taps) + 1) // 2
    early, late = np.max(np.abs(taps[:half])), np.max(np.abs(taps[half:]), initial=0.0)
    if not late <= 4.0 * early:
        raise Unstable("bands must leave no zero inside the unit disk", got=f"bands = {bands}")
