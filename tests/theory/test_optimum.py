import itertools
import math

import clarabel
import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import toeplitz

from hushfade import (
    CustomDecay,
    Exponential,
    InvalidType,
    InvalidValue,
    Mixture,
    NoDecay,
    PowerLaw,
    SlidingWindow,
    theory,
)
from hushfade.theory import dense_pair, optimum
from tests.decays import ALL_DECAYS
from tests.loops import for_each

RISING = CustomDecay([1, -2, 3, 4, -5])


def matrix(f):
    return toeplitz(f, np.zeros(len(f)))


def triangle(n):
    """Row and column of each entry of the upper triangle, column by column, as Clarabel has it."""
    return [(i, j) for j in range(n) for i in range(j + 1)]


def by_semidefinite_program(M, mean):
    """γ2, or γ_F if `mean`, by an interior point method: min t with [[P, M], [Mᵀ, Q]] ⪰ 0 and
    diag P ≤ t, diag Q ≤ t; for γ_F² tr P ≤ t, diag Q ≤ 1."""
    n = len(M)
    entries = triangle(2 * n)
    free = [k for k, (i, j) in enumerate(entries) if (i < n) == (j < n)]
    place = {entries[k]: 1 + at for at, k in enumerate(free)}  # variable 0 is t
    width = 1 + len(free)
    rows, limits = [], []
    if mean:
        row = np.zeros(width)
        row[0] = -1.0
        row[[place[i, i] for i in range(n)]] = 1.0
        rows.append(row)
        limits.append(0.0)
    for i in range(n if mean else 0, 2 * n):
        row = np.zeros(width)
        row[place[i, i]] = 1.0
        row[0] = 0.0 if mean else -1.0
        rows.append(row)
        limits.append(1.0 if mean else 0.0)
    cone_rows = np.zeros((len(entries), width))
    constant = np.zeros(len(entries))
    for k, (i, j) in enumerate(entries):
        scale = 1.0 if i == j else math.sqrt(2.0)
        if (i, j) in place:
            cone_rows[k, place[i, j]] = -scale
        else:
            constant[k] = scale * M[i, j - n]
    A = sparse.csc_matrix(np.vstack([rows, cone_rows]))
    b = np.concatenate([limits, constant])
    cost = np.zeros(width)
    cost[0] = 1.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(len(rows)), clarabel.PSDTriangleConeT(2 * n)]
    zero = sparse.csc_matrix((width, width))
    found = clarabel.DefaultSolver(zero, cost, A, b, cones, settings).solve()
    assert str(found.status) == "Solved"
    return math.sqrt(found.obj_val) if mean else found.obj_val


# Laws ----------------------------------------------------------------------------------------


@for_each("decay", [*ALL_DECAYS, RISING])
@for_each("n", [1, 2, 3, 7, 12])
def test_the_brackets_hold_the_value_of_a_semidefinite_program(decay, n):
    f = decay.weights(n)
    for solve, mean in [(optimum.solve, False), (optimum.solve_frobenius, True)]:
        found = solve(f, gap=1e-6)
        value = by_semidefinite_program(matrix(f), mean)
        # the interior point method itself stops at about 1e-8
        assert found.lower <= value * (1 + 1e-7)
        assert found.upper >= value * (1 - 1e-7)
        assert found.bracket.gap <= 1e-6


@for_each("decay", [*ALL_DECAYS, RISING])
@for_each("n", [1, 2, 10, 65])
def test_what_proves_either_side_can_be_checked_by_hand(decay, n):
    f = decay.weights(n)
    M = matrix(f)
    for found, mean in [(optimum.solve(f), False), (optimum.solve_frobenius(f), True)]:
        assert found.bracket.gap <= 1e-4
        p, q, U = found.row_weights, found.column_weights, found.contraction
        assert p.min() > 0
        assert q.min() > 0
        assert_allclose(p.sum(), n if mean else 1.0, rtol=1e-12)
        assert_allclose(q.sum(), 1.0, rtol=1e-12)
        assert np.linalg.norm(U, 2) <= 1.0
        inner = float(np.sum(np.sqrt(p)[:, None] * M * U * np.sqrt(q)))
        assert_allclose(inner, found.lower, rtol=1e-9)
        L, R = found.left, found.right
        assert_allclose(L @ R, M, atol=1e-11 * abs(f).max())
        assert not np.triu(L, 1).any()
        assert not np.triu(R, 1).any()
        rows = np.linalg.norm(L) if mean else np.linalg.norm(L, axis=1).max()
        columns = np.linalg.norm(R, axis=0).max()
        assert_allclose(rows * columns, found.upper, rtol=1e-8)
        assert rows * columns <= found.upper


@hypothesis.settings(deadline=None, max_examples=60, derandomize=True)
@hypothesis.given(
    st.lists(st.floats(-3, 3, allow_subnormal=False), min_size=0, max_size=24),
    st.floats(0.01, 5),
)
def test_any_column_gets_a_valid_bracket_and_a_pair_that_multiplies_back(rest, first):
    f = np.array([first, *rest])
    found = optimum.solve(f)
    M = matrix(f)
    assert_allclose(found.left @ found.right, M, atol=1e-9 * abs(f).max())
    trivial = max(abs(f).max(), 0.0)
    assert found.upper >= trivial * (1 - 1e-12)  # γ2 is at least the largest entry
    assert found.lower <= np.linalg.norm(f) * (1 + 1e-12)  # and at most the longest column
    values = np.linalg.svd(M, compute_uv=False)
    assert found.upper >= values.sum() / len(f) * (1 - 1e-12)  # p = q = uniform
    if values[-1] > 1e-6 * values[0]:  # signed weights may converge slowly; still a bracket
        assert found.bracket.gap <= 0.1  # beyond, rounding spoils the pair, and M itself serves


@hypothesis.settings(deadline=None, max_examples=40, derandomize=True)
@hypothesis.given(st.lists(st.floats(0, 1), min_size=0, max_size=30))
def test_decays_that_never_rise_reach_the_wanted_gap(falls):
    f = np.concatenate([[1.0], np.sort(falls)[::-1]])
    assert optimum.solve(f).bracket.gap <= 1e-4
    assert optimum.solve_frobenius(f).bracket.gap <= 1e-4


@pytest.mark.parametrize("decay", [NoDecay(), PowerLaw(0.5), SlidingWindow(7)], ids=repr)
def test_gamma2_never_falls_with_the_steps_and_bounds_gamma_f(decay):
    found = [theory.gamma2(decay, n, gap=1e-6) for n in [1, 2, 5, 17, 40]]
    assert all(late.upper >= early.lower for early, late in itertools.pairwise(found))
    for n in [2, 17, 40]:
        assert theory.gamma_f(decay, n).lower <= math.sqrt(n) * theory.gamma2(decay, n).upper


@for_each("decay", ALL_DECAYS)
def test_the_dense_pair_answers_like_a_factorization(decay):
    n = 40
    pair = dense_pair.optimal(decay, n)
    L, R = pair.matrices(n)
    assert_allclose(pair.errors(n), np.linalg.norm(L, axis=1), rtol=1e-12)
    assert pair.sensitivity().exact
    assert_allclose(pair.sensitivity().value, np.linalg.norm(R, axis=0).max(), rtol=1e-12)
    assert_allclose(L[:7, :7] @ R[:7, :7], matrix(decay.weights(7)), atol=1e-10)
    bracket = theory.gamma2(decay, n)
    assert pair.error_factor(n) <= bracket.upper * (1 + 1e-12)
    # The weights of a mixture with a negative part vanish at the optimum.  There the last digits
    # of eigh, which differ between processors, decide whether 200 iterations reach 1e-4.
    assert bracket.gap <= (1e-3 if isinstance(decay, Mixture) else 1e-4)
    assert pair.horizon == pair.memory == n
    mean = dense_pair.mean_optimal(decay, n)
    root = np.linalg.norm(mean.errors(n)) * mean.sensitivity().value
    assert root <= np.linalg.norm(pair.errors(n)) * pair.sensitivity().value * (1 + 2e-4)
    assert_allclose(root, theory.gamma_f(decay, n).upper, rtol=2e-4)


# Known values --------------------------------------------------------------------------------


def test_two_steps_by_hand():
    for f1 in [0.0, 0.3, 0.9, 1.0]:
        assert_allclose(
            optimum.solve([1.0, f1], gap=1e-9).lower, 2 / math.sqrt(4 - f1**2), rtol=1e-8
        )
    assert_allclose(optimum.solve_frobenius([1.0, 1.0], gap=1e-9).lower, (1 + math.sqrt(5)) / 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("decay", "printed"),
    [
        (NoDecay(), 2.96147),
        (SlidingWindow(16), 2.113),
        # some seven seconds each
        pytest.param(PowerLaw(1), 1.1080, marks=pytest.mark.long),
        pytest.param(Exponential.from_alpha(1.1), 1.4781, marks=pytest.mark.long),
        pytest.param(Exponential.from_alpha(2), 1.07318, marks=pytest.mark.long),
        pytest.param(PowerLaw(0.5), 1.3466, marks=pytest.mark.long),
        pytest.param(PowerLaw(2), 1.01908, marks=pytest.mark.long),
        pytest.param(SlidingWindow(256), 3.14703, marks=pytest.mark.long),
    ],
    ids=repr,
)
def test_gamma2_at_1024_steps_to_the_known_digits(decay, printed):
    digits = len(repr(printed).split(".")[1])
    found = theory.gamma2(decay, 1024, gap=1e-5 if digits == 5 else 1e-4)
    assert found.gap <= 1e-4
    assert round(found.lower, digits) <= printed <= round(found.upper, digits)


# Edges ---------------------------------------------------------------------------------------


def test_one_step_and_the_identity_are_exact():
    assert_allclose(optimum.solve([3.0]).upper, 3.0, rtol=1e-12)
    assert_allclose(optimum.solve(SlidingWindow(1).weights(50)).upper, 1.0, rtol=1e-10)
    for scale in (1e-90, 1e90):
        for solve in (optimum.solve, optimum.solve_frobenius):
            found, one = solve(scale * np.ones(40)), solve(np.ones(40))
            assert_allclose([found.lower, found.upper], [scale * one.lower, scale * one.upper])


@pytest.mark.parametrize("f", [[1e-60, 1.0], [1e-60, *np.ones(49)], [1e-12, 1.0, 0.0, 1.0]])
def test_a_matrix_that_is_nearly_singular_still_has_a_valid_bracket(f):
    found = optimum.solve(f)
    assert max(f) * (1 - 1e-9) <= found.upper <= np.linalg.norm(f) * (1 + 1e-9)
    assert found.lower <= found.upper
    assert_allclose(found.left @ found.right, matrix(f), atol=1e-9)


# Refusals ------------------------------------------------------------------------------------


@for_each(
    "f",
    [
        [1e-101, 0.0],
        [1e101],
        [0.0, 1.0],
        [-1.0],
        [],
        [math.nan],
        [1.0, math.inf],
        np.ones(2049),
        np.ones((2, 2)),
    ],
)
def test_a_column_that_is_not_a_decay_is_refused(f):
    with pytest.raises(InvalidValue):
        optimum.solve(f)


@pytest.mark.parametrize("gap", [0.0, -1.0, math.nan])
def test_a_gap_must_be_positive(gap):
    with pytest.raises(InvalidValue, match="gap must be > 0"):
        optimum.solve([1.0], gap=gap)


def test_a_dense_pair_must_be_lower_triangular_and_give_the_decay():
    L, R = dense_pair.optimal(NoDecay(), 5).matrices(5)
    with pytest.raises(InvalidValue, match="lower triangular"):
        dense_pair.DenseFactorization(NoDecay(), L.T, R.T)
    with pytest.raises(InvalidValue, match="the decay's matrix"):
        dense_pair.DenseFactorization(PowerLaw(1), L, R)
    with pytest.raises(InvalidValue, match="square"):
        dense_pair.DenseFactorization(NoDecay(), L[:4], R[:4])
    with pytest.raises(InvalidValue, match="n must be"):
        dense_pair.optimal(NoDecay(), 5).errors(6)
    with pytest.raises(InvalidType):
        theory.gamma2(NoDecay(), 2.5)
