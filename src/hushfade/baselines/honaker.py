"""Honaker's trees: the best linear unbiased estimate from all noisy dyadic sums, for any decay.

    y_u = Σ_{j in u} x_j + z_u for every dyadic interval u;   estimate f_tᵀ x by least squares:
    ‖L_t‖² = f_tᵀ (RᵀR)⁻¹ f_t

On the 2^h leaves of a perfect tree RᵀR is the sum of blocks of ones of sizes 1, 2, ..., 2^h.  Haar
wavelets diagonalise it: a wavelet on 2^l leaves has the eigenvalue 1 + 2 + ... + 2^(l-1) = 2^l - 1,
the constant 2^(h+1) - 1.  Let S be the sum of the weights over the leaves, and D_v the difference
of the sums over the halves of a node v with 2^l leaves.  Then

    f_tᵀ (RᵀR)⁻¹ f_t = S² / (2^h (2^(h+1) - 1)) + Σ_v D_v² / (2^l (2^l - 1))
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hushfade.baselines.binary_tree import most_bits, node_norm
from hushfade.baselines.independent_noise import Cost, weights
from hushfade.baselines.mechanism import Matrices, Mechanism, Noise
from hushfade.check import Column, Matrix, Signed
from hushfade.decays import Decay, Exponential, NoDecay

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def honaker_online(decay: Decay, horizon: int, *, noise: Noise = "gaussian") -> Mechanism:
    """The best estimates from the dyadic sums that are complete at each step ('from below').

    The intervals complete at t form a perfect tree on 2^h leaves for each set bit h of t, at the
    lags a, ..., a + 2^h - 1 with a = t mod 2^h.  So ‖L_t‖² = Σ_h E_h(t mod 2^h), where E_h(a) is
    the form above for f_a, ..., f_{a+2^h-1}.  Counting: Σ_h 2^h / (2^(h+1) - 1), about half the
    binary tree's popcount(t).  ‖R‖₁→₂² = ‖R‖₁→₁ = 1 + ⌊log₂ T⌋.

    Honaker 2015, for counts.  It applies to any decay.  Cost: O(T log T); the matrices O(T²).

    The residual of a new node moves the estimates of all its leaves by the same amount.  So between
    steps counting keeps the count and one noise per set bit of t.  An exponential keeps its sum and
    two noises (plain and weighted) per set bit.  Other decays keep the estimates as far back as f
    reaches, and one noise per set bit.

    >>> from hushfade import NoDecay
    >>> (honaker_online(NoDecay(), 4).errors ** 2).round(6)  # 1, 2/3, 2/3 + 1, 4/7
    array([1.      , 0.666667, 1.666667, 0.571429])
    """
    f = weights(decay, horizon)
    n = len(f)
    steps = np.arange(1, n + 1)
    square = np.zeros(n)
    for h, S, Q in _perfect_trees(f):
        t = _with_bit(steps, h)
        a = t & ((1 << h) - 1)
        square[t - 1] += Q[a] + S[a] ** 2 / (2.0**h * (2.0 ** (h + 1) - 1.0))

    def matrices() -> Matrices:
        from scipy.sparse import coo_array

        starts = np.cumsum([0, *(n >> level for level in range(n.bit_length()))])
        rows, columns, values = [], [], []
        for h in range(n.bit_length()):
            t = _with_bit(steps, h)
            lags = (t & ((1 << h) - 1))[:, None] + np.arange((1 << h) - 1, -1, -1)
            first = t >> (h + 1) << (h + 1)
            for level, row in enumerate(_node_weights(f[lags])):
                place = starts[level] + (first >> level)[:, None] + np.arange(row.shape[1])
                rows.append(np.repeat(t - 1, row.shape[1]))
                columns.append(place.ravel())
                values.append(row.ravel())
        where = (np.concatenate(rows), np.concatenate(columns))
        L = coo_array((np.concatenate(values), where), shape=(n, starts[-1])).tocsr()
        L.eliminate_zeros()
        return L, _dyadic_sums(n, n)

    return Mechanism(
        "Honaker online",
        "Honaker 2015",
        decay,
        np.sqrt(square),
        node_norm(n.bit_length(), noise),
        *_online_cost(decay, f),
        matrices,
        noise,
    )


def honaker_full(decay: Decay, horizon: int, *, noise: Noise = "gaussian") -> Mechanism:
    """The best estimates from all dyadic sums, including later ones: not online.

    Zeros pad the steps to N = 2^H ≥ T leaves of one perfect tree.  The estimate does not use the
    fact that these leaves are zero.  So ‖L_t‖² is the form above for f_t padded with zeros, and
    ‖R‖₁→₂² = ‖R‖₁→₁ = 1 + ⌈log₂ T⌉.

    Honaker 2015 (from below and above).  Cost: O(T log T); the matrices O(T²).  It keeps all 2N - 1
    noisy sums, makes one pass up and one down the tree, and sums the estimates of the leaves.

    >>> from hushfade import NoDecay
    >>> (honaker_full(NoDecay(), 2).errors ** 2).round(6)  # 1²/(2·3) + 1²/2, then 2²/(2·3)
    array([0.666667, 0.666667])
    """
    f = weights(decay, horizon)
    n = len(f)
    height = (n - 1).bit_length()
    N = 1 << height
    steps = np.arange(1, n + 1)
    square = np.zeros(n)
    for h, _, Q in _perfect_trees(f):  # the wavelets on past leaves only
        t = _with_bit(steps, h)
        square[t - 1] += Q[t & ((1 << h) - 1)]
    total = np.concatenate([[0.0], np.cumsum(f)])
    for level in range(1, height + 1):  # the wavelet of each size that ends after t
        size, half = 2.0**level, 1 << (level - 1)
        past = steps & (2 * half - 1)
        difference = total[past] - 2.0 * total[np.maximum(past - half, 0)]
        square += difference**2 / (size * (size - 1.0))
    square += total[steps] ** 2 / (N * (2.0 * N - 1.0))

    def matrices() -> Matrices:
        from scipy.linalg import toeplitz
        from scipy.sparse import csr_array

        M = np.zeros((n, N))
        M[:, :n] = toeplitz(f, np.zeros(n))
        return csr_array(np.hstack(_node_weights(M))), _dyadic_sums(n, N)

    # per node: one addition for its sum, 4 operations up the tree, 5 down, and one noise
    passes = (10.0 * (N - 1) + 2 * N - 1) / n
    return Mechanism(
        "Honaker full",
        "Honaker 2015",
        decay,
        np.sqrt(square),
        node_norm(N.bit_length(), noise),
        2 * N - 1,
        passes + _answer_work(decay, f),
        matrices,
        noise,
        online=False,
    )


def _perfect_trees(f: Column) -> Iterator[tuple[int, Column, Column]]:
    """h, S, Q for h = 0, 1, ...: the sum S_a of f_a, ..., f_{a+2^h-1}, and the wavelets' part Q_a.

    There is a tree for each a ≤ n - 2^h.  Two trees of half the size make a tree, so the total cost
    is O(n log n).
    """
    S, Q = f, np.zeros(len(f))
    for h in range(len(f).bit_length()):
        if h > 0:
            size, half = 2.0**h, 1 << (h - 1)
            newer, older = S[:-half], S[half:]
            Q = Q[:-half] + Q[half:] + (newer - older) ** 2 / (size * (size - 1.0))
            S = newer + older
        yield h, S, Q


def _node_weights(V: Matrix) -> list[Matrix]:
    """V (RᵀR)⁻¹ Rᵀ of a perfect tree, level by level from the leaves up.

    The weight of a node is the sum of V (RᵀR)⁻¹ over its leaves.  Wavelets below a node sum to zero
    over it, so the mean over a child is its parent's mean ± the parent's wavelet.
    """
    sums = [V]
    while sums[-1].shape[1] > 1:
        sums.append(sums[-1][:, 0::2] + sums[-1][:, 1::2])
    N = float(V.shape[1])
    mean = sums[-1] / (N * (2.0 * N - 1.0))
    weights = [N * mean]
    for below in reversed(sums[:-1]):
        size = 2.0 * N / below.shape[1]  # leaves of the parents
        wavelet = (below[:, 0::2] - below[:, 1::2]) / (size * (size - 1.0))
        mean = np.stack([mean + wavelet, mean - wavelet], axis=2).reshape(below.shape)
        weights.append(size / 2.0 * mean)
    return weights[::-1]


def _dyadic_sums(n: int, leaves: int) -> csr_array:
    """A matrix with a row for each dyadic interval in [0, leaves), smallest first; n columns."""
    from scipy.sparse import coo_array

    rows, columns, start = [], [], 0
    for level in range(leaves.bit_length()):
        nodes = leaves >> level
        inside = np.arange(min(n, nodes << level))
        rows.append(start + (inside >> level))
        columns.append(inside)
        start += nodes
    where = (np.concatenate(rows), np.concatenate(columns))
    return coo_array((np.ones(len(where[0])), where), shape=(start, n)).tocsr()


def _with_bit(steps: Signed, h: int) -> Signed:
    return np.asarray(steps[steps >> h & 1 == 1])


def _reach(f: Column) -> int:
    return int(np.flatnonzero(f)[-1]) + 1


def _answer_work(decay: Decay, f: Column) -> float:
    """The operations per step for Σ f_{t-j} x̂_j, by a running sum if there is one."""
    if isinstance(decay, NoDecay):
        return 1.0
    if isinstance(decay, Exponential):
        return 2.0
    reached = np.minimum(np.arange(1, len(f) + 1), _reach(f))
    return 2.0 * float(np.mean(reached)) - 1.0


def _online_cost(decay: Decay, f: Column) -> Cost:
    """The numbers kept and the operations per step of `honaker_online`."""
    n, bits = len(f), most_bits(len(f))
    merges = 1.0 - n.bit_count() / n  # nodes above the leaves, per step
    # the running sum, its noise from the stack of blocks, and merges of one or two noises per block
    if isinstance(decay, NoDecay):
        return Cost(1 + bits, 1.0 + 2.0 + 4.0 * merges)
    if isinstance(decay, Exponential):
        return Cost(1 + 2 * bits, 2.0 + 3.0 + 8.0 * merges)
    moved = sum((n >> h) * min(1 << h, _reach(f)) for h in range(1, n.bit_length())) / n
    return Cost(_reach(f) + bits, 1.0 + 5.0 * merges + moved + _answer_work(decay, f))
