"""Runs the soak: `python -m soaks [--quick]`.

A full run writes docs/results/soak.md; a quick one does less and is printed.  The exit code is 1
if anything was lost, or a control was not caught.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from audits.finding import Part
from audits.report import page
from benchmarks.timing import progress
from soaks import parts, servers

PAGE = Path(__file__).parents[1] / "docs" / "results" / "soak.md"


@dataclass(frozen=True)
class Size:
    """How much is done of everything."""

    kills: int  # of the store, with each kind of noise
    service_kills: int
    postgres_kills: int
    stride: int  # of the offsets of a log
    rounds: int  # of processes that open one store
    requests: int


FULL = Size(600, 400, 100, stride=1, rounds=150, requests=200_000)
QUICK = Size(40, 24, 12, stride=997, rounds=10, requests=2_000)


def main() -> int:
    """All parts in order, as one page; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m soaks")
    parser.add_argument("--quick", action="store_true", help="less of everything, printed")
    quick = parser.parse_args().quick
    size = QUICK if quick else FULL
    jobs: list[Callable[[], Part]] = [
        lambda: parts.killed(size.kills),
        lambda: parts.served_and_killed(size.service_kills),
        lambda: parts.on_postgres(size.postgres_kills),
        parts.failing,
        lambda: parts.damaged(size.stride),
        lambda: parts.contested(size.rounds),
        lambda: parts.requested(size.requests),
    ]
    if servers.programs() is None:
        progress("left out: PostgreSQL's programs are not installed, see scripts/make-postgres")
        del jobs[2]
    made = []
    for job in jobs:
        began = monotonic()
        made.append(job())
        progress(f"{made[-1].title}: {monotonic() - began:.0f} s")
    text = page(made, title="Soak", command="make soak")
    if quick:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
        progress(f"written: docs/results/{PAGE.name}")
    return 0 if all(finding.passed for part in made for finding in part.findings) else 1


sys.exit(main())
