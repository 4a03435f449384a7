"""Runs the cases: `python -m dev.soaks.neighbours [--quick]`.

A full run writes docs/results/inputs.md.  A quick run does less and prints the page.  The exit code
is 1 if a case broke the property or a seeded bug was not caught.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from dev.findings_page import page, write
from dev.progress import progress
from dev.soaks.neighbours.report_parts import FULL, QUICK, bugs_part, paths_part
from hushfade.errors import Failed


def main() -> int:
    """Write or print both parts as one page; return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m dev.soaks.neighbours")
    parser.add_argument("--quick", action="store_true", help="fewer cases, printed")
    quick = parser.parse_args().quick
    size = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as made:
        try:
            parts = [paths_part(size, Path(made)), bugs_part(size, Path(made))]
        except Failed as error:  # Spark needs Java
            progress(str(error))
            return 1
    text = page(parts, title="Neighbouring inputs", command="make soak")
    if quick:
        print(text)
    else:
        write(text, "inputs")
        progress("written: docs/results/inputs.md")
    return 0 if all(finding.passed for part in parts for finding in part.findings) else 1


if __name__ == "__main__":
    sys.exit(main())
