import json
import math

import pytest

import hushfade as hf
from hushfade.cli.console import Exit
from tests.cli.command import document, run

PLANS = {
    "rate.json": hf.plan(hf.Exponential(half_life=24), hf.Guarantee(1, 1e-6)),
    "window.json": hf.plan(hf.SlidingWindow(7), hf.Guarantee(0.5, 1e-7), keys=["a", "b"]),
    "root.json": hf.plan(hf.Exponential(half_life=24), hf.Guarantee(1, 1e-6), method="square_root"),
    "gauss.json": hf.plan(
        hf.SlidingWindow(7), hf.Guarantee(0.5, 1e-7), method="square_root", keys=["a", "b"]
    ),
    "pure.json": hf.plan(hf.SlidingWindow(7), hf.Guarantee(1, 0), resolution=1),
    "values.json": hf.plan(hf.PowerLaw(1), hf.Guarantee(1, 1e-6, "replace"), low=0, high=9),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, plan in PLANS.items():
        (tmp_path / name).write_text(plan.to_json())
    return tmp_path


@pytest.mark.parametrize("name", PLANS)
def test_the_document_has_the_plan_s_numbers(folder, name):
    found, plan = document(f"explain {name}"), PLANS[name]
    assert found["digest"] == plan.digest.hex()
    assert found["epsilon"] == plan.guarantee.epsilon
    assert found["stddev"] == plan.stddev(1000)
    pure = plan.guarantee.pure
    assert found["ratio"] == (None if pure else plan.certificate(1000).ratio)
    assert found["law"]["name"] == plan.law.name
    assert (found["mu"] is None) == (plan.law.name != "gaussian")
    odds = math.exp(plan.guarantee.epsilon)
    assert found["posterior"] == pytest.approx(odds / (1 + odds), rel=1e-15)
    assert found["over_time"][0]["releases"] == 1
    assert found["over_time"][-1]["epsilon"] == plan.guarantee.epsilon
    for row in found["over_time"]:
        exact = plan.privacy_at_age(row["releases"]).epsilon(plan.guarantee.delta)
        # both are upper bounds: one within 1e-6 of the smallest, one within 0.2 %
        assert exact * (1 - 2e-6) <= row["epsilon"] <= exact * 1.01


@pytest.mark.parametrize("name", PLANS)
def test_the_page_has_every_line_of_the_document(folder, name):
    shown = " ".join(run(f"explain {name}").stdout.split())
    for title, lines in document(f"explain {name}")["explanation"].items():
        assert title in shown
        for line in lines:
            assert line in shown


def test_releases_are_explained_by_the_plan_beside_them(folder):
    plan = json.loads(PLANS["rate.json"].to_json())
    beside = {"format": "hushfade releases draft", "plan": plan, "guarantee": "..."}
    (folder / "out.csv").write_text("step,value\n1,3.5\n")
    (folder / "out.csv.plan.json").write_text(json.dumps(beside))
    by_releases, by_plan = document("explain out.csv"), document("explain out.csv.plan.json")
    assert by_releases.pop("file") == "out.csv"
    assert by_plan.pop("file") == "out.csv.plan.json"
    assert by_releases == by_plan
    assert by_plan["digest"] == PLANS["rate.json"].digest.hex()


def test_what_releases_say_of_themselves_is_told_first(folder):
    beside = {
        "format": "hushfade releases draft",
        "plan": json.loads(PLANS["rate.json"].to_json()),
        "noise": "NOT PRIVATE: a known seed\x1b[2J",
        "limits": "Each person counts once.",
        "changed": ["non_negative", "whole"],
    }
    (folder / "out.csv.plan.json").write_text(json.dumps(beside))
    for line in ("explain out.csv", "explain out.csv window.json"):
        first, lines = next(iter(document(line)["explanation"].items()))
        assert first == "About these releases"
        assert lines[0].startswith(
            "out.csv: the noise is NOT PRIVATE: a known seed[2J. No statement"
        )
        assert lines[1] == "out.csv: Each person counts once."
        assert "non-negative and whole" in lines[2]
        assert "NOT PRIVATE" in run(line).stdout


def test_several_files_are_composed(folder):
    found = document("explain root.json gauss.json")
    parts = [PLANS["root.json"].guarantee, PLANS["gauss.json"].guarantee]
    mu = math.sqrt(sum(part.mu**2 for part in parts))
    assert found["composition"]["mu"] == pytest.approx(mu, rel=1e-15)
    assert found["composition"]["delta"] == 1e-6
    # δ(ε) of the composition, from the definition: what was found must reach it
    epsilon = found["composition"]["epsilon"]
    assert hf.delta_of(mu, epsilon) == pytest.approx(1e-6, rel=1e-6)
    assert [row["file"] for row in found["files"]] == ["root.json", "gauss.json"]


def test_files_of_other_laws_are_composed_by_their_losses(folder):
    for names in (["rate.json", "window.json"], ["rate.json", "root.json"]):
        found = document("explain " + " ".join(names))["composition"]
        assert found["mu"] is None
        total = PLANS[names[0]].privacy + PLANS[names[1]].privacy
        assert total.delta(found["epsilon"]) <= found["delta"] == 1e-6
        assert found["epsilon"] <= total.epsilon(1e-6) * 1.0021


@pytest.mark.parametrize("files", ["rate.json", "rate.json window.json"])
def test_a_picture_is_written(folder, files):
    document(f"explain {files} --plot picture.png")
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_without_a_file_the_mechanism_is_drawn_on_one_screen():
    shown = run("explain").stdout
    for half in ("private half", "the crossing", "public half"):
        assert half in shown
    assert shown.count("\n") <= 40
    assert "drawing" in document("explain")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, Exit.FILE),
        ("step,value\n1,3.5\n", Exit.DATA),
        ("[]", Exit.DATA),
        ('{"format": "hushfade releases draft"}', Exit.DATA),
        ('{"format": "hushfade releases 1"}', Exit.DATA),
        ('{"format": "hushfade plan 9"}', Exit.DATA),
        ("[" * 100_000, Exit.DATA),
        (PLANS["rate.json"].to_json().replace("24.0", "25.0"), Exit.DATA),
    ],
)
def test_what_is_no_plan_is_refused(folder, content, code):
    if content is not None:
        (folder / "bad.json").write_text(content)
    result = run("explain bad.json --json")
    assert (result.exit_code, result.stdout) == (code, "")
    assert "bad.json" in json.loads(result.stderr)["error"]


def test_different_neighbours_have_no_promise_together(folder):
    result = run("explain rate.json values.json")
    assert (result.exit_code, result.stdout) == (Exit.REFUSED, "")
    assert "because they protect different units" in result.stderr
    assert "values.json one record, replaced" in result.stderr


def test_a_file_counts_once_and_a_picture_needs_one(folder):
    assert run("explain rate.json rate.json").exit_code == Exit.USAGE
    assert run("explain --plot picture.png").exit_code == Exit.USAGE
