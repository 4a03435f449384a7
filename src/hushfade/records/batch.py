"""Some rows of a file or table: a column for each role, and the place of each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

from hushfade.errors import InvalidType, InvalidValue
from hushfade.records.arrow import Values
from hushfade.records.faults import Codes


@dataclass(frozen=True)
class Columns:
    """The name of the column for each role, or None."""

    value: str | None = None
    time: str | None = None
    key: str | None = None
    user: str | None = None
    denominator: str | None = None  # of a ratio; `value` is its numerator
    second_key: str | None = None  # further parts of a key, see `parse_columns.joined_keys`
    third_key: str | None = None

    def roles(self) -> dict[str, str]:
        """The column of each role that has one."""
        named = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {role: name for role, name in named if name is not None}

    def key_columns(self) -> dict[str, str]:
        """The columns that make up a key, by role."""
        keys = ("key", "second_key", "third_key")
        return {role: name for role, name in self.roles().items() if role in keys}

    def check_names(self) -> None:
        """Raise if a column name is not a string."""
        for role, name in self.roles().items():
            if not isinstance(name, str):
                raise InvalidType(
                    "must be the name of a column", argument=role, got=type(name).__name__
                )


def key_roles(key: str | Sequence[str] | None) -> dict[str, str]:
    """The roles of the columns that make up a key: one column, or up to three.

    >>> key_roles(["district", "result"])
    {'key': 'district', 'second_key': 'result'}
    """
    if key is None:
        return {}
    names = (key,) if isinstance(key, str) or not isinstance(key, Sequence) else tuple(key)
    roles = ("key", "second_key", "third_key")
    if not 1 <= len(names) <= len(roles):
        raise InvalidValue("must be one to three columns", argument="key", got=len(names))
    if len(set(names)) != len(names):
        raise InvalidValue("must name different columns", argument="key")
    return dict(zip(roles, names, strict=False))


@dataclass(frozen=True, repr=False)
class Batch:
    """Some rows: a column for each role, the place of a row in words, and the faults of rows.

    Columns from text formats are text.  `faults` has a code per row, for the row as a whole (None)
    or for a column.  `source` is the number of the file that has the rows.
    """

    columns: dict[str, Values]
    rows: int
    place: Callable[[int], str]
    faults: tuple[tuple[str | None, Codes], ...] = ()
    source: int = 0
