import base64
import csv
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from hushfade.errors import InvalidValue
from lab.paper import pages
from lab.paper.document import QUICK, Written
from lab.paper.write_report import report
from lab.tests.paper import toy


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    place = tmp_path_factory.mktemp("report")
    report(place, QUICK, toy.CHAPTERS)
    return place


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_every_file_is_written_and_none_else(directory):
    found = {path.relative_to(directory).as_posix() for path in directory.rglob("*.*")}
    assert found == {
        "report.md", "report.html", "figures/toy-squares.svg", "figures/toy-squares.png",
        "data/toy-squares.csv", "data/toy-table.csv", "data/claims.csv",
    }  # fmt: skip


def test_numbers_are_in_full_in_the_data(directory):
    found = rows(directory / "data" / "toy-table.csv")
    assert found[0] == ["word", "whole", "real", "truth"]
    assert found[1] == ["a|b", "1048576", "1.0327955589886444", "True"]


def test_a_figure_s_points_are_in_the_data(directory):
    found = rows(directory / "data" / "toy-squares.csv")
    assert ["from one", "squares", "3.0", "9.0", ""] in found
    assert ["from one", "about", "4.0", "15.0", "17.0"] in found
    assert ["logarithmic", "ten", "1.0", "10.0", ""] in found


def test_claims_are_in_the_data_and_counted_in_the_page(directory):
    assert [row[2] for row in rows(directory / "data" / "claims.csv")[1:]] == [
        "holds", "false", "weak",
    ]  # fmt: skip
    text = (directory / "report.md").read_text(encoding="utf-8")
    assert "3 checks of the paper's statements: 1 hold, 1 true but weak, 1 false." in text


def test_the_head_lists_what_is_not_as_printed_and_no_more(directory):
    text = (directory / "report.md").read_text(encoding="utf-8")
    head = text[: text.index("## 1.")]
    assert "the sum runs to T" in head
    assert "804.7" in head
    assert "x\\|" not in head


def test_tables_are_rounded_and_escaped_in_the_page(directory):
    text = (directory / "report.md").read_text(encoding="utf-8")
    assert "| a\\|b | 1048576 | 1.0328 | yes |" in text
    assert "| c | -1 | 5.96e-08 | no |" in text


def test_every_link_of_the_page_leads_to_a_file(directory):
    text = (directory / "report.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) == 4
    assert all((directory / link).is_file() for link in links)


class Page(HTMLParser):
    """Start tags, and the balance of tags that must be closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_web_page_is_well_formed_and_needs_nothing_else(directory):
    text = (directory / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    sources = [attrs["src"] for tag, attrs in page.tags if "src" in attrs]
    assert len(sources) == 1
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    drawn = base64.b64decode(sources[0].split(",")[1])
    assert drawn == (directory / "figures" / "toy-squares.svg").read_bytes()
    assert "http" not in re.sub(r'src="[^"]*"', "", text)


def test_the_contents_lead_to_every_chapter(directory):
    page = Page((directory / "report.html").read_text(encoding="utf-8"))
    targets = [attrs["href"] for tag, attrs in page.tags if tag == "a" and attrs["href"][0] == "#"]
    names = {"#" + attrs["id"] for tag, attrs in page.tags if tag == "h2"}
    assert set(targets) == names
    assert len(targets) == 3


def test_pictures_say_in_words_what_they_show(directory):
    page = Page((directory / "report.html").read_text(encoding="utf-8"))
    words = [attrs["alt"] for tag, attrs in page.tags if tag == "img"]
    assert words == ["Squares of whole numbers."]


def test_a_written_report_is_the_same_bytes_again(directory, tmp_path):
    report(tmp_path, QUICK, toy.CHAPTERS)
    for path in directory.rglob("*.*"):
        assert path.read_bytes() == (tmp_path / path.relative_to(directory)).read_bytes()


def test_a_report_without_errors_lists_none():
    good = Written("one", "Good", (toy.HOLDS,))
    text = pages.markdown(QUICK, [good])
    assert "1 check of the paper's statements: 1 hold" in text
    assert "not as printed" not in text


def test_other_files_of_the_directory_stay(tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    report(tmp_path, QUICK, toy.CHAPTERS)
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "mine"


def test_two_blocks_of_one_name_are_refused(tmp_path):
    with pytest.raises(InvalidValue, match="toy-table"):
        report(tmp_path, QUICK, [toy.CHAPTERS[0], replace(toy.CHAPTERS[0], name="again")])
    assert not (tmp_path / "report.md").exists()


def test_an_interrupted_writing_leaves_no_old_page(tmp_path, monkeypatch):
    report(tmp_path, QUICK, toy.CHAPTERS)

    def interrupted(figure):
        raise KeyboardInterrupt

    monkeypatch.setattr(pages, "draw", interrupted)
    with pytest.raises(KeyboardInterrupt):
        report(tmp_path, QUICK, toy.CHAPTERS)
    assert not (tmp_path / "report.md").exists()
