"""Runs the cases: `python -m dev.soaks.neighbours [--short] [--path NAME ...] [--seed N]`.

The long form tests more than 20,000 cases in about half an hour, and writes docs/results/inputs.md.
The short form takes less than two minutes and prints the page; `make test` runs it.  With --path or
--seed either form prints the page.  A violation names its path and its seed: both repeat it, as in
`--short --path CSV --seed 17`.  The exit code is 1 if a case broke the property or if no case
detected a seeded bug.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dev.findings_page import page, write
from dev.progress import progress
from dev.soaks.neighbours.report_parts import LONG, NAMES, SHORT, bugs_part, paths_part
from hushfade.errors import Failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or print both parts as one page; return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m dev.soaks.neighbours")
    parser.add_argument("--short", action="store_true", help="fewer cases, printed")
    parser.add_argument(
        "--path", action="append", choices=NAMES, metavar="NAME", help=", ".join(NAMES)
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first case of each path")
    chosen = parser.parse_args(arguments)
    size, names = SHORT if chosen.short else LONG, chosen.path or NAMES
    with tempfile.TemporaryDirectory() as made:
        try:
            parts = [paths_part(size, Path(made), names, chosen.seed)]
            parts.append(bugs_part(size, Path(made), names))
        except Failed as error:  # Spark needs Java
            progress(str(error))
            return 1
    text = page(parts, title="Neighbouring inputs", command="make soak")
    if chosen.short or chosen.path or chosen.seed:
        print(text)
    else:
        write(text, "inputs")
        progress("written: docs/results/inputs.md")
    return 0 if all(finding.passed for part in parts for finding in part.findings) else 1


if __name__ == "__main__":
    sys.exit(main())
