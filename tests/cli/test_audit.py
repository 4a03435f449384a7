import json
from pathlib import Path

import pytest

from hushfade import Plan
from hushfade import audit as room
from hushfade.audit import TINY, Audit, Finding, Subject, review
from tests.cli.command import ONE, document, run


@pytest.fixture
def plan_file(tmp_path):
    path = tmp_path / "plan.json"
    assert run(f"plan --half-life 3 {ONE} -o", str(path)).exit_code == 0
    return str(path)


@pytest.fixture
def _tiny(monkeypatch):
    monkeypatch.setattr(room, "QUICK", TINY)


@pytest.mark.usefixtures("_tiny")
def test_it_passes_on_plans_of_its_own():
    found = document("audit --quick --seed 1")
    assert found["passed"], [f for f in found["findings"] if f["passed"] is False]
    assert len(found["plans"]) == 6
    assert found["false_alarm"] < 1e-6
    assert {one["verdict"] for one in found["findings"]} <= {"passed", "info"}


@pytest.mark.usefixtures("_tiny")
def test_a_plan_is_audited_and_the_page_written(plan_file, tmp_path):
    page = tmp_path / "audit.html"
    shown = run("audit --seed 2 --plan", plan_file, "--html", str(page))
    assert shown.exit_code == 0, shown.stdout
    said = " ".join(shown.stdout.split())
    assert "Audit of plan.json" in said
    assert "0 failed" in said
    assert "Wrote the report with every check" in said
    text = page.read_text(encoding="utf-8")
    assert "plan.json, keyed noise" in text
    assert "half_life=3" in text
    assert "a factor of 2.72 (epsilon = 1), plus 0.000001 (delta)" in text
    assert Plan.from_json(Path(plan_file).read_text()).digest.hex() in text


def test_a_failed_check_is_shown_and_ends_with_6(plan_file, monkeypatch):
    plan = Plan.from_json(Path(plan_file).read_text(encoding="utf-8"))
    half = Finding("scale", "1", "0.5", passed=False, check="releases", plan="plan.json")
    found = Audit(TINY, 2, {"plan.json": plan}, (half,), 1.0)
    monkeypatch.setattr(room, "audit", lambda plans, **_: found)
    shown = run("audit --seed 2 --plan", plan_file)
    assert shown.exit_code == 6
    assert "FAILED  releases: plan.json, scale" in shown.stdout
    assert "does not keep its promise" in shown.stdout
    told = run("audit --seed 2 --json --plan", plan_file)
    assert told.exit_code == 6
    assert json.loads(told.stdout)["passed"] is False


@pytest.mark.usefixtures("_tiny")
def test_a_check_that_breaks_down_ends_with_1_and_accuses_nobody(plan_file, monkeypatch):
    class Broken(Subject):
        def elsewhere(self, plan, noise, key, units):
            raise MemoryError

    monkeypatch.setattr(review, "Subject", Broken)
    shown = run("audit --seed 2 --plan", plan_file)
    assert shown.exit_code == 1
    assert "did not complete and show nothing: plan.json: replay" in " ".join(shown.stdout.split())
    assert "does not keep its promise" not in shown.stdout


def test_what_is_no_plan_is_refused(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text("{}")
    assert run("audit --plan", str(path)).exit_code == 3
    assert run("audit --plan", str(tmp_path / "none.json")).exit_code == 5


def test_the_same_plan_twice_is_refused(plan_file):
    shown = run("audit --plan", plan_file, "--plan", plan_file)
    assert shown.exit_code == 2
    assert "--plan must name each file only once" in shown.stderr


def test_plans_with_the_same_name_in_two_places_are_told_apart(plan_file, tmp_path, monkeypatch):
    monkeypatch.setattr(room, "audit", lambda plans, **_: Audit(TINY, 3, plans, (), 0.1))
    other = tmp_path / "other" / "plan.json"
    other.parent.mkdir()
    assert run(f"plan --half-life 5 {ONE} -o", str(other)).exit_code == 0
    found = document("audit --plan", plan_file, "--plan", str(other))
    assert [plan["plan"] for plan in found["plans"]] == [plan_file, str(other)]


def test_the_same_plan_by_another_path_is_refused(plan_file, tmp_path):
    (tmp_path / "other").mkdir()
    shown = run("audit --plan", plan_file, "--plan", str(tmp_path / "other" / ".." / "plan.json"))
    assert shown.exit_code == 2


def test_a_page_that_exists_is_not_replaced(plan_file, tmp_path):
    page = tmp_path / "audit.html"
    page.write_text("mine")
    assert run("audit --plan", plan_file, "--html", str(page)).exit_code == 5
    assert page.read_text() == "mine"


def test_a_directory_and_releases_that_are_not_there_are_refused(plan_file, tmp_path):
    for wrong in (str(tmp_path), ".", str(tmp_path / "gone.csv")):
        assert run("audit --plan", wrong).exit_code == 5
    (tmp_path / "gone.csv.plan.json").write_text(Path(plan_file).read_text())
    assert run("audit --plan", str(tmp_path / "gone.csv")).exit_code == 5


def test_the_page_does_not_replace_a_plan(plan_file):
    before = Path(plan_file).read_text()
    shown = run("audit --force --plan", plan_file, "--html", plan_file)
    assert shown.exit_code == 2
    assert "--html must not be one of the plans" in shown.stderr
    assert Path(plan_file).read_text() == before


def test_the_plan_beside_releases_is_named_as_what_is_audited(plan_file, tmp_path, monkeypatch):
    monkeypatch.setattr(room, "audit", lambda plans, **_: Audit(TINY, 3, plans, (), 0.1))
    (tmp_path / "releases.csv").write_text("step,value\n")
    (tmp_path / "releases.csv.plan.json").write_text(Path(plan_file).read_text())
    found = document("audit --plan", str(tmp_path / "releases.csv"))
    assert [plan["plan"] for plan in found["plans"]] == ["releases.csv.plan.json"]
