import math

import pytest
from scipy.optimize import brentq

from hushfade import InvalidValue
from hushfade.public.root_finding import root_of

FUNCTIONS = {
    "square": lambda x: x * x - 2.0,
    "cube": lambda x: x**3 - 0.9,
    "arc tangent": lambda x: math.atan(40.0 * (x - 0.7)),
    "exponential": lambda x: math.exp(3.0 * x) - 2.5,
    "logarithm": lambda x: math.log(x) - 0.25,
    "step": lambda x: -1.0 if x < 1.3 else 2.0,
}


def test_the_root_is_scipy_s_to_the_last_bit():
    for name, function in FUNCTIONS.items():
        for high in (1.5, 2.0, 17.0):
            for tolerance in (2e-12, 1e-14, 1e-15):
                found = root_of(function, 1e-6, high, tolerance=tolerance)
                expected = brentq(function, 1e-6, high, xtol=tolerance)
                assert found == expected, (name, high, tolerance)


def test_an_end_that_is_a_root_is_returned():
    assert root_of(lambda x: x, 0.0, 1.0) == 0.0
    assert root_of(lambda x: x - 1.0, 0.0, 1.0) == 1.0


@pytest.mark.parametrize("value", [1.0, float("nan")])
def test_ends_of_one_sign_are_refused(value):
    with pytest.raises(InvalidValue, match="different signs"):
        root_of(lambda x: value, 0.0, 1.0)
