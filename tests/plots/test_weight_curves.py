import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hushfade import CustomDecay, Exponential, NoDecay, PowerLaw, SlidingWindow, plan
from hushfade.plots import weights
from hushfade.plots.weight_curves import ages
from tests.plots.drawn import DAILY, ONE, band, line, shown, words

PLANS = [
    DAILY,
    plan(SlidingWindow(length=7), ONE, low=-5, high=2),
    plan(CustomDecay([1, 0.5, 0.25, 0.1]), ONE),
    plan(NoDecay(), ONE, horizon=300, method="normalized"),
    plan(10 * NoDecay() - 9 * Exponential.from_alpha(1 / 0.9), ONE, horizon=100, resolution=0.25),
]


# Laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", PLANS, ids=lambda made: repr(made.decay))
def test_the_drawn_taps_multiply_to_the_drawn_weights(made):
    above, below = shown(weights(made))
    k, f = line(above, "weight")
    right, left = line(above, "tap $\\tilde")[1], line(above, "tap $l")[1]
    assert_array_equal(k, np.arange(ages(made)))
    assert_array_equal(right, made.pair.right(len(f)))
    # float64 products of sums of up to 300 terms
    assert_allclose(np.convolve(right, left)[: len(f)], f, atol=1e-9)
    assert below.get_xlim() == above.get_xlim()


@pytest.mark.parametrize("made", PLANS, ids=lambda made: repr(made.decay))
def test_a_record_is_drawn_before_the_error_of_its_step(made):
    _, below = shown(weights(made))
    largest = -5 if made.grid.low == -5 else 1
    _, adds = line(below, "contribution of the largest record")
    assert_array_equal(adds, largest * made.decay.weights(len(adds)))
    _, low, high = band(below)
    assert_array_equal(high, made.stddevs(len(adds)))
    assert_array_equal(low, -high)


def test_axes_and_title_are_labelled():
    figure = weights(DAILY)
    for axes in shown(figure):
        assert axes.get_xlabel() == "age k in steps"
        assert axes.get_ylabel()
        assert axes.get_legend() is not None
    assert "half-life of 24 steps, epsilon = 1, delta = 0.000001" in figure.get_suptitle()


def test_a_gain_is_said():
    assert "gain" in words(weights(PLANS[3]))
    assert "gain" not in words(weights(DAILY))


# Known values --------------------------------------------------------------------------------


def test_ages_end_beyond_a_hundredth():
    # 2^(-k/24) > 0.01 up to k = 159; a fourth of 160 more
    assert ages(DAILY) == 200
    # 1/(k+1) > 0.01 up to k = 98
    assert ages(plan(PowerLaw(power=1), ONE)) == 99 + 24
    assert ages(plan(NoDecay(), ONE, horizon=50)) == 50
    assert ages(plan(NoDecay(), ONE, method="unbounded")) == 200


# Edges ---------------------------------------------------------------------------------------


def test_a_heavy_tail_is_drawn_on_a_logarithmic_scale_by_few_points():
    above, below = shown(weights(plan(PowerLaw(power=0.25), ONE)))
    assert above.get_xscale() == below.get_xscale() == "symlog"
    k, f = line(above, "weight")
    assert len(k) < 2000
    assert_allclose(f, (k + 1) ** -0.25, rtol=1e-12)


def test_one_step_and_vectors_are_drawn():
    above, below = shown(weights(plan(NoDecay(), ONE, horizon=1)))
    assert line(above, "weight")[1] == [1.0]
    assert len(below.collections) == 1
    assert "vector, along itself (2)" in words(weights(plan(Exponential(5), ONE, width=3, norm=2)))
