import mpmath
import pytest

from hushfade.audit.gaussian_delta import delta

CASES = [
    (0.2367, 1.0), (0.05, 0.1), (1.0, 0.5), (3.0, 20.0), (0.01, 0.1), (5.0, 1.0),
    (33.0, 700.0), (0.0386, 1.0), (0.1353, 5.0), (57.0, 2000.0),
]  # fmt: skip


@pytest.mark.parametrize(("mu", "epsilon"), CASES)
def test_delta_agrees_with_mpmath(mu, epsilon):
    with mpmath.workdps(1000):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        assert delta(mu, epsilon) == pytest.approx(float(exact), rel=1e-12)
