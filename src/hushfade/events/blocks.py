"""A file of lines in blocks of whole records, with the line that each begins at.

Whatever the file is (on disk, compressed, standard input), it is read once, forwards, in constant
memory; and still an error can name the line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from hushfade.errors import Malformed

SIZE = 1 << 24  # bytes read at a time
LONGEST = 1 << 26  # bytes of one record


class Readable(Protocol):
    """What a block is read from."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class Block:
    """Whole records, and the number of their first line; the file's first line is 1."""

    data: bytes
    line: int


def blocks(file: Readable, name: str, *, quotes: bool, size: int = SIZE) -> Iterator[Block]:
    """The file's blocks, in order.  With `quotes` a line break within "..." ends no record.

    >>> import io
    >>> [block.line for block in blocks(io.BytesIO(b"a\\nb\\nc"), "x", quotes=False, size=3)]
    [1, 2, 3]
    """
    rest, line = b"", 1
    while chunk := file.read(size):
        data = rest + chunk
        end = _end(data, quotes)
        if end:
            yield Block(data[:end], line)
            line += data.count(b"\n", 0, end)
        rest = data[end:]
        if len(rest) > LONGEST:
            why = ", perhaps for a quote that is never closed" if quotes else ""
            raise Malformed(f"{name}, line {line}: a record is longer than {LONGEST} bytes{why}")
    if rest:
        yield Block(rest, line)


def _end(data: bytes, quotes: bool) -> int:
    """Where the last whole record of the data ends; 0 if none does."""
    at = data.rfind(b"\n")
    if not quotes:
        return at + 1
    inside = data.count(b'"', 0, at + 1) % 2
    while inside and at >= 0:
        before = data.rfind(b"\n", 0, at)
        inside ^= data.count(b'"', before + 1, at + 1) % 2
        at = before
    return at + 1


def first_end(data: bytes) -> int:
    """Where the first record of the data ends; a line break within "..." ends none.

    >>> first_end(b'"a\\nb",c\\nd'), first_end(b"abc")
    (8, 3)
    """
    at = data.find(b"\n")
    while at >= 0 and data.count(b'"', 0, at) % 2:
        at = data.find(b"\n", at + 1)
    return at + 1 if at >= 0 else len(data)
