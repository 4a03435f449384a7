import json

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
    assert "S ≤ 804.7" in shown
    assert "|x| ≤ 1" not in shown


def test_the_document_has_every_claim(tmp_path):
    found = document("paper --quick -o", str(tmp_path))
    assert found["extent"] == "quick"
    assert [claim["verdict"] for claim in found["claims"]] == ["holds", "false", "weak"]
    assert found["claims"][1]["instead"] == "the sum runs to T"
    assert found["summary"] == pages.summary([toy.HOLDS, toy.FALSE, toy.WEAK])


def test_quick_says_that_it_is_quick(tmp_path):
    run("paper --quick -o", str(tmp_path))
    assert "a quick report" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_an_interrupted_report_says_how_to_go_on(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("hushfade.paper.compose.report", interrupted)
    shown = run("paper -o", str(tmp_path))
    assert shown.exit_code == 130
    assert "goes on after the last finished chapter" in shown.stderr


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    shown = run("paper --json -o", str(tmp_path / "file"))
    assert shown.exit_code == 5
    assert "file" in json.loads(shown.stderr)["error"]
