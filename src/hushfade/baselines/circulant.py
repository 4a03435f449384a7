"""The circulant (group algebra) factorization: M as a corner of a circulant matrix of size 2T.

    λ = DFT_2T(f, 0),  M = the leading T × T corner of circ(λ) = circ(√λ) circ(√λ)
    L = the first T rows of one root, R = the first T columns of the other

All rows of L and all columns of R have the norm √(Σ|λ_j| / 2T), so every step has one error.
"""

from __future__ import annotations

import math

import numpy as np

from hushfade import check
from hushfade.baselines.independent_noise import sum_cost, weights
from hushfade.baselines.mechanism import Matrices, Mechanism
from hushfade.baselines.square_roots import from_dense
from hushfade.decay import Decay
from hushfade.theory import optimum
from hushfade.theory.dense_pair import DenseFactorization


def circulant(decay: Decay, horizon: int) -> Mechanism:
    """The factorization by the roots of a circulant matrix, as published: R is 2T × T.

    ‖L_t‖² = ‖R‖₁→₂² = (1/2T) Σ_j |λ_j|

    Henzinger & Upadhyay 2025; for counting the value is Mathias' bound of 1993.  Any decay.  Cost:
    one real FFT of length 2T; the matrices O(T²).

    Rows of R reach into the future, so it is not `online`: no step can hand over R x + z.  Since
    s = M x + L z, one can still publish step by step if all of L z is drawn at the start: T numbers
    to keep, one inverse FFT of length 2T, shared by T steps.  That is the memory and the work given
    here.  `causal_circulant` is its online form.

    >>> from hushfade import NoDecay
    >>> round(circulant(NoDecay(), 2).error_factor, 6)  # λ = 2, 1 - i, 0, 1 + i: (2 + 2√2)/4
    1.207107
    """
    from scipy import fft

    f = weights(decay, horizon)
    n, N = len(f), 2 * len(f)
    spectrum = fft.rfft(f, N)
    size = np.abs(spectrum)
    mean = (2.0 * float(np.sum(size)) - float(size[0]) - float(size[-1])) / N

    def matrices() -> Matrices:
        from scipy.linalg import circulant as circulant_matrix
        from scipy.sparse import csr_array

        right = np.sqrt(spectrum)
        right[[0, -1]] = np.sqrt(size[[0, -1]])  # these two are real and may be negative
        left = right.copy()
        left[[0, -1]] *= np.sign(spectrum[[0, -1]].real)
        R = circulant_matrix(fft.irfft(right, N))[:, :n]
        L = circulant_matrix(fft.irfft(left, N))[:n]
        return csr_array(L), csr_array(R)

    kept, work = sum_cost(decay, n)
    return Mechanism(
        "circulant",
        "Henzinger & Upadhyay 2025",
        decay,
        n,
        np.full(n, math.sqrt(mean)),
        math.sqrt(mean),
        kept + n,
        # a real FFT takes 2.5 N log₂ N operations; N products with √λ, one addition a step
        work + 5.0 * math.log2(N) + 3.0,
        matrices,
        online=False,
    )


def causal_circulant(decay: Decay, horizon: int) -> Mechanism:
    """The circulant factorization turned to lower triangular form, at most 2048 steps.

    RᵀR = G, the Toeplitz matrix of (1/2T) Σ_j |λ_j| e^{2πijk/2T};  R lower triangular,  L = M R⁻¹

    G is that of `circulant`, so the sensitivity is the same.  Turned by an orthogonal matrix Q with
    QᵀR triangular, its L Q has T columns that meet zeros of QᵀR: noise for nothing.  Without them
    every error is at most the circulant's.  Any decay.  Cost: O(T³).  Keeps the noise R⁻¹z of all
    steps, drawn ahead.

    >>> from hushfade import NoDecay
    >>> found = causal_circulant(NoDecay(), 2)  # G = ((1 + √2)/2, 1/2), ‖L_1‖² = 2/(G_0 + G_1)
    >>> round(found.error_factor**4, 6), found.online
    (2.0, True)
    """
    from scipy import fft
    from scipy.linalg import cholesky, solve_triangular, toeplitz

    n = check.count(horizon=horizon, most=optimum.LARGEST)
    f = weights(decay, n)
    G = toeplitz(fft.irfft(np.abs(fft.rfft(f, 2 * n)), 2 * n)[:n])
    R = np.tril(cholesky(G[::-1, ::-1])[::-1, ::-1])
    L = np.tril(solve_triangular(R, toeplitz(f, np.zeros(n)).T, trans="T", lower=True).T)
    return from_dense(
        DenseFactorization(decay, L, R),
        name="causal circulant",
        source="Henzinger & Upadhyay 2025, turned",
    )
