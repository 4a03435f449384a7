"""Runs the audit: `python -m lab.audits [--quick] [--only PAGE]`.

A full run writes three pages under docs/results: the audit with its seeded bugs, the auditors of
other libraries, and the fuzzers.  A quick run draws less and prints the pages.  The exit code is 1
if a check failed or the audit missed a bug.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

from lab import findings_page
from lab.audits import fuzzing, other_auditors, ours
from lab.audits.effort import FULL, QUICK, Size
from lab.findings import Part
from lab.progress import progress


def others(size: Size) -> Iterator[Part]:
    """The auditors of other libraries on the same releases."""
    yield other_auditors.part(size)


def fuzzed(size: Size) -> Iterator[Part]:
    """Fuzzing of every parser and loader."""
    yield fuzzing.part(size)


# The title and the parts of each page under docs/results.
PAGES: dict[str, tuple[str, Callable[[Size], Iterator[Part]]]] = {
    "audit": ("Audit", ours.parts),
    "auditors": ("Audit: other auditors", others),
    "fuzzing": ("Audit: fuzzing", fuzzed),
}


def main() -> int:
    """Write or print the pages; return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m lab.audits")
    parser.add_argument("--quick", action="store_true", help="fewer draws, printed")
    parser.add_argument("--only", choices=PAGES, help="one page")
    chosen = parser.parse_args()
    failed = False
    for name in [chosen.only] if chosen.only else PAGES:
        title, made = PAGES[name]
        parts = list(made(QUICK if chosen.quick else FULL))
        text = findings_page.page(parts, title=title)
        if chosen.quick:
            print(text)
        else:
            findings_page.write(text, name)
            progress(f"written: docs/results/{name}.md")
        progress(findings_page.summary(parts))
        failed |= any(finding.passed is False for part in parts for finding in part.findings)
    return int(failed)


if __name__ == "__main__":  # a worker imports this module again
    sys.exit(main())
