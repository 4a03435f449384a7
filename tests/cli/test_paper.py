import json
from dataclasses import replace

import pytest

from hushfade.paper import contents, pages
from tests.cli.command import document, run
from tests.paper import toy


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    """Two chapters that take no time."""
    monkeypatch.setattr(contents, "CHAPTERS", toy.CHAPTERS)


def test_the_report_is_written_where_it_is_asked_for(tmp_path):
    place = tmp_path / "new" / "report"
    shown = run("paper --output", str(place))
    assert shown.exit_code == 0
    assert (place / "report.html").is_file()
    assert "report.html" in shown.stdout
    assert "full" in (place / "report.md").read_text(encoding="utf-8")


def test_the_page_says_what_does_not_hold_and_no_more(tmp_path):
    shown = " ".join(run("paper -o", str(tmp_path)).stdout.split())
    assert "3 checks of the paper's statements: 1 hold, 1 true but weak, 1 false." in shown
    assert "γ2 ≤ 1" in shown
    assert "the sum runs to T" in shown
    assert "|x| ≤ 1" not in shown


def test_the_document_has_every_claim(tmp_path):
    found = document("paper --quick -o", str(tmp_path))
    assert found["extent"] == "quick"
    assert [claim["verdict"] for claim in found["claims"]] == ["holds", "false", "weak"]
    assert found["claims"][1]["instead"] == "the sum runs to T"
    assert [claim["chapter"] for claim in found["claims"]] == ["one", "one", "two"]
    assert found["summary"] == pages.summary([toy.HOLDS, toy.FALSE, toy.WEAK])


def test_quick_says_that_it_is_quick(tmp_path):
    run("paper --quick -o", str(tmp_path))
    assert "a quick report" in (tmp_path / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("form", ["", " --json"])
def test_an_interrupted_report_says_what_is_kept(tmp_path, monkeypatch, form):
    def stopped(extent):
        yield toy.TABLE
        raise KeyboardInterrupt

    broken = replace(toy.CHAPTERS[1], blocks=stopped)
    for chapters, said in (
        ([broken], "interrupted before the first chapter was finished"),
        ([toy.CHAPTERS[0], broken], "interrupted: 1 chapter is finished. Run the same"),
    ):
        monkeypatch.setattr(contents, "CHAPTERS", chapters)
        shown = run(f"paper{form} -o", str(tmp_path))
        assert shown.exit_code == 130
        told = json.loads(shown.stderr)["error"] if form else shown.stderr
        assert said in told


def test_what_is_in_the_way_is_told_before_anything_is_computed(tmp_path, monkeypatch):
    def never(extent):
        raise AssertionError
        yield

    monkeypatch.setattr(contents, "CHAPTERS", [replace(toy.CHAPTERS[0], blocks=never)])
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "one" / "report.md").mkdir(parents=True)
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "data").write_text("", encoding="utf-8")
    for place, named in (("file", "file"), ("one", "one/report.md"), ("two", "two/data")):
        shown = run("paper --json -o", str(tmp_path / place))
        assert shown.exit_code == 5
        assert f"cannot write {tmp_path / named}: " in json.loads(shown.stderr)["error"]
