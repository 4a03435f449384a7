"""Bolot et al.'s window sums: a dyadic tree on each block of w steps.

    the last w steps  =  a suffix of the previous block  +  a prefix of this one

Both are unions of a few nodes of their block's tree.  The tree halves a block of any length down to
single steps; the left part is the longer one.  For w = 2^k the nodes are the dyadic intervals.  If
[a, c) has the halves [a, b) and [b, c), the left half is in the prefixes of b, ..., c - 1 steps,
and the right half is in the suffixes that start at a + 1, ..., b.

This module follows the description by Henzinger, Upadhyay and Upadhyay, because the text of Bolot
et al. was not available.
"""

from __future__ import annotations

import numpy as np

from hushfade import check
from hushfade.baselines.mechanism import Matrices, Mechanism, Noise, norm_order, of_kind
from hushfade.check import Column, Signed
from hushfade.decays import Decay, SlidingWindow

SOURCE = "Bolot, Fawaz, Muthukrishnan, Nikolov, Taft 2013"


def bolot_window(decay: Decay, horizon: int, *, noise: Noise = "gaussian") -> Mechanism:
    """The sums of a window of w steps by the nodes of two trees.

    With D = ⌈log₂ w⌉, when the horizon T ≥ 2w:

        max_t ‖L_t‖² = D + 1 = ‖R‖₁→₂² = ‖R‖₁→₁,  and 1 = ‖L_t‖² at the ends of blocks

    because the cut between suffix and prefix is the middle of one node, at most D - 1 levels below
    the root: each level above it contributes one half, and its own level two.  Bolot et al. use
    Laplace noise; the paper compares with Gaussian noise.  Cost: O(T), and O(T log w) for the
    matrices.

    Between steps it keeps the w - 1 noisy sums for suffixes, and for each level the sum and the
    noise of an open prefix.  A step has up to seven additions on average.

    >>> tree = bolot_window(SlidingWindow(length=4), 8)
    >>> (tree.errors**2).round(12)  # prefixes of 1, 10₂, 11₂, 100₂ steps; then suffixes with them
    array([1., 1., 2., 1., 3., 2., 3., 1.])
    >>> round(tree.error_factor, 12)  # D + 1
    3.0
    """
    n, p = check.count(horizon=horizon), norm_order(noise)
    # a window longer than the horizon is a count, and needs no larger tree than a count
    w = min(of_kind(decay, SlidingWindow).window, 1 << (n - 1).bit_length())
    return Mechanism(
        "Bolot et al. window",
        SOURCE,
        decay,
        np.sqrt(node_counts(w, n)),
        float(record_nodes(w, n)) ** (1.0 / p),
        kept(w, n),
        operations(w),
        lambda: window_matrices(w, n),
        noise,
    )


def node_counts(w: int, n: int) -> Column:
    """The number of nodes in each of the n answers: ‖L_t‖².  Cost: O(w + n)."""
    a, b, c = _halves(w)
    prefix = np.cumsum(np.bincount(b, minlength=w + 1) - np.bincount(c, minlength=w + 1))
    prefix[w] += 1  # the root
    suffix = np.cumsum(np.bincount(a + 1, minlength=w + 1) - np.bincount(b + 1, minlength=w + 1))
    out = np.resize((prefix + suffix)[1:], n)
    out[:w] = prefix[1 : min(w, n) + 1]
    return out.astype(np.float64)


def record_nodes(w: int, n: int) -> int:
    """The largest number of nodes, complete within n steps, that contain a record: ‖R‖₁→₁.

    The first step of a block is in the longest node of each level, which ends first.
    """
    size, nodes = w, int(w <= n)
    while size > 1:
        size -= size // 2
        nodes += size <= n
    return nodes


def kept(w: int, n: int) -> int:
    """The number of values kept between steps.

    After j steps of a block these are the w - 1 - j right halves of the previous block that begin
    later, and at most j - 1 right halves of this block.
    """
    levels = (w - 1).bit_length()
    return 2 * levels + (w - 1 if n > w else 0)


def operations(w: int) -> float:
    """The additions per step, on average over a block.

    A block has w additions for the answers' noise, and w - 1 each for the count, its noises, the
    sums of right halves, their noises, the suffixes, and joining suffix and prefix.
    """
    return 7.0 - 6.0 / w


def window_matrices(w: int, n: int) -> Matrices:
    """L and R of n steps; R has a row for each node that is complete within these steps."""
    from scipy.sparse import coo_array

    a, b, c = _halves(w)
    blocks = w * np.arange(-(-n // w))[:, None]
    # root, left halves, right halves: the steps in each node, and the answers that add it
    start, end, first, last = (
        (blocks + np.concatenate(parts)).ravel()
        for parts in (([0], a, b), ([w], b, c), ([w - 1], b - 1, w + a), ([w], c - 1, w + b))
    )
    whole = end <= n
    start, end, first, last = start[whole], end[whole], first[whole], np.minimum(last[whole], n)
    nodes, steps = runs(start, end)
    R = coo_array((np.ones(len(nodes)), (nodes, steps)), shape=(len(start), n))
    nodes, steps = runs(first, np.maximum(first, last))
    L = coo_array((np.ones(len(nodes)), (steps, nodes)), shape=(n, len(start)))
    return L.tocsr(), R.tocsr()


def runs(start: Signed, end: Signed) -> tuple[Signed, Signed]:
    """The indices i, and the numbers start_i, ..., end_i - 1 for each i, as two flat arrays.

    >>> runs(np.array([5, 0]), np.array([7, 1]))
    (array([0, 0, 1]), array([5, 6, 0]))
    """
    length = end - start
    index = np.repeat(np.arange(len(start)), length)
    return index, np.arange(len(index)) + np.repeat(start - (np.cumsum(length) - length), length)


def _halves(w: int) -> tuple[Signed, Signed, Signed]:
    """a, b, c of all w - 1 splits [a, c) = [a, b) + [b, c), from the root down."""
    found = []
    start, end = np.array([0]), np.array([w])
    while start.size:
        long = end - start > 1
        a, c = start[long], end[long]
        b = c - (c - a) // 2
        found.append((a, b, c))
        start, end = np.concatenate([a, b]), np.concatenate([b, c])
    a, b, c = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return a, b, c
