"""Bolot et al.'s exponential sums: a dyadic tree whose nodes hold decayed sums.

    node [a, b):  Σ_j α^-(b-1-j) x_j        at age k it counts α^-k times

Blocks have 2^h steps.  An answer adds the nodes of the current block's prefix, one for each set bit
of its length as in the binary tree, and the roots of all earlier blocks, each decayed by its age.
If the memory is short compared with a block, a tree only adds noise: the best h decreases as α
increases, and at h = 0 the mechanism is noise on the inputs.

This module follows the description by Henzinger, Upadhyay and Upadhyay, because the text of Bolot
et al. was not available.  Where the description leaves a choice, it favours Bolot et al.: the
height h is the best one, and only nodes that occur in an answer get noise.
"""

from __future__ import annotations

import math

import numpy as np

from hushfade import check
from hushfade.baselines.bolot_window import SOURCE, runs
from hushfade.baselines.mechanism import Matrices, Mechanism, Noise, norm_order, of_kind
from hushfade.check import Column
from hushfade.decays import Decay, Exponential, NoDecay
from hushfade.errors import InvalidType, InvalidValue


def bolot_exponential(decay: Decay, horizon: int, *, noise: Noise = "gaussian") -> Mechanism:
    """The exponential sums by `decayed_tree` with its best height, within the range of their proof.

    The range is α in (1, 3/2), a half-life above 1.71 steps; other values raise an error.  The
    construction itself works for every α > 1: see `decayed_tree`.

    >>> round(bolot_exponential(Exponential.from_alpha(1.01), 1024).error_factor, 2)
    5.37
    >>> bolot_exponential(Exponential.from_alpha(2), 1024)
    Traceback (most recent call last):
    hushfade.errors.InvalidValue: alpha must be < 3/2 for Bolot et al., got 2.0: use decayed_tree
    """
    fading = of_kind(decay, Exponential)
    if not fading.rate < math.log(1.5):
        raise InvalidValue(
            "must be < 3/2 for Bolot et al.",
            argument="alpha",
            got=fading.alpha,
            remedy="use decayed_tree",
        )
    return _mechanism("Bolot et al. exponential", decay, horizon, None, noise)


def decayed_tree(
    decay: Decay, horizon: int, *, height: int | None = None, noise: Noise = "gaussian"
) -> Mechanism:
    """The exponential sums for any α > 1, or the counts, by a tree on each 2^height steps.

    With q = α^-2, B = 2^height, and t = mB + j the steps so far, 1 ≤ j ≤ B:

        ‖L_t‖² = Σ_e q^(j-e) + q^j (1 + q^B + ... + q^((m-1)B))

    over the ends e of the nodes that make up the prefix of j steps.  By default the height is the
    one with the smallest error factor.  Counting is α = 1: with a tree on all T = 2^height steps it
    is the binary tree; the best height is lower.

    Cost: O(T log T), a second at T = 2^20; for the matrices O(T² / B + T height).  Between steps it
    keeps the decayed sum with the noise of all roots, and a sum of noises for each set bit of j.  A
    step has a decay and an addition for each of the two, and one addition for the answer.

    >>> tree = decayed_tree(NoDecay(), 8, height=2)
    >>> (tree.errors**2).round(12)  # 1, 10₂, 11₂, 100₂ steps, then with the first root
    array([1., 1., 2., 1., 2., 2., 3., 2.])
    >>> round(decayed_tree(NoDecay(), 1024, height=10).error_factor ** 2)  # 10 nodes, 11 levels
    110
    >>> tree = decayed_tree(Exponential.from_alpha(2), 64)
    >>> round(tree.error_factor ** 2, 12)  # 1/(1 - α^-2): h = 0
    1.333333333333
    """
    if not isinstance(decay, Exponential | NoDecay):
        raise InvalidType("decay must be an Exponential or NoDecay", got=type(decay).__name__)
    return _mechanism("tree of decayed sums", decay, horizon, height, noise)


def _mechanism(
    name: str, decay: Decay, horizon: int, height: int | None, noise: Noise
) -> Mechanism:
    n, p = check.count(horizon=horizon), norm_order(noise)
    f = decay.weights(n + 1)
    norms = _sensitivities(f, n, p)
    if height is None:
        height = min(
            range(len(norms)), key=lambda h: math.sqrt(np.max(_variances(f, n, h))) * norms[h]
        )
    h = check.count(height=height, least=0, most=len(norms) - 1)
    fades = isinstance(decay, Exponential)
    return Mechanism(
        name,
        SOURCE,
        decay,
        np.sqrt(_variances(f, n, h)),
        norms[h],
        1 + min(h, (n + 1).bit_length() - 1),
        5.0 - 2.0 / (1 << h) if fades else 3.0 - 1.0 / (1 << h),
        lambda: _matrices(f, n, h),
        noise,
    )


def _variances(f: Column, n: int, height: int) -> Column:
    """‖L_t‖² for t = 1, ..., n, where f_0, ..., f_n are the weights.  Cost: O(n)."""
    B, q = 1 << height, f * f
    # v_j for the prefix of j steps: the node of the highest bit decays by the remainder of j
    v = np.ones(min(B, n) + 1)
    size = 1
    while size < min(B, n):
        rest = np.arange(1, min(size, len(v) - size))
        v[size + rest] = v[rest] + q[rest]
        size *= 2
    blocks, place = np.divmod(np.arange(n), B)
    roots = np.concatenate([[0.0], np.cumsum(q[:n:B])])
    return np.asarray(v[place + 1] + q[place + 1] * roots[blocks])


def _sensitivities(f: Column, n: int, p: int) -> list[float]:
    """‖R‖₁→p for each height up to ⌈log₂ n⌉.  Cost: O(n).

    A record's position in its block determines Σ f^p over the left halves and the root above it.
    In the next larger tree this block is a left half, or a right half whose root is in no answer.
    An incomplete last block has no root, and its left half has the largest norm.
    """
    g, below, norms = f**p, np.zeros(1), []
    for height in range(n.bit_length()):
        root = g[: 1 << height][::-1]
        norms.append(float(np.max(below + root)) ** (1.0 / p))
        below = np.concatenate([below + root, below])
    return norms if n == 1 << (n.bit_length() - 1) else [*norms, norms[-1]]


def _matrices(f: Column, n: int, height: int) -> Matrices:
    """L and R, both square: node t ends at step t; its size is the lowest set bit of t mod B."""
    from scipy.sparse import coo_array

    B, last = 1 << height, np.arange(n)
    place = last % B + 1
    size = place & -place
    nodes, steps = runs(last + 1 - size, last + 1)
    R = coo_array((f[nodes - steps], (nodes, steps)), shape=(n, n))
    # a left half is in the answers until its right half is complete, a root in all later answers
    until = np.minimum(np.where(place == B, n, last + size), n)
    nodes, answers = runs(last, until)
    L = coo_array((f[answers - nodes], (answers, nodes)), shape=(n, n))
    return L.tocsr(), R.tocsr()
