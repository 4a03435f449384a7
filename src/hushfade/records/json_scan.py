"""A scanner of JSON lines: one object per line, and the texts of some of its fields.

A number stays text, so that no digit is lost.  The scanner checks and skips other fields.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushfade.check import Signed
from hushfade.compiled import compiled, inlined
from hushfade.records.faults import NOT_AN_OBJECT, REPEATED_FIELD, TOO_DEEP, Codes
from hushfade.records.json_grammar import (
    BACKSLASH,
    CLOSE,
    COLON,
    COMMA,
    OPEN,
    TOO_NESTED,
    blanks,
    decoded,
    string_end,
    value_end,
)
from hushfade.records.kinds import INTEGER, MISSING, NUMBER, TEXT
from hushfade.records.texts import Bytes, Offsets, read_only

DEEPEST = 1000  # levels of nesting

_FEED, _ZERO, _MINUS = 10, 48, 45


@dataclass(frozen=True, repr=False)
class Scanned:
    """The objects of some lines, and the texts and kinds of the wanted fields, field by field."""

    texts: list[Bytes]
    offsets: list[Offsets]
    kinds: Codes  # (fields, objects)
    codes: Codes
    lines: Signed  # of each object, the first line being 0


def scan(data: bytes, names: list[str]) -> Scanned:
    """The objects, one per line that is not blank, and the fields of these names.

    >>> found = scan(b'{"a": "x\\\\n", "b": -1.50}\\n', ["b", "a"])
    >>> [bytes(text[: offsets[-1]]) for text, offsets in zip(found.texts, found.offsets)]
    [b'-1.50', b'x\\n']
    >>> found.kinds.tolist(), found.codes.tolist()
    ([[4], [2]], [0])
    """
    array = read_only(data)
    feeds = np.append(np.flatnonzero(array == _FEED), len(array))
    most, encoded = len(feeds), [name.encode() for name in names]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    spans = np.zeros((2, len(names), most), dtype=np.int64)
    kinds = np.zeros((len(names), most), dtype=np.uint8)
    codes, lines = np.zeros(most, dtype=np.uint8), np.zeros(most, dtype=np.int64)
    wanted = read_only(b"".join(encoded))
    count = _scan(array, feeds, wanted, ends, spans[0], spans[1], kinds, codes, lines)
    texts, offsets = [], []
    for slot in range(len(names)):
        starts, stops = spans[:, slot, :count]
        places = np.zeros(count + 1, dtype=np.int32)
        text = np.empty(int(np.sum(stops - starts)), dtype=np.uint8)
        _gather(array, starts, stops, kinds[slot], text, places, codes)
        texts.append(text)
        offsets.append(places)
    return Scanned(texts, offsets, kinds[:, :count], codes[:count], lines[:count])


@compiled
def _scan(
    data: Bytes,
    feeds: Signed,
    names: Bytes,
    ends: Signed,
    starts: Signed,
    stops: Signed,
    kinds: Codes,
    codes: Codes,
    lines: Signed,
) -> int:
    """Fill in where the wanted values of each object are, and their kinds; the number of objects.

    `feeds` are the ends of the lines, `names` the wanted names one after the other.
    """
    stack = np.zeros(DEEPEST, dtype=np.uint8)
    at, count = 0, 0
    for line in range(len(feeds)):
        end = feeds[line]
        at = blanks(data, at, end)
        if at < end:
            wrong = 0 if data[at] == OPEN else NOT_AN_OBJECT
            at = blanks(data, at + 1, end)
            more = wrong == 0 and not (at < end and data[at] == CLOSE)
            while more:
                name = at + 1
                at = string_end(data, at, end)
                slot = _slot(data, name, at - 1, names, ends)
                at = end if at < 0 else blanks(data, at, end)
                if at < end and data[at] == COLON:
                    start = blanks(data, at + 1, end)
                    at, kind = value_end(data, start, end, stack)
                    wrong = TOO_DEEP if at == TOO_NESTED else NOT_AN_OBJECT if at < 0 else 0
                    if slot >= 0 and wrong == 0:
                        wrong = REPEATED_FIELD if kinds[slot, count] != MISSING else 0
                        quote = kind == TEXT
                        starts[slot, count], stops[slot, count] = start + quote, at - quote
                        kinds[slot, count] = kind
                    at = end if at < 0 else blanks(data, at, end)
                else:
                    wrong = NOT_AN_OBJECT
                more = wrong == 0 and at < end and data[at] == COMMA
                if more:
                    at = blanks(data, at + 1, end)
            closed = at < end and data[at] == CLOSE and blanks(data, at + 1, end) == end
            codes[count] = NOT_AN_OBJECT if wrong == 0 and not closed else wrong
            lines[count] = line
            count += 1
        at = end + 1
    return count


@compiled
def _gather(
    data: Bytes,
    starts: Signed,
    stops: Signed,
    kinds: Codes,
    text: Bytes,
    offsets: Offsets,
    codes: Codes,
) -> None:
    """Fill in the texts of one field, without escapes."""
    size = 0
    for row in range(len(starts)):
        at, stop = starts[row], stops[row]
        if codes[row] == 0 and kinds[row] == TEXT:
            new = decoded(data, at, stop, text, size)
            if new < 0:
                codes[row] = NOT_AN_OBJECT
            else:
                size = new
        elif codes[row] == 0 and kinds[row] in (INTEGER, NUMBER):
            # the key or person -0 is 0
            at += stop - at == 2 and data[at] == _MINUS and data[at + 1] == _ZERO
            for place in range(at, stop):
                text[size] = data[place]
                size += 1
        offsets[row + 1] = size


@inlined
def _slot(data: Bytes, at: int, end: int, names: Bytes, ends: Signed) -> int:
    """The place of a name among the wanted ones, or -1."""
    found = -1
    for slot in range(len(ends) - 1):
        if end - at == ends[slot + 1] - ends[slot]:
            place = 0
            while place < end - at and data[at + place] == names[ends[slot] + place]:
                if data[at + place] == BACKSLASH:
                    break
                place += 1
            if place == end - at:
                found = slot
    if found < 0:
        place = at
        while place < end and data[place] != BACKSLASH:
            place += 1
        if place < end:
            found = _escaped_slot(data, at, end, names, ends)
    return found


@compiled
def _escaped_slot(data: Bytes, at: int, end: int, names: Bytes, ends: Signed) -> int:
    """The same for a name with escapes."""
    plain = np.zeros(end - at, dtype=np.uint8)
    size = decoded(data, at, end, plain, 0)
    for slot in range(len(ends) - 1):
        if size == ends[slot + 1] - ends[slot]:
            place = 0
            while place < size and plain[place] == names[ends[slot] + place]:
                place += 1
            if place == size:
                return slot
    return -1
