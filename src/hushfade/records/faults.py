"""The faults of records, as codes that the compiled scanners and parsers report per row.

A fault concerns one row only.  Readers of complete files stop at the first fault, before any noise
is drawn.  Readers of live lines drop the rows with faults and count them.  No message contains any
part of a record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

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
NO_VALUE = 11
NOT_A_TRUTH = 12
WRONG_FIELDS = 20
STRAY_QUOTE = 21
TEXT_AFTER_QUOTE = 22
LONE_RETURN = 23
OPEN_QUOTE = 24
NOT_AN_OBJECT = 30
REPEATED_FIELD = 31
TOO_DEEP = 32

_WORDS = {
    EMPTY: "is empty, but must be a time",  # of values that are empty, see NO_VALUE
    NO_VALUE: "is empty: correct it, or leave out records without a value with skip_empty "
    "(--skip-empty)",
    NOT_A_NUMBER: "must be a number",
    NOT_FINITE: "must be a finite number",
    NOT_A_TIME: "must be a time such as 2026-01-31T12:00, or a number with a time unit",
    WITHOUT_ZONE: "must have a time zone, such as 2026-01-31T12:00Z, because the start has one",
    WITH_ZONE: "must have no time zone, because the start has none (a start in UTC is 2026-01-31Z)",
    NOBODY: "is empty, but must name the person behind the record",
    NOT_A_NAME: "must be text or a whole number",
    NOT_UTF_8: "must be UTF-8",
    FLOAT_NANOSECONDS: "must be an integer: floats are too coarse for nanoseconds since 1970",
    NOT_A_TRUTH: "must be true or false, or 1 or 0",
    WRONG_FIELDS: "must have as many fields as the header",
    STRAY_QUOTE: "has a quote in the middle of a field: quotes must surround the field",
    TEXT_AFTER_QUOTE: "has text after a closing quote",
    LONE_RETURN: "has a carriage return without a line feed",
    OPEN_QUOTE: "has a quote that is never closed",
    NOT_AN_OBJECT: "must be one JSON object",
    REPEATED_FIELD: "has the same field twice",
    TOO_DEEP: "must not be nested so deeply",
}


class Faults:
    """The first fault of each row, and its column.

    >>> faults = Faults(3, [(None, np.array([0, 0, WRONG_FIELDS], dtype=np.uint8))])
    >>> faults.add("at", np.array([0, EMPTY, EMPTY], dtype=np.uint8))
    >>> faults.codes.tolist(), faults.first("row {}".format)
    ([0, 1, 20], "row 1, column 'at': is empty, but must be a time")
    """

    def __init__(self, rows: int, found: Iterable[tuple[str | None, Codes]] = ()) -> None:
        self.codes: Codes = np.zeros(rows, dtype=np.uint8)
        self._columns: list[str | None] = []
        self._all: list[Codes] = []  # per entry of the list of columns
        self._places: Codes = np.zeros(rows, dtype=np.uint8)  # in the list of columns
        for column, codes in found:
            self.add(column, codes)

    def add(self, column: str | None, codes: Codes) -> None:
        """Add the faults of a column, or of whole rows if the column is None."""
        if not codes.any():
            return
        new = (codes != 0) & (self.codes == 0)
        self.codes[new] = codes[new]
        self._places[new] = len(self._columns)
        self._columns.append(column)
        self._all.append(codes)

    def beyond(self, columns: Collection[str]) -> NDArray[np.bool_]:
        """Which rows have a fault as a whole, or in a column that is none of these.

        >>> codes = np.array([EMPTY, 0, EMPTY], dtype=np.uint8)
        >>> faults = Faults(3, [("who", codes), ("amount", codes[::-1])])
        >>> faults.beyond(["who", "amount"]).tolist(), faults.beyond(["amount"]).tolist()
        ([False, False, False], [True, False, True])
        """
        rows = np.zeros(len(self.codes), dtype=np.bool_)
        for column, codes in zip(self._columns, self._all, strict=True):
            if column not in columns:
                rows |= codes != 0
        return rows

    def __bool__(self) -> bool:
        """Whether any row has a fault."""
        return bool(self.codes.any())

    def first(self, place: Callable[[int], str]) -> str:
        """The place and the fault of the first row with a fault."""
        row = int(np.argmax(self.codes != 0))
        column = self._columns[self._places[row]]
        where = place(row) if column is None else f"{place(row)}, column {column!r}"
        return f"{where}: {_WORDS[int(self.codes[row])]}"

    def check(self, place: Callable[[int], str]) -> None:
        """Raise Malformed if any row has a fault."""
        if self:
            raise Malformed(self.first(place))
