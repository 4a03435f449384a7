import json
import math
import os
import re

import pytest

import hushfade as hf
from hushfade.cli.console import Exit
from hushfade.planning.summary import shown_step
from hushfade.privacy.unit import unit_of
from tests.cli.command import ONE, document, run
from tests.made_when_used import MadeWhenUsed

CASES = MadeWhenUsed(
    {
        f"--half-life 24 {ONE}": lambda: hf.plan(
            hf.Exponential(half_life=24), hf.Guarantee(1, 1e-6), resolution=1
        ),
        f"--window 7 --low -2 --high 3 --neighbours replace --keys a,b {ONE}": lambda: hf.plan(
            hf.SlidingWindow(7), hf.Guarantee(1, 1e-6, "replace"), low=-2, high=3, keys=["a", "b"]
        ),
        "--decay none --horizon 50 --method normalized --mu 0.5": lambda: hf.plan(
            hf.NoDecay(), hf.Guarantee.from_mu(0.5), horizon=50, method="normalized", resolution=1
        ),
        "--decay none --method unbounded --rho 0.1 --delta 1e-5": lambda: hf.plan(
            hf.NoDecay(), hf.Guarantee.from_rho(0.1, delta=1e-5), method="unbounded", resolution=1
        ),
        f"--decay none --method unbounded --every 1h --expect 30d {ONE}": lambda: hf.plan(
            hf.NoDecay(),
            hf.Guarantee(1, 1e-6),
            method="unbounded",
            expect=720,
            resolution=1,
            every="1h",
        ),
        f"--power 1 --person-steps 3 --apart 4 --records-per-step 2 {ONE}": lambda: hf.plan(
            hf.PowerLaw(1),
            hf.Guarantee(1, 1e-6, protects=hf.Person(steps=3, apart=4, records_per_step=2)),
            resolution=1,
        ),
        f"--weights 1,0.5,0.25 --resolution 0.0625 {ONE}": lambda: hf.plan(
            hf.CustomDecay([1, 0.5, 0.25]), hf.Guarantee(1, 1e-6), resolution=2**-4
        ),
    }
)


@pytest.mark.parametrize("line", CASES)
def test_the_document_has_the_library_s_numbers(line):
    plan, found = CASES[line], document(f"plan {line}")
    n = plan.horizon or 1000
    certificate = plan.certificate(n)
    assert found["digest"] == plan.digest.hex()
    assert found["sentences"][0] == plan.guarantee.sentence()
    assert certificate.sentence() in found["sentences"]
    assert len(found["sentences"]) == 4
    for name in ("epsilon", "delta", "mu", "rho"):
        gaussian = plan.law.name == "gaussian" or name not in ("mu", "rho")
        assert found[name] == (getattr(plan.guarantee, name) if gaussian else None)
    assert unit_of(found["protects"]) == plan.guarantee.protects
    assert found["sensitivity"] == plan.sensitivity
    assert found["noise_stddev"] == plan.noise_stddev
    assert found["max_stddev"] == plan.max_stddev(n)
    assert found["error_bound"] == plan.error_bound(n)
    shown = {1, 10, min(100, n), shown_step(plan, n), n}
    assert [row["step"] for row in found["stddev"]] == sorted(shown)
    for row in found["stddev"]:
        assert row["stddev"] == pytest.approx(plan.stddev(row["step"]), rel=1e-12)
        assert row["margin"] == pytest.approx(plan.interval(row["step"])[1], rel=1e-12)
    for name in ("lower", "upper", "ratio"):
        value = getattr(certificate, name)
        assert found["certificate"][name] == (value if math.isfinite(value) else None)
    assert found["cost"]["memory"] == plan.cost.memory


@pytest.mark.parametrize("line", CASES)
def test_the_page_has_all_of_the_plan_s_own(line):
    shown = " ".join(run(f"plan {line}").stdout.split())
    for part in re.split(r"\n|  +", str(CASES[line])):
        assert " ".join(part.split()) in shown


def test_durations_equal_steps():
    in_time = document(
        f"plan --half-life 1d --every 1h --horizon 2w --person-steps 2 --apart 12h {ONE}"
    )
    in_steps = document(f"plan --half-life 24 --horizon 336 --person-steps 2 --apart 12 {ONE}")
    assert in_time.pop("every") == "1h"
    assert in_steps.pop("every") is None
    assert in_time.pop("digest") != in_steps.pop("digest")  # it covers the length of a step
    assert in_time == in_steps


def test_with_a_step_s_length_the_page_tells_times():
    shown = " ".join(run(f"plan --window 7d --every 1h --horizon 4w {ONE}").stdout.split())
    assert "window 168 steps, 1w" in shown
    assert "horizon 672 steps, 4w" in shown
    assert "100 │ 4d4h" in shown


def test_a_terminal_also_shows_a_chart(monkeypatch):
    label = "standard deviation of the error"
    assert label not in run(f"plan --power 1 {ONE}").stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert label in run(f"plan --power 1 {ONE}").stdout
    document_alone = run(f"plan --power 1 --json {ONE}").stdout
    assert json.loads(document_alone)["steps"] == 1000


def test_a_written_plan_is_read_again_as_the_same_one(tmp_path):
    path = tmp_path / "plan.json"
    found = document(f"plan --power 1 {ONE} -o", str(path))
    assert hf.Plan.from_json(path.read_text()).digest.hex() == found["digest"]
    assert os.listdir(tmp_path) == ["plan.json"]
    again = document(f"plan --power 2 --force {ONE} -o", str(path))
    assert hf.Plan.from_json(path.read_text()).digest.hex() == again["digest"] != found["digest"]


def test_keys_from_a_file_are_those_of_the_option(tmp_path):
    path = tmp_path / "keys.txt"
    path.write_text("at\nch\n")
    by_file = document(f"plan --power 1 {ONE} --keys-file", str(path))
    assert by_file == document(f"plan --power 1 {ONE} --keys at,ch")


def test_a_picture_is_written(tmp_path):
    path = tmp_path / "plan.svg"
    document(f"plan --power 1 {ONE} --plot", str(path))
    assert path.read_text().startswith("<?xml")


def test_counts_are_planned_by_every_method_at_a_large_epsilon():
    line = "--epsilon 8 --delta 1e-6"
    for method in ("best", "input", "blend", "square_root", "normalized"):
        found = document(f"plan --window 7 --horizon 50 --method {method} {line}")
        assert found["resolution"] == 1.0, method
        assert 0 < found["max_stddev"] < 2, method
    assert document(f"plan --decay none --method unbounded {line}")["max_stddev"] > 0


def test_delta_may_be_0_and_the_document_has_the_law():
    found = document("plan --window 7 --epsilon 1 --delta 0")
    assert found["law"] == {"name": "laplace", "slope": 1.0}
    assert found["mu"] is found["rho"] is found["certificate"] is None
    assert found["single_step_bound"]["stddev"] == pytest.approx(found["stddev"][0]["stddev"])
    day = document(f"plan --half-life 60 {ONE}")
    assert day["law"].keys() == {"name", "slope", "core", "kappa"}
    assert day["considered"][0]["law"] == "huber"
    root = document(f"plan --half-life 60 --method square_root {ONE}")
    assert root["law"]["name"] == "gaussian"
    assert root["mu"] == pytest.approx(0.2367, abs=1e-4)


@pytest.mark.parametrize(("bounds", "said"), [("", True), ("--low 0 --high 1", False)])
def test_it_says_when_records_are_counted(bounds, said):
    shown = run(f"plan --power 1 {ONE} {bounds}").stdout
    assert ("Each record counts as 1" in shown) is said


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("plan --power 1", Exit.USAGE, "a guarantee must be given"),
        (f"plan --power nan {ONE}", Exit.USAGE, "--power must be > 0, got nan"),
        (f"plan --decay none --method square_root {ONE}", Exit.USAGE, "--horizon must be given"),
        ("plan --decay none --epsilon 1 --delta 0", Exit.USAGE, "--horizon must be given"),
        (f"plan --power 1 --law cauchy {ONE}", Exit.USAGE, "law"),
        (f"plan --power 1 --low 0 {ONE}", Exit.USAGE, "--low and --high must both be given"),
        (f"plan --power 1 --every soon {ONE}", Exit.USAGE, "--every must be a duration such as 1h"),
        (f"plan --power 1 --keys-file none.txt {ONE}", Exit.FILE, "cannot read none.txt"),
    ],
)
def test_refusals_print_no_result(line, code, message):
    result = run(line + " --json")
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in json.loads(result.stderr)["error"]
