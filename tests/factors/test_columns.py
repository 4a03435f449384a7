import numpy as np
import pytest

from hushfade.factors.columns import PART, fitted, parts, sum_of_squares

LENGTHS = (1, 2, PART - 1, PART, PART + 1, 3 * PART + 17)


# Laws ----------------------------------------------------------------------------------------


def test_the_parts_cover_a_column_once():
    for n in (0, *LENGTHS):
        assert [place for here in parts(n) for place in range(n)[here]] == list(range(n))


def test_sums_of_squares_are_those_of_the_whole_column():
    for n in LENGTHS:
        x = np.random.default_rng(n).normal(size=n)
        assert sum_of_squares(x) == pytest.approx(float(x @ x), rel=1e-13)


def test_a_fitted_column_is_cut_or_continued_with_zeros():
    x = np.arange(1.0, 6.0)
    for n in (0, 1, 5, 8):
        assert fitted(x, n).tolist() == [*x[:n], *[0.0] * max(0, n - 5)]
