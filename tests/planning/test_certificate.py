"""Lower bounds: the single-step bound against numeric minimisations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar

from hushfade import Exponential, Guarantee, Person, SlidingWindow, plan
from hushfade.planning.certificate import single_step_bound, staircase_variance

WEEK = SlidingWindow(length=7)


def _staircase(gamma: float, epsilon: float) -> float:
    """The variance of the staircase law with that step, by its sum over the stairs."""
    b = math.exp(-epsilon)
    k = np.arange(math.ceil(60 / epsilon) + 10)
    height = (1 - b) / (2 * (gamma + b * (1 - gamma)))
    thirds = [(k + end) ** 3 / 3 for end in (0.0, gamma, 1.0)]
    parts = (thirds[1] - thirds[0]) + b * (thirds[2] - thirds[1])
    return float(2 * height * np.sum(b**k * parts))


def _least_on_integers(epsilon: float, reach: int) -> float:
    """The least variance of noise on -reach, ..., reach with ratios of neighbours up to e^ε."""
    z = np.arange(-reach, reach + 1)
    size = len(z)
    up = np.eye(size, k=1)[:-1] - math.exp(epsilon) * np.eye(size)[:-1]
    down = np.eye(size)[:-1] - math.exp(epsilon) * np.eye(size, k=1)[:-1]
    ratios = np.vstack([up, down])
    found = linprog(
        z.astype(float) ** 2,
        ratios,
        np.zeros(len(ratios)),
        np.ones((1, size)),
        [1.0],
        (0, None),
        options={"primal_feasibility_tolerance": 1e-10},
    )
    assert found.success
    return float(found.fun)


def test_the_staircase_formula_is_the_minimum_over_its_steps():
    for epsilon in (0.1, 0.5, 1.0, 2.0, 5.0, 8.0):
        found = minimize_scalar(_staircase, args=(epsilon,), bounds=(0, 1), method="bounded")
        formula = staircase_variance(epsilon)
        # the search stops within 1e-5 of the step, where the variance is flat
        assert formula == pytest.approx(found.fun, rel=1e-6), epsilon


def test_no_integer_noise_has_less_variance_than_the_geometric_law():
    for epsilon in (0.5, 1.0, 2.0):
        counts = plan(WEEK, Guarantee(epsilon, 0), resolution=1)
        bound = single_step_bound(counts)
        assert bound is not None
        # beyond 30 / ε the geometric law has a mass of e^-30; the solver may miss a ratio by 1e-10,
        # which costs 1e-10 times the square of the reach
        least = _least_on_integers(epsilon, round(30 / epsilon))
        assert bound.stddev**2 == pytest.approx(least, rel=1e-5), epsilon


def test_counts_attain_the_bound_and_real_records_stay_above_it():
    for epsilon in (0.1, 1.0, 4.0):
        for neighbours in ("add_remove", "replace"):
            guarantee = Guarantee(epsilon, 0, neighbours)
            counts = plan(WEEK, guarantee, resolution=1)
            bound = single_step_bound(counts)
            assert bound is not None
            # slopes have 48 bits
            assert counts.stddev(1) == pytest.approx(bound.stddev, rel=1e-12), guarantee
            real = plan(WEEK, guarantee, low=-1, high=3)
            bound = single_step_bound(real)
            assert bound is not None
            assert real.stddev(1) > bound.stddev, guarantee


def test_the_bound_scales_with_the_change_of_a_total():
    one = single_step_bound(plan(WEEK, Guarantee(1, 0)))
    ten = single_step_bound(
        plan(WEEK, Guarantee(1, 0, protects=Person(records_per_step=5)), high=2)
    )
    assert one is not None
    assert ten is not None
    assert ten.stddev == pytest.approx(10 * one.stddev, rel=1e-12)


def test_no_bound_is_claimed_where_delta_is_positive():
    assert single_step_bound(plan(Exponential(half_life=24), Guarantee(1, 1e-6))) is None


def test_the_sentence_of_a_ratio_below_one_explains_it():
    sentence = plan(WEEK, Guarantee(1, 1e-6), resolution=1).certificate(100).sentence()
    assert "no Gaussian mechanism with this guarantee has an error this small" in sentence
