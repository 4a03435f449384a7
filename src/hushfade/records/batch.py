"""Some rows of a file or table: a column for each role, and where each row comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from hushfade.records.arrow import Values


@dataclass(frozen=True)
class Columns:
    """Which column says what; None where nothing does."""

    value: str | None = None
    time: str | None = None
    key: str | None = None
    user: str | None = None

    def roles(self) -> dict[str, str]:
        """The column of each role that has one."""
        named = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {role: name for role, name in named if name is not None}


@dataclass(frozen=True, repr=False)
class Batch:
    """Some rows: a column for each role, and the place of a row in words."""

    columns: dict[str, Values]
    rows: int
    place: Callable[[int], str]
