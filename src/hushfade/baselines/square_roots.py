"""The square root mechanisms and the dense optima, each as a `Mechanism`.

    square root                      L = R = H, the Toeplitz matrix of √g
    normalized square root           R = D⁻¹ H, L = H D        hushfade's gain per step
    column-normalized square root    R = H D⁻¹, L = M D H⁻¹    D the column norms of H
    compact square root              R, L of a few exponentials
    dense optimum                    the smallest largest error, or mean square error

A stream publishes s = M (x + R⁻¹z).  It draws R⁻¹z for all steps at the start, and keeps these T
numbers and the state of M.
"""

from __future__ import annotations

import math

import numpy as np

from hushfade import check
from hushfade.baselines.independent_noise import (
    Cost,
    from_columns,
    lower_toeplitz,
    sum_cost,
    weights,
)
from hushfade.baselines.mechanism import Matrices, Mechanism, from_pair
from hushfade.check import Column
from hushfade.decays import Decay
from hushfade.factors import factorization, power_series
from hushfade.theory import dense_pair, optimum
from hushfade.theory.dense_pair import DenseFactorization
from hushfade.training.compact_taps import compact
from hushfade.training.exponentials import CompactTaps

_PAPER = "Henzinger, Upadhyay, Upadhyay"
LONGEST = 8192  # steps of the column-normalized root, whose errors cost O(T² log T)


def square_root(decay: Decay, horizon: int) -> Mechanism:
    """The paper's mechanism: L = R = H, the Toeplitz matrix of √g = Σ a_k x^k.

    ‖L_t‖² = Σ_{k≤t} a_k²,  ‖R‖₁→₂² = Σ_{k<T} a_k²

    For counting: Fichtenberger, Henzinger, Upadhyay 2023.  It applies to any decay; the square root
    may grow if g has a zero inside the unit disk.  Cost: O(T log T).

    >>> from hushfade import NoDecay
    >>> round(square_root(NoDecay(), 2).error_factor, 12)  # 1 + (1/2)²
    1.25
    """
    n = len(weights(decay, horizon))
    memory, work = _drawn_ahead(decay, n)
    pair = factorization.square_root(decay)
    return from_pair(pair, n, name="square root", source=_PAPER, memory=memory, work=work)


def square_root_laplace(decay: Decay, horizon: int) -> Mechanism:
    """The square root with Laplace noise, for comparison: noise on the input is as good or better.

    ‖L_t‖² = Σ_{k≤t} a_k²,  ‖R‖₁→₁ = Σ_{k<T} |a_k|

    At the last step Σ|a_k| √(Σ a_k²) ≥ √(Σ f_k²), the error of `input_noise`, by Young's inequality
    for a * a = f.  It applies to any decay.  Cost: O(T log T).

    >>> from hushfade import NoDecay
    >>> round(square_root_laplace(NoDecay(), 2).error_factor, 6)  # √2 · 3/2 · √(5/4), not √2 · √2
    2.371708
    """
    a = power_series.square_root(weights(decay, horizon))
    cost = _drawn_ahead(decay, len(a))
    return from_columns("square root", _PAPER, decay, a, a, cost, "laplace")


def normalized_root(decay: Decay, horizon: int) -> Mechanism:
    """The square root with hushfade's gain per step for this horizon: R = D⁻¹ H and L = H D.

    See `factors.normalized`: d_t² = (S_{T-1-t} / S_t)^κ, S_m = Σ_{i≤m} a_i², with the best κ.  It
    applies to any decay.  Cost: O(T log T).

    >>> from hushfade import NoDecay
    >>> normalized_root(NoDecay(), 64).error_factor < square_root(NoDecay(), 64).error_factor
    True
    """
    n = len(weights(decay, horizon))
    memory, work = _drawn_ahead(decay, n)
    pair = factorization.normalized(decay, n)
    name = "normalized square root"
    return from_pair(pair, n, name=name, source="hushfade", memory=memory, work=work + 1.0)


def column_normalized_root(decay: Decay, horizon: int) -> Mechanism:
    """The square root with all columns of R of norm 1: R = H D⁻¹ and L = M D H⁻¹.

    D = diag(d), d_j² = S_{T-1-j},  S_m = Σ_{i≤m} a_i²;  ‖R‖₁→₂ = 1,
    ‖L_t‖² = Σ_j (Σ_i f_{t-i} d_i c_{i-j})²,  1/√g = Σ c_k x^k

    This is the normalization in the literature: Choquette-Choo et al. 2023 for banded factors,
    Henzinger, Kalinin, Upadhyay 2025 for the complete root and counting.  R = D⁻¹ H is different:
    its columns do not have norm 1.  It applies to any decay and at most 8192 steps.  Cost:
    O(T² log T), a few seconds at 8192.

    >>> from hushfade import NoDecay
    >>> found = column_normalized_root(NoDecay(), 2)  # d = (√5/2, 1), L_1 = ((√5 - 1)/2, 1)
    >>> round(found.error_factor**2, 6), found.sensitivity  # (5 - √5)/2
    (1.381966, 1.0)
    """
    n = check.count(horizon=horizon, most=LONGEST)
    f = weights(decay, n)
    a = power_series.square_root(f)
    c = power_series.inverse(a)
    d = np.sqrt(np.cumsum(a * a)[::-1])

    def matrices() -> Matrices:
        L = lower_toeplitz(f) @ (d[:, None] * lower_toeplitz(c))
        return L.tocsr(), (lower_toeplitz(a) / d[None, :]).tocsr()

    memory, work = _drawn_ahead(decay, n)
    return Mechanism(
        "column-normalized square root",
        "Henzinger, Kalinin, Upadhyay 2025",
        decay,
        _column_normalized_errors(f, c, d),
        1.0,
        memory,
        work + 1.0,
        matrices,
    )


def compact_root(decay: Decay, horizon: int) -> Mechanism:
    """The square root as a few exponentials: constant memory, within 0.1 % of the root's error.

    Buffered linear Toeplitz factors: Dvijotham, McMahan, Pillutla, Steinke, Thakurta 2024.  They
    apply to completely monotone decays and windows.  Cost: the fit takes tenths of a second, and
    O(T log T).

    >>> from hushfade import Exponential
    >>> compact_root(Exponential(half_life=24), 100).memory  # two sums each for R⁻¹z and M
    3
    """
    n = len(weights(decay, horizon))
    pair = compact(decay, horizon=n)
    assert isinstance(pair.taps, CompactTaps)
    cost = sum_cost(decay, n)
    return from_pair(
        pair,
        n,
        name="compact square root",
        source="Dvijotham, McMahan, Pillutla, Steinke, Thakurta 2024",
        memory=pair.taps.memory + cost.memory,
        work=3.0 * len(pair.taps.fading) + 3.0 * len(pair.taps.comb) + cost.work + 1.0,
    )


def max_optimum(decay: Decay, horizon: int) -> Mechanism:
    """The factorization with the smallest largest error, to 0.01 %, for at most 2048 steps.

    ‖L‖₂→∞ ‖R‖₁→₂ = γ2(M), see `theory.dense.optimal`.  Li, Miklau, Hay, McGregor, Rastogi 2015 for
    the mechanism; it applies to any decay.  Cost: about twenty `eigh` of size T.

    >>> from hushfade import NoDecay
    >>> round(max_optimum(NoDecay(), 2).error_factor, 3)  # 2/√3
    1.155
    """
    pair = dense_pair.optimal(decay, _dense_horizon(decay, horizon))
    return from_dense(pair, name="optimum, largest error", source="Li et al. 2015")


def mean_optimum(decay: Decay, horizon: int) -> Mechanism:
    """The factorization with the smallest mean square error, to 0.01 %, for at most 2048 steps.

    ‖L‖_F ‖R‖₁→₂ = γ_F(M), see `theory.dense.mean_optimal`.  Denisov, McMahan, Rush, Smith, Thakurta
    2022; it applies to any decay.  Cost: about twenty `svd` of size T.

    >>> from hushfade import NoDecay
    >>> found = mean_optimum(NoDecay(), 2)
    >>> round(float(np.linalg.norm(found.errors)) * found.sensitivity, 3)  # the golden ratio
    1.618
    """
    pair = dense_pair.mean_optimal(decay, _dense_horizon(decay, horizon))
    return from_dense(pair, name="optimum, mean square error", source="Denisov et al. 2022")


def from_dense(pair: DenseFactorization, *, name: str, source: str) -> Mechanism:
    """The mechanism of a dense pair."""
    n = pair.horizon

    def matrices() -> Matrices:
        from scipy.sparse import csr_array

        return csr_array(pair.left), csr_array(pair.right)

    memory, work = sum_cost(pair.decay, n)
    return Mechanism(
        name,
        source,
        pair.decay,
        pair.errors(n),
        pair.sensitivity().value,
        memory + n,
        work + n + 1.0,  # R⁻¹z takes (n + 1)/2 products and (n - 1)/2 additions on average
        matrices,
    )


def _dense_horizon(decay: Decay, horizon: int) -> int:
    n = check.count(horizon=horizon, most=optimum.LARGEST)
    return len(weights(decay, n))


def _drawn_ahead(decay: Decay, n: int) -> Cost:
    """The cost of M, of n noises, and of a Toeplitz product by FFT that the n steps share.

    The product takes two real FFTs of length 2n at 2.5 N log₂ N operations, and 6 operations for
    each of n complex products.  Each step adds the noise to its total.
    """
    memory, work = sum_cost(decay, n)
    return Cost(memory + n, work + 10.0 * math.log2(2 * n) + 7.0)


def _column_normalized_errors(f: Column, c: Column, d: Column) -> Column:
    """√(Σ_j L_tj²), L's columns f * (d_i c_{i-j})_i by FFT, 64 at a time."""
    from scipy import fft

    n = len(f)
    N = fft.next_fast_len(2 * n - 1, real=True)
    transform = fft.rfft(f, N)
    delayed = np.concatenate([np.zeros(n), c])
    square = np.zeros(n)
    for start in range(0, n, 64):
        columns = [d * delayed[n - j : 2 * n - j] for j in range(start, min(start + 64, n))]
        L = fft.irfft(transform * fft.rfft(columns, N), N)[:, :n]
        square += np.sum(L * L, axis=0)
    return np.sqrt(square)
