import functools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import (
    CustomDecay,
    Exponential,
    Guarantee,
    InvalidType,
    InvalidValue,
    NoDecay,
    Person,
    PowerLaw,
    SlidingWindow,
    compare,
    plan,
    theory,
)
from hushfade.baselines import mechanisms
from hushfade.baselines.mechanism import Mechanism, from_pair
from hushfade.factors import factorization
from tests.decays import ALL_DECAYS
from tests.loops import for_each

ONE = Guarantee(epsilon=1, delta=1e-6)
UNSTABLE = "CustomDecay(values=(0.99"
DECAYS = [decay for decay in ALL_DECAYS if not repr(decay).startswith(UNSTABLE)]


# Laws ----------------------------------------------------------------------------------------


@for_each("decay", DECAYS)
def test_every_rival_of_every_decay_is_a_factorization_of_its_matrix(decay):
    n = 40
    L, R = factorization.square_root(decay).matrices(n)
    M = L @ R
    for rival in mechanisms(decay, n):
        left, right = (part.toarray() for part in rival.matrices())
        order = 1 if rival.pure else 2
        assert_allclose(rival.errors, np.linalg.norm(left, axis=1), rtol=1e-9, err_msg=rival.name)
        found = np.linalg.norm(right, ord=order, axis=0).max()
        if rival.releases > 1:  # each row is a release of its own
            found = np.abs(right).max()
        assert rival.sensitivity >= found * (1 - 1e-9), rival.name
        off = np.abs(left @ right - M)
        assert np.all(off <= rival.bias * np.abs(M) + 1e-8 * np.abs(M).max()), rival.name


@for_each("decay", DECAYS)
def test_no_gaussian_mechanism_is_below_the_least_and_ours_is_near_it(decay):
    found = compare(decay, ONE, 200)
    names = [row.method for row in found.rows]
    assert len(set(names)) == len(names)
    rest = [row.max_error for row in found.rows[1:]]
    assert rest == sorted(rest)
    for row in found.rows:
        gaussian = not (row.pure or row.bias or "Huber" in row.method or "Laplace" in row.method)
        assert not gaussian or row.ratio >= 1 - 1e-9
        assert_allclose(row.ratio, row.max_error / found.least, rtol=1e-12)
        assert row.rms_error <= row.max_error * (1 + 1e-12)
    ours = [row for row in found.rows if row.method.startswith("hushfade")]
    assert found.rows[0] is ours[0] is found.row("hushfade")
    # noise on the inputs comes first within 1 % of the smallest error, and the search's coarse
    # bound is up to 1 % above the error of the plan itself
    assert ours[0].max_error <= 1.02 * min(row.max_error for row in ours)
    gaussian = [row for row in ours if "Gaussian" in row.method]
    assert min(row.ratio for row in gaussian) < 1.16
    optimum = found.row("optimum, largest error")
    assert optimum.ratio < 1.001
    assert all(row.max_error >= optimum.max_error * (1 - 2e-4) for row in gaussian)


def test_our_rows_are_the_plans_own_errors():
    found = compare(Exponential(24), ONE, 300, low=-2, high=3)
    made = plan(Exponential(24), ONE, low=-2, high=3, horizon=300)
    assert_allclose(found.row("hushfade").errors, made.stddevs(300), rtol=0)
    assert found.change == 3
    one = compare(Exponential(24), ONE, 300)
    for row in found.rows:
        assert_allclose(row.max_error, 3 * one.row(row.method).max_error, rtol=1e-3)


def test_several_participations_compare_our_own_mechanisms_alone():
    often = Guarantee(1, 1e-6, protects=Person(steps=4, apart=2))
    found = compare(SlidingWindow(7), often, 60)
    assert all(row.method.startswith("hushfade") for row in found.rows)
    best = plan(SlidingWindow(7), often, horizon=60)
    assert_allclose(found.rows[0].errors, best.stddevs(60), rtol=0)


def test_without_delta_only_pure_mechanisms_are_compared():
    found = compare(SlidingWindow(7), Guarantee(1, 0), 60, resolution=1)
    assert found.least is None
    assert all(row.pure and row.ratio is None for row in found.rows)
    assert found.rows[0].max_error == min(row.max_error for row in found.rows)
    assert "delta = 0" in str(found)


def test_sharing_the_budget_costs_orders_of_magnitude():
    found = compare(NoDecay(), ONE, 500)
    assert found.row("one-shot releases").max_error > 100 * found.row("hushfade").max_error


def test_without_delta_noise_on_the_inputs_beats_every_root():
    for decay in (Exponential(24), PowerLaw(1), SlidingWindow(24)):
        found = compare(decay, ONE, 256)
        root = found.row("square root, Laplace noise")
        assert root.max_error > found.row("input noise, Laplace noise").max_error
    count = compare(NoDecay(), ONE, 1100)
    roots = count.row("square root, Laplace noise").max_error
    assert roots > 3 * count.row("smooth binary, Laplace noise").max_error


def test_laplace_noise_on_the_inputs_wins_where_a_record_touches_few_releases():
    """What the documentation says: at epsilon 1, delta 1e-6, and not for long memories."""
    fast, slow = compare(Exponential(24), ONE, 256), compare(Exponential(500), ONE, 1025)
    assert fast.row("input noise, Laplace noise").ratio < 0.8
    assert slow.row("input noise, Laplace noise").ratio > 1.5


def test_a_simulated_mechanism_has_the_stated_deviation_and_no_bias():
    generator = np.random.default_rng(5)
    totals = np.arange(12.0)
    for given in mechanisms(SlidingWindow(5), 12):
        rival = replace(given, matrices=functools.cache(given.matrices))
        draws = np.array(
            [rival.simulate(totals, ONE, 2.0, generator=generator) for _ in range(2000)]
        )
        L, R = rival.matrices()
        expected = rival.stddevs(ONE, 2.0)
        # five standard errors; a Laplace sample's deviation varies more: kurtosis 6
        spread = math.sqrt((5.0 if rival.pure else 2.0) / 4 / 2000)
        assert np.all(np.abs(draws.std(axis=0) / expected - 1) < 5 * spread), rival.name
        assert np.all(np.abs(draws.mean(axis=0) - L @ (R @ totals)) < 5 * expected / 2000**0.5)


@pytest.mark.parametrize(
    "decay", [NoDecay(), Exponential(24), PowerLaw(0.5), SlidingWindow(7)], ids=repr
)
def test_a_rival_with_a_pair_is_released_by_the_same_crossing(decay):
    n, published = 100, 0
    for rival in mechanisms(decay, n):
        if rival.pair is None:
            continue
        assert not rival.pure
        made = plan(decay, ONE, method=rival.pair(), horizon=n)
        # integer taps cost at most 0.2 %, and may gain a little at single steps
        assert_allclose(made.stddevs(n), rival.stddevs(ONE), rtol=0.02, err_msg=rival.name)
        assert_allclose(made.max_stddev(n), rival.stddevs(ONE).max(), rtol=2e-3)
        assert len(made.start().run(np.ones(n))) == n
        published += 1
    assert published >= 6


# Known values, words -------------------------------------------------------------------------


def test_counting_of_64_steps_by_hand():
    found = compare(NoDecay(), ONE, 64)
    unit = ONE.noise_multiplier
    # 7 levels, and 63 = 111111 in binary has six nodes
    assert_allclose(found.row("binary tree").max_error, math.sqrt(7 * 6) * unit, rtol=1e-12)
    assert_allclose(found.row("input noise").max_error, 8 * unit, rtol=1e-12)
    assert_allclose(found.row("input noise, Laplace noise").max_error, 8 * math.sqrt(2), rtol=1e-12)
    assert_allclose(found.least / unit, theory.gamma2(NoDecay(), 64).lower, rtol=1e-9)


def test_the_table_and_the_document_say_the_same():
    found = compare(PowerLaw(2), ONE, 50)
    text, document = str(found), json.loads(found.to_json())
    assert len(document["rows"]) == len(found.rows) == text.count("epsilon", text.index("privacy"))
    assert document["least"] == found.least
    for row in document["rows"]:
        assert row["method"] in text
        assert f"{row['max_error']:.4g}" in text
    assert "biased by up to 10 %" in text
    assert "online with noise drawn ahead" in text


def test_the_picture_is_written(tmp_path):
    path = tmp_path / "errors.png"
    compare(NoDecay(), ONE, 30).plot(path)
    assert path.read_bytes().startswith(b"\x89PNG")


# Edges and refusals --------------------------------------------------------------------------


@pytest.mark.parametrize("decay", [NoDecay(), PowerLaw(1), SlidingWindow(3), CustomDecay([1, 0.5])])
def test_one_and_two_steps_can_be_compared(decay):
    for n in (1, 2):
        found = compare(decay, ONE, n)
        assert all(np.isfinite(row.max_error) for row in found.rows)


def test_a_decay_with_an_unstable_root_is_compared_without_our_roots():
    found = compare(CustomDecay([0.1, 0.5, 1, 0.2]), ONE, 40)
    names = [row.method for row in found.rows]
    assert "input noise" in names
    assert not any(name.startswith("hushfade") and "root" in name for name in names), names


def test_arguments_are_checked():
    with pytest.raises(InvalidValue, match="horizon must be"):
        compare(NoDecay(), ONE, 0)
    with pytest.raises(InvalidType, match="decay must be"):
        compare("counting", ONE, 10)
    twice, rival = Guarantee(1, 1e-6, protects=Person(steps=2)), next(mechanisms(NoDecay(), 10))
    with pytest.raises(InvalidValue, match="one participation"):
        rival.noise_stddev(twice)
    with pytest.raises(InvalidValue, match="one of the rows"):
        compare(NoDecay(), ONE, 10).row("magic")


def test_a_mechanism_is_checked():
    pair = factorization.square_root(NoDecay())
    made = from_pair(pair, 5, name="root", source="test", memory=5, work=5)
    assert isinstance(made, Mechanism)
    assert made.horizon == 5
    with pytest.raises(InvalidValue, match="totals must have 5 entries"):
        made.simulate(np.ones(4), ONE, generator=np.random.default_rng(0))
    with pytest.raises(InvalidValue, match="change must be"):
        made.stddevs(ONE, 0.0)
    with pytest.raises(InvalidValue, match="noise must be"):
        Mechanism("x", "y", NoDecay(), np.ones(2), 1.0, 1, 1, lambda: None, "uniform")
