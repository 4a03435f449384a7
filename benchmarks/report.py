"""The report of a run: sections of one table each, as a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from benchmarks import machine
from benchmarks.timing import Ratio

PAGE = Path(__file__).parents[1] / "docs" / "results" / "benchmarks.md"

MET, MISSED, NOT_MEASURED = "met", "missed", "not measured"
GOAL_COLUMNS = ("goal", "verdict")

FOREWORD = """\
Written by `make bench` on {day}.  Machine: {machine}.

A ratio compares a job with a yardstick run in turn with it, {rounds} rounds in one process.  *Best*
is the shortest time over the yardstick's shortest time; *spread* runs from the smallest to the
largest ratio within one round.  A goal is met or missed by the best.

{summary}"""


@dataclass(frozen=True)
class Section:
    """One table: what was measured, in a sentence, and the rows."""

    title: str
    sentence: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def ratio_section(title: str, sentence: str, ratios: Iterable[Ratio]) -> Section:
    """A section with one row for each ratio."""
    rows = [
        (ratio.name, *ratio_cells(ratio), *goal_cells(ratio.best, ratio.goal, "×"))
        for ratio in ratios
    ]
    return Section(title, sentence, ("job", "best", "spread", *GOAL_COLUMNS), rows)


def ratio_cells(ratio: Ratio) -> tuple[str, str]:
    """The best ratio and the spread, as they stand in a table.

    >>> ratio_cells(Ratio("draw", 1.0, best=0.914, spread=(0.9, 12.34)))
    ('0.91×', '0.90 to 12.3')
    """
    low, high = ratio.spread
    return f"{_short(ratio.best)}×", f"{_short(low)} to {_short(high)}"


def goal_cells(value: float, goal: float | None, unit: str = "") -> tuple[str, str]:
    """The goal and whether the value meets it: the last two columns of a table that has goals.

    >>> goal_cells(41.0, 40.0, "×"), goal_cells(0.1, 0.2, " s"), goal_cells(3.0, None)
    (('≤ 40×', 'missed'), ('≤ 0.2 s', 'met'), ('-', '-'))
    """
    if goal is None:
        return "-", "-"
    return f"≤ {goal:g}{unit}", MET if value <= goal else MISSED


def summary(sections: Iterable[Section]) -> str:
    """How many goals were met, and a list of those that were not."""
    judged = [
        (section.title, row[0], row[-1])
        for section in sections
        if tuple(section.columns[-2:]) == GOAL_COLUMNS
        for row in section.rows
        if row[-1] != "-"
    ]
    lines = []
    for failing in (MISSED, NOT_MEASURED):
        for title in dict.fromkeys(title for title, _, verdict in judged if verdict == failing):
            names = [name for of, name, verdict in judged if (of, verdict) == (title, failing)]
            lines.append(f"- {failing}: {title}: {'; '.join(names)}")
    met = sum(verdict == MET for _, _, verdict in judged)
    return "\n".join([f"**{met} of {len(judged)} goals met.**", *([""] if lines else []), *lines])


def page(sections: Sequence[Section], rounds: int) -> str:
    """The whole report."""
    foreword = FOREWORD.format(
        day=date.today(), machine=machine.described(), rounds=rounds, summary=summary(sections)
    )
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
