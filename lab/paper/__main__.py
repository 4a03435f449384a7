"""Recompute the paper: `python -m lab.paper [--quick] [--output DIRECTORY]`.

It writes report.md, report.html (one file that includes the figures), the figures as SVG and PNG,
and all numbers as CSV, and prints the statements that are false as printed.  A full run takes about
ten minutes, a quick run about one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from lab.paper import pages
from lab.paper.contents import CHAPTERS
from lab.paper.document import FULL, QUICK
from lab.paper.write_report import report
from lab.progress import progress


def main() -> None:
    """Write the report, and print the summary and the false statements."""
    parser = argparse.ArgumentParser(prog="python -m lab.paper")
    parser.add_argument("--quick", action="store_true", help="fewer steps and releases")
    parser.add_argument("--output", type=Path, default=Path("paper-output"), metavar="DIRECTORY")
    chosen = parser.parse_args()

    def watch(chapters: int, doing: str) -> None:
        progress(f"{chapters} of {len(CHAPTERS)} chapters; {doing}")

    found = report(chosen.output, QUICK if chosen.quick else FULL, CHAPTERS, watch=watch)
    claims = pages.claims(found)
    print(pages.summary(claims))
    for claim in claims:
        if claim.verdict == "false":
            print(f"- {claim.where}: {claim.says}; computed: {claim.found}; {claim.instead}")
    print(f"Written: {chosen.output / 'report.html'}, report.md, figures and data.")


if __name__ == "__main__":
    main()
