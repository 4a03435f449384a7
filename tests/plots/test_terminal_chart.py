import io
from itertools import pairwise

import numpy as np
import pytest
from rich.console import Console

from hushfade import InvalidType, InvalidValue
from hushfade.plots import chart, sparkline
from tests.loops import for_each

PLAIN = [False, True]
BAND = {False: "░", True: "."}


def rows(text, height):
    """The rows of the drawn part, without the numbers and the axis."""
    lines = text.plain.split("\n")[:height]
    start = min(_axis(line) for line in lines)
    return [line[start + 1 :] for line in lines]


def _axis(line):
    return next(place for place, letter in enumerate(line) if letter in "│┤|+")


def inked(row):
    """Does the line pass through the row?"""
    return any(letter == "*" or 0x2800 < ord(letter) <= 0x28FF for letter in row)


def numbers(text, height):
    found = {}
    for place, line in enumerate(text.plain.split("\n")[:height]):
        words = line[: _axis(line)].strip()
        if words:
            found[place] = float(words)
    return found


# Laws ----------------------------------------------------------------------------------------


@for_each("plain", PLAIN)
@for_each("n", [2, 3, 50, 500, 100_000])
@for_each("height", [2, 3, 4, 15])
def test_the_largest_is_on_the_top_row_and_the_least_on_the_bottom_row(plain, n, height):
    values = np.random.default_rng(n).normal(size=n)
    made = chart(values, width=60, height=height, plain=plain)
    drawn = rows(made, height)
    assert inked(drawn[0])
    assert inked(drawn[-1])
    found = numbers(made, height)
    assert found[0] == pytest.approx(values.max(), abs=0.02)
    assert found[height - 1] == pytest.approx(values.min(), abs=0.02)
    assert all(len(line) <= 60 for line in made.plain.split("\n"))


@pytest.mark.parametrize("plain", PLAIN)
def test_the_line_is_unbroken(plain):
    values = np.random.default_rng(0).normal(size=40)
    drawn = rows(chart(values, width=60, height=10, plain=plain), 10)
    wide = max(map(len, drawn))
    spans = [
        [place for place, row in enumerate(drawn) if inked(row.ljust(wide)[column])]
        for column in range(wide)
    ]
    assert all(span for span in spans)
    assert all(span == list(range(span[0], span[-1] + 1)) for span in spans)
    for one, other in pairwise(spans):
        assert one[0] <= other[-1] + 1
        assert other[0] <= one[-1] + 1


@pytest.mark.parametrize("plain", PLAIN)
def test_a_band_is_shaded_to_its_edges_and_not_beyond(plain):
    values = np.zeros(30)
    low, high = values - np.linspace(1, 4, 30), values + 1
    made = chart(values, low=low, high=high, width=50, height=11, plain=plain)
    drawn = rows(made, 11)
    shaded = [row.count(BAND[plain]) for row in drawn]
    assert numbers(made, 11)[0] == 1
    assert numbers(made, 11)[10] == -4
    wide = max(map(len, drawn))
    assert shaded[0] == wide  # the upper edge is 1 everywhere
    assert 0 < shaded[-1] < wide / 4
    assert drawn[-1].endswith(BAND[plain])
    assert BAND[plain] not in rows(chart(values, width=50, height=11, plain=plain), 11)[0]


def test_plain_charts_are_ascii_whatever_the_labels_are():
    made = chart([1, 5, 3], low=[0, 4, 2], high=[2, 6, 4], width=40, label="Δ größer", plain=True,
                 x_labels=("früh", "spät"))  # fmt: skip
    assert made.plain.isascii()
    assert sparkline(range(100), 20, plain=True).isascii()
    assert not chart([1, 5, 3], width=40, plain=False).plain.isascii()


def test_width_and_characters_are_the_consoles_own(monkeypatch):
    monkeypatch.setenv("COLUMNS", "57")
    latin = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr("sys.stdout", latin)
    made = chart([1, 2, 3])
    assert made.plain.isascii()
    assert max(map(len, made.plain.split("\n"))) == 57
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    assert not chart([1, 2, 3]).plain.isascii()


def test_a_console_prints_the_lines_as_they_are():
    made = chart(np.arange(30), width=50, height=6, label="x", x_labels=("1", "30"), plain=False)
    page = io.StringIO()
    Console(file=page, width=50).print(made)
    assert [line.rstrip() for line in page.getvalue().split("\n")][:-1] == [
        line.rstrip() for line in made.plain.split("\n")
    ]


# Known values --------------------------------------------------------------------------------


def test_a_rising_line_by_hand():
    made = chart([0, 100], width=24, height=3, plain=True, x_labels=("a", "b"))
    # 19 columns: levels round(2 · column / 18), halves to even
    assert made.plain.split("\n") == [
        "100 +" + " " * 14 + "*" * 5,
        "    |" + " " * 5 + "*" * 9,
        "  0 +" + "*" * 5,
        "    +" + "-" * 19,
        "     a" + " " * 17 + "b",
    ]


def test_braille_dots_by_hand():
    # a single value has the left dots: the lowest of the lower row, the highest of the upper
    lowest = rows(chart([5], low=[5], high=[9], width=30, height=2, plain=False), 2)
    highest = rows(chart([5], low=[1], high=[5], width=30, height=2, plain=False), 2)
    assert lowest == ["░", "⡀"]
    assert highest == ["⠁", "░"]
    # two dots across: a line ends on the right ones, the highest or the lowest
    assert ord(rows(chart([0, 1], width=24, height=2, plain=False), 2)[0][-1]) & 0xFF == 0x08 | 0x01
    assert ord(rows(chart([1, 0], width=24, height=2, plain=False), 2)[1][-1]) & 0xFF == 0x80 | 0x40


@for_each(
    ("values", "top", "bottom"),
    [
        ([1e12, -3], "1e12", "0"),
        ([1e-9, 3e-9], "3e-9", "1e-9"),
        ([1e12 + 1, 1e12 + 3], "1.000000000003e12", "1.000000000001e12"),
        ([1e308, -1e308], "1e308", "-1e308"),
        ([12.6, 1234.6], "1235", "13"),
        ([-0.25, 0.0], "0", "-0.25"),
        ([5e-324, 0.0], "4.941e-324", "0"),
    ],
)
def test_the_numbers_tell_the_ends_apart(values, top, bottom):
    lines = chart(values, width=60, height=5, plain=True).plain.split("\n")
    assert lines[0].split()[0] == top
    assert lines[4].split()[0] == bottom


def test_bars_are_means():
    assert sparkline([0, 0, 7, 7, 3, 4], 3) == "▁█▅"
    assert sparkline([1, 2], 10) == "▁█"
    assert sparkline([1e308, -1e308, 1e308], 3) == "█▁█"


# Edges ---------------------------------------------------------------------------------------


@for_each("plain", PLAIN)
@for_each("height", [2, 5, 8])
def test_a_constant_series_is_a_line_at_its_number(plain, height):
    made = chart([7, 7, 7], width=30, height=height, plain=plain)
    ((place, number),) = numbers(made, height).items()
    assert number == 7
    drawn = rows(made, height)
    assert [inked(row) for row in drawn] == [row == place for row in range(height)]
    assert len(drawn[place]) == 27
    assert sparkline([7, 7, 7], 3) == "▄▄▄"


@pytest.mark.parametrize("plain", PLAIN)
def test_a_single_value_is_a_single_dot(plain):
    drawn = rows(chart([5], low=[3], high=[9], width=30, height=7, plain=plain), 7)
    assert [len(row) for row in drawn] == [1] * 7
    assert sum(map(inked, drawn)) == 1
    assert sparkline([5], 3) == "▄"


def test_long_labels_are_cut_and_control_characters_are_not_printed():
    made = chart([1, 2], width=30, label="\x1b[31m" + "x" * 50, x_labels=("a" * 40, "b" * 40))
    lines = made.plain.split("\n")
    assert all(len(line) <= 30 for line in lines)
    assert "\x1b" not in made.plain
    assert lines[0].endswith("…")


# Refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"values": [1.0, np.nan]}, InvalidValue, "values must be finite"),
        ({"values": []}, InvalidValue, "values must not be empty"),
        ({"values": ["a"]}, InvalidType, "values must be a sequence of real numbers"),
        ({"low": [0, 0]}, InvalidValue, "low and high must be given together"),
        ({"low": [0], "high": [2, 3]}, InvalidValue, "low must have as many numbers as values"),
        ({"low": [0, 0], "high": [2]}, InvalidValue, "high must have as many numbers as values"),
        ({"low": [0, 4], "high": [2, 3]}, InvalidValue, "low must be <= high"),
        ({"low": [0, np.nan], "high": [2, 3]}, InvalidValue, "low must be finite"),
        ({"width": 23}, InvalidValue, "width must be an integer >= 24, got 23"),
        ({"values": [1e12 + 1, 1e12 + 3], "width": 24}, InvalidValue, "width must leave 8"),
        ({"height": 1}, InvalidValue, "height must be an integer >= 2, got 1"),
    ],
)
def test_wrong_arguments_are_refused(change, error, match):
    with pytest.raises(error, match=match):
        chart(**({"values": [1, 2], "width": 40} | change))


def test_wrong_bars_are_refused():
    with pytest.raises(InvalidValue, match="values must be finite"):
        sparkline([np.inf], 3)
    with pytest.raises(InvalidValue, match="width must be"):
        sparkline([1], 0)
