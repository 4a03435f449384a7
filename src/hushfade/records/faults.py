"""What can be wrong with a record, as codes: the compiled scanners and parsers report them by row.

A fault concerns one row only.  Whoever reads a whole file stops at the first row with a fault,
before any noise is drawn.  Whoever reads lines live leaves out the rows with faults and counts
them.  No message contains anything of the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from hushfade.errors import Malformed

Codes = NDArray[np.uint8]

EMPTY = 1
NOT_A_NUMBER = 2
NOT_FINITE = 3
NOT_A_TIME = 4
WITHOUT_ZONE = 5
WITH_ZONE = 6
NOBODY = 7
NOT_A_NAME = 8
NOT_UTF_8 = 9
FLOAT_NANOSECONDS = 10
WRONG_FIELDS = 20
STRAY_QUOTE = 21
TEXT_AFTER_QUOTE = 22
LONE_RETURN = 23
OPEN_QUOTE = 24
NOT_AN_OBJECT = 30
REPEATED_FIELD = 31
TOO_DEEP = 32

_WORDS = {
    EMPTY: "is empty",
    NOT_A_NUMBER: "must be a number",
    NOT_FINITE: "must be a finite number",
    NOT_A_TIME: "must be a time such as 2026-01-31T12:00, or a number with a time unit",
    WITHOUT_ZONE: "must have a zone, as 2026-01-31T12:00Z, because the start has one",
    WITH_ZONE: "must have no zone, because the start has none; a start with a zone is 2026-01-31Z",
    NOBODY: "is empty: whose record is it?",
    NOT_A_NAME: "must be text or a whole number",
    NOT_UTF_8: "must be UTF-8",
    FLOAT_NANOSECONDS: "must be an integer: a float cannot hold nanoseconds since 1970",
    WRONG_FIELDS: "must have as many fields as the header",
    STRAY_QUOTE: "a quote in the middle of a field, where quotes must surround it",
    TEXT_AFTER_QUOTE: "text after a closing quote",
    LONE_RETURN: "a carriage return that no line feed follows",
    OPEN_QUOTE: "a quote that is never closed",
    NOT_AN_OBJECT: "must be one JSON object",
    REPEATED_FIELD: "a field is there twice",
    TOO_DEEP: "must not be nested that deep",
}


class Faults:
    """The first fault of each row, and the column it is in.

    >>> faults = Faults(3, [(None, np.array([0, 0, WRONG_FIELDS], dtype=np.uint8))])
    >>> faults.add("amount", np.array([0, EMPTY, EMPTY], dtype=np.uint8))
    >>> faults.codes.tolist(), faults.first("row {}".format)
    ([0, 1, 20], "row 1, column 'amount': is empty")
    """

    def __init__(self, rows: int, found: Iterable[tuple[str | None, Codes]] = ()) -> None:
        self.codes: Codes = np.zeros(rows, dtype=np.uint8)
        self._columns: list[str | None] = []
        self._places: Codes = np.zeros(rows, dtype=np.uint8)  # in the list of columns
        for column, codes in found:
            self.add(column, codes)

    def add(self, column: str | None, codes: Codes) -> None:
        """Add the faults of a column, or of the rows as such if the column is None."""
        if not codes.any():
            return
        new = (codes != 0) & (self.codes == 0)
        self.codes[new] = codes[new]
        self._places[new] = len(self._columns)
        self._columns.append(column)

    def __bool__(self) -> bool:
        """Has any row a fault?"""
        return bool(self.codes.any())

    def first(self, place: Callable[[int], str]) -> str:
        """The place of the first row with a fault, and what is wrong with it."""
        row = int(np.argmax(self.codes != 0))
        column = self._columns[self._places[row]]
        where = place(row) if column is None else f"{place(row)}, column {column!r}"
        return f"{where}: {_WORDS[int(self.codes[row])]}"

    def check(self, place: Callable[[int], str]) -> None:
        """Raise Malformed if any row has a fault."""
        if self:
            raise Malformed(self.first(place))
