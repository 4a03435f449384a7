"""Columns of text in Arrow's layout: all bytes in one array, and the offset of each text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushfade.records.arrow import Values, pa
from hushfade.records.faults import NOT_UTF_8, Codes

Bytes: TypeAlias = NDArray[np.uint8]
Offsets: TypeAlias = NDArray[np.int32]


def read_only(data: Any) -> Bytes:
    """The bytes of a buffer as a read-only array, the only type that the compiled loops accept.

    >>> read_only(b"ab")
    array([97, 98], dtype=uint8)
    """
    array = np.frombuffer(data, dtype=np.uint8)
    array.flags.writeable = False
    return array


def parts(column: Values) -> tuple[Bytes, Offsets]:
    """The bytes of an Arrow column of strings, and the n + 1 offsets of its n texts.

    >>> data, offsets = parts(pa.chunked_array([["ab", "", "c"]]))
    >>> bytes(data), offsets.tolist()
    (b'abc', [0, 2, 2, 3])
    """
    array = whole(column)
    _, places, data = array.buffers()
    if not len(array):
        return read_only(b""), np.zeros(1, dtype=np.int32)
    offsets = np.frombuffer(places, dtype=np.int32)[array.offset : array.offset + len(array) + 1]
    offsets.flags.writeable = False
    return read_only(b"" if data is None else data), offsets


def whole(column: Values) -> Values:
    """The column as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def of_list(texts: Sequence[str]) -> Values:
    """The Arrow column of these texts.  (pyarrow.array would load pandas, a third of a second.)"""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return column_of(read_only(b"".join(encoded)), offsets)


def column_of(data: Bytes, offsets: Offsets, present: NDArray[np.bool_] | None = None) -> Values:
    """The Arrow column of these texts; null where a text is not `present`."""
    mask = None
    if present is not None and not present.all():
        mask = pa.py_buffer(np.packbits(present, bitorder="little"))
    count = len(offsets) - 1
    return pa.StringArray.from_buffers(
        count, pa.py_buffer(offsets), pa.py_buffer(data[: offsets[-1]]), mask
    )


def check_utf_8(column: Values) -> Codes:
    """The code of each text that is not UTF-8."""
    codes: Codes = np.zeros(len(column), dtype=np.uint8)
    with suppress(pa.ArrowInvalid):
        column.validate(full=True)
        return codes
    data, offsets = parts(column)
    for row in range(len(codes)):
        try:
            data[offsets[row] : offsets[row + 1]].tobytes().decode("utf-8")
        except UnicodeDecodeError:  # not chained: it carries the text
            codes[row] = NOT_UTF_8
    return codes
