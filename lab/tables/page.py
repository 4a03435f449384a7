"""Pages of the documentation that scripts write."""

from __future__ import annotations

from collections.abc import Sequence

from lab.paths import DOCS
from lab.progress import progress


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
    """Write the page docs/`name`."""
    path = DOCS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.rstrip() + "\n", encoding="utf-8")
    progress(f"written: docs/{name}")
