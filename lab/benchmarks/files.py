"""Files: `hushfade run` on 10^7 events, compared with a plain Polars group-by of the same file.

The benchmark times the whole command in its own process: start, reading, checking, noise, writing.
It times the group-by in the same way, which reads, truncates the times, sums and writes, and
neither clips nor checks.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lab.benchmarks.report import GOAL_COLUMNS, Section, goal_cells, short
from lab.benchmarks.timing import fresh
from lab.progress import progress

ROWS, FEW = 10_000_000, 1_000_000
PEOPLE = 300_000
MEMORY = 1500.0  # MB
YARD = "Polars group-by, CSV"
LIMITS = "run, CSV, limits for each of 3·10^5 people"
RATIOS = {"run, CSV": 2.5, LIMITS: 4.0, "run, JSON lines": 6.0}  # goals for the time per row

RUN = (
    "--time", "at", "--every", "1h", "--start", "2026-01-01", "--end", "2027-01-01",
    "--value", "amount", "--low", "0", "--high", "5", "--key", "country", "--keys", "at,ch,de,fr",
    "--half-life", "24h", "--epsilon", "1", "--delta", "1e-6", "--force", "-o", "releases.csv",
)  # fmt: skip
USERS = (
    "--user",
    "person",
    "--person-steps",
    "30",
    "--apart",
    "24h",
    "--records-per-step",
    "2",
)

GROUP_BY = """
import polars as pl
(
    pl.scan_csv("events.csv")
    .with_columns(pl.col("at").str.to_datetime("%Y-%m-%dT%H:%M:%S").dt.truncate("1h"))
    .group_by("at", "country")
    .agg(pl.col("amount").sum())
    .sort("at", "country")
    .sink_csv("sums.csv")
)
"""


def sections(rounds: int) -> Iterator[Section]:
    """The table of whole commands."""
    rounds = min(rounds, 3)
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        progress(f"files: writing {ROWS} events")
        writing = f"from lab.benchmarks.files import write; write({made!r})"
        subprocess.run([sys.executable, "-c", writing], check=True)
        size = (directory / "events.csv").stat().st_size / 1e6
        jobs = {
            YARD: (ROWS, [sys.executable, "-c", GROUP_BY]),
            "run, CSV": (ROWS, command("events.csv")),
            "run, Parquet": (ROWS, command("events.parquet")),
            LIMITS: (ROWS, command("events.csv", *USERS)),
            "run, JSON lines": (FEW, command("events.jsonl")),
        }
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
        for number in range(rounds + 1):  # the first round loads compiled code and does not count
            for name, (_, words) in jobs.items():
                found = measured(words, directory)
                if number:
                    taken[name].append(found)
    yard = min(seconds for seconds, _ in taken[YARD]) / ROWS
    rows, ratios = [], []
    for name, (count, _) in jobs.items():
        best = min(seconds for seconds, _ in taken[name])
        peak = max(megabytes for _, megabytes in taken[name])
        goal = goal_cells(peak, MEMORY if name != YARD else None, " MB")
        rate = f"{count / best / 1e6:.2f}"
        rows.append((name, f"{count}", f"{best:.2f}", rate, short(best / count / yard) + "×",
                     f"{peak:.0f}", *goal))  # fmt: skip
        if name in RATIOS:
            ratio = best / count / yard
            ratios.append((name, short(ratio) + "×", *goal_cells(ratio, RATIOS[name], "×")))
        progress(f"{name}: {best:.2f} s, {peak:.0f} MB")
    yield Section(
        "Files: events to releases",
        f"Complete commands with their start, {rounds} times in turn, on {size:.0f} MB of CSV with "
        "10^7 events of one year, hourly steps, four declared keys and a fifth key that is "
        "dropped.  *Ratio* is the time per row, relative to the group-by, which neither checks nor "
        "clips.  The goal is for peak resident memory.",
        ("job", "rows", "seconds", "10^6 rows per second", "ratio", "peak MB", *GOAL_COLUMNS),
        rows,
    )
    yield Section(
        "Files: time against a group-by",
        "The best time per row of the section above, relative to the best of the group-by.",
        ("job", "best", *GOAL_COLUMNS),
        ratios,
    )


def command(file: str, *more: str) -> list[str]:
    """The words of the command for a file."""
    return [sys.executable, "-m", "hushfade", "run", file, *RUN, *more]


_MEASURED = """
import os, subprocess
from time import perf_counter
start = perf_counter()
process = subprocess.Popen({words!r}, cwd={where!r}, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
assert process.returncode == 0
print(perf_counter() - start, usage.ru_maxrss / 1e3)
"""


def measured(words: list[str], directory: Path) -> tuple[float, float]:
    """The seconds and the peak resident memory in MB of a process.

    A small process starts it, because the peak of a child is at least the memory of its parent.
    """
    seconds, megabytes = fresh(_MEASURED.format(words=words, where=str(directory)))
    return seconds, megabytes


def write(where: str) -> None:
    """Write the events in three formats."""
    import polars as pl

    directory = Path(where)
    random = np.random.default_rng(1)
    seconds = random.integers(0, 365 * 86400, ROWS)
    seconds.sort()
    whole = pl.DataFrame(
        {
            "at": (np.datetime64("2026-01-01", "s") + seconds).astype("datetime64[ms]"),
            "country": np.array(["at", "ch", "de", "fr", "xx"])[random.integers(0, 5, ROWS)],
            "amount": np.round(random.gamma(2.0, 1.0, ROWS), 2),
            "person": random.integers(0, PEOPLE, ROWS),
        }
    )
    whole.write_parquet(directory / "events.parquet")
    written = whole.with_columns(pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S"))
    written.write_csv(directory / "events.csv")
    written.head(FEW).write_ndjson(directory / "events.jsonl")
