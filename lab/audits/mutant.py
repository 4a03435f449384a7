"""A mutant: edits of hushfade's own lines, and the plans on which the audit must detect it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Edit: TypeAlias = tuple[str, str, str]
"""A file below src/hushfade, a text in it, and the text that replaces it."""


@dataclass(frozen=True)
class Mutant:
    """The edits of a mutant, and the plans on which the audit must detect it."""

    edits: tuple[Edit, ...]
    plans: tuple[str, ...] = ("numbers",)


def one(file: str, old: str, new: str, *plans: str) -> Mutant:
    """A mutant with a single edit, on the plan for numbers by default."""
    return Mutant(((file, old, new),), plans or ("numbers",))
