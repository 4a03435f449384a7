"""The circulant (group algebra) factorization: M as a corner of a circulant matrix of size 2T.

    λ = DFT_2T(f, 0),  M = the leading T × T corner of circ(λ) = circ(√λ) circ(√λ)
    L = the first T rows of one root, R = the first T columns of the other

All rows of L and all columns of R have the norm √(Σ|λ_j| / 2T), so every step has the same error.
"""

from __future__ import annotations

import math

import numpy as np

from hushfade.baselines.independent_noise import sum_cost, weights
from hushfade.baselines.mechanism import Matrices, Mechanism
from hushfade.decays import Decay


def circulant(decay: Decay, horizon: int) -> Mechanism:
    """The factorization by the root of a circulant matrix, as published: R is 2T × T.

    ‖L_t‖² = ‖R‖₁→₂² = (1/2T) Σ_j |λ_j|

    Henzinger & Upadhyay 2025; for counting the value is Mathias' bound of 1993.  It applies to any
    decay.  Cost: one real FFT of length 2T; the matrices O(T²).

    Rows of R depend on future steps, so the mechanism is not `online`: no step can compute R x + z.
    Since s = M x + L z, it can still publish step by step if it draws all of L z at the start.  It
    then keeps T numbers, and T steps share one inverse FFT of length 2T.  `memory` and `work` are
    for this method.

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
        right[[0, -1]] = np.sqrt(size[[0, -1]])  # these two are real, possibly negative
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
        np.full(n, math.sqrt(mean)),
        math.sqrt(mean),
        kept + n,
        # a real FFT takes 2.5 N log₂ N operations; N products with √λ; one addition per step
        work + 5.0 * math.log2(N) + 3.0,
        matrices,
        online=False,
    )
