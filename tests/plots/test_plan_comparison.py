import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hushfade import Exponential, Guarantee, InvalidValue, NoDecay, plan
from hushfade.plots import plans
from hushfade.plots.plan_comparison import least
from hushfade.plots.style import terms
from tests.plots.drawn import DAILY, ONE, line, shown, words

SHORT = plan(Exponential(half_life=24), ONE, horizon=100, method="normalized")
THREE = {"root": DAILY, "short": SHORT, "_two $x$": plan(Exponential(6), Guarantee(2, 1e-6))}


# Laws ----------------------------------------------------------------------------------------


def test_each_plan_is_drawn_to_its_own_horizon():
    above, _ = shown(plans(THREE, 150))
    assert_array_equal(line(above, "root")[1], DAILY.stddevs(150))
    assert_array_equal(line(above, "short")[1], SHORT.stddevs(100))
    assert_array_equal(line(above, "short")[0], np.arange(1, 101))


def test_every_plan_has_a_row_with_its_largest_error_and_the_proven_least():
    figure = plans(THREE, 150)
    _, below = shown(figure)
    rows = [text.get_text() for text in below.get_yticklabels()]
    named = [f"{name}, {plan.law.name}" for name, plan in THREE.items()]
    assert [row.split("\n")[0] for row in rows] == named
    for place, (row, made) in enumerate(zip(rows, THREE.values(), strict=True)):
        n = min(150, made.horizon or 150)
        found = made.certificate(n)
        numbers = below.texts[place].get_text()
        largest, least, ratio = map(float, numbers.replace("=", "/").split(" / "))
        assert made.max_stddev(n) <= largest <= made.max_stddev(n) * 1.001
        assert found.ratio <= ratio <= found.ratio * 1.001
        assert made.max_stddev(n) / found.ratio >= least  # a lower bound is rounded down
        assert f"epsilon = {made.guarantee.epsilon:g}, delta = 0.000001" in row
        assert terms(made.decay, None) in row


def test_the_least_is_the_certificates_lower_bound_in_the_records_unit():
    made = plan(Exponential(half_life=24), ONE, low=-4, high=1)
    # a record changes a total by at most 4
    expected = made.certificate(200).lower * 4 / ONE.mu
    assert least(made, 200) == pytest.approx(expected, rel=1e-12)


def test_what_all_plans_share_stands_in_the_title_only():
    figure = plans({"root": DAILY, "again": DAILY})
    assert "half-life of 24 steps, epsilon = 1, delta = 0.000001" in figure.get_suptitle()
    assert words(figure).count("half-life") == 1
    assert "over 1000 steps" in figure.get_suptitle()


def test_axes_are_labelled():
    for axes in shown(plans(THREE)):
        assert axes.get_xlabel()
        assert axes.get_ylabel()


# Edges and refusals --------------------------------------------------------------------------


def test_one_step_and_errors_far_apart_are_drawn():
    one = plan(NoDecay(), ONE, horizon=1)
    figure = plans({"one": one})
    assert "1 plan, step 1" in figure.get_suptitle()
    assert len(shown(figure)) == 2
    far = plan(Exponential(24), Guarantee(0.01, 1e-6))
    above, below = shown(plans({"near": DAILY, "far": far}, 30))
    assert above.get_yscale() == below.get_xscale() == "log"


def test_no_plan_and_no_step_are_refused():
    with pytest.raises(InvalidValue, match="plans must contain at least one plan"):
        plans({})
    with pytest.raises(InvalidValue, match="steps must be an integer >= 1"):
        plans({"root": DAILY}, 0)
