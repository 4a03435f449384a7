import math
from dataclasses import replace
from functools import lru_cache
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import toeplitz

from hushfade import InvalidValue, SlidingWindow
from hushfade.theory import optimum
from lab.paper.theory.completion import (
    Completion,
    Partial,
    Stretch,
    Undecided,
    Witness,
    _floor,
    complete,
    stretch,
)
from tests.decays import ALL_DECAYS
from tests.loops import for_each

STEPS = [2, 3, 8, 30]
# f_0 = 1, f_1 > 0, monotone: the family of which the paper's appendix speaks
FAMILY = [
    decay
    for decay in ALL_DECAYS
    if decay.monotone and decay.weights(1)[0] == 1 and decay.weights(2)[1] > 0
]


def matrix_of(f):
    return toeplitz(f, np.zeros(len(f)))


@lru_cache
def norm(decay, n):
    return optimum.solve(decay.weights(n)).bracket


def two_by_two(a, b):
    """γ2 of [[a, 0], [b, a]]: ‖D_p^½ M D_q^½‖_* on a grid of weights.

    The trace norm of a 2×2 matrix B is √(‖B‖_F² + 2 |det B|).
    """
    t = np.linspace(0, 1, 501)
    p, q = t[:, None], t[None, :]
    square = p * q * a**2 + (1 - p) * q * b**2 + (1 - p) * (1 - q) * a**2
    return math.sqrt(np.max(square + 2 * a**2 * np.sqrt(p * (1 - p) * q * (1 - q))))


# Laws ----------------------------------------------------------------------------------------


@for_each("decay", FAMILY)
@for_each("n", STEPS)
def test_the_family_is_partially_positive_and_has_no_completion(decay, n):
    found = complete(decay.weights(n))
    assert isinstance(found, Witness)
    assert found.valid
    assert found.partial.block_floor == 0.0
    assert -1e-12 < found.floor <= 1e-15
    # 2 - 2 γ2 up to gaps of 1e-4 and to rounding, and never below it
    gamma2 = norm(decay, n)
    assert 2 - 2 * gamma2.upper <= found.inner_product
    assert found.inner_product <= 2 - 2 * gamma2.upper * (1 - 2e-4) + 1e-11


@for_each("decay", FAMILY)
@for_each("n", [2, 8])
def test_the_witness_has_one_negative_product_with_every_filling(decay, n):
    found = complete(decay.weights(n))
    blank = np.isnan(found.partial.values)
    rng = np.random.default_rng(n)
    for _ in range(5):
        P = np.where(blank, rng.normal(size=blank.shape), found.partial.values)
        product = np.sum(found.matrix * P)
        assert found.inner_product - 1e-11 <= product <= found.inner_product < 0


@for_each("decay", ALL_DECAYS)
@for_each("n", [1, 2, 3, 8])
def test_below_one_there_is_a_completion_and_above_one_there_is_none(decay, n):
    f = decay.weights(n)
    gamma2 = norm(decay, n)
    below = complete(f / gamma2.upper * (1 - 1e-10))
    assert isinstance(below, Completion)
    assert below.valid
    assert below.floor > 0
    above = complete(f / gamma2.lower * (1 + 1e-10))
    assert isinstance(above, Witness)
    assert above.valid


@for_each("decay", FAMILY)
@for_each("n", STEPS)
def test_a_completion_agrees_where_specified_and_is_a_gram_matrix(decay, n):
    f = decay.weights(n)
    f = f / (1.001 * norm(decay, n).upper)
    found = complete(f)
    P, M = found.matrix, matrix_of(f)
    assert_allclose(P[:n, n:], M, rtol=0, atol=0)
    assert_allclose(np.diag(P), 1.0, rtol=0, atol=0)
    assert 0 < found.floor <= np.linalg.eigvalsh(P)[0]
    # so that the Schur map is a contraction, on random X of norm 1
    rng = np.random.default_rng(n)
    for _ in range(20):
        X = rng.normal(size=(n, n))
        assert np.linalg.norm(M * X, 2) <= np.linalg.norm(X, 2)


@for_each("decay", FAMILY)
@for_each("n", STEPS)
def test_the_schur_map_of_the_family_is_no_contraction(decay, n):
    f = decay.weights(n)
    found = stretch(f)
    X = found.contraction
    seen = np.linalg.norm(found.block * X, 2) / np.linalg.norm(X, 2)
    assert 1 < found.value <= seen
    assert found.value >= norm(decay, n).upper * (1 - 2e-4)


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 2), (2, 4), (4, 4)])
def test_block_floor_is_the_least_over_all_fully_specified_principal_blocks(shape):
    rng = np.random.default_rng(7)
    for _ in range(10):
        partial = Partial(rng.uniform(-1.2, 1.2, shape))
        values = partial.values
        least = min(
            np.linalg.eigvalsh(block)[0]
            for size in range(1, len(values) + 1)
            for S in combinations(range(len(values)), size)
            if not np.isnan(block := values[np.ix_(S, S)]).any()
        )
        assert_allclose(partial.block_floor, least, atol=1e-14)


@pytest.mark.parametrize("size", [1, 2, 5, 40, 150])
def test_floor_is_below_the_smallest_eigenvalue_and_near_it(size):
    rng = np.random.default_rng(size)
    vectors = np.linalg.qr(rng.normal(size=(size, size)))[0]
    for least in (-1.0, -1e-13, 0.0, 1e-3, 5.0):
        values = least + np.concatenate([[0.0], rng.exponential(size=size - 1)])
        A = (vectors * values) @ vectors.T
        A = (A + A.T) / 2
        # A itself is known to a rounding of size·1e-16·‖A‖; the floor charges about size² of it
        slack = 1e-15 * size * (size + 10) * np.abs(values).max() + 1e-300
        assert least - slack <= _floor(A) <= least + 1e-15 * size * np.abs(values).max()


@pytest.mark.parametrize("size", [2, 3, 10, 60, 200])
def test_floor_is_never_above_an_eigenvalue_known_exactly(size):
    path = 2 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1)
    path[0, 0] = path[-1, -1] = 1.0  # the Laplacian of a path: the ones are an eigenvector of 0
    for A in (path, np.ones((size, size)), np.zeros((size, size))):
        assert -1e-15 * size * (size + 10) * max(np.trace(A) / size, 1) <= _floor(A) < 0
        assert _floor(A + 0.25 * np.eye(size)) < 0.25


# Known values --------------------------------------------------------------------------------


@pytest.mark.parametrize("f1", [0.1, 0.5, 0.9, 1.0])
def test_two_steps_by_hand(f1):
    gamma2 = 2 / math.sqrt(4 - f1**2)
    assert_allclose(two_by_two(1.0, f1), gamma2, rtol=1e-5)  # a grid of 1/500, to second order
    f = np.array([1.0, f1])
    assert_allclose(complete(f).inner_product, 2 - 2 * gamma2, atol=2e-4 * gamma2)
    assert gamma2 * (1 - 1e-4) <= stretch(f).value <= gamma2
    assert isinstance(complete(f / (gamma2 * (1 + 1e-9))), Completion)
    assert isinstance(complete(f / (gamma2 * (1 - 1e-9))), Witness)


def test_partially_positive_definite_is_only_semidefinite():
    # the paper's 'partially positive definite' fails at the first block
    values = Partial(matrix_of([1.0, 0.5])).values
    block = values[np.ix_([0, 2], [0, 2])]
    assert block.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert np.linalg.det(block) == 0.0


@pytest.mark.parametrize("n", [1, *STEPS])
def test_the_identity_has_exactly_one_completion_and_it_is_found(n):
    # γ2 = 1: x_i = y_i are orthonormal, so Q = Q' = I and no float in between
    found = complete(SlidingWindow(length=1).weights(n))
    assert isinstance(found, Completion)
    assert found.valid
    assert np.array_equal(found.matrix, np.kron(np.ones((2, 2)), np.eye(n)))
    assert stretch(SlidingWindow(length=1).weights(n)).value <= 1.0


def test_an_entry_of_one_merges_two_vectors():
    # γ2 = 1 by x_1 = y_0; x_0, y_0, y_1 have the Gram matrix [[1, ½, 0], [½, 1, ½], [0, ½, 1]]
    found = complete(np.array([0.5, 1.0]))
    assert isinstance(found, Completion)
    assert_allclose(found.floor, 1 - 0.5 * math.sqrt(2), atol=1e-12)


def test_a_norm_above_one_forbids_no_completion():
    f = np.array([0.8, 0.8])
    assert np.linalg.norm(matrix_of(f), 2) > 1.2
    assert isinstance(complete(f), Completion)


@pytest.mark.parametrize("f1", [0.5, 1.0])
def test_within_rounding_of_one_it_is_undecided(f1):
    gamma2 = 2 / math.sqrt(4 - f1**2)
    found = complete(np.array([1.0, f1]) / gamma2)
    assert isinstance(found, Undecided)
    assert not found.completion.valid
    assert not found.witness.valid
    assert found.gamma2.lower <= 1.0 + 1e-15
    assert found.gamma2.upper >= 1.0 - 1e-15
    # either is a rounding away from a proof
    assert -1e-9 < found.completion.floor < 0
    assert 0 <= found.witness.inner_product < 1e-9


def test_weights_above_one_are_not_even_partially_positive():
    found = complete(np.array([3.0, 0.0]))
    assert isinstance(found, Witness)
    assert found.partial.block_floor == -2.0


# Refusals ------------------------------------------------------------------------------------


def scaled(W, factor):
    """W with Y scaled: where that is longer, W is no longer semidefinite."""
    out = W * factor
    np.fill_diagonal(out, np.diag(W))
    return out


def changed(W, value, *places):
    out = W.copy()
    for place in places:
        out[place] = value
    return out


TAMPERED = {
    "zero": np.zeros_like,
    "negative": lambda W: -np.eye(len(W)),
    "shorter": lambda W: scaled(W, 0.9),
    "turned": np.abs,
    "on unspecified": lambda W: changed(W, 1e-9, (0, 1), (1, 0)),
    "one-sided": lambda W: changed(W, 0.0, (0, 8)),
    "unknown": lambda W: changed(W, math.nan, (0, 0)),
    "endless": lambda W: changed(W, -math.inf, (0, 8), (8, 0)),
    "small": lambda W: W[:-1, :-1],
}


@for_each("name", TAMPERED)
def test_a_tampered_witness_is_rejected(name):
    found = complete(0.5 ** np.arange(8.0))
    assert found.valid
    assert not replace(found, matrix=TAMPERED[name](found.matrix)).valid


def test_a_witness_does_not_serve_a_matrix_that_has_a_completion():
    f = 0.5 ** np.arange(8.0)
    found, below = complete(f), complete(f / 1.1)
    assert isinstance(below, Completion)
    assert not replace(found, partial=below.partial).valid
    # a longer Y has a negative inner product with every completion, and the shift takes it back
    longer = replace(found, partial=below.partial, matrix=scaled(found.matrix, 1.2))
    assert np.sum(longer.matrix * below.matrix) < 0
    assert longer.floor < 0 < longer.inner_product
    assert not longer.valid


def test_a_tampered_completion_is_rejected():
    f = 0.5 ** np.arange(8.0) / 1.1
    found, n = complete(f), 8
    assert found.valid
    free = found.matrix.copy()  # unspecified entries may move a little, if symmetrically
    free[0, 1] = free[1, 0] = free[1, 0] + 1e-6
    assert replace(found, matrix=free).valid
    one_sided = found.matrix.copy()
    one_sided[0, 1] += 1e-6
    assert not replace(found, matrix=one_sided).valid
    far = found.matrix.copy()
    far[0, 1] = far[1, 0] = -1.0
    assert not replace(found, matrix=far).valid
    for i, j in [(0, n), (2, 2)]:  # M and the diagonal may not move at all
        moved = found.matrix.copy()
        moved[i, j] = moved[j, i] = np.nextafter(moved[i, j], 2)
        assert not replace(found, matrix=moved).valid
    unknown = found.matrix.copy()
    unknown[0, 1] = unknown[1, 0] = math.nan
    assert not replace(found, matrix=unknown).valid
    assert not replace(found, matrix=found.matrix[1:, 1:]).valid
    assert not replace(found, partial=Partial(matrix_of(f * 1.1))).valid


def test_a_longer_x_gives_no_larger_stretch():
    found = stretch(0.5 ** np.arange(8.0))
    longer = replace(found, contraction=3 * found.contraction, left=5 * found.left)
    assert_allclose(longer.value, found.value, rtol=1e-12)
    other = Stretch(found.block, np.ones((8, 8)), found.left, found.right)
    assert other.value < 1


@pytest.mark.parametrize(
    "block", [np.ones(3), np.ones((0, 2)), np.array([[math.nan]]), np.array([[1.0, math.inf]])]
)
def test_a_block_must_be_a_finite_matrix(block):
    with pytest.raises(InvalidValue, match="block must"):
        Partial(block)


def test_a_column_must_be_finite_and_start_above_zero():
    for f in ([0.0, 1.0], [1.0, math.nan], []):
        for work in (complete, stretch):
            with pytest.raises(InvalidValue, match="f must"):
                work(np.array(f))
