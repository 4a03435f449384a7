"""Columns of Python objects: each object becomes text, independently of the others.

A library that converts an object column as a whole chooses one type for all rows.  Then one float
among integers turns all of them into floats, and one record changes the others.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal

import numpy as np

from hushfade.errors import InvalidValue
from hushfade.records.arrow import Values
from hushfade.records.faults import (
    FLOAT_NANOSECONDS,
    NOT_A_NAME,
    NOT_A_NUMBER,
    NOT_A_TIME,
    Codes,
)
from hushfade.records.kinds import FLOAT, INTEGER, NULL, NUMBER, OTHER, TEXT, TIME, table
from hushfade.records.texts import column_of, read_only

_FAULTS = {
    "value": table(NOT_A_NUMBER, TIME, OTHER),
    "denominator": table(NOT_A_NUMBER, TIME, OTHER),
    "time": table(NOT_A_TIME, INTEGER, NUMBER, FLOAT, OTHER),
    "key": table(NOT_A_NAME, NUMBER, FLOAT, TIME, OTHER),
    "user": table(NOT_A_NAME, NUMBER, FLOAT, TIME, OTHER),
}
_NUMBERS = table(NOT_A_NUMBER, TIME, OTHER)  # times in numbers
_NANOSECONDS = _NUMBERS | table(FLOAT_NANOSECONDS, FLOAT)


def text_column(objects: Iterable[object], role: str, unit: str | None) -> tuple[Values, Codes]:
    """The text of each object, and a code for each object that the role does not allow.

    `unit` is the unit of numeric times.  None, NaN and NaT are nulls.

    >>> column, codes = text_column([1767229199999999999, 0.5, "1e3", True], "value", None)
    >>> column.to_pylist(), codes.tolist()
    (['1767229199999999999', '0.5', '1e3', ''], [0, 0, 0, 2])
    """
    kinds, texts = [], []
    for one in objects:
        kind, text = _read(one)
        kinds.append(kind)
        texts.append(text)
    found: Codes = np.array(kinds, dtype=np.uint8)
    offsets = np.cumsum([0, *map(len, texts)])
    if not offsets[-1] < 2**31:
        raise InvalidValue("texts of a column must be shorter than 2^31 bytes together")
    faults = _FAULTS[role]
    if role == "time" and unit is not None:
        faults = _NANOSECONDS if unit == "ns" else _NUMBERS
    column = column_of(read_only(b"".join(texts)), offsets.astype(np.int32), found != NULL)
    return column, faults[found]


def _read(one: object) -> tuple[int, bytes]:
    """The kind and the text of an object.  Methods of unknown objects are never called."""
    kind, text = OTHER, ""
    if isinstance(one, str):
        kind, text = TEXT, one
    elif isinstance(one, bool | np.bool_):
        pass
    elif isinstance(one, int | np.integer):
        with suppress(ValueError):  # of thousands of digits
            kind, text = INTEGER, str(int(one))
    elif isinstance(one, float | np.floating):
        kind, text = (NULL, "") if np.isnan(one) else (FLOAT, repr(float(one)))
    elif isinstance(one, Decimal):
        kind, text = NUMBER, str(one)
    elif isinstance(one, datetime.date | np.datetime64):
        kind, text = _time(one)
    elif one is None or type(one).__name__ == "NAType":  # pandas' own null
        kind = NULL
    with suppress(UnicodeEncodeError):  # it would carry the text
        return kind, text.encode()
    return OTHER, b""


def _time(one: datetime.date | np.datetime64) -> tuple[int, str]:
    """The text of a date, a datetime or a pandas timestamp, in UTC if it has a time zone."""
    if isinstance(one, np.datetime64):
        return (NULL, "") if np.isnat(one) else (TIME, str(one))
    if isinstance(one, datetime.datetime) and one.tzinfo is not None:
        with suppress(OverflowError):  # at the ends of the calendar
            one = one.astimezone(datetime.UTC)
    text = one.isoformat()
    return (NULL, "") if text == "NaT" else (TIME, text)
