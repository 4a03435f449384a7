"""The whole report, quickly."""

import csv
import re
from collections import Counter

import pytest

from lab.paper import pages
from lab.paper.contents import CHAPTERS
from lab.paper.document import QUICK, Figure, Table
from lab.paper.write_report import report
from lab.paths import ROOT

COMMITTED = ROOT / "docs" / "paper" / "report"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    place = tmp_path_factory.mktemp("paper")
    return place, report(place, QUICK, CHAPTERS)


def committed():
    with (COMMITTED / "data" / "claims.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_chapter_has_words_numbers_and_claims(written):
    for chapter in written[1]:
        kinds = Counter(type(block).__name__ for block in chapter.blocks)
        assert kinds["Prose"] >= 1, chapter.name
        assert kinds["Claim"] >= 1, chapter.name


def test_every_table_and_figure_is_a_file_and_every_link_leads_to_one(written):
    place, chapters = written
    for chapter in chapters:
        for block in chapter.blocks:
            if isinstance(block, Table | Figure):
                assert (place / "data" / f"{block.name}.csv").stat().st_size > 0
            if isinstance(block, Figure):
                assert (place / "figures" / f"{block.name}.svg").is_file()
                assert (place / "figures" / f"{block.name}.png").is_file()
    links = re.findall(r"\]\(([\w/.-]+)\)", (place / "report.md").read_text(encoding="utf-8"))
    assert all((place / link).is_file() for link in links)


def test_what_is_wrong_says_what_holds(written):
    for claim in pages.claims(written[1]):
        assert claim.verdict == "holds" or claim.instead, claim


def test_what_is_ours_or_corrected_holds(written):
    for claim in pages.claims(written[1]):
        if claim.ours:
            assert claim.verdict == "holds", claim


def test_the_committed_report_is_a_whole_one_of_these_chapters(written):
    text = (COMMITTED / "report.md").read_text(encoding="utf-8")
    assert ": the full report." in text
    for number, chapter in enumerate(CHAPTERS, start=1):
        assert f"## {number}. {chapter.title}\n" in text
    names = {
        block.name
        for chapter in written[1]
        for block in chapter.blocks
        if isinstance(block, Table | Figure)
    }
    kept = {path.stem for path in (COMMITTED / "data").glob("*.csv")} - {"claims"}
    assert kept == names


def test_the_committed_verdicts_are_those_of_this_code(written):
    """Steps differ between quick and full, so words may; where and how it is judged may not."""
    here = Counter((claim.where, claim.verdict) for claim in pages.claims(written[1]))
    there = Counter((claim["where"], claim["verdict"]) for claim in committed())
    assert here == there
