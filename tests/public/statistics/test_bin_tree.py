"""Counts on several levels: least squares by two passes, and the weights of ranks."""

import numpy as np
from numpy.testing import assert_allclose

from hushfade.public.statistics.bin_tree import BinTree

TREES = [BinTree(b, levels) for b, levels in ((2, 1), (5, 1), (2, 2), (3, 2), (4, 3), (2, 5))]


def sums_of_bins(tree):
    """The lanes as sums of the smallest bins, (lanes, bins)."""
    bins = tree.sizes[-1]
    return np.concatenate([np.kron(np.eye(n), np.ones(bins // n)) for n in tree.sizes])


def rank_weights(tree):
    """The weights of least squares by linear algebra, (bins + 1, lanes)."""
    lanes = sums_of_bins(tree)
    bins = np.linalg.solve(lanes.T @ lanes, lanes.T)
    return np.concatenate([np.zeros((1, len(lanes))), np.cumsum(bins, axis=0)])


def test_ranks_are_the_least_squares_estimate():
    for tree in TREES:
        weights = rank_weights(tree)
        every_lane = np.eye(weights.shape[1])
        assert_allclose(tree.below(every_lane).T, weights, atol=1e-12, err_msg=str(tree))
        assert_allclose(tree.count_weights, weights[-1], atol=1e-12, err_msg=str(tree))


def test_without_noise_ranks_are_exact():
    rng = np.random.default_rng(1)
    for tree in TREES:
        bins = rng.integers(0, 50, tree.sizes[-1])
        below = tree.below((sums_of_bins(tree) @ bins)[None, :])[0]
        assert_allclose(below, [0, *np.cumsum(bins)], atol=1e-9, err_msg=str(tree))


def test_moments_are_those_of_the_weights():
    for tree in TREES:
        for quantile in (0.01, 0.5, 0.9):
            weights = rank_weights(tree)
            c = weights - quantile * weights[-1]
            found = tree.rank_moments(quantile)
            assert_allclose(found.energy, (c**2).sum(axis=1), atol=1e-12, err_msg=str(tree))
            assert_allclose(found.fourth, (c**4).sum(axis=1), atol=1e-12, err_msg=str(tree))
            assert_allclose(found.largest, np.abs(c).max(axis=1), atol=1e-12, err_msg=str(tree))


def test_least_squares_has_less_noise_than_the_fewest_counts_that_add_up_to_a_rank():
    """Without least squares a rank is a sum of whole bins, the largest first."""
    tree = BinTree(8, 2)
    fewest = np.zeros((65, 72))
    for edge in range(65):
        fewest[edge, : edge // 8] = 1.0
        fewest[edge, 8 + edge // 8 * 8 : 8 + edge] = 1.0
    assert_allclose(fewest @ sums_of_bins(tree), np.tri(65, 64, -1))  # it is a rank
    noise = np.square(fewest - 0.5 * fewest[-1]).sum(axis=1)
    assert (tree.rank_moments(0.5).energy <= noise + 1e-12).all()
    assert tree.rank_moments(0.5).energy.mean() < 0.7 * noise.mean()
