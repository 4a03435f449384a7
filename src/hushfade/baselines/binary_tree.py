"""The binary tree: counting by noisy sums over dyadic intervals.

    prefix t = the union of popcount(t) intervals, one for each set bit of t:
    t = 6 = 110₂:  [0, 4) and [4, 6)

The records of step 0 are in [0, 1), [0, 2), [0, 4), ...: as many as T has bits.
"""

from __future__ import annotations

import math

import numpy as np

from hushfade import check
from hushfade.baselines.mechanism import Matrices, Mechanism, Noise, norm_order
from hushfade.decays import Decay, NoDecay
from hushfade.errors import InvalidValue


def binary_tree(decay: Decay, horizon: int, *, noise: Noise = "gaussian") -> Mechanism:
    """The counts, each the sum of popcount(t) noisy sums over dyadic intervals.

    ‖L_t‖² = popcount(t),  ‖R‖₁→₂² = ‖R‖₁→₁ = 1 + ⌊log₂ T⌋  for t = 1, ..., T

    Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi, Song 2011.  As in the latter, the tree keeps
    only the interval that ends at t, which has 2^i steps for the lowest set bit i of t.  The other
    dyadic intervals, the right halves, are in no answer and change neither number.

    Counting only: sums over intervals give no weighted sums.  Cost: O(T), and O(T log T) for the
    matrices.  Between steps it keeps the count so far, and a sum of noises for each set bit of t.
    A step has one addition for the count, one for the noises, and one for the answer.

    >>> from hushfade import NoDecay
    >>> tree = binary_tree(NoDecay(), 4)
    >>> (tree.errors**2).round(12)  # 1 = 1₂, 2 = 10₂, 3 = 11₂, 4 = 100₂
    array([1., 1., 2., 1.])
    >>> round(tree.error_factor, 6)  # √2 · √3: step 0 is in [0, 1), [0, 2) and [0, 4)
    2.44949
    """
    counting_only(decay, "the binary tree")
    n = check.count(horizon=horizon)
    steps = np.arange(1, n + 1)

    def matrices() -> Matrices:
        from scipy.sparse import coo_array

        lowest = steps & -steps
        nodes = np.repeat(steps - 1, lowest)
        # node t - 1 holds the steps t - lowest, ..., t - 1
        within = np.arange(len(nodes)) - np.repeat(np.cumsum(lowest) - lowest, lowest)
        columns = np.repeat(steps - lowest, lowest) + within
        R = coo_array((np.ones(len(nodes)), (nodes, columns)), shape=(n, n))
        bits = range(n.bit_length())
        rows = [steps[steps >> h & 1 == 1] for h in bits]
        used = np.concatenate([(t >> h << h) - 1 for h, t in zip(bits, rows, strict=True)])
        L = coo_array((np.ones(len(used)), (np.concatenate(rows) - 1, used)), shape=(n, n))
        return L.tocsr(), R.tocsr()

    return Mechanism(
        "binary tree",
        "Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi, Song 2011",
        decay,
        np.sqrt(np.bitwise_count(steps).astype(np.float64)),
        node_norm(n.bit_length(), noise),
        1 + most_bits(n),
        3.0,
        matrices,
        noise,
    )


def node_norm(nodes: int, noise: Noise) -> float:
    """‖R‖ of sums if each record is in at most `nodes` of them: √nodes, or nodes for Laplace noise.

    >>> node_norm(9, "gaussian"), node_norm(9, "laplace")
    (3.0, 9.0)
    """
    return float(nodes) if norm_order(noise) == 1 else math.sqrt(nodes)


def most_bits(n: int) -> int:
    """The largest popcount(t) for t ≤ n: ⌊log₂(n + 1)⌋.

    >>> most_bits(6), most_bits(7)
    (2, 3)
    """
    return (n + 1).bit_length() - 1


def counting_only(decay: Decay, who: str) -> None:
    """Raise InvalidValue unless the decay is NoDecay, for mechanisms that sum over intervals."""
    if not isinstance(decay, NoDecay):
        raise InvalidValue(
            f"decay must be NoDecay() for {who}",
            got=repr(decay),
            remedy="for other decays use Honaker's tree, or Bolot et al.'s",
        )
