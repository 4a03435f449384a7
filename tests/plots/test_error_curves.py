from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hushfade import Exponential, NoDecay, PowerLaw, compare
from hushfade.plots import errors
from hushfade.plots.error_curves import _apart
from tests.plots.drawn import ONE, line, shown, words


@pytest.fixture(scope="module")
def counting():
    return compare(NoDecay(), ONE, 60)


# Laws ----------------------------------------------------------------------------------------


def test_every_mechanism_is_named_once_with_its_largest_error(counting):
    figure = errors(counting)
    (axes,) = shown(figure)
    names = [text.get_text() for text in axes.texts]
    assert len(names) == len(counting.rows) + 1
    for row in counting.rows:
        (found,) = [
            name for name in names if name.rstrip("0123456789.e+").strip("*† ") == row.method
        ]
        assert float(found.split()[-1]) == pytest.approx(row.max_error, rel=5e-3)
    assert "proven" in words(figure)


def test_a_line_is_the_largest_error_so_far(counting):
    (axes,) = shown(errors(counting))
    for row in counting.rows:
        mark = "" if row.online else "†"
        x, y = line(axes, f"{row.method}{mark}  ")
        assert_array_equal(x, np.arange(1, 61))
        assert_array_equal(y, np.maximum.accumulate(row.errors))


def test_no_two_names_meet_and_none_leaves_the_axis(counting):
    figure = errors(counting)
    (axes,) = shown(figure)
    boxes = sorted((text.get_window_extent() for text in axes.texts), key=lambda box: box.y0)
    assert all(one.y1 <= other.y0 + 0.5 for one, other in pairwise(boxes))
    assert all(box.x1 <= figure.bbox.x1 for box in boxes)


def test_axes_and_title_are_labelled(counting):
    figure = errors(counting)
    (axes,) = shown(figure)
    assert axes.get_xlabel() == "step"
    assert "standard deviation" in axes.get_ylabel()
    assert "unit of the records" in axes.get_ylabel()
    assert "no decay, epsilon = 1, delta = 0.000001" in figure.get_suptitle()


def test_what_is_biased_or_late_is_marked_and_explained():
    late = words(errors(compare(NoDecay(), ONE, 30)))
    assert "circulant†" in late
    assert "† needs the whole stream" in late
    assert "biased" not in late
    biased = compare(PowerLaw(1), ONE, 30)
    text = words(errors(biased))
    assert "* biased" in text
    assert all(f"{row.method}*" in text for row in biased.rows if row.bias)


# Known values --------------------------------------------------------------------------------


def test_places_are_moved_apart_by_hand():
    # three at one place: around it; two near the top: down from it
    assert_array_equal(_apart(np.array([0.5, 0.5, 0.5]), 0.25), [0.25, 0.5, 0.75])
    assert_array_equal(_apart(np.array([1.0, 1.0]), 0.25), [0.75, 1.0])
    assert_array_equal(_apart(np.array([0.0, 0.0, 0.75]), 0.25), [0.0, 0.25, 0.75])


# Edges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 24, 25])
def test_few_steps_are_drawn(n):
    (axes,) = shown(errors(compare(Exponential(half_life=3), ONE, n)))
    assert axes.get_xlim()[1] == n
