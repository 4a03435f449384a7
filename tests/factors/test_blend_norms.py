import numpy as np
import pytest

from hushfade import Exponential, NoDecay, PowerLaw, SlidingWindow
from hushfade.factors import _blend_norms as blend_norms
from hushfade.factors import factorization

PARTS = (1 / 24, 0.5, 1.0)


# Laws ----------------------------------------------------------------------------------------


def test_the_closed_form_is_the_sum_over_the_column():
    cases = [
        (NoDecay(), (1, 2, 1024, 1025, 20_000)),
        (Exponential(half_life=0.1), (1, 1500)),
        (Exponential(half_life=24), (1000, 8192)),
        (Exponential(half_life=10**5), (1 << 16,)),
    ]
    for decay, lengths in cases:
        for c in PARTS:
            for n in lengths:
                left = factorization.blend(decay, c).left(n)
                found = blend_norms.squared_left(decay, c, n)
                # the quadrature has a relative error of 1e-13
                assert found == pytest.approx(float(left @ left), rel=1e-12), (decay, c, n)


def test_the_closed_form_of_a_window_is_the_sum_over_the_column(monkeypatch):
    monkeypatch.setattr(blend_norms, "_LONG", 1000)
    w = 3000
    for n in (w, w + 1, 4 * w + 500, 4 * w + 2000, 9 * w):  # the last row: near lags, or far ones
        for c in PARTS:
            left = factorization.blend(SlidingWindow(length=w), c).left(n)
            found = blend_norms.squared_left(SlidingWindow(length=w), c, n)
            # the column comes from FFTs, with errors of 1e-13 of its largest term
            assert found == pytest.approx(float(left @ left), rel=1e-11), (c, n)


def test_the_largest_error_is_the_last_one():
    for decay in (NoDecay(), Exponential(half_life=24), SlidingWindow(length=7), PowerLaw(power=1)):
        for pair in (factorization.blend(decay, 0.5), factorization.square_root(decay)):
            errors = pair.errors(3000)
            assert pair.largest_error(3000) == pytest.approx(float(np.max(errors)), rel=1e-12)


# Edges ---------------------------------------------------------------------------------------


def test_other_decays_have_no_closed_form():
    for decay in (PowerLaw(power=1), SlidingWindow(length=7), SlidingWindow(length=10**4)):
        assert blend_norms.squared_left(decay, 0.5, 5000) is None
