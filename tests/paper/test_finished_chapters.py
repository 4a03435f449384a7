from dataclasses import replace

import pytest

from hushfade.paper import finished_chapters
from hushfade.paper.document import FULL, QUICK, Chapter, Prose, Written
from hushfade.paper.finished_chapters import PLACE, Journal
from hushfade.paper.write_report import report
from tests.paper import toy

CHAPTER = Chapter("one", "The first", lambda extent: iter([Prose(extent.name)]))
WRITTEN = Written("one", "The first", (Prose("computed before"),))


def test_what_was_kept_is_found(tmp_path):
    assert Journal(tmp_path, FULL).find(CHAPTER) is None
    Journal(tmp_path, FULL).keep(WRITTEN)
    assert Journal(tmp_path, FULL).find(CHAPTER) == WRITTEN


@pytest.mark.parametrize("other", [QUICK, replace(FULL, horizon=7)])
def test_another_extent_finds_nothing(tmp_path, other):
    Journal(tmp_path, FULL).keep(WRITTEN)
    assert Journal(tmp_path, other).find(CHAPTER) is None


def test_other_code_finds_nothing(tmp_path, monkeypatch):
    Journal(tmp_path, FULL).keep(WRITTEN)
    package = tmp_path / "hushfade" / "paper"
    package.mkdir(parents=True)
    (package / "new.py").write_text("changed = True\n", encoding="utf-8")
    monkeypatch.setattr(finished_chapters, "__file__", str(package / "finished_chapters.py"))
    assert Journal(tmp_path, FULL).find(CHAPTER) is None


@pytest.mark.parametrize("damage", ["", "{", '{"fingerprint": 1}', "[]", "null"])
def test_a_damaged_file_is_not_there(tmp_path, damage):
    kept = Journal(tmp_path, FULL)
    kept.keep(WRITTEN)
    (tmp_path / PLACE / "one.json").write_text(damage, encoding="utf-8")
    assert kept.find(CHAPTER) is None


def test_an_interrupted_report_goes_on_where_it_stopped(tmp_path):
    computed = []

    def counted(chapter):
        def blocks(extent):
            computed.append(chapter.name)
            yield from chapter.blocks(extent)

        return replace(chapter, blocks=blocks)

    def stopped(extent):
        yield from toy.second(extent)
        raise KeyboardInterrupt

    first, second = map(counted, toy.CHAPTERS)
    broken = replace(second, blocks=stopped)
    with pytest.raises(KeyboardInterrupt):
        report(tmp_path, QUICK, [first, broken])
    assert not (tmp_path / "report.md").exists()
    resumed = report(tmp_path, QUICK, [first, second])
    assert computed == ["one", "two"]
    assert resumed == report(tmp_path / "whole", QUICK, toy.CHAPTERS)
    assert not (tmp_path / PLACE).exists()
    files = {path.relative_to(tmp_path / "whole") for path in (tmp_path / "whole").rglob("*.*")}
    for file in files:
        assert (tmp_path / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_who_watches_is_told_what_is_done(tmp_path):
    told = []
    report(tmp_path, QUICK, toy.CHAPTERS, watch=lambda *what: told.append(what))
    assert told == [
        (0, "one"), (0, "one, part 1"), (0, "one, part 2"), (0, "one, part 3"), (0, "one, part 4"),
        (1, "two"), (1, "two, part 1"), (1, "two, part 2"), (1, "two, part 3"),
        (2, "drawing figure 1 of 1"),
    ]  # fmt: skip
