"""Runs the soaks of load and failures: `python -m lab.soaks.load [--quick] [--only NAME ...]`.

A full run writes docs/results/load.md.  With --only, it replaces these parts of the page.  A quick
run does less and prints the page.  The exit code is 1 if a check failed or a control was not
caught.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable
from time import monotonic

from lab.findings import Part
from lab.findings_page import page, write
from lab.paths import RESULTS
from lab.progress import progress
from lab.soaks import report_parts
from lab.soaks.load.clock_jumps import clock_jumps
from lab.soaks.load.failing_database import failing_database
from lab.soaks.load.group_kills import group_kills
from lab.soaks.load.idle_connections import idle_connections
from lab.soaks.load.listeners import listeners
from lab.soaks.load.many_streams import many_streams
from lab.soaks.load.readers import readers
from lab.soaks.load.wide_streams import wide_streams

FULL: dict[str, Callable[[], Part]] = {
    "readers": lambda: readers(64, 10.0, 1000),
    "listeners": lambda: listeners(200, 7, 100_000),
    "streams": lambda: many_streams(2000, 20.0),
    "clock": lambda: clock_jumps(10.0),
    "database": lambda: failing_database(3),
    "wide": lambda: wide_streams(100_000, 16),
    "connections": lambda: idle_connections(10_000),
    "kills": lambda: group_kills(120),
    "service kills": lambda: report_parts.served_and_killed(80),
    "disks": report_parts.failing,
}
QUICK: dict[str, Callable[[], Part]] = {
    "readers": lambda: readers(32, 2.0, 100),
    "listeners": lambda: listeners(20, 2, 20_000),
    "streams": lambda: many_streams(200, 6.0),
    "clock": lambda: clock_jumps(3.0),
    "database": lambda: failing_database(2),
    "wide": lambda: wide_streams(20_000, 4),
    "connections": lambda: idle_connections(2600),
    "kills": lambda: group_kills(24),
    "service kills": lambda: report_parts.served_and_killed(16),
    "disks": report_parts.failing,
}


def main() -> int:
    """Write or print all parts as one page; return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m lab.soaks.load")
    parser.add_argument("--quick", action="store_true", help="less of everything, printed")
    parser.add_argument("--only", choices=list(FULL), nargs="+", help="only these parts")
    asked = parser.parse_args()
    jobs = QUICK if asked.quick else FULL
    made: list[Part] = []
    for name in asked.only or jobs:
        began = monotonic()
        made.append(jobs[name]())
        progress(f"{made[-1].title}: {monotonic() - began:.0f} s")
        text = page(made, title="Load and failures", command="python -m lab.soaks.load")
        if asked.only and not asked.quick:
            text = with_parts((RESULTS / "load.md").read_text(encoding="utf-8"), text)
        if not asked.quick:
            write(text, "load")
    if asked.quick:
        print(text)
    return 0 if all(x.passed is not False for part in made for x in part.findings) else 1


_LATER = "Some parts were measured again in later runs, without the others."


def with_parts(old: str, new: str) -> str:
    """The old page with the parts of the new one, and with the counts of both together."""
    head, *listed = old.split("\n## ")
    _, *measured = new.split("\n## ")
    if _LATER not in head:
        head = head.replace("\n\n**", f"\n{_LATER}\n\n**", 1)
    parts = {part.split("\n", 1)[0]: part.strip() for part in (*listed, *measured)}
    text = "\n\n## ".join([head.strip(), *parts.values()]) + "\n"
    verdicts = Counter(line.split("|")[-2].strip() for line in text.split("\n") if line[:1] == "|")
    passed, caught = verdicts["passed"], verdicts["caught"]
    summary = (
        f"**{passed} of {passed + verdicts['FAILED']} checks passed, "
        f"bugs caught {caught} of {caught + verdicts['NOT CAUGHT']}**"
    )
    return re.sub(r"\*\*\d+ of .*\*\*", summary, text, count=1)


sys.exit(main())
