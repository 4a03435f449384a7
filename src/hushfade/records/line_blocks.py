"""A file of lines in blocks of whole records, with the first line number of each block.

Every file (on disk, compressed, standard input) is read once, forwards, in constant memory, and
errors can still name the line.  In CSV a line break within quotes does not end a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from hushfade.errors import Malformed
from hushfade.records import csv_scan

SIZE = 1 << 22  # bytes read at a time, which stay in the caches of a processor
LONGEST = 1 << 26  # bytes of one record


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, repr=False)
class Block:
    """Whole records, and the number of their first line; the file's first line is 1."""

    data: bytes
    line: int


def blocks(
    file: Readable, name: str, *, delimiter: str | None, size: int = SIZE
) -> Iterator[Block]:
    """The blocks of the file, in order.  With a delimiter the file is CSV, and quotes matter.

    >>> import io
    >>> [block.line for block in blocks(io.BytesIO(b"a\\nb\\nc"), "x", delimiter=",", size=3)]
    [1, 2, 3]
    """
    rest, line = b"", 1
    while chunk := file.read(size):
        data = rest + chunk
        end = _end(data, delimiter)
        if end:
            yield Block(data[:end], line)
            line += csv_scan.line_feeds(data, end)
        rest = data[end:]
        if len(rest) > LONGEST:
            why = "" if delimiter is None else ", perhaps because a quote is never closed"
            raise Malformed(f"{name}, line {line}: a record is longer than {LONGEST} bytes{why}")
    if rest:
        yield Block(rest, line)


def _end(data: bytes, delimiter: str | None) -> int:
    """The end of the last whole record in the data, or 0."""
    if delimiter is None or b'"' not in data:
        return data.rfind(b"\n") + 1
    return csv_scan.record_end(data, delimiter)
