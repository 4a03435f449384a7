"""Runs the audit: `python -m audits [--quick]`.

A full run writes docs/results/audit.md; a quick one draws less and is printed.  The exit code is 1
if a check failed or a bug was not caught.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec

from audits import bugs, own, report, seeds
from audits.finding import FULL, QUICK, Part, Size
from benchmarks.timing import progress

# A module joins by a function from the size of the audit to its part of the report.
OTHERS = ("audits.peers", "audits.parsers")


def made(size: Size, left_out: Sequence[str] = ()) -> Iterator[Part]:
    """All parts in order."""
    yield from own.parts(size)
    yield bugs.part(size)
    yield seeds.part(size)
    for name in OTHERS:
        if name.split(".")[1] not in left_out and find_spec(name) is not None:
            part: Callable[[Size], Part] = import_module(name).part
            yield part(size)


def main() -> int:
    """All parts as one page; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m audits")
    parser.add_argument("--quick", action="store_true", help="fewer draws, printed")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        choices=[name.split(".")[1] for name in OTHERS],
        help="leave out this part, which takes long or needs what is not installed",
    )
    chosen = parser.parse_args()
    parts = list(made(QUICK if chosen.quick else FULL, chosen.without))
    text = report.page(parts)
    if chosen.quick:
        print(text)
    else:
        report.write(text)
        progress(f"written: docs/results/{report.PAGE.name}")
    progress(report.summary(parts))
    return (
        0 if all(finding.passed is not False for part in parts for finding in part.findings) else 1
    )


if __name__ == "__main__":  # a worker of `seeds` imports this module again
    sys.exit(main())
