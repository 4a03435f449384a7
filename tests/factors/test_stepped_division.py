import numpy as np
from numpy.testing import assert_allclose

from hushfade.factors._stepped_division import divided


def plain(f, lags, terms):
    """q_t = (f_t - f_{t-1} - Σ p_lag q_{t-lag}) / p_0, step by step."""
    q = np.diff(f, prepend=0.0)
    for t in range(len(f)):
        for lag, term in zip(lags[1:], terms[1:], strict=True):
            if lag <= t:
                q[t] -= term * q[t - lag]
        q[t] /= terms[0]
    return q


# Laws ----------------------------------------------------------------------------------------


def test_the_loop_divides_term_by_term():
    # the lags lie on both sides of every size of a block
    far = [1, 2, 3, 15, 16, 17, 127, 128, 129, 1023, 1024, 1025, 8191, 8192, 8193]
    for n in (1, 2, 15, 16, 17, 40, 1030, 2 * 8192 + 21):
        rng = np.random.default_rng(n)
        lags = np.array([0, *far])
        terms = np.append(1.5, 0.05 * rng.normal(size=len(far)))
        f = rng.normal(size=n)
        exact = plain(f, lags, terms)
        assert_allclose(divided(f, lags, terms), exact, atol=1e-13 * np.max(np.abs(exact)))


def test_single_terms_at_any_lag():
    rng = np.random.default_rng(5)
    f = rng.normal(size=300)
    for lag in (1, 7, 15, 16, 31, 128, 200, 299, 300, 10**6):
        lags, terms = np.array([0, lag]), np.array([2.0, -0.7])
        assert_allclose(
            divided(f, lags, terms), plain(f, lags, terms), atol=1e-14, err_msg=str(lag)
        )


# Numbers -------------------------------------------------------------------------------------


def test_a_constant_divisor():
    assert divided(np.array([1.0, 3.0, 6.0]), np.array([0]), np.array([2.0])).tolist() == [
        0.5,
        1.0,
        1.5,
    ]
