import math
from decimal import Decimal

import mpmath
import numpy as np
import pytest

from hushfade import InvalidType, InvalidValue
from hushfade.crossing import sampling
from hushfade.crossing.sampling_tables import MARGIN, exact_law, table
from hushfade.laws import Gaussian, Huber, Laplace
from tests.noise_laws import ALL_LAWS, CELL_LAWS, probability, probability_within, share


def test_every_table_entry_is_the_floor_of_the_exact_probability():
    for law in ALL_LAWS:
        made = table(law)
        count = len(made.above) - 1
        cells = set(range(0, count, max(1, count // 60))) | {count - 1}
        if isinstance(law, Huber):
            edge = law.core >> made.k
            cells |= {cell for cell in range(edge - 2, edge + 3) if 0 <= cell < count}
        with mpmath.workdps(90):
            for cell in cells:
                exact = probability_within(law, (cell + 1) << made.k) * mpmath.mpf(2) ** 127
                off = exact - made.above[cell]
                # the largest entry before the last stands for 2^-127 of probability or less
                assert 0 <= off < 1 + mpmath.mpf(2) ** -40, (law, cell)


def test_tables_rise_to_one_and_no_draw_is_farther_than_2_to_the_minus_112_from_its_law():
    for law in ALL_LAWS:
        made = table(law)
        assert made.above[0] > 0, law
        assert made.above[-1] == 1 << 127, law
        assert made.above == sorted(made.above), law
        assert made.total_variation < 2.0**-112, law
        assert made.total_variation == len(made.above) * 2.0**-126 + 2.0**-160, law


def test_the_total_variation_of_small_tables_is_below_the_bound():
    for law in (Gaussian(1.0), Gaussian(3.0), Laplace(64.0), Laplace(1.0), Huber(1.0, 1)):
        made = table(law)
        with mpmath.workdps(90):
            whole = mpmath.mpf(2) ** 127
            drawn = np.diff(np.array([0, *made.above], dtype=object))  # of magnitudes
            exact = [probability(law, z) * (1 if z == 0 else 2) for z in range(len(drawn))]
            beyond = 1 - probability_within(law, len(drawn))
            off = sum(abs(a / whole - b) for a, b in zip(drawn, exact, strict=True)) + beyond
            assert off / 2 < made.total_variation, law


def test_exact_probabilities_agree_with_mpmath_to_60_digits():
    for law in ALL_LAWS:
        exact, scale = exact_law(law), max(1, int(law.stddev))
        places = {0, 1, 2, 5, scale // 2, scale, 3 * scale + 1, 9 * scale}
        if isinstance(law, Huber):
            places |= {law.core - 1, law.core, law.core + 1, law.core + 2}
        with mpmath.workdps(400):
            for z in places:
                off = mpmath.mpf(str(exact.probability(z))) / probability(law, z) - 1
                assert abs(off) < mpmath.mpf(10) ** -60, (law, z)
                assert exact.probability(-z) == exact.probability(z), (law, z)


def test_small_laws_have_probabilities_that_sum_to_one():
    for law in (Gaussian(1.0), Gaussian(3.0), Laplace(1.0), Huber(1.0, 1), Huber(0.5, 3)):
        exact = exact_law(law)
        total = exact.probability(0) + 2 * sum(exact.probability(z) for z in range(1, 120))
        assert abs(total - 1) < Decimal(10) ** -24, law  # the default context has 28 digits


def doubtful_cells(made, rng):
    """The first cells, those around the core's edge, and some others."""
    last = len(made.above) - 2
    cells = {0, 1, 2, *rng.integers(0, last, size=10).tolist()}
    if isinstance(made.law, Huber):
        edge = made.law.core >> made.k
        cells |= {edge - 1, edge, edge + 1}
    return sorted(cell for cell in cells if 0 <= cell <= last)


def test_floats_are_certain_exactly_where_they_are_farther_than_the_margin_from_the_share():
    # the float's share errs by less than 2^-36: a 32nd of the margin is far more
    rng = np.random.default_rng(3)
    for law in CELL_LAWS:
        made = table(law)
        bits = 64 - made.k
        for cell in doubtful_cells(made, rng):
            start = cell << made.k
            places = {0, 1, (1 << made.k) - 1, *rng.integers(0, 1 << made.k, size=4).tolist()}
            if isinstance(law, Huber) and start <= law.core < start + (1 << made.k):
                inside = law.core - start
                near = {inside - 1, inside, inside + 1}
                places |= {place for place in near if 0 <= place < 1 << made.k}
            for place in places:
                with mpmath.workdps(120):
                    exact = share(law, start, start + place)
                for distance in (-33 / 32, -31 / 32, 31 / 32, 33 / 32):
                    uniform = int(mpmath.floor((exact + distance * MARGIN) * 2**bits))
                    if not 0 <= uniform < 1 << bits:
                        continue
                    word = np.uint64(uniform << made.k | place)
                    verdict = sampling._verdict(word, np.int64(cell), made.k, made.curve, MARGIN)
                    expected = 2 if abs(distance) < 1 else 0 if distance < 0 else 1
                    assert verdict == expected, (law, cell, place, distance)


def test_a_word_below_the_sure_bound_keeps_every_place_of_its_cell_but_zero():
    # the largest uniform that such a word can begin, against the least share of its cell
    for law in CELL_LAWS:
        made = table(law)
        for cell in doubtful_cells(made, np.random.default_rng(5)):
            start = cell << made.k
            places = [(1 << made.k) - 1]
            if isinstance(law, Huber) and start <= law.core < start + (1 << made.k):
                places += [law.core - start]
            with mpmath.workdps(120):
                for place in places:
                    assert (
                        made.sure[cell % len(made.sure)] < share(law, start, start + place) * 2**64
                    ), (law, cell)
            assert (
                int(made.sure[cell % len(made.sure)]) > 0.85 * 2**64
            )  # and few draws need more than it


def test_a_table_is_made_once():
    assert table(Laplace(0.25)) is table(Laplace(0.25))
    assert repr(table(Laplace(0.25))) == "Table(Laplace(slope=0.25))"


def test_scales_out_of_range_are_refused():
    for sigma in (0.5, math.nextafter(1.0, 0.0), 2.0**35):
        with pytest.raises(InvalidValue, match=r"^sigma must be from 1 to 1\.71799e\+10 units"):
            table(Gaussian(sigma))
    for slope in (2.0**-35, 65.0):
        with pytest.raises(InvalidValue, match=r"^slope must be from 2\^-34 to 64 per unit"):
            table(Laplace(slope))
    for slope in (2.0**-35, 1.5):
        with pytest.raises(InvalidValue, match=r"^slope must be from 2\^-34 to 1 per unit"):
            table(Huber(slope, 4))
    with pytest.raises(InvalidValue, match=r"^core must be at most 2\^39 units"):
        table(Huber(2.0**-34, 2**39 + 1))
    for slope, core in ((0.001, 7), (0.5, 129)):
        with pytest.raises(InvalidValue, match=r"^core · slope must be from 1/128 to 64"):
            table(Huber(slope, core))


def test_a_number_is_no_law():
    with pytest.raises(InvalidType, match="law must be Gaussian, Laplace or Huber, got float"):
        table(3.0)
