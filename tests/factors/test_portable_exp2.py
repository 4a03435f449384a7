"""Powers of two, against another library."""

import mpmath
import numpy as np

from hushfade.factors.portable_exp2 import exp2


def test_powers_are_right_to_a_unit_in_the_last_place():
    x = np.append(
        np.random.default_rng(0).uniform(-1, 0, 2000), [0.0, -1.0, -0.5, -1 / 64, -1e-300]
    )
    for power, found in zip(x.tolist(), exp2(x).tolist(), strict=True):
        with mpmath.workdps(40):
            exact = mpmath.mpf(2) ** mpmath.mpf(power)
            assert abs(mpmath.mpf(found) / exact - 1) < 0.6 * 2**-52, power


def test_whole_powers_are_exact_and_the_argument_is_left_alone():
    x = np.array([0.0, -1.0])
    assert exp2(x).tolist() == [1.0, 0.5]
    assert x.tolist() == [0.0, -1.0]


def test_the_bits_are_known():
    assert [value.hex() for value in exp2(np.array([-0.1, -0.7])).tolist()] == [
        "0x1.ddb680117ab12p-1", "0x1.3b2c47bff8329p-1"
    ]  # fmt: skip
