"""The report of a run as a page of Markdown: sections of one table each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from lab import machine
from lab.benchmarks.pictures import Picture, draw
from lab.benchmarks.timing import Ratio
from lab.paths import RESULTS
from lab.progress import progress

MET, MISSED, NOT_MEASURED = "met", "missed", "not measured"
GOAL_COLUMNS = ("goal", "verdict")

# The reason for each missed goal, by 'title of the section: name of the row'.
REASONS: dict[str, str] = {
    "Stream: run of 10^6 steps: run, exponential, half-life 24": (
        "Profile: the jumps and the pole of both halves take two thirds of the time, noise a "
        "sixth, and reading totals and new pages of memory the rest.  The private half multiplies "
        "64-bit integers, for which AVX2 has no instruction."
    ),
    "Stream: live steps of 10^5 keys: step_total, power 1": (
        "A power law consists of about a hundred exponentials.  Every step reads and writes their "
        "states, 1.7 kB per key, at the speed of memory."
    ),
    "Counting to 2^20: memory: growth of the process: plan, stream and 2^20 live steps": (
        "Planning causes the peak, with transforms of 2^21 numbers.  The row below shows the "
        "memory of the stream itself."
    ),
    "Startup: plan: `PowerLaw(power=0.5)`": (
        "The taps of a heavy tail reach back 2^17 steps, and planning measures their loss over as "
        "many steps."
    ),
}

TITLES = {
    "benchmarks": "Benchmarks",
    "files": "Benchmarks: files",
    "plans": "Benchmarks: plans",
    "service": "Benchmarks: the service",
    "spark": "Benchmarks: Spark",
}

FOREWORD = """\
Written by `make bench` on {day}.  Machine: {machine}.

A ratio compares a job with a yardstick.  Both run in turn in one process, {rounds} rounds unless a
section states another number.  *Best* is the shortest time divided by the yardstick's shortest
time.  *Spread* is the smallest and the largest ratio within one round.  The best decides whether a
goal is met."""

PEERS = """\
## Comparison with other libraries

The jobs of each line ran in turn in one run.  *Times* is the other library's time divided by ours:
above 1, hushfade is faster.  The sections below describe each job and its limits."""


@dataclass(frozen=True)
class PeerRow:
    """A line of the short comparison: our job and a peer's."""

    ours: str
    our_time: str
    peer: str
    peer_time: str
    times: str


@dataclass(frozen=True)
class Section:
    """One table: a description of the measurement, and the rows."""

    title: str
    sentence: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    picture: Picture | None = None
    peer_rows: Sequence[PeerRow] = ()


@dataclass(frozen=True)
class Judged:
    """A row that has a goal."""

    title: str
    name: str
    found: str
    goal: str
    verdict: str


def ratio_section(title: str, sentence: str, ratios: Iterable[Ratio]) -> Section:
    """A section with one row per ratio."""
    rows = [
        (ratio.name, *ratio_cells(ratio), *goal_cells(ratio.best, ratio.goal, "×"))
        for ratio in ratios
    ]
    return Section(title, sentence, ("job", "best", "spread", *GOAL_COLUMNS), rows)


def ratio_cells(ratio: Ratio) -> tuple[str, str]:
    """The best ratio and the spread, formatted for a table.

    >>> ratio_cells(Ratio("draw", 1.0, best=0.914, spread=(0.9, 12.34)))
    ('0.91×', '0.90 to 12.3')
    """
    low, high = ratio.spread
    return f"{short(ratio.best)}×", f"{short(low)} to {short(high)}"


def goal_cells(value: float, goal: float | None, unit: str = "") -> tuple[str, str]:
    """The goal and whether the value meets it: the last two columns of a table that has goals.

    >>> goal_cells(41.0, 40.0, "×"), goal_cells(0.1, 0.2, " s"), goal_cells(3.0, None)
    (('≤ 40×', 'missed'), ('≤ 0.2 s', 'met'), ('-', '-'))
    """
    if goal is None:
        return "-", "-"
    return f"≤ {goal:g}{unit}", MET if value <= goal else MISSED


def judged(sections: Iterable[Section]) -> Iterator[Judged]:
    """The rows that have a goal, with a description of the measurement."""
    for section in sections:
        if tuple(section.columns[-2:]) != GOAL_COLUMNS:
            continue
        for name, *cells, goal, verdict in section.rows:
            if verdict != "-":
                words = zip(section.columns[1:-2], cells, strict=True)
                found = ", ".join(f"{column} {cell}" for column, cell in words if cell != "-")
                yield Judged(section.title, name, found, goal, verdict)


def summary(sections: Iterable[Section]) -> str:
    """The number of goals met per section, and each missed goal; empty without goals."""
    rows = list(judged(sections))
    if not rows:
        return ""
    counts = []
    for title, goal in dict.fromkeys((row.title, row.goal) for row in rows):
        verdicts = [row.verdict for row in rows if (row.title, row.goal) == (title, goal)]
        counts.append((title, goal, f"{verdicts.count(MET)} of {len(verdicts)}"))
    met = sum(row.verdict == MET for row in rows)
    parts = [f"**{met} of {len(rows)} goals met.**", table(("jobs", "goal", "met"), counts)]
    lines = []
    for row in rows:
        if row.verdict != MET:
            found = f": {row.found}" if row.found else ""
            why = REASONS.get(f"{row.title}: {row.name}", "")
            line = f"- {row.verdict}: {row.title}: {row.name}{found}; goal {row.goal}.  {why}"
            lines.append(line.rstrip())
    return "\n\n".join([*parts, *(["\n".join(lines)] if lines else [])])


def peer_summary(sections: Iterable[Section]) -> str:
    """The short comparison with other libraries; empty if none was measured."""
    lines = [line for section in sections for line in section.peer_rows]
    if not lines:
        return ""
    rows = [(line.ours, line.our_time, line.peer, line.peer_time, line.times) for line in lines]
    return f"{PEERS}\n\n{table(('ours', 'time', 'peer', 'time', 'times'), rows)}"


def page(sections: Sequence[Section], rounds: int, name: str = "benchmarks") -> str:
    """The complete report."""
    foreword = FOREWORD.format(day=date.today(), machine=machine.described(), rounds=rounds)
    parts = [f"# {TITLES[name]}", foreword, summary(sections), peer_summary(sections)]
    return "\n\n".join([*filter(None, parts), *map(_markdown, sections)]) + "\n"


def write(sections: Sequence[Section], rounds: int, name: str = "benchmarks") -> None:
    """Write the page to docs/results, and its pictures."""
    for section in sections:
        if section.picture:
            draw(section.picture)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.md").write_text(page(sections, rounds, name), encoding="utf-8")
    progress(f"written: docs/results/{name}.md")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table.

    >>> print(table(["a", "b"], [["1", "2"]]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def short(value: float) -> str:
    """The number with about three digits, without an exponent.

    >>> [short(value) for value in (1234.5, 12.34, 1.234, 0.01234)]
    ['1234', '12.3', '1.23', '0.012']
    """
    for least, digits in ((100, 0), (10, 1), (0.1, 2), (0.01, 3)):
        if value >= least:
            return f"{value:.{digits}f}"
    return f"{value:.2g}"


def seconds(value: float) -> str:
    """A time in a suitable unit.

    >>> [seconds(value) for value in (12.34, 0.01234, 1.2e-6, 1.2e-9)]
    ['12.3 s', '12.3 ms', '1.20 µs', '1.20 ns']
    """
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= unit:
            return f"{short(value / unit)} {name}"
    return f"{short(value / 1e-9)} ns"


def _markdown(section: Section) -> str:
    parts = [f"## {section.title}", section.sentence, table(section.columns, section.rows)]
    if section.picture:
        parts.append(f"![{section.picture.title}](../images/{section.picture.file})")
    return "\n\n".join(parts)
