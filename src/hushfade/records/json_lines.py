"""JSON lines as batches of text columns: one object per line, with its line number.

The type of a field depends only on its role: a value is a number, a time is text or a number, a key
or a person is text or an integer (as the text of its digits).  A missing field is like null.  A
wanted field must not occur twice.
"""

from __future__ import annotations

from hushfade.errors import Malformed
from hushfade.records import json_scan, texts
from hushfade.records.arrow import Values
from hushfade.records.batch import Batch, Columns
from hushfade.records.csv_lines import place_of_line
from hushfade.records.faults import NOT_A_NAME, NOT_A_NUMBER, NOT_A_TIME, Codes
from hushfade.records.kinds import MISSING, NULL, NUMBER, OTHER, TEXT, table
from hushfade.records.line_blocks import Block

_MARK = b"\xef\xbb\xbf"  # the byte order mark


_FAULTS = {
    "value": table(NOT_A_NUMBER, TEXT, OTHER),
    "time": table(NOT_A_TIME, OTHER),
    "key": table(NOT_A_NAME, NUMBER, OTHER),
    "user": table(NOT_A_NAME, NUMBER, OTHER),
}


class JsonLines:
    """Reads blocks of one file of JSON lines.  Empty lines are skipped.

    A byte order mark at the start belongs to the file.  `live`: there is no file, so a byte order
    mark would be part of the first record, which gets no special treatment.
    """

    def __init__(self, name: str, columns: Columns, *, live: bool = False) -> None:
        self._name, self._columns, self._mark = name, columns, b"" if live else _MARK
        self._fields = sorted(set(columns.roles().values()))
        self._unseen = set(self._fields)
        self._begun = False

    def batch(self, block: Block) -> Batch | None:
        """The records of the block, or None if it has no records."""
        data = block.data if self._begun else block.data.removeprefix(self._mark)
        self._begun = True
        found = json_scan.scan(data, self._fields)
        if not len(found.codes):
            return None
        columns: dict[str, Values] = {}
        faults: list[tuple[str | None, Codes]] = [(None, found.codes)]
        for role, column in self._columns.roles().items():
            slot = self._fields.index(column)
            kinds = found.kinds[slot]
            present = kinds > NULL
            columns[role] = texts.column_of(found.texts[slot], found.offsets[slot], present)
            faults.append((column, _FAULTS[role][kinds]))
            if column in self._unseen and (kinds != MISSING).any():
                self._unseen.remove(column)
        place = place_of_line(self._name, block.line, found.lines)
        return Batch(columns, len(found.codes), place, tuple(faults))

    def check_end(self) -> None:
        """Raise if no record has one of the fields: its name is probably wrong."""
        for field in sorted(self._unseen) if self._begun else ():
            raise Malformed(f"{self._name}: no record has a field {field!r}")
