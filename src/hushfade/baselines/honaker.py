"""Honaker's trees: the best linear unbiased estimate from all noisy dyadic sums, for any decay.

    y_u = Σ_{j in u} x_j + z_u for every dyadic interval u;   estimate f_tᵀ x by least squares:
    ‖L_t‖² = f_tᵀ (RᵀR)⁻¹ f_t

On the 2^h leaves of a perfect tree RᵀR is the sum of the blocks of ones of sizes 1, 2, ..., 2^h.
Haar's wavelets diagonalise it: one on 2^l leaves has the eigenvalue 1 + 2 + ... + 2^(l-1) =
2^l - 1, the constant has 2^(h+1) - 1.  With S the sum of the weights over the leaves and D_v the
difference of the sums over the halves of a node v of 2^l leaves,

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
from hushfade.decay import Decay, Exponential, NoDecay

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def honaker_online(decay: Decay, horizon: int, *, noise: Noise = "gaussian") -> Mechanism:
    """The best estimates from the dyadic sums complete at each step (estimation from below).

    The intervals complete at t form a perfect tree on 2^h leaves for each set bit h of t, at the
    lags a, ..., a + 2^h - 1 with a = t mod 2^h.  So ‖L_t‖² = Σ_h E_h(t mod 2^h), where E_h(a) is
    the form above for f_a, ..., f_{a+2^h-1}.  Counting: Σ_h 2^h / (2^(h+1) - 1), about half the
    binary tree's popcount(t).  ‖R‖₁→₂² = ‖R‖₁→₁ = 1 + ⌊log₂ T⌋.

    Honaker 2015, for counts; any decay here.  Cost: O(T log T); the matrices O(T²).

    Between steps: a new node's residual moves all its leaves' estimates by the same amount, so
    counting keeps the count and a noise for each set bit of t, an exponential its sum and two
    noises (plain and weighted), other decays the estimates as far back as f reaches and a noise.

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
    """The best estimates from all dyadic sums, also those completed later: not online.

    The steps are padded with zeros to N = 2^H ≥ T leaves of one perfect tree.  The estimate is
    that of the perfect tree, which does not know that the zeros are zeros; so ‖L_t‖² is the form
    above for f_t padded with zeros, and ‖R‖₁→₂² = ‖R‖₁→₁ = 1 + ⌈log₂ T⌉.

    Honaker 2015 (from below and above).  Cost: O(T log T); the matrices O(T²).  It keeps every
    noisy sum, 2N - 1; one pass up and one down the tree, then the sums of the leaves' estimates.

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
    for level in range(1, height + 1):  # the one of each size that ends after t
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

    # a node: one addition for its sum, 4 operations up the tree, 5 down; a noise each
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
    """h, S, Q for h = 0, 1, ...: of f_a, ..., f_{a+2^h-1} the sum S_a and the wavelets' part Q_a.

    Each a ≤ n - 2^h has its tree; two of them half as high make it, so all cost O(n log n).
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

    A node's weight is its leaves' sum of V (RᵀR)⁻¹.  Wavelets below a node have no sum over it,
    so the mean over a child is its parent's mean ± the parent's wavelet.
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
    """A row for each dyadic interval in [0, leaves), small ones first; the first n columns."""
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
    """Operations a step for Σ f_{t-j} x̂_j: a running sum where there is one, else a product."""
    if isinstance(decay, NoDecay):
        return 1.0
    if isinstance(decay, Exponential):
        return 2.0
    reached = np.minimum(np.arange(1, len(f) + 1), _reach(f))
    return 2.0 * float(np.mean(reached)) - 1.0


def _online_cost(decay: Decay, f: Column) -> Cost:
    """Numbers kept and operations a step of `honaker_online`."""
    n, bits = len(f), most_bits(len(f))
    merges = 1.0 - n.bit_count() / n  # nodes above the leaves, a step
    # the running sum; its noise from the stack of blocks; a merge of one block's noise, or two
    if isinstance(decay, NoDecay):
        return Cost(1 + bits, 1.0 + 2.0 + 4.0 * merges)
    if isinstance(decay, Exponential):
        return Cost(1 + 2 * bits, 2.0 + 3.0 + 8.0 * merges)
    moved = sum((n >> h) * min(1 << h, _reach(f)) for h in range(1, n.bit_length())) / n
    return Cost(_reach(f) + bits, 1.0 + 5.0 * merges + moved + _answer_work(decay, f))
