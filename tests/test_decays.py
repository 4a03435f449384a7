import json
import math

import hypothesis
import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

import hushfade.decays
from hushfade import (
    CustomDecay,
    Decay,
    Diverges,
    Exponential,
    Guarantee,
    InvalidType,
    InvalidValue,
    NoDecay,
    PowerLaw,
    SlidingWindow,
    plan,
)
from hushfade.decays import decay_document, decay_from
from hushfade.factors.limit_norms import energy
from tests.decays import ALL_DECAYS, LOG_CONVEX

NAMES = vars(hushfade.decays)  # also of decays without a public name


@pytest.mark.parametrize("decay", ALL_DECAYS, ids=repr)
def test_every_decay_keeps_the_protocol(decay):
    assert isinstance(decay, Decay)
    f = decay.weights(50)
    assert f.shape == (50,)
    assert f.dtype == np.float64
    assert f[0] > 0
    assert_allclose(decay.weights(7), f[:7], rtol=0, atol=0)


@pytest.mark.parametrize("decay", ALL_DECAYS, ids=repr)
def test_the_repr_makes_the_same_decay(decay):
    again = eval(repr(decay), NAMES)
    assert again == decay
    assert hash(again) == hash(decay)


def test_different_decays_differ():
    assert len(set(ALL_DECAYS)) == len(ALL_DECAYS)


@pytest.mark.parametrize("decay", ALL_DECAYS, ids=repr)
def test_what_a_property_claims_holds(decay):
    f = decay.weights(200)
    if decay.monotone:
        assert np.all(np.diff(f) <= 0)
        assert f[-1] >= 0
    if decay.log_convex:
        assert decay.monotone
        assert np.all(f[1:-1] ** 2 <= f[:-2] * f[2:] * (1 + 1e-13))
    if decay.completely_monotone:
        assert decay.log_convex
        differences = f[:12]
        for _ in range(11):
            differences = -np.diff(differences)
            assert np.all(differences >= -1e-12)


@pytest.mark.parametrize("decay", ALL_DECAYS, ids=repr)
def test_horizon_free_says_whether_the_energy_of_the_root_is_finite(decay):
    if decay.horizon_free:
        assert energy(decay).value < 100
    else:
        with pytest.raises(Diverges, match="not known to be finite"):
            energy(decay)


@pytest.mark.parametrize("decay", [d for d in ALL_DECAYS if d.horizon_free], ids=repr)
def test_the_symbol_is_the_fourier_series_of_the_weights(decay):
    # a smooth cut of the last half makes the sum converge for every decay, fast where f is smooth
    theta = np.array([0.7, 1.9, 3.0])
    k = np.arange(1 << 17)
    f = decay.weights(len(k))
    cut = 0.5 * (1 + np.cos(np.pi * np.clip(2 * k / len(k) - 1, 0, 1)))
    expected = (f * cut) @ np.exp(1j * np.outer(k, theta))
    assert_allclose(decay.symbol(theta), expected, rtol=1e-7)


@pytest.mark.parametrize("power", [0.1, 0.5, 1, 2.5, 7])
@pytest.mark.parametrize("theta", [1e-9, 1e-3, 0.5, math.pi])
def test_the_power_laws_symbol_is_the_polylogarithm(power, theta):
    with mpmath.workdps(50):
        z = mpmath.exp(1j * mpmath.mpf(theta))
        expected = complex(mpmath.polylog(mpmath.mpf(power), z) / z)
    assert_allclose(PowerLaw(power=power).symbol(np.array([theta]))[0], expected, rtol=1e-12)


ENERGIES = {
    PowerLaw(power=0.1): "3.83194",
    PowerLaw(power=0.25): "1.95443",
    PowerLaw(power=0.5): "1.36293",
    PowerLaw(power=1): "1.10810",
    PowerLaw(power=2): "1.01908",
    PowerLaw(power=3): "1.00425",
    Exponential.from_alpha(1.01): "2.13997",
    Exponential.from_alpha(1.1): "1.47818",
    Exponential.from_alpha(2): "1.07318",
    SlidingWindow(length=16): "2.11317",
    SlidingWindow(length=256): "3.23681",
    SlidingWindow(length=4096): "4.36049",
}


@pytest.mark.parametrize("decay", ENERGIES, ids=repr)
def test_the_energies_are_the_reference_ones_to_every_printed_digit(decay):
    assert f"{energy(decay).value:.5f}" == ENERGIES[decay]


@pytest.mark.parametrize("alpha", [1.0001, 1.01, 1.5, 2, 10])
def test_the_exponentials_energy_is_the_elliptic_integral(alpha):
    expected = float(2 / mpmath.pi * mpmath.ellipk(1 / mpmath.mpf(alpha) ** 2))
    assert_allclose(energy(Exponential.from_alpha(alpha)).value, expected, rtol=1e-12)


def test_a_window_and_the_same_list_have_one_energy():
    listed = energy(CustomDecay([1.0] * 16)).value
    assert_allclose(listed, energy(SlidingWindow(length=16)).value, rtol=1e-12)


@pytest.mark.parametrize("half_life", [0.3, 1, 24, 1e5])
def test_every_exponential_weight_is_right_to_the_last_bits(half_life):
    n = np.array([1, 7, 1000, 65_537, 1_000_003])
    f = Exponential(half_life=half_life).weights(int(n[-1]) + 1)[n]
    with mpmath.workdps(40):
        expected = [float(mpmath.mpf(2) ** (-int(k) / mpmath.mpf(half_life))) for k in n]
    assert_allclose(f, expected, rtol=3e-16, atol=0)


def test_alpha_and_half_life_are_one_decay():
    assert Exponential.from_alpha(2).half_life == 1.0
    assert_allclose(Exponential.from_alpha(1.03).alpha, 1.03, rtol=1e-15)
    assert_allclose(
        Exponential.from_alpha(1.03).weights(100), 1.03 ** -np.arange(100.0), rtol=1e-14
    )


def test_mixtures_are_the_weighted_sums():
    a, b = Exponential(half_life=24), PowerLaw(power=1)
    mixed = 0.7 * a + 0.3 * b
    assert_allclose(mixed.weights(30), 0.7 * a.weights(30) + 0.3 * b.weights(30), rtol=1e-15)
    assert mixed == b * 0.3 + a * 0.7
    assert 0.5 * a + 0.5 * a == a
    assert 2 * (0.5 * a) == a
    assert (mixed - 0.3 * b) == 0.7 * a


def test_momentum_is_a_mixture_and_claims_nothing_it_should_not():
    beta = 0.9
    momentum = 1 / (1 - beta) * NoDecay() - beta / (1 - beta) * Exponential.from_alpha(1 / beta)
    k = np.arange(30)
    assert_allclose(momentum.weights(30), (1 - beta ** (k + 1)) / (1 - beta), rtol=1e-12)
    assert not momentum.monotone
    assert not momentum.log_convex
    assert not momentum.horizon_free


def test_a_list_with_a_zero_inside_the_disk_is_not_horizon_free():
    assert CustomDecay([3, 1]).horizon_free
    assert not CustomDecay([1, 3]).horizon_free
    assert CustomDecay([1, 0, 0.9]).horizon_free
    assert not CustomDecay([1, 0, 1.1]).horizon_free


@pytest.mark.parametrize("decay", LOG_CONVEX, ids=repr)
def test_log_convex_decays_say_so(decay):
    assert decay.log_convex
    assert decay.completely_monotone


@hypothesis.given(st.lists(st.floats(0.01, 10), min_size=1, max_size=20))
@hypothesis.settings(deadline=None)
def test_a_sorted_list_is_monotone_and_horizon_free(values):
    decay = CustomDecay(sorted(values, reverse=True))
    assert decay.monotone
    assert decay.horizon_free


BAD = [float("nan"), float("inf"), 0, -1]


@pytest.mark.parametrize("value", BAD)
def test_bad_parameters_are_refused_by_name(value):
    with pytest.raises(InvalidValue, match=r"^half_life must be"):
        Exponential(half_life=value)
    with pytest.raises(InvalidValue, match=r"^alpha must be"):
        Exponential.from_alpha(value)
    with pytest.raises(InvalidValue, match=r"^power must be"):
        PowerLaw(power=value)
    with pytest.raises((InvalidValue, InvalidType), match=r"^length must be"):
        SlidingWindow(length=value)


@pytest.mark.parametrize("value", [b"24", None, 1j, True, [3]])
def test_parameters_of_a_wrong_kind_are_refused(value):
    with pytest.raises(InvalidType):
        Exponential(half_life=value)
    with pytest.raises(InvalidType):
        PowerLaw(power=value)
    with pytest.raises(InvalidType):
        SlidingWindow(length=value)


def test_alpha_is_above_1():
    with pytest.raises(InvalidValue, match=r"alpha must be > 1, got 1\.0"):
        Exponential.from_alpha(1)


@pytest.mark.parametrize(
    "values", [[], [0], [0, 1], [-1, 2], [0.0, 0.0], [[1.0]], [1, float("nan")]]
)
def test_bad_lists_are_refused(values):
    with pytest.raises(InvalidValue, match=r"^weights must"):
        CustomDecay(values)


HOUR = 3600 * 10**9


def test_a_duration_becomes_steps_when_the_length_of_a_step_is_known():
    for unresolved, resolved in (
        (Exponential(half_life="24h"), Exponential(half_life=24)),
        (Exponential(half_life="90min"), Exponential(half_life=1.5)),
        (SlidingWindow(length="7d"), SlidingWindow(length=168)),
        (
            0.5 * SlidingWindow(length="1d") + 0.5 * Exponential(half_life="2h"),
            0.5 * SlidingWindow(length=24) + 0.5 * Exponential(half_life=2),
        ),
    ):
        assert unresolved != resolved
        assert unresolved.resolved(HOUR) == resolved
        assert resolved.resolved(HOUR) == resolved
        with pytest.raises(InvalidValue, match="must be a number of steps here, got '"):
            unresolved.weights(3)
    with pytest.raises(InvalidValue, match="length must be a whole number of steps"):
        SlidingWindow(length="90min").resolved(HOUR)
    with pytest.raises(InvalidValue, match="half_life must be"):
        Exponential(half_life="soon").resolved(HOUR)


def test_a_plan_resolves_durations_by_its_step():
    guarantee = Guarantee(epsilon=1, delta=1e-6)
    for given, steps in (("24h", 24), ("90min", 1.5)):
        made = plan(Exponential(half_life=given), guarantee, every="1h")
        assert made.decay == Exponential(half_life=steps)
        assert made.digest == plan(Exponential(half_life=steps), guarantee, every="1h").digest
    assert plan(SlidingWindow(length="1w"), guarantee, every="1d").decay == SlidingWindow(length=7)
    with pytest.raises(InvalidValue, match="half_life must be in steps unless every is given"):
        plan(Exponential(half_life="24h"), guarantee)
    with pytest.raises(InvalidValue, match="because a calendar month has no fixed length"):
        plan(SlidingWindow(length="7d"), guarantee, every="month")


def test_a_document_is_the_decay():
    for decay in ALL_DECAYS:
        document = json.loads(json.dumps(decay_document(decay)))
        assert decay_from(document) == decay
        assert document["kind"] == type(decay).__struct_config__.tag
    assert decay_document(Exponential(half_life=24)) == {"kind": "exponential", "half_life": 24.0}


@pytest.mark.parametrize(
    "document",
    [
        None, [], {}, {"kind": "hyperbolic"}, {"kind": "power_law"},
        {"kind": "power_law", "power": 1, "scale": 2}, {"kind": "power_law", "power": "1"},
        {"kind": "mixture", "parts": [[1.0]]}, {"kind": "sliding_window", "length": 2.5},
    ],
)  # fmt: skip
def test_a_document_of_no_decay_is_refused_without_repeating_it(document):
    with pytest.raises(InvalidValue, match="decay must be a decay of hushfade, with its") as told:
        decay_from(document)
    assert told.value.__cause__ is None


def test_a_parameter_that_is_out_of_range_is_named():
    for document, text in (
        ({"kind": "power_law", "power": -1}, "power must be > 0"),
        ({"kind": "sliding_window", "length": 0}, "length must be"),
        ({"kind": "custom", "values": [0.0, 1.0]}, "weights must start with a weight > 0"),
        ({"kind": "mixture", "parts": []}, "parts must have at least one part"),
    ):
        with pytest.raises(InvalidValue, match=text):
            decay_from(document)


def test_a_decay_of_a_user_has_what_follows_from_its_weights():
    """A decay that ends needs `weights` and `reach` alone."""

    class Line(Decay, frozen=True):
        length: int

        @property
        def reach(self):
            return self.length

        def weights(self, n):
            return np.maximum(1.0 - np.arange(n) / self.length, 0.0)

    line, listed = Line(4), CustomDecay([1, 0.75, 0.5, 0.25])
    angles = np.linspace(0.1, 3.0, 7)
    assert_allclose(line.symbol(angles), listed.symbol(angles))
    assert line.recursion() == listed.recursion()
    assert line.span(1000) == listed.span(1000)
    assert_allclose(line.between(2, 6), [0.5, 0.25, 0.0, 0.0])
    mixed = line + Exponential(half_life=3)
    assert_allclose(mixed.weights(3), line.weights(3) + Exponential(half_life=3).weights(3))
    with pytest.raises(InvalidType, match="only built-in decays can be saved"):
        decay_document(mixed)


@pytest.mark.parametrize("n", [0, -1])
@pytest.mark.parametrize("decay", ALL_DECAYS, ids=repr)
def test_no_weights_for_less_than_one_step(decay, n):
    with pytest.raises(InvalidValue, match="n must be an integer >= 1"):
        decay.weights(n)


@pytest.mark.parametrize("n", [2.0, "3", None, True])
def test_weights_needs_an_integer(n):
    with pytest.raises(InvalidType, match="n must be an integer"):
        NoDecay().weights(n)


def test_bad_mixtures_are_refused():
    a = Exponential(half_life=24)
    with pytest.raises(InvalidType, match="mixed with decays"):
        a + 1
    with pytest.raises(InvalidType, match="weight must be a real number"):
        "2" * a
    with pytest.raises(InvalidValue, match="weight must be finite"):
        float("nan") * a
    with pytest.raises(InvalidValue, match="must start with a weight > 0"):
        0 * a
    with pytest.raises(InvalidValue, match="must start with a weight > 0"):
        a - 2 * PowerLaw(power=1)
