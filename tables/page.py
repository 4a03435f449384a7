"""A page of the documentation that a script writes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table.

    >>> print(table(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    head, *body = ["| " + " | ".join(line) + " |" for line in [columns, *rows]]
    return "\n".join([head, "|" + "---|" * len(columns), *body])


def write(name: str, text: str) -> None:
    """docs/`name`, anew."""
    path = DOCS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.rstrip() + "\n", encoding="utf-8")
    progress(f"written: docs/{name}")


def progress(text: str) -> None:
    """A line on standard error, at once."""
    print(text, file=sys.stderr, flush=True)
