"""CSV as batches of text columns, block by block, with the line of every record.

A record with too few or too many fields is malformed.  Empty lines are not records, except in a
file of one column, where they are empty values.  Messages name the line, never the content.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

from hushfade.check import Signed
from hushfade.errors import Malformed
from hushfade.records import csv_scan, texts
from hushfade.records.batch import Batch, Columns
from hushfade.records.line_blocks import Block

_OTHERS = ",;\t|"  # common delimiters, tried only for error messages


class CsvLines:
    """Reads blocks of one CSV file: the header first, then records.

    `live`: every line is a whole record, so that no record waits for another.
    """

    def __init__(
        self, name: str, columns: Columns, delimiter: str = ",", *, live: bool = False
    ) -> None:
        self._name, self._columns = name, columns
        self._delimiter, self._live = delimiter, live
        self._header: list[str] = []

    @property
    def width(self) -> int:
        """The number of columns, or 0 before the header is read."""
        return len(self._header)

    def batch(self, block: Block) -> Batch | None:
        """The records of the block, or None if it has no records."""
        if not self._header:
            block = self._headed(block)
        roles = self._columns.roles()
        wanted = sorted({self._header.index(column) for column in roles.values()})
        found = csv_scan.scan(block.data, self._delimiter, wanted, self.width, live=self._live)
        if not len(found.codes):
            return None
        pairs = zip(found.texts, found.offsets, strict=True)
        made = dict(zip(wanted, (texts.column_of(*pair) for pair in pairs), strict=True))
        columns = {role: made[self._header.index(column)] for role, column in roles.items()}
        place = place_of_line(self._name, block.line, found.lines)
        return Batch(columns, len(found.codes), place, ((None, found.codes),))

    def check_end(self) -> None:
        """Raise if the file had no header."""
        if not self._header:
            raise Malformed(
                f"{self._name}: the file is empty, but must start with a header of column names"
            )

    def _headed(self, block: Block) -> Block:
        """The block after its header."""
        data = block.data
        end = csv_scan.record_end(data, self._delimiter, first=True)
        end = (data.find(b"\n") + 1 if self._live else end) or len(data)
        try:
            text = data[:end].decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError:
            text = None  # raise below: an error raised here would carry the text
        if text is None:
            raise Malformed(f"{self._name}, line {block.line}: the header must be UTF-8")
        header = _fields(text, self._delimiter)
        if header is None:
            raise Malformed(f"{self._name}, line {block.line}: the header cannot be read as CSV")
        for role, column in self._columns.roles().items():
            if header.count(column) != 1:
                raise Malformed(self._missing(text, header, role, column, block.line))
        if not header:
            raise Malformed(f"{self._name}, line {block.line}: the header must have columns")
        self._header = header
        return Block(data[end:], block.line + data.count(b"\n", 0, end))

    def _missing(self, text: str, header: list[str], role: str, column: str, line: int) -> str:
        """The message about a column that is missing or occurs several times."""
        where, times = f"{self._name}, line {line}", header.count(column)
        if times > 1:
            return f"{where}: {times} columns {column!r} for the {role}: rename all but one"
        missing = f"{where}: no column {column!r} for the {role}"
        declared = set(self._columns.roles().values())
        if _surely_names(header, declared):
            return f"{missing}; the columns are {shown(header)}"
        for other in _OTHERS:
            split = _fields(text, other) or []
            if other != self._delimiter and _surely_names(split, declared):
                return (
                    f"{missing}, if {self._delimiter!r} separates the columns; {other!r} gives the "
                    f"columns {shown(split)}: set the delimiter to {other!r} (--delimiter)"
                )
        return (
            f"{missing} among its {len(header)} columns, separated by {self._delimiter!r}. "
            "Check the name, and that the first line contains the names of the columns"
        )


def place_of_line(name: str, line: int, lines: Signed) -> Callable[[int], str]:
    """The place of each row in words; `lines` counts from 0, the block's first line is `line`."""
    return lambda row: f"{name}, line {line + int(lines[row])}"


def _fields(text: str, delimiter: str) -> list[str] | None:
    """The fields of the record, or None if the text is not exactly one CSV record."""
    try:
        rows = [*csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)]
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else None


def _surely_names(fields: list[str], declared: set[str]) -> bool:
    """Whether these are names of columns.  If they may be a record, a message must not show them.

    A file without a header begins with a record.  A record has a number or a time, and a header
    includes a declared column.
    """
    return bool(declared & set(fields)) and not any(
        not field.strip() or any(letter.isdecimal() for letter in field.lstrip("+-. ")[:1])
        for field in fields
    )


def shown(names: list[str]) -> str:
    """The first twenty column names, for a message."""
    shown = ", ".join(repr(name) for name in names[:20])
    return shown if len(names) <= 20 else f"{shown} and {len(names) - 20} more"
