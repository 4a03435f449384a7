"""The smooth binary mechanism: a taller tree of which only balanced leaves are used.

    h even, C(h, h/2) > T: step j is the leaf whose h bits are the j-th smallest number with
    h/2 ones; the answer after it adds the left siblings along the path to the next balanced leaf

A leaf is in one left child per zero bit, and an answer adds one node per one bit: h/2 and h/2, at
every step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hushfade import check
from hushfade.baselines.binary_tree import counting_only, node_norm
from hushfade.baselines.mechanism import Matrices, Mechanism, Noise
from hushfade.check import Signed
from hushfade.decays import Decay

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def smooth_binary(decay: Decay, horizon: int, *, noise: Noise = "gaussian") -> Mechanism:
    """The counts, each the sum of h/2 noisy sums: the same error at every step.

    ‖L_t‖² = ‖R‖₁→₂² = ‖R‖₁→₁ = h/2,  h the smallest even number with C(h, h/2) > T

    Andersson & Pagh 2023.  Some of the h/2 intervals contain no step and are noise alone; they keep
    the errors equal.  `R` includes sums that are incomplete after T steps, because the published
    noise is for a full tree.  If 2T < C(h, h/2), no answer uses the highest sum, and noise for
    h/2 - 1 sums would suffice.

    Counting only.  Cost: O(T √log T), one pass over the numbers below 2^h; O(T log T) for the
    matrices.  Between steps it keeps the count so far and h/2 sums of noises.  A step has one
    addition for the count, one for the answer, and one per new interval on the path, about two on
    average.

    >>> from hushfade import NoDecay
    >>> smooth = smooth_binary(NoDecay(), 5)  # 0011, 0101, 0110, 1001, 1010, 1100: h = 4
    >>> (smooth.errors**2).round(12), round(smooth.error_factor, 12)
    (array([2., 2., 2., 2., 2.]), 2.0)
    """
    counting_only(decay, "the smooth binary mechanism")
    n = check.count(horizon=horizon)
    half = next(k for k in range(1, n + 1) if math.comb(2 * k, k) > n)
    leaves = _balanced(half, n + 1)

    def matrices() -> Matrices:
        # node (bit, leaf >> bit) as one number; left children end in 0
        bits = np.arange(2 * half)
        prefixes = leaves[:, None] >> bits
        names = prefixes + (bits << 2 * half)
        held = names[:-1][prefixes[:-1] & 1 == 0]
        added = names[1:][prefixes[1:] & 1 == 1] - 1
        nodes = np.unique(np.concatenate([held, added]))
        step = np.repeat(np.arange(n), half)
        L = _ones(step, np.searchsorted(nodes, added), (n, len(nodes)))
        R = _ones(np.searchsorted(nodes, held), step, (len(nodes), n))
        return L, R

    # the path turns right at the highest bit that changes; all ones from there on are new
    _, turned = np.frexp((leaves[1:] ^ leaves[:-1]).astype(np.float64))
    fresh = np.bitwise_count(leaves[1:] & ((1 << turned.astype(np.int64)) - 1))
    return Mechanism(
        "smooth binary",
        "Andersson & Pagh 2023",
        decay,
        np.full(n, math.sqrt(half)),
        node_norm(half, noise),
        1 + half,
        2.0 + float(np.mean(fresh)),
        matrices,
        noise,
    )


def _balanced(half: int, count: int) -> Signed:
    """The first `count` numbers with `half` ones in binary."""
    width = next(b for b in range(half, 2 * half + 1) if math.comb(b, half) >= count)
    numbers = np.arange(1 << width, dtype=np.uint32 if width < 32 else np.uint64)
    return np.asarray(numbers[np.bitwise_count(numbers) == half][:count], dtype=np.int64)


def _ones(rows: Signed, columns: Signed, shape: tuple[int, int]) -> csr_array:
    from scipy.sparse import coo_array

    return coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()
