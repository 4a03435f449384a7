"""A file of lines in blocks of whole records, with the line that each begins at.

Whatever the file is (on disk, compressed, standard input), it is read once, forwards, in constant
memory; and still an error can name the line.

In CSV a line break within quotes ends no record.  Quotes are read strictly (RFC 4180): they open at
the start of a field only, and what follows the closing one is a delimiter or the record's end.  If
a stray quote were taken for text here and for a quote there, one person's record could swallow
those of others, or be cut into several.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Signed
from hushfade.compiled import compiled
from hushfade.errors import Malformed

SIZE = 1 << 24  # bytes read at a time
LONGEST = 1 << 26  # bytes of one record

_QUOTE, _FEED, _RETURN = 34, 10, 13
_WRONG = {  # by the code of the scan
    1: "a quote in the middle of a field, where quotes must surround it",
    2: "text after a closing quote",
    3: "a carriage return that no line feed follows",
    4: "a quote that is never closed",
}


class Readable(Protocol):
    """What a block is read from."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, repr=False)
class Block:
    """Whole records, and the number of their first line; the file's first line is 1."""

    data: bytes
    line: int


def blocks(
    file: Readable, name: str, *, delimiter: str | None, size: int = SIZE
) -> Iterator[Block]:
    """The file's blocks, in order.  With a delimiter it is CSV, and quotes are heeded.

    >>> import io
    >>> [block.line for block in blocks(io.BytesIO(b"a\\nb\\nc"), "x", delimiter=",", size=3)]
    [1, 2, 3]
    """
    rest, line = b"", 1
    while chunk := file.read(size):
        data = rest + chunk
        end = data.rfind(b"\n") + 1 if delimiter is None else _end(data, name, line, delimiter)
        if end:
            yield Block(data[:end], line)
            line += data.count(b"\n", 0, end)
        rest = data[end:]
        if len(rest) > LONGEST:
            why = "" if delimiter is None else ", perhaps for a quote that is never closed"
            raise Malformed(f"{name}, line {line}: a record is longer than {LONGEST} bytes{why}")
    if rest:
        yield Block(rest if delimiter is None else closed(rest, name, line, delimiter), line)


def closed(data: bytes, name: str, line: int, delimiter: str) -> bytes:
    """The data, refused unless their last record is whole: no quote is open at the end."""
    scanned = scan(data, delimiter)
    _check(scanned, data, name, line)
    if scanned.open_at >= 0:
        line += data.count(b"\n", 0, scanned.open_at)
        raise Malformed(f"{name}, line {line}: {_WRONG[4]}")
    return data


def _end(data: bytes, name: str, line: int, delimiter: str) -> int:
    """Where the last whole record of the data ends; 0 if none does."""
    if b'"' not in data and data.count(b"\r") == data.count(b"\r\n") + data.endswith(b"\r"):
        return data.rfind(b"\n") + 1
    found = scan(data, delimiter)
    _check(found, data, name, line)
    return found.end


def _check(found: Scanned, data: bytes, name: str, line: int) -> None:
    if found.wrong:
        line += data.count(b"\n", 0, found.wrong_at)
        raise Malformed(f"{name}, line {line}: {_WRONG[found.wrong]}")


@dataclass(frozen=True)
class Scanned:
    """Records of some CSV: where each begins, how many fields each has, where the last ends."""

    starts: Signed
    fields: Signed
    end: int  # of the last record that a line feed ends
    open_at: int  # the quote that is still open, or -1
    wrong: int  # 0, or what is wrong
    wrong_at: int


def scan(data: bytes, delimiter: str, records: int = 0) -> Scanned:
    """The first `records` records, and the end of the last; strict about quotes.

    An empty line is a record of one empty field.

    >>> found = scan(b'"a\\nb",c\\nd\\ne', ",", records=3)
    >>> found.starts.tolist(), found.fields.tolist(), found.end
    ([0, 8, 10], [2, 1, 1], 10)
    """
    starts, fields = np.empty(records, dtype=np.int64), np.zeros(records, dtype=np.int64)
    array = np.frombuffer(data, dtype=np.uint8)
    count, end, open_at, wrong, at = _scan(array, ord(delimiter), starts, fields)
    return Scanned(starts[:count], fields[:count], end, open_at, wrong, at)


@compiled
def _scan(
    data: NDArray[np.uint8], delimiter: int, starts: Signed, fields: Signed
) -> tuple[int, int, int, int, int]:
    n, end, count = len(data), 0, 0
    at = 0
    while at < n:  # a record begins here
        if count < len(starts):
            starts[count] = at
        found, done = 1, False
        while not done:  # a field begins here
            if at < n and data[at] == _QUOTE:
                opened = at
                at += 1
                while True:
                    while at < n and data[at] != _QUOTE:
                        at += 1
                    if at >= n:
                        return min(count, len(starts)), end, opened, 0, 0
                    if at + 1 < n and data[at + 1] == _QUOTE:
                        at += 2
                        continue
                    at += 1
                    break
                ended = at >= n or data[at] == delimiter or data[at] in (_FEED, _RETURN)
                if not ended:
                    return min(count, len(starts)), end, -1, 2, at
            else:
                while at < n and data[at] != delimiter and data[at] not in (_FEED, _RETURN):
                    if data[at] == _QUOTE:
                        return min(count, len(starts)), end, -1, 1, at
                    at += 1
            if at < n and data[at] == delimiter:
                found += 1
                at += 1
                continue
            if at < n and data[at] == _RETURN:
                if at + 1 < n and data[at + 1] != _FEED:
                    return min(count, len(starts)), end, -1, 3, at
                at += 1
            done = True
        if count < len(starts):
            fields[count] = found
        count += 1
        if at < n:  # a line feed
            at += 1
            end = at
    return min(count, len(starts)), end, -1, 0, 0
