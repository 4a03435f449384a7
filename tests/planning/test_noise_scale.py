"""sigma: the root of a fraction of integers, rounded up."""

import json
import math
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from hushfade import (
    Exponential,
    Guarantee,
    InvalidType,
    InvalidValue,
    NoDecay,
    Person,
    Plan,
    SlidingWindow,
    delta_of,
)
from hushfade.planning import plan_file, plan_version_1
from hushfade.planning.noise_scale import check_version_1, required_variance, root_above
from tests.gaussian_plans import plan
from tests.planning.test_plan import PLANS

ONE = Guarantee(1, 1e-6)


def test_a_root_is_the_least_of_48_bits_above():
    for numerator in (1, 2, 3, 10**6, 10**30 + 1, 2**200 - 1):
        for denominator in (1, 7, 10**9, 3**50):
            square = Fraction(numerator, denominator)
            root = Fraction(root_above(square))
            assert root**2 >= square
            unit = Fraction(math.ldexp(1.0, math.frexp(float(root))[1] - 48))
            assert (root / unit).denominator == 1
            assert (root - unit) ** 2 < square
    assert root_above(Fraction(49, 4)) == 3.5


def test_sigma_is_that_of_the_dense_factor_in_exact_arithmetic():
    """For short taps: every column of R̃, and every pair of columns, with fractions."""
    for guarantee, arguments in (
        (ONE, {}),
        (Guarantee(3, 1e-9, neighbours="replace"), {"low": -2, "high": 5}),
        (Guarantee(3, 1e-9, neighbours="replace"), {"keys": ["a", "b"]}),
        (Guarantee(1, 1e-6, protects=Person(records_per_step=3)), {"width": 2, "norm": 1.0}),
        (Guarantee(1, 1e-6, protects=Person(steps=2, apart=2)), {}),
        (Guarantee(1, 1e-6), {"method": "normalized"}),
    ):
        made = plan(NoDecay(), guarantee, horizon=6, **arguments)
        integers = [*made.taps.integers.tolist(), *[0] * 6]
        gain = [1] * 6 if made.pair.integer_gain is None else made.pair.integer_gain.tolist()
        R = [[gain[t] * integers[t - s] if t >= s else 0 for t in range(6)] for s in range(6)]
        pairs = [[a + b for a, b in zip(R[s], R[t], strict=True)] for s in range(6)
                 for t in range(s + 2, 6)] if guarantee.protects.steps == 2 else []  # fmt: skip
        norm = max(sum(value**2 for value in column) for column in R + pairs)
        grid = made.grid
        largest = max(abs(grid.low_unit), abs(grid.high_unit))
        change = {
            "add_remove": largest**2,
            "replace": (grid.high_unit - grid.low_unit) ** 2,
        }[guarantee.neighbours] * guarantee.protects.records_per_step**2
        if grid.norm is not None:
            change = (guarantee.protects.records_per_step * grid.norm_unit) ** 2
        if grid.keys is not None:
            change = 2 * largest**2
        required = Fraction(change * norm) / Fraction(guarantee.mu) ** 2
        assert required_variance(guarantee, grid, made.pair) == required
        assert required <= Fraction(made.sigma) ** 2 <= required * (1 + Fraction(1, 2**46))


def test_sigma_is_an_integer_over_a_power_of_two_of_40_bits_at_least():
    for made in PLANS:
        scale, denominator = made.sigma.as_integer_ratio()
        assert denominator & (denominator - 1) == 0
        assert scale < 2**48
        required = required_variance(made.guarantee, made.grid, made.pair)
        assert 1 <= Fraction(made.sigma) ** 2 / required <= 1 + Fraction(1, 2**45)


def test_the_noise_of_version_1_is_what_is_required_and_hardly_more():
    made = plan(SlidingWindow(length=7), Guarantee(1, 1e-6, protects=Person(steps=3, apart=2)))
    arguments = made.guarantee, made.grid, made.pair
    least = root_above(required_variance(*arguments))
    for sigma in (least, least * (1 + 1e-12), least * (1 + 9e-10)):
        check_version_1(sigma, *arguments)
    for sigma in (least * (1 - 1e-12), least * (1 + 2e-9), least / 2, 0.0, -least):
        with pytest.raises(InvalidValue, match="sigma must be the noise"):
            check_version_1(sigma, *arguments)
    with pytest.raises(InvalidValue, match="sigma must be the noise"):
        check_version_1(least, Guarantee(0.5, 1e-6), made.grid, made.pair)


def test_version_1_took_an_endless_stream_for_a_very_long_one():
    person = Guarantee(1, 1e-6, protects=Person(steps=10**6, apart=20))
    made = plan(Exponential(half_life=100), person, horizon=20_000_000, resolution=1.0)
    endless = required_variance(person, made.grid, replace(made.pair, horizon=None))
    required = required_variance(person, made.grid, made.pair)
    assert endless > required
    check_version_1(root_above(endless), person, made.grid, made.pair)


def test_the_largest_total_leaves_room_for_the_noise_in_int64():
    for made in PLANS:
        taps = np.abs(made.taps.integers).astype(object)
        gain = 1 if made.pair.integer_gain is None else int(made.pair.integer_gain.max())
        reached = int(taps.sum()) * gain * made.grid.largest_total + 64 * made.sigma
        assert reached <= 2**54
        assert made.grid.largest_total == 2**52 or reached > 2**54 - int(taps.sum()) * gain - 1


def test_plans_of_version_1_with_another_mu_or_sigma_are_refused():
    folder = Path(__file__).parents[1] / "fixtures" / "0.1.0"
    stored = json.loads((folder / "plans.json").read_text())
    document = json.loads(stored["from-mu"]["document"])

    def forged(**changed):
        fields = {name: value for name, value in (document | changed).items() if name != "digest"}
        return json.dumps(fields | {"digest": plan_file._hashed(fields).hex()})

    assert Plan.from_json(forged()).guarantee.mu == 0.3
    promised, sigma = document["guarantee"], document["sigma"]
    for changed in (
        {"sigma": sigma * 0.999}, {"sigma": sigma * (1 - 1e-11)}, {"sigma": sigma * 1.001},
        {"guarantee": promised | {"mu": 0.31}}, {"guarantee": promised | {"mu": 0.29}},
        {"guarantee": promised | {"mu": 0.3 * (1 + 3e-9)}},
        {"guarantee": promised | {"mu": 0.3 * (1 + 9e-10)}, "sigma": sigma * (1 - 9e-10)},
        {"guarantee": promised | {"mu": 0.3 * (1 + 1e-10)}, "sigma": sigma * (1 - 1e-10)},
        {"guarantee": promised | {"epsilon": promised["epsilon"] * (1 - 5e-10)}},
        {"guarantee": promised | {"mu": 0.31}, "sigma": sigma * 0.3 / 0.31},
        {"guarantee": promised | {"epsilon": promised["epsilon"] * 1.001}},
        {"guarantee": promised | {"participations": 2}},
        {"loss": None}, {"loss": "0"}, {"sigma": None}, {"noise": {"bits": 0, "scale": 9}},
    ):  # fmt: skip
        with pytest.raises((InvalidValue, InvalidType)):
            Plan.from_json(forged(**changed))


def mu_of_0_1_0(epsilon, delta):
    """As 0.1.0 computed it: the root in float64 for a delta that is smaller by 1e-9."""
    wanted = delta * (1 - 1e-9)
    root = brentq(
        lambda x: math.log(max(delta_of(math.exp(x), epsilon), 1e-320)) - math.log(wanted),
        math.log(1e-9), math.log(1e5), xtol=1e-15,
    )  # fmt: skip
    mu = math.exp(root)
    while delta_of(mu, epsilon) > wanted:
        mu *= 1 - 1e-13
    return mu


def epsilon_of_0_1_0(mu, delta):
    wanted = delta * (1 - 1e-9)
    high = 1.0
    while delta_of(mu, high) > wanted:
        high *= 2.0
    root = brentq(
        lambda e: math.log(max(delta_of(mu, e), 1e-320)) - math.log(wanted), 0.0, high, xtol=1e-14
    )
    while delta_of(mu, root) > wanted:
        root += 1e-13 * max(root, 1e-3)
    return root


def test_every_guarantee_that_0_1_0_computed_is_accepted_without_a_tolerance():
    rng = random.Random(11)
    for _ in range(60):
        epsilon, delta = 10 ** rng.uniform(-2.5, 2), 10 ** rng.uniform(-30, -1.5)
        mu = mu_of_0_1_0(epsilon, delta)
        fields = {"epsilon": epsilon, "delta": delta, "mu": mu}
        assert plan_version_1.guarantee(fields).mu == mu, fields
        mu = 10 ** rng.uniform(-2, 1)
        if delta_of(mu, 0.0) > delta:
            fields = {"epsilon": epsilon_of_0_1_0(mu, delta), "delta": delta, "mu": mu}
            assert plan_version_1.guarantee(fields).mu == mu, fields


# Documents that ask for much -----------------------------------------------------------------


def test_a_short_document_with_many_taps_expands_none_of_them(monkeypatch):
    """A plan of 2^26 equal taps, forged with the right noise: read in milliseconds."""
    document = json.loads(plan(SlidingWindow(length=8), ONE).to_json())
    support, grid = 1 << 26, plan(SlidingWindow(length=8), ONE).grid
    variance = Fraction(grid.high_unit**2 * support) / Fraction(ONE.mu) ** 2
    scale, denominator = root_above(variance).as_integer_ratio()
    document |= {
        "taps": {"bits": 0, "from": [0], "value": [1], "support": support},
        "noise": {"bits": denominator.bit_length() - 1, "scale": scale},
    }
    read = Plan.from_json(redigested(document))
    assert read.taps.support == support
    assert "integers" not in vars(read.taps)
    document["noise"]["scale"] -= 1
    with pytest.raises(InvalidValue, match="noise must be the noise"):
        Plan.from_json(redigested(document))
    document["taps"]["support"] += 1
    with pytest.raises(InvalidValue, match=f"support must be an integer <= {support}"):
        Plan.from_json(redigested(document))
    with pytest.raises(InvalidValue, match=f"must need at most {support} taps"):
        plan(NoDecay(), ONE, horizon=support + 1)


def redigested(document):
    covered = {name: of for name, of in document.items() if name not in ("digest", "reported")}
    return json.dumps(document | {"digest": plan_file._hashed(covered).hex()})
