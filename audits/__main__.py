"""Runs the audit: `python -m audits [--quick]`.

A full run writes docs/results/audit.md; a quick one draws less and is printed.  The exit code is 1
if a check failed or a bug was not caught.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from audits import attack, bugs, mu, noise, replay, report
from audits.finding import FULL, QUICK, Part, Size
from benchmarks.timing import progress

# A module joins by a function from the size of the audit to its part of the report.
PARTS: tuple[Callable[[Size], Part], ...] = (
    noise.part,
    mu.part,
    bugs.part,
    attack.part,
    replay.part,
)


def main() -> int:
    """All parts in order, as one page; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m audits")
    parser.add_argument("--quick", action="store_true", help="fewer draws, printed")
    chosen = parser.parse_args()
    parts = [part(QUICK if chosen.quick else FULL) for part in PARTS]
    text = report.page(parts)
    if chosen.quick:
        print(text)
    else:
        report.write(text)
        progress(f"written: docs/results/{report.PAGE.name}")
    progress(report.summary(parts))
    return 0 if all(finding.passed for part in parts for finding in part.findings) else 1


sys.exit(main())
