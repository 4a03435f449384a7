import math

import numpy as np
import pytest

import hushfade as hf
from hushfade.plots import privacy_by_age
from hushfade.privacy.calibration import epsilon_of
from tests.plots.drawn import DAILY, ONE, line, shown, words

ROOT = hf.plan(hf.Exponential(half_life=24), ONE, method="square_root")
WEEK = hf.plan(hf.SlidingWindow(length=7), hf.Guarantee(2, 0))
BLOCKS = hf.plan(hf.NoDecay(), hf.Guarantee(1, 0), horizon=300, method="blocks")


def test_the_curve_of_gaussian_noise_is_the_share_of_the_taps_that_were_used():
    (axes,) = shown(privacy_by_age({"root": ROOT}))
    ages, epsilons = line(axes, "root")
    taps = ROOT.taps.integers.astype(float)
    assert (ages[0], ages[-1]) == (1, len(taps))
    for age, epsilon in zip(ages.astype(int)[::5], epsilons[::5], strict=True):
        share = math.sqrt(np.sum(taps[:age] ** 2) / np.sum(taps**2))
        assert epsilon == pytest.approx(epsilon_of(ONE.mu * share, 1e-6), rel=1e-9)


def test_every_curve_rises_to_its_epsilon_and_ends_where_the_others_end():
    plans = {"root": ROOT, "best": DAILY, "week": WEEK, "blocks": BLOCKS}
    (axes,) = shown(privacy_by_age(plans))
    assert axes.get_xscale() == "log"
    for name, plan in plans.items():
        ages, epsilons = line(axes, name)
        assert (ages[0], ages[-1]) == (1, max(ROOT.taps.support, DAILY.taps.support))
        assert np.all(np.diff(epsilons) >= 0)
        assert 0.98 * plan.guarantee.epsilon < epsilons[-1] <= plan.guarantee.epsilon
    assert np.all(line(axes, "week")[1] == 2.0)  # noise on the inputs: all at once


def test_words_say_what_is_drawn():
    figure = privacy_by_age({"root": ROOT})
    (axes,) = shown(figure)
    assert "age of the record" in axes.get_xlabel()
    assert axes.get_ylabel().startswith("epsilon")
    assert "epsilon = 1, delta = 0.000001" in figure.get_suptitle()
    assert "root: epsilon from 0.727 to 1 at delta = 0.000001" in words(figure)
    assert "week: all at once, epsilon = 2 at delta = 0" in words(privacy_by_age({"week": WEEK}))


def test_a_picture_needs_a_plan():
    with pytest.raises(hf.InvalidValue, match="plans must contain at least one plan"):
        privacy_by_age({})
