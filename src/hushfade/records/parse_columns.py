"""The columns of a batch as arrays: numbers, keys, persons, and a code for each row with a fault.

How a row is parsed depends on the type of its column and on declared options, never on other rows.
The parser repairs nothing: '1_000', ' 1', 'nan' and full-width digits are not numbers.  No message
contains any part of a record.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Column, Signed
from hushfade.errors import Malformed
from hushfade.records import decimal_texts
from hushfade.records.arrow import Values, compute, pa
from hushfade.records.batch import Batch
from hushfade.records.blank_names import blank
from hushfade.records.faults import (
    EMPTY,
    NOBODY,
    NOT_A_NUMBER,
    NOT_A_TRUTH,
    NOT_FINITE,
    Codes,
)
from hushfade.records.people import Names
from hushfade.records.texts import check_utf_8, of_list, parts, whole

Mask = NDArray[np.bool_]


def numbers(batch: Batch, name: str, role: str = "value") -> tuple[Column, Codes]:
    """The nearest float64 of each value, and a code for each row without a finite number."""
    column = plain(batch.columns[role])
    codes: Codes = np.zeros(len(column), dtype=np.uint8)
    if pa.types.is_string(column.type):
        decimal_texts.check(*parts(column), codes)
    elif not numeric(column.type):
        raise Malformed(f"{batch.place(0)}: column {name!r} must be numbers")
    codes[nulls(column)] = EMPTY
    if pa.types.is_string(column.type) and codes.any():
        column = compute.if_else(pa.array(codes == 0), column, None)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string())  # Arrow's own conversion is not always the nearest
    values = filled(column.cast(pa.float64(), safe=False), 0)
    codes[~np.isfinite(values)] = NOT_FINITE
    return values, codes


def truths(batch: Batch, name: str) -> tuple[Column, Codes]:
    """1 for each true value and 0 for each false one, and a code for each row without either.

    A truth is a boolean, a number that is 0 or 1, or in text also true or false.
    """
    column = plain(batch.columns["value"])
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    elif pa.types.is_string(column.type):
        for word, digit in (("true", "1"), ("false", "0")):
            same = compute.equal(column, word)
            column = compute.if_else(compute.fill_null(same, False), digit, column)
    values, codes = numbers(replace(batch, columns={**batch.columns, "value": column}), name)
    codes[(codes == 0) & (values != 0.0) & (values != 1.0)] = NOT_A_TRUTH
    codes[codes == NOT_A_NUMBER] = NOT_A_TRUTH
    return values, codes


def keys(
    batch: Batch, name: str, declared: tuple[str, ...], *, role: str = "key"
) -> tuple[Signed, Codes]:
    """The index of each row's key among the declared keys, -1 for other or missing keys."""
    column = _text(batch, role, name)
    places = compute.index_in(column, value_set=of_list(declared))
    return filled(places, -1).astype(np.int64), check_utf_8(column)


BETWEEN_KEYS = "/"


def joined_keys(
    batch: Batch, columns: dict[str, str], declared: tuple[str, ...]
) -> tuple[Signed, dict[str, Codes]]:
    """The place of each row's key, whose parts are in several columns, and codes by column.

    The parts are joined by slashes.  A declared key has one slash fewer than columns, so no part
    of it has a slash, and no two different rows of parts have the same declared key.
    """
    texts = {name: _text(batch, role, name) for role, name in columns.items()}
    codes = {name: check_utf_8(text) for name, text in texts.items()}
    parts = [
        compute.if_else(pa.array(codes[name] == 0), text, None) for name, text in texts.items()
    ]
    joined = compute.binary_join_element_wise(*parts, BETWEEN_KEYS)
    places = compute.index_in(joined, value_set=of_list(declared))
    return filled(places, -1).astype(np.int64), codes


def names(batch: Batch, name: str) -> tuple[Names, Codes]:
    """The person of each row, and a code for each row without a person.

    Names are compared byte for byte.  The number 7 in one file is the '7' in another: if they
    differed, one person would count twice.
    """
    column = whole(_text(batch, "user", name))
    codes = check_utf_8(column)
    if codes.any():
        column = compute.if_else(pa.array(codes == 0), column, None)
    nobody = nulls(column) | _blank(column)
    codes[nobody & (codes == 0)] = NOBODY
    rows = np.arange(len(codes), dtype=np.int64)
    return Names(*parts(column), np.where(codes == 0, rows, -1)), codes


def _blank(column: Values) -> Mask:
    """Which of the texts have no visible character."""
    data, offsets = parts(column)
    first = np.append(data, np.uint8(0))[offsets[:-1]]
    suspects = np.flatnonzero((np.diff(offsets) == 0) | (first <= 0x20) | (first >= 0x7F))
    found = np.zeros(len(column), dtype=np.bool_)
    if len(suspects):
        coded = column.take(pa.array(suspects)).dictionary_encode()
        texts = coded.dictionary.to_pylist()
        found[suspects] = np.array([*map(blank, texts), False])[filled(coded.indices, -1)]
    return found


def _text(batch: Batch, role: str, name: str) -> Values:
    """The column of a key or a person: text, or whole numbers as text."""
    column = plain(batch.columns[role])
    if not (pa.types.is_string(column.type) or pa.types.is_integer(column.type)):
        raise Malformed(f"{batch.place(0)}: column {name!r} must be text or whole numbers")
    return column.cast(pa.string())


# Common to all roles ----------------------------------------------------------------------------


def plain(column: Values) -> Values:
    """The column with dictionaries, other string types and all-null columns as plain strings."""
    if pa.types.is_dictionary(column.type):
        with suppress(pa.ArrowNotImplementedError):  # lists and similar types: rejected later
            column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):  # a column without any value is of no kind
        column = column.cast(pa.string())
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    return column


def numeric(kind: Any) -> bool:
    """Whether a column of this type has numbers."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def filled(column: Values, value: int) -> NDArray[Any]:
    """A column of numbers as a numpy array, with a given value for nulls."""
    array = whole(column)
    kind = np.dtype(array.type.to_pandas_dtype())
    stored = np.frombuffer(array.buffers()[1] or b"", dtype=kind)
    found = stored[array.offset : array.offset + len(array)]
    return np.where(nulls(array), kind.type(value), found) if array.null_count else found


def nulls(column: Values) -> Mask:
    """Which rows are null."""
    if column.null_count == 0:
        return np.zeros(len(column), dtype=np.bool_)
    return np.asarray(column.is_null(), dtype=np.bool_)
