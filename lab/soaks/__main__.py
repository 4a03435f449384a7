"""Runs the soaks: `python -m lab.soaks [--quick] [--only charges|persons]`.

A full run writes docs/results/soak.md.  A quick run does less and prints the page.  With --only
charges the concurrent charges alone run, and write docs/results/charges.md.  With --only persons
the kills with limits per person run, and write docs/results/persons.md.  The exit code is 1 if a
store lost anything or a soak missed a control.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from lab import postgres_server
from lab.findings import Part
from lab.findings_page import page, write
from lab.progress import progress
from lab.soaks import person_report, report_parts


@dataclass(frozen=True)
class Size:
    """The sizes of the soaks."""

    kills: int  # of the store, for each kind of noise
    service_kills: int
    postgres_kills: int
    stride: int  # between the offsets of a log
    rounds: int  # of processes that open one store
    person_kills: int  # of the service with limits per person
    charges: int  # of streams, asked for at the same time
    requests: int


FULL = Size(
    600, 400, 100, stride=1, rounds=150, person_kills=1000, charges=10_000, requests=200_000
)
QUICK = Size(40, 24, 12, stride=997, rounds=10, person_kills=30, charges=300, requests=2_000)


def main() -> int:
    """Write or print all parts as one page; return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m lab.soaks")
    parser.add_argument("--quick", action="store_true", help="less of everything, printed")
    parser.add_argument(
        "--only", choices=["charges", "persons"], help="one part, on a page of its own"
    )
    asked = parser.parse_args()
    quick, size = asked.quick, QUICK if asked.quick else FULL
    if asked.only == "persons":
        return _written(
            [person_report.killed(size.person_kills)],
            *("Persons", "python -m lab.soaks --only persons", "persons"),
            quick=quick,
        )
    if asked.only == "charges":
        return _written(
            [report_parts.charged(size.charges)],
            *("Concurrent charges", "python -m lab.soaks --only charges", "charges"),
            quick=quick,
        )
    jobs: list[Callable[[], Part]] = [
        lambda: report_parts.killed(size.kills),
        lambda: report_parts.served_and_killed(size.service_kills),
    ]
    if postgres_server.programs() is None:
        progress("PostgreSQL is left out: its programs are missing, run lab/scripts/make-postgres")
    else:
        jobs.append(lambda: report_parts.on_postgres(size.postgres_kills))
    jobs += [
        report_parts.failing,
        lambda: report_parts.damaged(size.stride),
        lambda: report_parts.contested(size.rounds),
        lambda: report_parts.charged(size.charges),
        lambda: report_parts.requested(size.requests),
    ]
    made = []
    for job in jobs:
        began = monotonic()
        made.append(job())
        progress(f"{made[-1].title}: {monotonic() - began:.0f} s")
    return _written(made, "Soak", "make soak", "soak", quick=quick)


def _written(made: list[Part], title: str, command: str, name: str, *, quick: bool) -> int:
    """Print or write the page; 1 if anything failed."""
    text = page(made, title=title, command=command)
    if quick:
        print(text)
    else:
        write(text, name)
        progress(f"written: docs/results/{name}.md")
    return 0 if all(finding.passed for part in made for finding in part.findings) else 1


sys.exit(main())
