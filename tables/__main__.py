"""Writes the computed pages of the documentation: `python -m tables [NAME]`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from tables import commands, halves, norms, pictures, which

PAGES: dict[str, Callable[[], None]] = {
    "commands": commands.main,
    "halves": halves.main,
    "norms": norms.main,
    "pictures": pictures.main,
    "which": which.main,
}


def main() -> None:
    """The chosen page, or all."""
    parser = argparse.ArgumentParser(prog="python -m tables")
    parser.add_argument("name", nargs="?", choices=sorted(PAGES), help="one page")
    chosen = parser.parse_args().name
    for name in [chosen] if chosen else PAGES:
        PAGES[name]()


main()
