"""Runs the audit: `python -m audits [--quick] [--only PAGE]`.

A full run writes three pages under docs/results: the audit itself with its seeded bugs, the other
libraries' auditors, and the fuzzers.  A quick one draws less and is printed.  The exit code is 1 if
a check failed or a bug was not caught.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from audits import bugs, mutants, own, parsers, peers, report, seeds
from audits.finding import FULL, QUICK, Part, Size
from benchmarks.timing import progress


def ours(size: Size) -> Iterator[Part]:
    """The audit, the bugs that it must notice, and the seeds with which it must not.

    The audit itself keeps one core busy, so it runs beside the others.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as beside:
        audited = beside.submit(own.parts, size)
        others = [bugs.part(size), mutants.part(size), seeds.part(size)]
        yield from audited.result()
    yield from others


def others(size: Size) -> Iterator[Part]:
    """Other libraries on the same releases."""
    yield peers.part(size)


def fuzzed(size: Size) -> Iterator[Part]:
    """Every parser and loader."""
    yield parsers.part(size)


# By the name of the page under docs/results: its title, and what makes its parts.
PAGES: dict[str, tuple[str, Callable[[Size], Iterator[Part]]]] = {
    "audit": ("Audit", ours),
    "auditors": ("Audit: other auditors", others),
    "fuzzing": ("Audit: fuzzing", fuzzed),
}


def main() -> int:
    """The pages; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m audits")
    parser.add_argument("--quick", action="store_true", help="fewer draws, printed")
    parser.add_argument("--only", choices=PAGES, help="one page")
    chosen = parser.parse_args()
    failed = False
    for name in [chosen.only] if chosen.only else PAGES:
        title, made = PAGES[name]
        parts = list(made(QUICK if chosen.quick else FULL))
        text = report.page(parts, title=title)
        if chosen.quick:
            print(text)
        else:
            report.write(text, name)
            progress(f"written: docs/results/{name}.md")
        progress(report.summary(parts))
        failed |= any(finding.passed is False for part in parts for finding in part.findings)
    return int(failed)


if __name__ == "__main__":  # a worker of `seeds` imports this module again
    sys.exit(main())
