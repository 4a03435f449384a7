"""mu and epsilon by decimal arithmetic, against 60 digits of another library."""

import math
import random
from decimal import Decimal

import mpmath
import pytest

from hushfade import Guarantee, InvalidType, InvalidValue, classical_noise_multiplier, delta_of
from hushfade.privacy.calibration import _edge, delta_above, epsilon_of, mu_of


def exact_delta(epsilon, mu):
    """δ(ε; μ) to about 40 digits, or more where ε is large."""
    with mpmath.workdps(60 + max(0, int(mpmath.log10(max(epsilon, 1))))):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def neighbour(value, by):
    """The next number of 51 bits."""
    exponent = math.frexp(value)[1] - 51
    return math.ldexp(round(math.ldexp(value, -exponent)) + by, exponent)


def cases():
    """Guarantees of all kinds: small, large, and with a delta near 1."""
    rng = random.Random(7)
    for _ in range(40):
        yield 10 ** rng.uniform(-4, 2), 10 ** rng.uniform(-30, -0.01)
    for _ in range(10):
        yield 10 ** rng.uniform(-2, 1), 1 - 10 ** rng.uniform(-12, -1)
    yield from [(1.0, 1e-6), (0.5, 0.5), (700.0, 1e-300), (3.0, 1e-300), (1e4, 1e-9), (1e-9, 0.3)]


def test_mu_is_the_largest_of_51_bits_that_keeps_delta():
    for epsilon, delta in cases():
        mu = mu_of(epsilon, delta)
        assert exact_delta(epsilon, mu) <= delta, (epsilon, delta)
        assert exact_delta(epsilon, neighbour(mu, 1)) > delta, (epsilon, delta)
        assert math.ldexp(mu, 51 - math.frexp(mu)[1]).is_integer()


def test_mu_is_within_1e_12_of_the_root_and_never_above_it():
    for epsilon, delta in list(cases())[:12]:
        with mpmath.workdps(50):
            root = mpmath.findroot(
                lambda m, e=epsilon, d=delta: mpmath.log(exact_delta(e, m)) - mpmath.log(d),
                mu_of(epsilon, delta),
            )
            assert 0 <= 1 - mu_of(epsilon, delta) / root < 1e-12, (epsilon, delta)


def test_epsilon_is_the_smallest_of_51_bits_that_keeps_delta():
    for epsilon, delta in cases():
        mu = mu_of(epsilon, delta)
        found = epsilon_of(mu, delta)
        assert found <= epsilon * (1 + 2.0**-50)
        assert exact_delta(found, mu) <= delta, (epsilon, delta)
        if found > 0:
            assert exact_delta(neighbour(found, -1), mu) > delta, (epsilon, delta)


def test_delta_is_bounded_from_above_and_closely():
    rng = random.Random(8)
    for _ in range(200):
        mu, epsilon = 10 ** rng.uniform(-5, 1.5), 10 ** rng.uniform(-4, 2)
        if not delta_of(mu, epsilon) > 1e-300:
            continue
        with mpmath.workdps(60):
            above, exact = mpmath.mpf(str(delta_above(epsilon, mu))), exact_delta(epsilon, mu)
            assert 0 <= above / exact - 1 < 1e-19, (mu, epsilon)


def test_the_first_guess_has_no_influence():
    """The edge of a rule is found from anywhere, also across a power of two."""
    for edge in (0.75, 1.0, 1.0 - 2.0**-53, 1.0 + 2.0**-52, 3.1):
        for guess in (edge, 0.1, 0.4999999, 1.0, 7.0):
            up = _edge(guess, lambda x, edge=edge: x <= edge, outward=1)
            assert up <= edge < neighbour(up, 1), (edge, guess)
            down = _edge(guess, lambda x, edge=edge: x >= edge, outward=-1)
            assert neighbour(down, -1) < edge <= down, (edge, guess)
            assert up == _edge(edge, lambda x, edge=edge: x <= edge, outward=1)


def test_known_values():
    assert mu_of(1.0, 1e-6).hex() == "0x1.e4c5442e27b68p-3"
    assert epsilon_of(0.5, 1e-6).hex() == "0x1.2085d8878e008p+1"
    assert delta_above(0.0, 1.0) == pytest.approx(
        Decimal("0.3829249225480262"), rel=Decimal("1e-15")
    )


def test_a_mu_that_needs_no_epsilon_has_none():
    assert epsilon_of(0.1, 0.5) == 0.0


@pytest.mark.parametrize("delta", [0, 1, -1e-9, float("nan"), 2])
def test_a_delta_outside_0_and_1_is_refused(delta):
    for work in (mu_of, epsilon_of):
        with pytest.raises(InvalidValue, match="delta must be"):
            work(1.0, delta)


def test_a_delta_below_1e_300_is_refused():
    """Where float64 loses digits nothing can be checked; 0 has a message of its own."""
    for make in (
        lambda d: mu_of(1.0, d),
        lambda d: epsilon_of(1.0, d),
        lambda d: Guarantee(1.0, d or -0.5),  # a guarantee may have delta = 0
        lambda d: Guarantee.from_mu(0.3, delta=d),
        lambda d: Guarantee.from_rho(0.3, delta=d),
        lambda d: classical_noise_multiplier(0.5, d),
    ):
        make(1e-300)
        for delta in (math.nextafter(1e-300, 0.0), 1e-310, 5e-324):
            with pytest.raises(InvalidValue, match="delta must be at least 1e-300"):
                make(delta)
        with pytest.raises(InvalidValue, match=r"delta must be in [(\[]0, 1\), got (0|-0.5)"):
            make(0.0)


def test_what_is_no_number_is_refused():
    with pytest.raises(InvalidType, match="epsilon must be a real number"):
        mu_of("1", 1e-6)
    with pytest.raises(InvalidValue, match="mu must be > 0"):
        epsilon_of(-1.0, 1e-6)
    with pytest.raises(InvalidValue, match=r"must allow a mu >= 1e-05, got .*: give a larger"):
        mu_of(1e-6, 1e-9)
