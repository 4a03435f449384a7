import numpy as np
import pytest

from hushfade.factors.cached_columns import PART, parts, places_above, sum_of_squares

LENGTHS = (1, 2, PART - 1, PART, PART + 1, 3 * PART + 17)


# Laws ----------------------------------------------------------------------------------------


def test_the_parts_cover_a_column_once():
    for n in (0, *LENGTHS):
        assert [place for here in parts(n) for place in range(n)[here]] == list(range(n))


def test_sums_of_squares_are_those_of_the_whole_column():
    for n in LENGTHS:
        x = np.random.default_rng(n).normal(size=n)
        assert sum_of_squares(x) == pytest.approx(float(x @ x), rel=1e-13)


def test_places_above_a_limit_are_counted_from_the_end():
    for n in LENGTHS:
        x = np.random.default_rng(n).normal(size=n)
        rests = 0.25 + np.cumsum((x * x)[::-1])[::-1]
        for place in {0, n // 3, n - 1}:
            limit = float(rests[place]) * (1 - 1e-9)  # only just below the rest at this place
            assert places_above(x, 0.25, limit) == place + 1, (n, place)


# Edges ---------------------------------------------------------------------------------------


def test_no_place_is_above_a_large_limit():
    assert places_above(np.ones(5), 1.0, 6.0) == 0
    assert places_above(np.zeros(5), 1.0, 0.5) == 5
