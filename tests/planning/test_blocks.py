"""Plans with Laplace noise on block sums: the choice, the guarantee, and the plan file."""

import hashlib
import json
import math
from fractions import Fraction

import numpy as np
import pytest

from hushfade import (
    CustomDecay,
    Exponential,
    Guarantee,
    NoDecay,
    Person,
    Plan,
    PowerLaw,
    SlidingWindow,
    plan,
)
from hushfade.baselines.binary_tree import binary_tree
from hushfade.baselines.bolot_exponential import decayed_tree
from hushfade.baselines.bolot_window import bolot_window
from hushfade.baselines.honaker import honaker_online
from hushfade.baselines.independent_noise import input_noise, output_noise
from hushfade.baselines.smooth_binary import smooth_binary
from hushfade.errors import Diverges, HushfadeError, InvalidValue
from hushfade.factors import block_sums
from hushfade.factors.block_factors import BlockSchedule
from hushfade.planning.charge import charge_of
from hushfade.planning.planner import compared_plans

PURE = Guarantee(epsilon=1, delta=0)
CASES = [
    (NoDecay(), 64),
    (NoDecay(), 256),
    (NoDecay(), 1024),
    (SlidingWindow(length=168), 700),
    (Exponential(half_life=168), 1024),
    (PowerLaw(power=0.25), 1024),
]


def rivals(decay, steps):
    """Laplace noise on the inputs, on the outputs and on trees."""
    several = [input_noise, output_noise, honaker_online]
    match decay:
        case NoDecay():
            several += [binary_tree, smooth_binary]
        case Exponential():
            several += [decayed_tree]
        case SlidingWindow():
            several += [bolot_window]
    return [rival(decay, steps, noise="laplace") for rival in several]


def test_a_pure_plan_is_never_above_noise_on_the_inputs_or_on_a_tree():
    for decay, steps in [*CASES, (SlidingWindow(length=7), 100), (PowerLaw(power=0.5), 500)]:
        ours = plan(decay, PURE, horizon=steps).max_stddev(steps)
        for rival in rivals(decay, steps):
            theirs = float(np.max(rival.stddevs(PURE)))
            assert ours <= theirs * (1 + 1e-9), f"{decay!r}, {steps} steps, {rival.name}"


def test_long_memories_have_block_sums_and_short_ones_have_noise_on_the_inputs():
    for decay, steps in CASES:
        found = plan(decay, PURE, horizon=steps)
        assert (found.method, found.law.name) == ("blocks", "laplace"), decay
        assert [one.method for one in found.considered] == ["blocks", "input"]
        others = [made.method for made in compared_plans(decay, PURE, horizon=steps)]
        assert others == ["blocks", "input"]
    for decay in (SlidingWindow(length=7), Exponential(half_life=24), PowerLaw(power=1)):
        assert plan(decay, PURE).method == "input", decay
    assert plan(NoDecay(), Guarantee(epsilon=1, delta=1e-6), horizon=1024).law.name == "gaussian"


def test_the_known_schedules_are_chosen():
    counting = plan(NoDecay(), PURE, horizon=1024)
    assert counting.pair.schedule == BlockSchedule(depth=3, period=1025)
    assert round(counting.max_stddev(1024), 2) == 17.49  # √(2 · 9 · 17)
    assert plan(SlidingWindow(length=168), PURE).max_stddev(1000) == pytest.approx(16, rel=1e-3)
    endless = plan(Exponential(half_life=1000), PURE)
    assert endless.horizon is None
    assert endless.max_stddev(20_000) < 19.2


def test_the_slope_is_epsilon_over_one_change_per_level():
    keyed = {"keys": ["a", "b"]}
    for neighbours, arguments, lanes in (
        ("add_remove", {}, 1),
        ("replace", {}, 1),
        ("replace", keyed, 2),
        ("add_remove", keyed, 1),
    ):
        guarantee = Guarantee(epsilon=1, delta=0, neighbours=neighbours)
        found = plan(NoDecay(), guarantee, horizon=300, method="blocks", **arguments)
        levels = len(set(found.pair.schedule.levels(300)))
        spent = Fraction(found.law.slope) * found.grid.high_unit * levels * lanes
        assert 1 - 2.0**-40 < spent <= 1, (neighbours, arguments)
        assert found.privacy.epsilon(0) <= 1
        assert charge_of(found).loss.delta == 0


def test_a_delta_allows_less_noise_and_keeps_the_guarantee():
    found = plan(NoDecay(), Guarantee(epsilon=1, delta=0.01), horizon=4096, method="blocks")
    pure = plan(NoDecay(), PURE, horizon=4096, method="blocks")
    assert found.max_stddev(4096) < pure.max_stddev(4096)
    assert found.privacy.delta(1) <= 0.01
    assert Plan.from_json(found.to_json()).digest == found.digest


def test_an_own_schedule_is_taken_as_it_is():
    pair = block_sums(SlidingWindow(length=168), depth=2, period=30)
    found = plan(SlidingWindow(length=168), PURE, method=pair, horizon=500)
    assert (found.method, found.horizon, found.pair.schedule) == ("blocks", 500, pair.schedule)
    with pytest.raises(InvalidValue, match="decay"):
        plan(NoDecay(), PURE, method=pair, horizon=500)
    counting = block_sums(NoDecay(), depth=2, period=30, horizon=90)
    assert plan(NoDecay(), PURE, method=counting).horizon == 90
    with pytest.raises(InvalidValue, match="horizon"):
        plan(NoDecay(), PURE, method=counting, horizon=91)


def test_plans_are_written_and_read_again():
    for decay, steps in CASES:
        for horizon in {steps, None if decay.horizon_free else steps}:
            found = plan(decay, PURE, horizon=horizon)
            again = Plan.from_json(found.to_json())
            assert again.digest == found.digest
            assert again.pair.schedule == found.pair.schedule
            assert again.grid == found.grid
            assert np.array_equal(again.stddevs(steps), found.stddevs(steps))
            assert str(again)
    assert json.loads(plan(SlidingWindow(length=7), PURE).to_json())["blocks"] is None


def forged(found, **fields):
    """The document with other fields, and a digest that fits."""
    document = json.loads(found.to_json())
    document |= fields
    covered = {k: v for k, v in document.items() if k not in ("digest", "reported")}
    text = json.dumps(covered, sort_keys=True, separators=(",", ":"))
    return json.dumps(document | {"digest": hashlib.sha256(text.encode()).hexdigest()})


def test_forged_documents_are_rejected():
    found = plan(NoDecay(), PURE, horizon=1024)
    document = json.loads(found.to_json())
    assert Plan.from_json(forged(found)).digest == found.digest
    slope = document["noise"]["slope"]
    steeper = {"law": "laplace", "slope": {**slope, "scale": slope["scale"] + 1}}
    gaussian = {"law": "gaussian", "sigma": {"bits": 0, "scale": 5000}}
    input_plan = json.loads(plan(NoDecay(), PURE, horizon=1024, method="input").to_json())
    for fields in (
        {"noise": steeper},
        {"noise": gaussian},
        {"noise": input_plan["noise"]},
        {"blocks": {"depth": 4, "period": 1025}},  # a level more, and the noise of three
        {"blocks": {"depth": 2, "period": 1025}},  # a level less
        {"blocks": {"depth": 0, "period": 1025}},
        {"blocks": {"depth": 3, "period": 1}},
        {"blocks": {"depth": 3, "period": 1025.0}},
        {"blocks": {"depth": True, "period": 1025}},
        {"blocks": {"depth": 1, "period": 1 << 30}},
        {"blocks": {"depth": 3, "period": 1025, "more": 1}},
        {"blocks": {"depth": 3}},
        {"blocks": [1, 8, 64]},
        {"blocks": None},
        {"method": "input"},
        {"horizon": None},
        {"gain": {"bits": 0, "value": [1] * 1024}},
        {"taps": {"bits": 0, "from": [0], "value": [2], "support": 1}},
        {"guarantee": {**document["guarantee"], "protects": {"steps": 2}}},
    ):
        with pytest.raises(HushfadeError):
            Plan.from_json(forged(found, **fields))
    without = {name: of for name, of in document.items() if name != "blocks"}
    with pytest.raises(HushfadeError):
        Plan.from_json(json.dumps(without))
    noise_on_inputs = plan(NoDecay(), PURE, horizon=1024, method="input")
    with pytest.raises(HushfadeError):
        Plan.from_json(forged(noise_on_inputs, blocks={"depth": 3, "period": 1025}))


def test_the_largest_total_leaves_room_for_the_longest_sum():
    found = plan(NoDecay(), PURE, horizon=1024, resolution=1)
    assert 2**52 < found.grid.largest_total * 1024 < 2**53


def test_what_is_not_proven_is_rejected():
    twice = Guarantee(epsilon=1, delta=0, protects=Person(steps=2))
    with pytest.raises(InvalidValue, match="protects"):
        plan(NoDecay(), twice, horizon=100, method="blocks")
    assert plan(NoDecay(), twice, horizon=1024).method == "input"
    with pytest.raises(InvalidValue, match="law"):
        plan(NoDecay(), Guarantee(epsilon=1, delta=1e-6), horizon=9, method="blocks", law="huber")
    with pytest.raises(InvalidValue, match="mu or rho"):
        plan(NoDecay(), Guarantee.from_mu(1.0, delta=1e-6), horizon=9, method="blocks")
    with pytest.raises(InvalidValue, match="vectors"):
        plan(NoDecay(), PURE, horizon=9, method="blocks", width=2, norm=1.0)
    with pytest.raises(InvalidValue, match="expect"):
        plan(NoDecay(), PURE, horizon=9, method="blocks", expect=3)
    with pytest.raises(Diverges):
        plan(NoDecay(), PURE, method="blocks")
    keyed = Guarantee(epsilon=1, delta=0, protects=Person(records_per_step=2))
    with pytest.raises(InvalidValue, match="keys"):
        plan(NoDecay(), keyed, horizon=9, method="blocks", keys=["a", "b"])


def test_extreme_horizons_and_decays_have_plans():
    for decay, horizon in (
        (NoDecay(), 1),
        (NoDecay(), 2),
        (NoDecay(), 1 << 45),
        (CustomDecay([1.0]), None),
        (SlidingWindow(length=1), 3),
        (Exponential(half_life=0.01), None),
    ):
        found = plan(decay, PURE, horizon=horizon, method="blocks")
        assert math.isfinite(found.stddev(1)), decay
        assert Plan.from_json(found.to_json()).digest == found.digest
