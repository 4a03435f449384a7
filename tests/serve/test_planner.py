import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hushfade as hf
from hushfade import baselines
from hushfade.planning import privacy_over_time
from hushfade.planning.statistic_summary import accuracy
from hushfade.serve import openapi, planner
from tests.cli.command import invoke, run
from tests.serve.client import ONE

DECAYS = [
    ({"kind": "exponential", "half_life": 24}, hf.Exponential(half_life=24), None),
    ({"kind": "power", "power": 1}, hf.PowerLaw(power=1), None),
    ({"kind": "window", "length": 168}, hf.SlidingWindow(length=168), None),
    ({"kind": "counting"}, hf.NoDecay(), 256),
]


def asked(decay, **more):
    return {"decay": decay, "epsilon": 1, "delta": 1e-6, **more}


@pytest.mark.parametrize(("told", "decay", "horizon"), DECAYS, ids=repr)
def test_the_answer_is_that_of_the_plan(client, told, decay, horizon):
    found = client.post("/v1/plan", asked(told, horizon=horizon)).json()
    plan = hf.plan(decay, ONE, horizon=horizon)
    late = horizon or 1000
    assert found["guarantee"] == ONE.sentence()
    assert found["stddev"] == pytest.approx(plan.max_stddev(late), rel=1e-4)
    assert found["optimum"] == plan.certificate(late).sentence()
    assert found["over_time"] == " ".join(privacy_over_time.sentences(plan))
    steps = np.array(found["curve"]["step"])
    assert (steps[0], steps[-1]) == (1, late)
    assert found["curve"]["stddev"] == pytest.approx(plan.stddevs(late)[steps - 1], rel=1e-12)
    shown = found["shown"]
    low, high = plan.interval(found["step"])
    assert shown["high"] - shown["low"] == pytest.approx(high - low, rel=1e-9)
    assert found.keys() == set(openapi.openapi()["components"]["schemas"]["PlanAnswer"]["required"])


@pytest.mark.parametrize(("told", "decay", "horizon"), DECAYS, ids=repr)
def test_the_alternatives_are_those_of_the_comparison(told, decay, horizon):
    found = planner.answer(asked(told, horizon=64))["alternatives"]
    table = baselines.compare(decay, ONE, 64)
    ours = hf.plan(decay, ONE, horizon=64).max_stddev(64)
    considered = hf.plan(decay, ONE, horizon=64).considered
    own, rivals = found[: len(considered) - 1], found[len(considered) - 1 :]
    assert [row["largest"] for row in own] == [one.error for one in considered[1:]]
    for row in own:
        # integer taps cost 0.2 % at most; the search's coarse bound for Huber noise adds up to 1 %
        compared = table.row(f"hushfade, {row['name']}").max_error
        assert row["largest"] == pytest.approx(compared, rel=1.2e-2)
        assert row["ratio"] == pytest.approx(row["largest"] / considered[0].error, rel=1e-9)
    assert len(rivals) == 4
    for row in rivals:
        name = row["name"].removesuffix(", Gaussian noise")
        name += ", β = 0.1" if "power" in name else ""
        assert row["largest"] == pytest.approx(table.row(name).max_error, rel=1e-9)
        assert row["ratio"] == pytest.approx(row["largest"] / ours, rel=1e-9)


def test_the_answer_names_the_law_and_mu_for_gaussian_noise_only():
    week = {"kind": "window", "length": 7}
    found = planner.answer(asked(week, resolution=1))
    assert (found["law"], found["method"], found["mu"]) == ("laplace", "input", None)
    assert "which has the smallest error" in found["choice"]
    assert "resolution=1" in found["code"]
    paper = planner.answer(asked(week, method="square_root"))
    assert paper["mu"] == pytest.approx(ONE.mu)
    assert "--method square_root" in paper["command"]
    pure = planner.answer(asked(week) | {"delta": 0})
    assert pure["law"] == "laplace"
    assert pure["over_time"].startswith("The whole privacy loss of a record, epsilon = 1, is spent")
    assert pure["alternatives"]
    assert "No mechanism with Gaussian noise has delta = 0" in pure["optimum"]
    for wrong in ({"law": "cauchy"}, {"method": "given"}, {"law": "gaussian", "delta": 0}):
        with pytest.raises(hf.InvalidValue):
            planner.answer(asked(week) | wrong)


def test_counting_for_ever_and_persons_are_planned_too():
    found = planner.answer(asked({"kind": "counting"}))
    assert found["stddev"] > 0
    assert found["method"] == "unbounded"
    assert "expect" not in found["command"] + found["code"]
    short = planner.answer(asked({"kind": "counting"}, expect=1000))
    assert short["stddev"] < found["stddev"]
    assert "--expect 1000" in short["command"]
    assert ", expect=1000)" in short["code"]
    with pytest.raises(hf.InvalidValue, match="expect must only be given with the method"):
        planner.answer(asked({"kind": "counting"}, expect=1000, horizon=64))
    many = planner.answer(
        asked(
            {"kind": "window", "length": 7},
            protects={"steps": 3, "apart": 24},
            neighbours="replace",
        )
    )
    assert all("noise" in row["name"] for row in many["alternatives"])
    guarantee = hf.Guarantee(
        epsilon=1, delta=1e-6, protects=hf.Person(steps=3, apart=24), neighbours="replace"
    )
    plan = hf.plan(hf.SlidingWindow(length=7), guarantee)
    assert many["stddev"] == pytest.approx(plan.stddev(1000), rel=1e-12)


@pytest.mark.parametrize(("told", "decay", "horizon"), DECAYS, ids=repr)
def test_the_code_and_the_command_make_the_same_plan(told, decay, horizon, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the command keeps the plan
    found = planner.answer(
        asked(told, horizon=horizon, low=-1, high=2.5, protects={"steps": 2, "apart": 3})
    )
    names = {}
    exec(found["code"].split("stream = ")[0], names)
    assert names["plan"].stddev(100) == pytest.approx(
        np.interp(100, found["curve"]["step"], found["curve"]["stddev"]), rel=0.02
    )
    late = names["plan"].horizon or 1000
    assert names["plan"].stddev(late) == pytest.approx(found["stddev"], rel=1e-12)
    shown = run(found["command"].removeprefix("hushfade "), "--json")
    assert shown.exit_code == 0, shown.stderr
    assert re.search(rf'"stddev": {re.escape(repr(found["stddev"]))}', shown.stdout)
    kept = hf.Plan.from_json((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert kept.stddev(late) == pytest.approx(found["stddev"], rel=1e-12)
    assert "POST /v1/streams" in found["code"]


def test_the_whole_code_runs():
    code = planner.answer(asked({"kind": "exponential", "half_life": 3}))["code"]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(done.stdout.split()) == 2


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ({}, 400),
        (asked({"kind": "linear"}), 400),
        (asked({"kind": "exponential"}), 400),
        (asked({"kind": "exponential", "half_life": 3, "power": 1}), 400),
        (asked({"kind": "exponential", "half_life": 1e9}), 422),
        (asked({"kind": "exponential", "half_life": "3"}), 422),
        (asked({"kind": "window", "length": 10**6}), 422),
        (asked({"kind": "window", "length": 2.5}), 422),
        (asked({"kind": "power", "power": -1}), 422),
        (asked({"kind": "counting"}, horizon=10**9), 422),
        (asked({"kind": "counting"}, horizon=True), 422),
        (asked({"kind": "counting"}, low=1, high=0), 422),
        (asked({"kind": "counting"}, high=1e300), 422),
        (asked({"kind": "counting"}, neighbours="other"), 422),
        (asked({"kind": "counting"}, protects={"steps": 0}), 422),
        (asked({"kind": "counting"}, more=0), 400),
        (asked({"kind": "counting"}) | {"epsilon": 1e-9}, 422),
        (asked({"kind": "counting"}) | {"delta": None}, 422),
    ],
)
def test_what_cannot_be_planned_is_refused(client, content, status):
    assert client.post("/v1/plan", content).status_code == status


STATISTICS = [  # the request, its bounds, the plan's statistic
    ({"kind": "count"}, {}, hf.Count()),
    ({"kind": "mean"}, {"low": -1, "high": 9}, hf.Mean(-1, 9)),
    ({"kind": "variance"}, {"high": 9}, hf.Variance(0, 9)),
    ({"kind": "share", "of": None}, {}, hf.Share()),
    ({"kind": "share", "of": "it's"}, {}, hf.Share("it's")),
    ({"kind": "histogram", "edges": [0, 18, 65]}, {}, hf.Histogram([0, 18, 65])),
    ({"kind": "ratio", "numerator": 10, "denominator": 100, "most": 1}, {}, hf.Ratio(10, 100, 1)),
    (
        {"kind": "quantiles", "quantiles": [0.5, 0.9], "expect": 5000},
        {"low": 0, "high": 8},
        hf.Quantiles([0.5, 0.9], 0, 8, expect=5000),
    ),
]


def test_a_statistic_is_planned_with_its_accuracy_code_and_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the command keeps the plan
    week, guarantee = hf.SlidingWindow(length=7), hf.Guarantee(epsilon=1, delta=1e-6)
    for told, bounds, statistic in STATISTICS:
        question = asked({"kind": "window", "length": 7}, law="laplace", statistic=told, **bounds)
        found = planner.answer(question)
        plan = hf.plan(week, guarantee, statistic=statistic, law="laplace")
        unit = 1.0 if plan.statistic is None else plan.grid.lane_bounds[1]
        assert found["stddev"] == pytest.approx(plan.stddev(1000) / unit, rel=1e-12)
        if plan.statistic is None:
            assert found["statistic"] is None
            assert found["shown"]["true"] == 100
        else:
            assert found["shown"] is None
            assert found["statistic"]["lanes"] == len(plan.statistic.parts)
            assert found["statistic"]["accuracy"] == accuracy(plan, found["step"])
            assert all("Bolot" not in row["name"] for row in found["alternatives"])
        names = {}
        exec(found["code"].rpartition("print(")[0], names)
        assert names["plan"].digest == plan.digest, told
        if found["command"] is None:
            assert told == {"kind": "share", "of": None}
            continue
        shown = invoke(*shlex.split(found["command"].removeprefix("hushfade ")))
        assert shown.exit_code == 0, shown.stderr
        kept = hf.Plan.from_json((tmp_path / "plan.json").read_text(encoding="utf-8"))
        assert kept.digest == plan.digest, told
        (tmp_path / "plan.json").unlink()


def test_a_statistic_with_other_parameters_is_refused(client):
    week = {"kind": "window", "length": 7}
    for status, statistic, more in (
        (400, {}, {}), (400, "mean", {}), (400, {"kind": "median"}, {}),
        (400, {"kind": ["mean"]}, {}),
        (400, {"kind": "mean", "low": 0}, {}), (400, {"kind": "histogram"}, {}),
        (422, {"kind": "histogram", "edges": [1, 0, 2]}, {}),
        (422, {"kind": "histogram", "edges": list(range(2000))}, {}),
        (400, {"kind": "histogram", "edges": "0,1,2"}, {}),
        (422, {"kind": "share", "of": 5}, {}), (422, {"kind": "share", "of": ""}, {}),
        (422, {"kind": "share"}, {"low": 0}), (422, {"kind": "count"}, {"resolution": 1}),
        (422, {"kind": "mean"}, {"low": 5, "high": 1}),
        (422, {"kind": "quantiles", "quantiles": [0.5, 0.5]}, {}),
        (422, {"kind": "quantiles", "quantiles": [0.5], "bins": 2048}, {}),
        (400, {"kind": "quantiles", "quantiles": [0.5], "levels": 2}, {}),
        (400, {"kind": "ratio", "numerator": 1}, {}),
        (422, {"kind": "ratio", "numerator": 1, "denominator": 0, "most": 1}, {}),
    ):  # fmt: skip
        found = client.post("/v1/plan", asked(week, statistic=statistic, **more))
        assert found.status_code == status, (statistic, found.text)


NUMBERS = st.floats(-3, 3) | st.integers(-2, 300) | st.floats(1e-9, 1e9)
ASKED = st.fixed_dictionaries(
    {
        "decay": st.fixed_dictionaries({"kind": st.just("exponential"), "half_life": NUMBERS})
        | st.fixed_dictionaries({"kind": st.just("power"), "power": NUMBERS})
        | st.fixed_dictionaries({"kind": st.just("window"), "length": st.integers(0, 300)})
        | st.fixed_dictionaries({"kind": st.just("counting")}),
        "epsilon": st.floats(1e-3, 100) | NUMBERS,
        "delta": st.floats(1e-30, 0.5) | NUMBERS,
    },
    optional={
        "horizon": st.none() | st.integers(0, 300),
        "low": NUMBERS,
        "high": NUMBERS,
        "neighbours": st.sampled_from(["add_remove", "replace", "none"]),
        "protects": st.just("record")
        | st.fixed_dictionaries({"steps": st.integers(0, 9), "apart": st.integers(0, 300)})
        | st.fixed_dictionaries({"within": st.integers(0, 9)}),
    },
)


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(content=ASKED)
def test_every_question_is_answered_or_refused(client, content):
    assert client.post("/v1/plan", content).status_code in (200, 400, 422)
