"""A CSV scanner: records, the texts of some fields, and the faults of records.

The scanner reads quotes strictly (RFC 4180).  A quote opens only at the start of a field, and a
closing quote precedes a delimiter or the end of the record.  If the scanner accepted stray quotes,
one person's record could swallow the records of others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushfade.check import Signed
from hushfade.compiled import compiled
from hushfade.records.faults import (
    LONE_RETURN,
    OPEN_QUOTE,
    STRAY_QUOTE,
    TEXT_AFTER_QUOTE,
    WRONG_FIELDS,
    Codes,
)
from hushfade.records.texts import Bytes, Offsets, read_only

_QUOTE, _FEED, _RETURN = 34, 10, 13


@dataclass(frozen=True, repr=False)
class Scanned:
    """The records of some CSV, and the texts of the wanted fields, column by column."""

    texts: Bytes  # (columns, bytes)
    offsets: Offsets  # (columns, records + 1)
    codes: Codes
    lines: Signed  # where each record begins, the first line being 0


def scan(data: bytes, delimiter: str, wanted: list[int], width: int, *, live: bool) -> Scanned:
    """The records, each of `width` fields, and the fields at the `wanted` places.

    Empty lines are not records, except in CSV of one column, where they are empty texts.  `live`:
    each line is a record, so quotes do not contain line feeds.

    >>> found = scan(b'"a\\nb",c,7\\nd,e,8\\n', ",", [2, 0], 3, live=False)
    >>> [bytes(text[: offsets[-1]]) for text, offsets in zip(found.texts, found.offsets)]
    [b'78', b'a\\nbd']
    >>> found.offsets.tolist(), found.lines.tolist()
    ([[0, 1, 2], [0, 3, 4]], [0, 2])
    """
    most = line_feeds(data) + 1
    slots = np.full(width, -1, dtype=np.int64)
    slots[wanted] = np.arange(len(wanted))
    texts = np.empty((len(wanted), len(data)), dtype=np.uint8)
    offsets = np.zeros((len(wanted), most + 1), dtype=np.int32)
    codes, lines = np.zeros(most, dtype=np.uint8), np.zeros(most, dtype=np.int64)
    array = read_only(data)
    count, _ = _scan(array, ord(delimiter), slots, live, texts, offsets, codes, lines)
    return Scanned(texts, offsets[:, : count + 1], codes[:count], lines[:count])


def line_feeds(data: bytes, end: int | None = None) -> int:
    """The number of line feeds in the data, or before its place `end`; without Python's lock."""
    return int(_line_feeds(read_only(data)[:end]))


def record_end(data: bytes, delimiter: str, *, first: bool = False) -> int:
    """The end of the last record (or of the first) that a line feed ends; 0 if there is none.

    >>> record_end(b'a,b\\n"c\\nd",e\\n"f\\n', ",")
    12
    """
    array, none = read_only(data), np.zeros(0, dtype=np.int64)
    lines = np.zeros(1 if first else 0, dtype=np.int64)
    texts, offsets = np.zeros((0, 0), dtype=np.uint8), np.zeros((0, 0), dtype=np.int32)
    codes = np.zeros(len(lines), dtype=np.uint8)
    return int(_scan(array, ord(delimiter), none, False, texts, offsets, codes, lines)[1])


@compiled
def _line_feeds(data: Bytes) -> int:
    count = 0
    for i in range(len(data)):
        count += data[i] == _FEED
    return count


@compiled
def _scan(
    data: Bytes,
    delimiter: int,
    slots: Signed,
    live: bool,
    texts: Bytes,
    offsets: Offsets,
    codes: Codes,
    lines: Signed,
) -> tuple[int, int]:
    """Fill in texts, offsets, codes and lines; the number of records, and where the last ends.

    `slots` has the place among the texts of each wanted field, and -1 for the others.  Without room
    for records all are passed over; with room for some, the scan ends after them.
    """
    n, width, room = len(data), len(slots), len(codes)
    at, end, line, count = 0, 0, 0, 0
    used = np.zeros(len(texts), dtype=np.int64)
    while at < n and (room == 0 or count < room):
        returned = data[at] == _RETURN and (at + 1 == n or data[at + 1] == _FEED)
        if width > 1 and (data[at] == _FEED or returned):  # an empty line
            at = min(at + 1 + returned, n)
            line, end = line + 1, at
            continue
        if count < room:
            lines[count] = line
        wrong, field = 0, 0
        while True:  # a field begins here
            slot = slots[field] if field < width else -1
            size = used[slot] if slot >= 0 else 0
            if at < n and data[at] == _QUOTE:
                at += 1
                wrong = OPEN_QUOTE
                while at < n and not (live and data[at] == _FEED):
                    if data[at] == _QUOTE:
                        at += 1
                        if at >= n or data[at] != _QUOTE:
                            wrong = 0
                            break
                    line += data[at] == _FEED
                    if slot >= 0:
                        texts[slot, size] = data[at]
                        size += 1
                    at += 1
                if wrong == 0 and at < n and data[at] not in (delimiter, _FEED, _RETURN):
                    wrong = TEXT_AFTER_QUOTE
            else:
                while at < n:
                    byte = data[at]
                    if byte in (delimiter, _FEED, _RETURN, _QUOTE):
                        break
                    if slot >= 0:
                        texts[slot, size] = byte
                        size += 1
                    at += 1
                if at < n and data[at] == _QUOTE:
                    wrong = STRAY_QUOTE
            if slot >= 0:
                used[slot] = size
            if wrong or at >= n or data[at] != delimiter:
                break
            field += 1
            at += 1
        if wrong == 0 and at < n and data[at] == _RETURN:
            at += 1
            if at < n and data[at] != _FEED:
                wrong = LONE_RETURN
        if wrong == 0 and room > 0 and width > 0 and field + 1 != width:
            wrong = WRONG_FIELDS
        while at < n and data[at] != _FEED:  # what is left of a record that is wrong
            at += 1
        if at < n:
            at += 1
            line, end = line + 1, at
        if count < room:
            codes[count] = wrong
            for slot in range(len(used)):
                if wrong:
                    used[slot] = offsets[slot, count]
                offsets[slot, count + 1] = used[slot]
        count += 1
    return count, end
