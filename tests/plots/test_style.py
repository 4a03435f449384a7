from itertools import pairwise

import pytest

from hushfade import CustomDecay
from hushfade.plots import style
from tests.loops import for_each


def grey(colour):
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_twenty_eight_lines_differ_and_neighbours_in_both():
    lines = [style.line(rank) for rank in range(28)]
    assert len(set(lines)) == 28
    for one, other in pairwise(lines):
        assert one[0] != other[0]
        assert one[1] != other[1]


def test_every_colour_is_dark_enough_on_white():
    assert max(grey(style.line(rank)[0]) for rank in range(7)) < 0.7


@for_each("width", [1, 2, 9, 10, 16, 17, 40])
def test_cut_names_have_the_width_and_keep_both_ends(width):
    name = "district number 7"
    cut = style.short(name, width)
    assert len(cut) == min(width, len(name))
    if width >= 3:
        assert cut[0] == name[0]
        assert cut[-1] == name[-1]


def test_a_long_decay_leaves_room_for_the_promise():
    from tests.plots.drawn import ONE

    text = style.terms(CustomDecay([1 / (place + 1) for place in range(500)]), ONE)
    assert len(text) < 110
    assert text.endswith(", epsilon = 1, delta = 0.000001")
    assert style.terms(None, None) == ""


def test_an_axis_has_a_decade_at_least_and_holds_its_numbers():
    low, high = style.decades(4.0, 5.0)
    assert low < 4
    assert high > 5
    assert high / low == pytest.approx(10)
    low, high = style.decades(1.0, 1e6)
    assert low < 1
    assert high > 1e6
