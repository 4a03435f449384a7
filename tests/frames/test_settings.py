from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

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
    plan,
)
from hushfade.duration import step_length
from hushfade.frames.settings import planned
from tests.frames.cases import DESCRIBED, PLAN
from tests.loops import for_each

REST = {"epsilon": 1, "delta": 1e-6, "low": 0, "high": 1}


@for_each(
    ("said", "decay"),
    [
        ({"decay": PowerLaw(power=2)}, PowerLaw(power=2)),
        ({"half_life": 24}, Exponential(half_life=24)),
        ({"halflife": 24}, Exponential(half_life=24)),
        ({"half_life": "24"}, Exponential(half_life=24)),
        ({"half_life": "24h", "every": "1h"}, Exponential(half_life=24)),
        ({"halflife": "90min", "every": "1h"}, Exponential(half_life=1.5)),
        ({"alpha": 2}, Exponential(half_life=1)),
        ({"power": 1.5}, PowerLaw(power=1.5)),
        ({"window": 7}, SlidingWindow(length=7)),
        ({"window": "7d", "every": "1h"}, SlidingWindow(length=168)),
        ({"weights": [1, 0.5]}, CustomDecay([1, 0.5])),
    ],
)
def test_each_way_to_say_a_decay_is_that_decay(said, decay):
    assert planned(said | REST).decay == decay


@pytest.mark.parametrize(
    "every", ["1h", timedelta(hours=1), pd.Timedelta("1h"), pd.Timedelta(3600, "s")], ids=repr
)
def test_a_step_has_one_length_however_it_is_said(every):
    assert step_length(every) == 3600 * 10**9
    assert planned({"half_life": "36h", "every": every} | REST).decay == Exponential(half_life=36)


def test_no_nanosecond_of_a_step_is_lost():
    for length in (1, 999, 10**9 + 1, 1234567891234567, 2**62):
        assert step_length(pd.Timedelta(length, "ns")) == length


def test_described_is_the_plan_itself():
    assert planned(DESCRIBED).digest == PLAN.digest
    assert planned({"plan": PLAN}) is PLAN


def test_every_other_argument_reaches_the_plan():
    found = planned(
        {
            "decay": NoDecay(), "epsilon": 2, "delta": 1e-5, "neighbours": "replace",
            "protects": Person(steps=3, apart=4, records_per_step=2), "low": -4, "high": 4,
            "horizon": "4d", "every": "12h", "method": "normalized", "resolution": 0.5,
        },
        ("a", "b"),
    )  # fmt: skip
    promised = Guarantee(2, 1e-5, "replace", Person(steps=3, apart=4, records_per_step=2))
    same = plan(
        NoDecay(), promised, low=-4, high=4, horizon=8, method="normalized", keys=["a", "b"],
        resolution=0.5, every="12h",
    )  # fmt: skip
    assert found.digest == same.digest
    counting = {"decay": NoDecay(), "method": "unbounded", "expect": "4d", "every": "1h"}
    counted = planned(REST | counting)
    assert counted.taps.support == 2 * 96


def test_none_is_not_given():
    assert planned({"plan": None, "horizon": None, "window": None} | DESCRIBED).horizon is None


@pytest.mark.parametrize(
    ("said", "error", "words"),
    [
        (REST, InvalidType, "one of decay, half_life, .* must be given, got none"),
        ({"half_life": 2, "halflife": 2} | REST, InvalidType, "got half_life and halflife"),
        ({"power": 2, "window": 2} | REST, InvalidType, "got power and window"),
        ({"half_life": 0} | REST, InvalidValue, "half_life must be > 0"),
        ({"half_life": float("nan")} | REST, InvalidValue, "half_life must be > 0, got nan"),
        ({"half_life": "24h"} | REST, InvalidValue, "half_life must be in steps"),
        (
            {"half_life": "1mo", "every": "1h"} | REST,
            InvalidValue,
            "half_life must be a number of steps or a duration",
        ),
        ({"window": "90min", "every": "1h"} | REST, InvalidValue, "window must be a whole number"),
        ({"window": 1.5} | REST, InvalidType, "length must be an integer"),
        ({"alpha": 0.1} | REST, InvalidValue, "alpha must be > 1"),
        ({"decay": "exponential"} | REST, InvalidType, "decay must be a decay, got str"),
        ({"power": 1, "low": 0, "high": 1}, InvalidType, "a guarantee must be given"),
        ({"power": 1, "epsilon": 1, "delta": 1e-6, "low": 0}, InvalidType, "would reveal a record"),
        ({"power": 1, "epsilon": 1, "delta": 1e-6}, InvalidType, "low and high must be given"),
        ({"power": 1, "halve": 2} | REST, InvalidType, "no argument named 'halve'"),
        ({"power": 1, "every": 3600} | REST, InvalidType, "every must be text .*, got int"),
        ({"power": 1, "every": pd.NaT} | REST, InvalidType, "every must be text .*, got NaTType"),
        ({"power": 1, "every": timedelta(0)} | REST, InvalidValue, "every must be > 0"),
        (
            {"power": 1, "every": timedelta(-1)} | REST,
            InvalidValue,
            "every must be a duration such as 1h",
        ),
        ({"power": 1, "every": timedelta.max} | REST, InvalidValue, "at most 146 years"),
        ({"plan": PLAN, "epsilon": 1}, InvalidType, "plan and epsilon cannot be combined"),
        ({"plan": PLAN.decay}, InvalidType, "plan must be a Plan, got Exponential"),
    ],
)
def test_contradictions_and_gaps_are_refused(said, error, words):
    with pytest.raises(error, match=words):
        planned(said)


def test_a_plan_of_another_shape_is_refused():
    keyed = plan(PLAN.decay, PLAN.guarantee, keys=["a", "b"])
    wide = plan(PLAN.decay, PLAN.guarantee, width=2, norm=1.0)
    for other in (keyed, wide):
        with pytest.raises(InvalidValue, match="one number per step"):
            planned({"plan": other})
    for keys in (("b", "a"), ("a",), ("a", "b", "c")):
        with pytest.raises(InvalidValue, match="the given keys"):
            planned({"plan": keyed}, keys)
    with pytest.raises(InvalidValue, match="the given keys"):
        planned({"plan": PLAN}, ("a",))
    assert planned({"plan": keyed}, ("a", "b")) is keyed


def test_numpy_numbers_are_numbers():
    said = {"half_life": np.float64(5), "epsilon": np.float32(1), "delta": 1e-6}
    assert planned(said | {"low": np.int8(-1), "high": np.int64(2)}).digest == PLAN.digest
