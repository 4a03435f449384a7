import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from hushfade import Exponential, Guarantee, InvalidValue, PowerLaw, SlidingWindow, plan
from hushfade.factors.factorization import from_right, normalized
from hushfade.laws import Gaussian, Huber, Laplace
from hushfade.public.error_distribution import SummedError
from hushfade.public.step_errors import LAST, StepErrors

ONE = Guarantee(epsilon=1, delta=1e-6)


def noise_on_inputs(decay):
    """The pair r = 1, l = g, on whole numbers."""
    return from_right(decay, np.ones(1)).with_integers(np.ones(1), 0)


ERRORS = {
    "window 3, counts": StepErrors(Laplace(1.0), noise_on_inputs(SlidingWindow(length=3)), 1.0),
    "window 50, counts": StepErrors(Laplace(0.5), noise_on_inputs(SlidingWindow(length=50)), 1.0),
    "half-life 24, counts": StepErrors(
        Laplace(1.0), noise_on_inputs(Exponential(half_life=24)), 1.0
    ),
    "half-life 24, fine": StepErrors(
        Huber(1e-3, 1000), plan(Exponential(half_life=24), ONE, method="square_root").pair, 1e-3
    ),
    "power ½, fine": StepErrors(
        Laplace(1e-3), plan(PowerLaw(power=0.5), ONE, method="square_root").pair, 1e-3
    ),
}
NORMALIZED = normalized(SlidingWindow(length=20), 60).rounded(10)


def stddevs(errors, n):
    return errors.unit * errors.law.stddev * errors.pair.errors(n)


def steps(column):
    return np.arange(1, len(column) + 1)


def exact(errors, step):
    return SummedError(errors.law, errors.pair.left(step), errors.unit)


def test_margins_agree_with_the_distribution_of_each_step():
    for name, errors in ERRORS.items():
        s = stddevs(errors, 400)
        for confidence in (0.9, 0.95, 0.99):
            margins = errors.margins(steps(s), confidence, stddevs=s)
            for step in (1, 2, 3, 7, 31, 33, 40, 100, 250, 300, 400):
                ratio = margins[step - 1] / exact(errors, step).margin(confidence)
                told = f"{name}, step {step} at {confidence}: {ratio}"
                if "window" in name:  # on a lattice, to the last atom
                    assert abs(ratio - 1) < 1e-12, told
                else:  # interpolated upward; steps of rough sums by their own grid
                    assert 1 - 2e-4 <= ratio <= 1 + 1e-3, told


def test_margins_never_fall():
    # more noise terms never narrow a symmetric unimodal sum (Anderson 1955); 1e-3 for the grids
    for name, errors in ERRORS.items():
        margins = errors.margins(steps(stddevs(errors, 3000)), 0.95, stddevs=stddevs(errors, 3000))
        assert np.all(margins[1:] >= margins[:-1] * (1 - 1e-3)), name


def test_one_margin_is_that_of_the_column():
    for name, errors in ERRORS.items():
        s = stddevs(errors, 300)
        column = errors.margins(steps(s), 0.95, stddevs=s)
        later = errors.margins(steps(s)[100:], 0.95, stddevs=s[100:])
        assert later.tolist() == column[100:].tolist(), name
        for step in (1, 2, 50, 300):
            assert errors.margin(step, 0.95, stddev=s[step - 1]) == column[step - 1], name


def test_the_bound_for_all_steps_is_the_union_of_their_tails():
    for name, errors in ERRORS.items():
        n = 60
        bound = errors.bound(0.05, stddevs=stddevs(errors, n))
        total = sum(exact(errors, step).tail(bound) for step in range(1, n + 1))
        if "window" in name:
            below = sum(exact(errors, step).tail(bound - 1.0) for step in range(1, n + 1))
            assert total <= 0.05 < below, name
        else:  # tails of steps after 32 are taken at two steps per octave, the larger one
            assert 0.045 <= total <= 0.05 * (1 + 1e-3), f"{name}: {total}"


def test_the_bound_for_one_step_is_its_margin():
    for name, errors in ERRORS.items():
        s = stddevs(errors, 1)
        margin = errors.margin(1, 0.95, stddev=float(s[0]))
        assert_allclose(errors.bound(0.05, stddevs=s), margin, rtol=1e-3, err_msg=name)


def test_gaussian_plans_have_the_normal_formulas():
    made = plan(Exponential(half_life=24), ONE, method="square_root")
    s, z = made.stddevs(500), stats.norm.ppf(0.975)
    assert_allclose(made.margins(500), z * s, rtol=1e-14)  # rounding
    assert made.interval(500)[1] == made.margins(500)[-1] == -made.interval(500)[0]
    total = np.sum(2 * stats.norm.sf(made.error_bound(500, 0.01) / s))
    assert_allclose(total, 0.01, rtol=1e-9)


def test_a_gain_weighs_the_noise_of_each_step():
    errors = StepErrors(Laplace(1e-3), NORMALIZED, 1e-3)
    s, (left, _) = stddevs(errors, 60), NORMALIZED.matrices(60)
    margins = errors.margins(steps(s), 0.95, stddevs=s)
    for step in (1, 5, 20, 32, 45, 60):
        expected = SummedError(errors.law, left[step - 1, :step], errors.unit).margin(0.95)
        assert 1 - 2e-4 <= margins[step - 1] / expected <= 1 + 1e-3, step
    bound = errors.bound(0.05, stddevs=s)
    total = sum(SummedError(errors.law, row, errors.unit).tail(bound) for row in left)
    assert total <= 0.05 * (1 + 1e-3)


def test_steps_without_end_keep_the_last_margin():
    errors = ERRORS["window 3, counts"]
    margins = [errors.margin(step, 0.95, stddev=2.35) for step in (3, 1000, LAST, 10 * LAST)]
    assert margins == [5.0, 5.0, 5.0, 5.0]


def test_a_lattice_that_is_not_binary_leaves_room_for_rounding():
    errors = StepErrors(Laplace(1.0), noise_on_inputs(SlidingWindow(length=3)), 0.1)
    margin = errors.margin(3, 0.95, stddev=0.2)
    assert 0.5 < margin < 0.5 * (1 + 1e-10)


def test_equal_errors_are_equal():
    pair = noise_on_inputs(SlidingWindow(length=3))
    one = StepErrors(Laplace(1.0), pair, 1.0)
    assert one == ERRORS["window 3, counts"]
    assert hash(one) == hash(ERRORS["window 3, counts"])
    assert one != StepErrors(Laplace(2.0), pair, 1.0)
    assert one != StepErrors(Gaussian(9.0), pair, 1.0)


@pytest.mark.parametrize("confidence", [0, 1, -1, math.nan])
def test_bad_confidence_is_refused(confidence):
    made = plan(Exponential(half_life=24), ONE, method="square_root")
    with pytest.raises(InvalidValue, match="confidence must be"):
        made.margins(10, confidence)
    with pytest.raises(InvalidValue, match="confidence must be"):
        ERRORS["power ½, fine"].margin(1, confidence, stddev=1.0)
    with pytest.raises(InvalidValue, match="step must be an integer >= 1"):
        made.interval(0)
