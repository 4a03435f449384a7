import dataclasses
import hashlib
import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from hushfade import (
    CustomDecay,
    Diverges,
    Exponential,
    Guarantee,
    InvalidType,
    InvalidValue,
    NoDecay,
    Person,
    Plan,
    PowerLaw,
    SlidingWindow,
    Unstable,
)
from hushfade.factors import factorization
from hushfade.planning import plan_file
from hushfade.planning.search_taps import MAX_LOSS
from tests.decays import ALL_DECAYS
from tests.gaussian_plans import plan

ONE = Guarantee(epsilon=1, delta=1e-6)
FREE = [decay for decay in ALL_DECAYS if decay.horizon_free]
PLANS = [
    *(plan(decay, ONE) for decay in FREE),
    plan(NoDecay(), ONE, horizon=500),
    plan(NoDecay(), ONE, horizon=500, method="normalized"),
    plan(NoDecay(), ONE, method="unbounded"),
    plan(PowerLaw(power=0.5), ONE, horizon=300, method="normalized"),
    plan(10 * NoDecay() - 9 * Exponential.from_alpha(1 / 0.9), ONE, horizon=200),
    plan(Exponential(half_life=5), Guarantee(1, 1e-6, "replace"), low=-2, high=3),
    plan(Exponential(half_life=5), Guarantee(1, 1e-6, "replace"), keys=["a", "b"]),
    plan(Exponential(half_life=5), Guarantee(0.1, 1e-9, protects=Person(steps=4, apart=3))),
    plan(Exponential(half_life=5), ONE, width=3, norm=2.5),
    plan(SlidingWindow(length=7), Guarantee(30, 1e-3), low=0, high=1000),
    plan(PowerLaw(power=1), ONE, method=factorization.from_right(PowerLaw(power=1), [1.0])),
    plan(NoDecay(), ONE, method=factorization.from_right(NoDecay(), [1.0, 0.5, 0.25]), horizon=500),
    plan(NoDecay(), ONE, method=factorization.normalized(NoDecay(), 500)),
]


@pytest.mark.parametrize("found", PLANS, ids=repr)
def test_the_noise_is_the_shift_over_mu_and_the_shift_is_that_of_the_dense_taps(found):
    n = min(found.horizon or 400, 400)
    L, R = found.pair.matrices(n)
    k, b = found.guarantee.protects.steps, found.guarantee.protects.apart
    taps = R[:, 0].copy()
    columns = sum(np.append(np.zeros(i * b), taps[: n - i * b]) for i in range(k))
    grid = found.grid
    if grid.norm is not None:
        change = found.guarantee.vector_change(grid.norm_unit * grid.resolution)
    else:
        change = found.guarantee.change(grid.low, grid.high, keyed=grid.keys is not None)
    shift = change * max(np.linalg.norm(columns), np.linalg.norm(R, axis=0).max())
    support = found.pair.taps.support
    if support is not None and support + (k - 1) * b <= n:
        assert_allclose(found.sensitivity, shift, rtol=2e-3)
    assert found.sensitivity >= shift * (1 - 1e-3)
    # sigma is rounded up to 48 bits
    assert_allclose(found.sigma * found.unit * found.guarantee.mu, found.sensitivity, rtol=1e-13)
    assert_allclose(found.stddevs(n), found.noise_stddev * np.linalg.norm(L, axis=1), rtol=1e-9)


@pytest.mark.parametrize("found", PLANS, ids=repr)
def test_rounding_costs_at_most_a_tenth_of_a_percent(found):
    assert found.loss <= MAX_LOSS


@pytest.mark.parametrize("decay", [*FREE[:6], SlidingWindow(length=64)], ids=repr)
def test_a_plans_error_is_that_of_the_exact_square_root(decay):
    found = plan(decay, ONE)
    exact = factorization.square_root(decay)
    ideal = exact.sensitivity().value * exact.errors(2000) * ONE.noise_multiplier
    # at most a tenth of a percent more; less where heavy tails are cut
    assert 0.9 * ideal[-1] < found.stddevs(2000)[-1] < 1.0015 * ideal[-1]


@pytest.mark.parametrize("found", PLANS, ids=repr)
def test_the_recursion_is_the_decay(found):
    n = 300
    parts = found.decay.recursion()
    lags = np.arange(n)
    poles = zip(parts.fades, parts.pole_weights, strict=True)
    f = sum((w * (1 - q) ** lags for q, w in poles), np.zeros(n))
    for length, weight in zip(parts.windows, parts.window_weights, strict=True):
        f += weight * (lags < length)
    f[: len(parts.listed)] += parts.listed[:n]
    assert_allclose(f, found.decay.weights(n), rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("found", PLANS, ids=repr)
def test_a_plan_survives_json(found):
    again = Plan.from_json(found.to_json())
    assert again.digest == found.digest
    assert again.sigma == found.sigma
    assert again.decay == found.decay
    assert again.guarantee == found.guarantee
    assert again.grid == found.grid
    assert_allclose(again.stddevs(50), found.stddevs(50), rtol=0)


def test_a_guarantee_is_written_as_it_was_declared():
    one = plan(Exponential(half_life=3), ONE)
    for guarantee, name, value in (
        (Guarantee(2, 1e-6, protects=Person(records_per_step=3)), "epsilon", 2.0),
        (Guarantee.from_mu(0.3, protects=Person(records_per_step=3)), "mu", 0.3),
        (Guarantee.from_rho(0.1, protects=Person(records_per_step=3)), "rho", 0.1),
    ):
        found = plan(Exponential(half_life=3), guarantee)
        assert_allclose(found.sensitivity, 3 * one.sensitivity)
        written = json.loads(found.to_json())["guarantee"]
        assert written[name] == value
        assert {"epsilon", "mu", "rho"} & set(written) == {name}
        again = Plan.from_json(found.to_json())
        assert again.guarantee == guarantee
        assert again.guarantee.mu == guarantee.mu


def test_the_digest_covers_no_reported_figure():
    found = PLANS[0]
    assert dataclasses.replace(found, loss=found.loss + 1e-12).digest == found.digest
    document = json.loads(found.to_json())
    assert set(document["reported"]) == {"loss", "considered"}
    document["reported"]["loss"] = 0.5
    again = Plan.from_json(json.dumps(document))
    assert again.digest == found.digest
    assert again.loss == 0.5


def test_the_digest_changes_with_everything_that_matters():
    base = {"decay": Exponential(half_life=24), "guarantee": ONE}
    variants = [
        base,
        base | {"decay": Exponential(half_life=25)},
        base | {"guarantee": Guarantee(1.01, 1e-6)},
        base | {"guarantee": Guarantee(1, 2e-6)},
        base | {"guarantee": Guarantee(1, 1e-6, "replace")},
        base | {"guarantee": Guarantee(1, 1e-6, protects=Person(steps=2))},
        base | {"guarantee": Guarantee(1, 1e-6, protects=Person(apart=2))},
        base | {"high": 2.0},
        base | {"low": -0.5},
        base | {"horizon": 1000},
        base | {"horizon": 1000, "method": "normalized"},
        base | {"keys": ["a"]},
        base | {"keys": ["b"]},
        base | {"keys": ["b", "a"]},
        base | {"keys": ["a", "b"]},
        base | {"width": 2, "norm": 1.0},
        base | {"resolution": 2.0**-9},
    ]
    digests = {plan(**variant).digest for variant in variants}
    assert len(digests) == len(variants)
    assert plan(**base).digest == plan(**base).digest


@pytest.mark.parametrize("found", PLANS, ids=repr)
def test_a_plan_prints_for_people(found):
    text = str(found)
    assert "changes the probability of any published outcome" in text
    assert "95 of 100 are within" in text
    for word in ("decay", "noise", "memory", "work", "grid"):
        assert f"\n  {word} " in text


def test_the_simultaneous_bound_holds_and_the_papers_does_not():
    # 4000 simulated error series of 512 steps, seed fixed
    found = plan(NoDecay(), ONE, horizon=512)
    L = found.pair.matrices(512)[0]
    z = np.random.default_rng(3).normal(size=(512, 4000)) * found.noise_stddev
    worst = np.max(np.abs(L @ z), axis=0)
    assert np.mean(worst <= found.error_bound(512, failure=0.05)) >= 0.94
    expected = found.max_stddev(512) * math.sqrt(math.log(512))  # E max as the paper prints it
    flat = np.max(np.abs(z), axis=0).mean()  # for independent errors it is false:
    assert flat > found.noise_stddev * math.sqrt(math.log(512)) * 1.2
    assert found.error_bound(512) > expected


def test_the_bound_for_one_step_is_the_two_sided_quantile():
    found = plan(Exponential(half_life=3), ONE)
    assert_allclose(found.error_bound(1, 0.05), stats.norm.ppf(0.975) * found.stddev(1), rtol=1e-9)
    assert found.max_stddev(10) == found.stddevs(10).max()


@pytest.mark.parametrize(
    "found",
    [plan(NoDecay(), ONE, method="unbounded"), plan(PowerLaw(power=0.25), ONE)],
    ids=["unbounded", "power 0.25"],
)
def test_heavy_decays_reach_far(found):
    # 2^19 steps: within 3 % of the exact factors, and not growing like the root of the time
    n = 1 << 19
    exact = (
        factorization.unbounded_counting()
        if found.method == "unbounded"
        else factorization.square_root(found.decay)
    )
    ideal = exact.sensitivity().value * exact.errors(n)[-1] * ONE.noise_multiplier
    assert found.stddev(n) < 1.03 * ideal


def test_normalized_uses_the_horizon():
    root = plan(NoDecay(), ONE, horizon=1024)
    better = plan(NoDecay(), ONE, horizon=1024, method="normalized")
    assert better.max_stddev(1024) < 0.96 * root.max_stddev(1024)


def test_default_grids_keep_whole_numbers_whole():
    assert plan(NoDecay(), ONE, horizon=10).grid.resolution == 2.0**-10
    wide = plan(Exponential(half_life=9), Guarantee(0.01, 1e-12), low=0, high=1e9)
    assert wide.sigma <= 2.0**30


def test_plans_that_need_a_horizon_say_so():
    with pytest.raises(Diverges, match="horizon must be given: NoDecay"):
        plan(NoDecay(), ONE)
    with pytest.raises(Diverges, match="horizon must be given"):
        plan(CustomDecay([1, 3]), ONE)
    with pytest.raises(InvalidValue, match="horizon must be given for the method 'normalized'"):
        plan(PowerLaw(power=1), ONE, method="normalized")
    with pytest.raises(InvalidValue, match="method must not be 'unbounded' except for NoDecay"):
        plan(PowerLaw(power=1), ONE, method="unbounded")
    with pytest.raises(InvalidValue, match="horizon must not be given"):
        plan(NoDecay(), ONE, method="unbounded", horizon=9)


def test_only_unbounded_counting_has_an_expected_length():
    rule = "expect must only be given with the method 'unbounded', got 9: leave it out, or count"
    for arguments in (
        {"decay": NoDecay(), "horizon": 100},
        {"decay": NoDecay(), "horizon": 100, "method": "normalized"},
        {"decay": PowerLaw(power=1)},
        {"decay": NoDecay(), "method": factorization.unbounded_counting(expect=9)},
    ):
        with pytest.raises(InvalidValue, match=rule):
            plan(guarantee=ONE, expect=9, **arguments)
    with pytest.raises(InvalidValue, match="horizon must not be given"):
        plan(NoDecay(), ONE, method="unbounded", horizon=9, expect=9)


def test_the_expected_length_belongs_to_the_plan():
    short, long = (plan(NoDecay(), ONE, method="unbounded", expect=n) for n in (1000, 50_000))
    assert short.digest != long.digest
    assert short.stddev(1000) < long.stddev(1000)
    assert long.stddev(50_000) < short.stddev(50_000)
    assert "unbounded, no horizon; tuned for about 1000 steps" in str(short)
    assert "tuned for about 1000 steps" in str(Plan.from_json(short.to_json()))
    default = plan(NoDecay(), ONE, method="unbounded")
    assert default.digest == plan(NoDecay(), ONE, method="unbounded", expect=1 << 20).digest


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"low": 1, "high": 1}, InvalidValue, "low must be < high"),
        ({"low": float("nan")}, InvalidValue, "low must be finite"),
        ({"high": float("inf")}, InvalidValue, "high must be finite"),
        ({"high": "1"}, InvalidType, "high must be a real number"),
        ({"horizon": 0}, InvalidValue, "horizon must be an integer >= 1"),
        ({"horizon": 2.5}, InvalidType, "horizon must be an integer"),
        ({"method": "tree"}, InvalidValue, "method must be best"),
        ({"keys": []}, InvalidValue, "keys must not be empty"),
        ({"keys": "at"}, InvalidType, "keys must be a sequence of names"),
        ({"keys": ["a", "a"]}, InvalidValue, "keys must not contain a key twice"),
        ({"keys": [1, 2]}, InvalidType, "keys must be text"),
        ({"keys": ["a"], "width": 2, "norm": 1.0}, InvalidType, "must not both be given"),
        ({"width": 2}, InvalidType, "width and norm must be given together"),
        ({"width": 0, "norm": 1.0}, InvalidValue, "width must be an integer >= 1"),
        ({"width": 2, "norm": -1.0}, InvalidValue, "norm must be > 0"),
        ({"resolution": 0.1}, InvalidValue, "resolution must be a power of two"),
        ({"resolution": 0}, InvalidValue, "resolution must be > 0"),
        ({"resolution": 4.0}, InvalidValue, "resolution must be from 2"),
        ({"resolution": 2.0**-60}, InvalidValue, "resolution must be from 2"),
        ({"resolution": 2.0**-38}, InvalidValue, "resolution must put the noise between"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, kind, message):
    with pytest.raises(kind, match=message):
        plan(Exponential(half_life=3), ONE, **arguments)


def test_decay_and_guarantee_are_checked():
    with pytest.raises(InvalidType, match="decay must be a decay"):
        plan("exponential", ONE)
    with pytest.raises(InvalidType, match="guarantee must be a Guarantee"):
        plan(Exponential(half_life=3), 1.0)


@pytest.mark.parametrize("work", ["stddevs", "max_stddev", "error_bound", "error_factor", "stddev"])
def test_no_numbers_past_the_horizon(work):
    found = plan(NoDecay(), ONE, horizon=10)
    with pytest.raises(InvalidValue, match="must be an integer <= 10, got 11"):
        getattr(found, work)(11)
    with pytest.raises(InvalidValue, match="must be an integer >= 1"):
        getattr(found, work)(0)


@pytest.mark.parametrize("failure", [0, 1, -1, float("nan")])
def test_bad_failure_is_refused(failure):
    with pytest.raises(InvalidValue, match="failure must be"):
        plan(Exponential(half_life=3), ONE).error_bound(5, failure)


DOCUMENT = json.loads(PLANS[0].to_json())
SIGMA = DOCUMENT["noise"]["sigma"]


@pytest.mark.parametrize(
    "change",
    [
        {"noise": {"law": "gaussian", "sigma": SIGMA | {"scale": 1}}},
        {"sigma": 1.0},
        {"loss": 0.5},
        {"horizon": 7},
        {"method": "normalized"},
        {"guarantee": DOCUMENT["guarantee"] | {"epsilon": 2.0}},
        {"guarantee": DOCUMENT["guarantee"] | {"mu": 5.0}},
        {"guarantee": DOCUMENT["guarantee"] | {"more": 5.0}},
        {"records": DOCUMENT["records"] | {"high": 2.0}},
        {"taps": DOCUMENT["taps"] | {"bits": 9}},
        {"taps": {}},
        {"decay": {"kind": "exponential", "half_life": -1}},
        {"decay": {"kind": "other"}},
        {"decay": 3},
        {"digest": "00"},
        {"extra": 1},
    ],
)
def test_a_changed_document_is_refused(change):
    with pytest.raises(InvalidValue, match=r"the plan (must|was changed)"):
        Plan.from_json(json.dumps(DOCUMENT | change))


def test_only_what_was_changed_makes_a_forged_document_wrong():
    assert Plan.from_json(forged({})).digest == PLANS[0].digest


def forged(change):
    """The document with a change, and the digest that belongs to it."""
    changed = DOCUMENT | change
    covered = {name: value for name, value in changed.items() if name not in ("digest", "reported")}
    text = json.dumps(covered, sort_keys=True, separators=(",", ":"))
    return json.dumps(changed | {"digest": hashlib.sha256(text.encode()).hexdigest()})


def test_a_damaged_number_is_refused_before_it_costs_anything(monkeypatch):
    monkeypatch.setattr(plan_file, "_plan", lambda document: pytest.fail("the plan was made"))
    for change in ({"taps": DOCUMENT["taps"] | {"support": 2**28}}, {"horizon": 2**40}):
        with pytest.raises(InvalidValue, match="its digest or a field differs"):
            Plan.from_json(json.dumps(DOCUMENT | change))


@pytest.mark.parametrize("found", PLANS, ids=repr)
def test_a_plan_survives_json_that_writes_whole_numbers_without_a_point(found):
    def whole(value):
        match value:
            case dict():
                return {name: whole(inner) for name, inner in value.items()}
            case list():
                return [whole(inner) for inner in value]
            case float():
                return int(value) if value.is_integer() else value
        return value

    text = json.dumps(whole(json.loads(found.to_json())))
    assert Plan.from_json(text).digest == found.digest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "1",
        "NaN",
        '{"format": NaN}',
        "[" * 100_000,
        '{"a": 1, "a": 2}',
        b"\xff",
    ],
)
def test_what_is_no_plan_is_refused(text):
    with pytest.raises(InvalidValue, match="the plan must"):
        Plan.from_json(text)


@pytest.mark.parametrize(
    "change",
    [
        {"records": DOCUMENT["records"] | {"low": 5.0, "high": 1.0}},
        {"records": DOCUMENT["records"] | {"keys": ["a", "a"]}},
        {"method": "nonsense"},
        {"horizon": -1},
        {"noise": {"law": "gaussian", "sigma": SIGMA | {"scale": SIGMA["scale"] - 1}}},
        {"noise": {"law": "gaussian", "sigma": SIGMA | {"scale": SIGMA["scale"] + 1}}},
        {"noise": {"law": "gaussian", "sigma": SIGMA | {"bits": SIGMA["bits"] + 1}}},
        {"noise": {"law": "gaussian", "sigma": {"bits": 0}}},
        {"noise": SIGMA},
        {"noise": None},
        {"reported": DOCUMENT["reported"] | {"loss": -1.0}},
        {"reported": DOCUMENT["reported"] | {"loss": 1e7}},
        {"reported": DOCUMENT["reported"] | {"loss": 0.0, "more": 1}},
        {"reported": {}},
        {"reported": None},
        {"guarantee": DOCUMENT["guarantee"] | {"epsilon": 2.0}},
        {"guarantee": DOCUMENT["guarantee"] | {"mu": 5.0}},
        {"guarantee": DOCUMENT["guarantee"] | {"more": 5.0}},
        {"records": DOCUMENT["records"] | {"high": 2.0}},
        {"taps": {}},
        {"decay": {"kind": "exponential", "half_life": -1}},
        {"decay": {"kind": "other"}},
        {"decay": 3},
        {"extra": 1},
    ],
)
def test_a_forged_document_with_its_own_digest_is_still_checked(change):
    with pytest.raises((InvalidValue, InvalidType)):
        Plan.from_json(forged(change))


def test_a_forged_gain_is_refused():
    base = plan(SlidingWindow(length=2**18), ONE, horizon=2, resolution=1)
    for gain in ([2.0**-8], [1.0, 0.0], [1.0, -1.0], [1.0, 1.0, 1.0]):
        with pytest.raises(InvalidValue, match="gain must be > 0 at each step"):
            dataclasses.replace(base.pair, gain=np.array(gain))
    endless = plan(SlidingWindow(length=4), ONE)
    with pytest.raises(InvalidValue, match="gain must be > 0 at each step"):
        dataclasses.replace(endless.pair, gain=np.ones(5))


def test_an_fft_cannot_hide_a_steep_columns_sensitivity():
    from hushfade.factors.taps import IntegerTaps

    taps = IntegerTaps.of(2 ** np.arange(30, dtype=np.int64), 0)
    n = 100
    gain = 2.0 ** np.maximum(29 - np.arange(n), 0)
    pair = factorization.Factorization(SlidingWindow(length=1), taps, n, gain)
    R = pair.matrices(n)[1]
    assert pair.sensitivity().value >= np.linalg.norm(R, axis=0).max() * (1 - 1e-12)


@pytest.mark.parametrize(
    "change",
    [
        {"taps": DOCUMENT["taps"] | {"support": 10**13}},
        {"decay": {"kind": "mixture", "parts": [{"weight": 1e999, "decay": {"kind": "none"}}]}},
        {"gain": [1, 2]},
        {"gain": {"bits": DOCUMENT["taps"]["bits"], "value": [1, 2]}},
        {"gain": 3},
        {"guarantee": []},
        {"records": None},
    ],
)
def test_malformed_documents_are_refused_as_such(change):
    with pytest.raises((InvalidValue, InvalidType)):
        Plan.from_json(forged(change))


def test_extreme_bounds_are_refused_or_work():
    for low, high in ((-1e308, 1e308), (-1e308, 5e307), (0, 1.1e306)):
        with pytest.raises(InvalidValue, match=r"high - low must be at most 1e\+306"):
            plan(Exponential(half_life=3), ONE, low=low, high=high)
    found = plan(Exponential(half_life=3), ONE, low=0, high=1e-25)
    assert np.all(np.isfinite(found.start().run([0, 0])))


@pytest.mark.parametrize("power", [10.5, 30, 100])
def test_steep_power_laws_are_listed(power):
    parts = PowerLaw(power=power).recursion()
    assert_allclose(parts.listed, PowerLaw(power=power).weights(100), rtol=0)
    assert parts.fades == ()


def test_a_plan_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PLANS[0].loss = 0.0


@pytest.mark.parametrize("horizon", [100, 300])
def test_taps_that_grow_beyond_integers_are_refused(horizon):
    unstable = CustomDecay([(1 - 0.9 ** (k + 1)) / 0.1 for k in range(12)])
    with pytest.raises(Unstable, match="a shorter horizon"):
        plan(unstable, ONE, horizon=horizon)


def test_a_given_pair_is_released_by_the_same_crossing():
    decay = Exponential(half_life=5)
    noisy_inputs = plan(decay, ONE, method=factorization.from_right(decay, [1.0]))
    assert noisy_inputs.method == "given"
    assert_allclose(noisy_inputs.noise_stddev, ONE.noise_multiplier, rtol=1e-6)
    assert_allclose(noisy_inputs.error_factor(500), 1 / math.sqrt(1 - 2**-0.4), rtol=1e-9)
    assert Plan.from_json(noisy_inputs.to_json()).digest == noisy_inputs.digest
    assert noisy_inputs.start().step_total(3.0).stddev == noisy_inputs.stddev(1)


def test_a_given_pair_must_fit_the_plan():
    root = factorization.square_root(NoDecay())
    with pytest.raises(InvalidValue, match="for the plan's decay"):
        plan(PowerLaw(power=1), ONE, method=root)
    with pytest.raises(Diverges):
        plan(NoDecay(), ONE, method=root)
    with pytest.raises(InvalidValue, match="horizon must be"):
        plan(NoDecay(), ONE, method=factorization.square_root(NoDecay(), 10), horizon=11)
    with pytest.raises(InvalidValue, match="the pair's own"):
        plan(NoDecay(), ONE, method=factorization.normalized(NoDecay(), 10), horizon=9)
    with pytest.raises(InvalidValue, match="must be your pair"):
        plan(NoDecay(), ONE, method="given", horizon=9)


def test_the_grid_is_never_coarser_than_a_thousandth_unless_asked():
    fine = plan(NoDecay(), ONE, horizon=1000, method="normalized")
    assert fine.grid.resolution == 2.0**-10
    tiny = Guarantee(epsilon=0.001, delta=1e-9)
    with pytest.raises(InvalidValue, match="give another resolution"):
        plan(NoDecay(), tiny, horizon=1000, method="normalized")
    made = plan(NoDecay(), tiny, horizon=1000, method="normalized", resolution=0.5)
    assert made.grid.resolution == 0.5


def test_the_scale_of_a_given_pair_does_not_matter():
    decay = Exponential(half_life=24)
    one, large = (
        plan(
            decay,
            ONE,
            method=factorization.from_right(decay, scale * decay.weights(50)),
            horizon=50,
        )
        for scale in (1.0, -1000.0)
    )
    assert one.digest == large.digest
    assert one.grid.resolution == 2.0**-10


def test_a_gain_is_checked_and_sealed():
    pair = factorization.normalized(NoDecay(), 9)
    with pytest.raises(ValueError, match="read-only"):
        pair.gain[0] = 2.0
    for gain in (np.zeros(9), np.ones(8), np.full(9, math.nan)):
        with pytest.raises(InvalidValue, match="gain must be"):
            dataclasses.replace(pair, gain=gain)
