import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import Guarantee, delta_of
from hushfade.plots import privacy
from tests.loops import for_each
from tests.plots.drawn import ONE, line, shown, words

GUARANTEES = [ONE, Guarantee(20, 0.05), Guarantee(0.01, 1e-20), Guarantee.from_mu(0.5, delta=1e-9)]


@for_each("guarantee", GUARANTEES)
@for_each("m", [1, 2, 4, 10])
def test_every_point_of_a_curve_is_promised_and_tight(guarantee, m):
    (axes,) = shown(privacy(guarantee))
    deltas, epsilons = line(axes, "1 release" if m == 1 else f"{m} releases")
    mu = guarantee.mu * math.sqrt(m)
    for delta, epsilon in zip(deltas[::10], epsilons[::10], strict=True):
        # delta_of is within 1e-9, relatively, and brentq rounds epsilon in its last digits
        if epsilon > 0:
            assert_allclose(delta_of(mu, epsilon), delta, rtol=1e-6)
        else:
            assert delta_of(mu, 0.0) <= delta
    assert np.all(np.diff(epsilons) <= 0)
    assert deltas[0] < guarantee.delta < deltas[-1]


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda one: f"{one.epsilon:.3g}")
def test_the_chosen_point_is_marked(guarantee):
    (axes,) = shown(privacy(guarantee))
    marks = [one for one in axes.get_lines() if one.get_marker() == "o"]
    assert len(marks) == 4
    largest = max(marks, key=lambda one: one.get_markersize())
    assert list(largest.get_xdata()) == [guarantee.delta]
    assert list(largest.get_ydata()) == [guarantee.epsilon]


def test_words_say_what_is_drawn():
    figure = privacy(ONE)
    (axes,) = shown(figure)
    assert axes.get_xlabel().startswith("delta")
    assert axes.get_ylabel().startswith("epsilon")
    assert "epsilon = 1, delta = 0.000001" in figure.get_suptitle()
    # two releases: mu √2 = 0.33475
    assert "2 releases: mu = 0.335, epsilon = 1.46 at delta = 0.000001" in words(figure)
