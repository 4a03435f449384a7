"""The report of a run: sections of one table each, as a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from benchmarks import machine
from benchmarks.timing import Ratio

PAGE = Path(__file__).parents[1] / "docs" / "results" / "benchmarks.md"

FOREWORD = """\
Written by `make bench` on {day}.  Machine: {machine}.

A ratio compares a job with a yardstick run in turn with it, {rounds} rounds in one process.  *Best*
is the shortest time over the yardstick's shortest time; *spread* runs from the smallest to the
largest ratio within one round."""


@dataclass(frozen=True)
class Section:
    """One table: what was measured, in a sentence, and the rows."""

    title: str
    sentence: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def ratio_section(title: str, sentence: str, ratios: Iterable[Ratio]) -> Section:
    """A section with one row for each ratio."""
    rows = [(ratio.name, *ratio_cells(ratio), ratio.goal or "-") for ratio in ratios]
    return Section(title, sentence, ("job", "best", "spread", "goal"), rows)


def ratio_cells(ratio: Ratio) -> tuple[str, str]:
    """The best ratio and the spread, as they stand in a table.

    >>> ratio_cells(Ratio("draw", "≤ 1×", best=0.914, spread=(0.9, 12.34)))
    ('0.91×', '0.90 to 12.3')
    """
    low, high = ratio.spread
    return f"{_short(ratio.best)}×", f"{_short(low)} to {_short(high)}"


def page(sections: Iterable[Section], rounds: int) -> str:
    """The whole report."""
    foreword = FOREWORD.format(day=date.today(), machine=machine.described(), rounds=rounds)
    return "\n\n".join(["# Benchmarks", foreword, *map(_markdown, sections)]) + "\n"


def write(text: str) -> None:
    """The page in its place under docs/results."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")


def _markdown(section: Section) -> str:
    lines = [section.columns, ["---"] * len(section.columns), *section.rows]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"## {section.title}\n\n{section.sentence}\n\n{table}"


def _short(value: float) -> str:
    """Three digits or so, without an exponent."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
