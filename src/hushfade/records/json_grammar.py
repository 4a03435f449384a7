"""The grammar of JSON (RFC 8259), byte by byte: where a value ends, and what a string contains."""

from __future__ import annotations

import numpy as np

from hushfade.compiled import compiled, inlined
from hushfade.records.faults import Codes
from hushfade.records.kinds import INTEGER, NULL, NUMBER, OTHER, TEXT
from hushfade.records.texts import Bytes

QUOTE, BACKSLASH, COMMA, COLON, OPEN, CLOSE = 34, 92, 44, 58, 123, 125
NO_VALUE, TOO_NESTED = -1, -2

_OPEN_LIST, _MINUS, _PLUS, _POINT, _ZERO, _NINE = 91, 45, 43, 46, 48, 57
_WORDS = np.frombuffer(b"null true false", np.uint8)
_WORD_STARTS, _WORD_ENDS = np.array([0, 5, 10]), np.array([4, 9, 15])
_ESCAPES = np.zeros(256, dtype=np.uint8)  # the byte that a letter after a backslash stands for
_ESCAPES[np.frombuffer(b'"\\/bfnrt', np.uint8)] = np.frombuffer(b'"\\/\b\f\n\r\t', np.uint8)
_PLAIN = np.ones(256, dtype=np.bool_)  # bytes of a string that stand for themselves
_PLAIN[[*range(32), QUOTE, BACKSLASH]] = False


@inlined
def blanks(data: Bytes, at: int, end: int) -> int:
    """Behind the blanks that are here."""
    while at < end and (data[at] == 32 or data[at] == 9 or data[at] == 13):
        at += 1
    return at


@inlined
def string_end(data: Bytes, at: int, end: int) -> int:
    """Behind the closing quote of the string at this place, or NO_VALUE."""
    if at >= end or data[at] != QUOTE:
        return NO_VALUE
    at += 1
    while at < end and _PLAIN[data[at]]:
        at += 1
    if at < end and data[at] == BACKSLASH:
        at = _escaped_end(data, at, end)
    return at + 1 if at < end and data[at] == QUOTE else NO_VALUE


@inlined
def value_end(data: Bytes, at: int, end: int, stack: Codes) -> tuple[int, int]:
    """Where the value at this place ends, or NO_VALUE or TOO_NESTED; and its kind.

    `stack` has room for as many levels of nesting as there may be.
    """
    if at < end and (data[at] == OPEN or data[at] == _OPEN_LIST):
        return _nesting_end(data, at, end, stack), OTHER
    return _plain_end(data, at, end)


@inlined
def _plain_end(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """The same of a value that is no object and no list."""
    found: tuple[int, int]
    first = data[at] if at < end else 0
    if first == QUOTE:
        found = string_end(data, at, end), TEXT
    elif first == _MINUS or _ZERO <= first <= _NINE:
        found = _number_end(data, at, end)
    else:
        found = _word_end(data, at, end)
    return found


@compiled
def _word_end(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """The same of null, true and false."""
    for word in range(3):
        size = _WORD_ENDS[word] - _WORD_STARTS[word]
        same = end - at >= size
        for place in range(size):
            same = same and data[at + place] == _WORDS[_WORD_STARTS[word] + place]
        if same:
            return at + size, OTHER if word else NULL
    return NO_VALUE, OTHER


@compiled
def _nesting_end(data: Bytes, at: int, end: int, stack: Codes) -> int:
    """Where the object or list at this place ends, or NO_VALUE or TOO_NESTED."""
    depth = 0
    while True:  # a value begins here
        if at < end and (data[at] == OPEN or data[at] == _OPEN_LIST):
            if depth == len(stack):
                return TOO_NESTED
            stack[depth] = data[at] + 2  # what closes it
            depth += 1
            at = blanks(data, at + 1, end)
            if at >= end or data[at] != stack[depth - 1]:  # not empty
                at = _member_start(data, at, end, stack[depth - 1])
                if at < 0:
                    return NO_VALUE
                continue
        else:
            at, _ = _plain_end(data, at, end)
            if at < 0:
                return NO_VALUE
            at = blanks(data, at, end)
        while at < end and data[at] == stack[depth - 1]:
            at, depth = at + 1, depth - 1
            if depth == 0:
                return at
            at = blanks(data, at, end)
        if at >= end or data[at] != COMMA:
            return NO_VALUE
        at = _member_start(data, blanks(data, at + 1, end), end, stack[depth - 1])
        if at < 0:
            return NO_VALUE


@compiled
def _member_start(data: Bytes, at: int, end: int, closing: int) -> int:
    """Where the value of the next member begins: in an object, after its name."""
    if closing != CLOSE:
        return at
    at = string_end(data, at, end)
    if at < 0:
        return NO_VALUE
    at = blanks(data, at, end)
    return blanks(data, at + 1, end) if at < end and data[at] == COLON else NO_VALUE


@inlined
def _number_end(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Where the number at this place ends, or NO_VALUE, and its kind."""
    right, kind = True, INTEGER
    at += data[at] == _MINUS
    start = at
    while at < end and _ZERO <= data[at] <= _NINE:
        at += 1
    right = at == start + 1 or (at > start and data[start] != _ZERO)  # no 007
    if at < end and data[at] == _POINT:
        kind, start = NUMBER, at + 1
        at += 1
        while at < end and _ZERO <= data[at] <= _NINE:
            at += 1
        right = right and at > start
    if at < end and (data[at] == 101 or data[at] == 69):
        kind = NUMBER
        at += 1
        at += at < end and (data[at] == _PLUS or data[at] == _MINUS)
        start = at
        while at < end and _ZERO <= data[at] <= _NINE:
            at += 1
        right = right and at > start
    return at if right else NO_VALUE, kind


@compiled
def _escaped_end(data: Bytes, at: int, end: int) -> int:
    """Where a string ends of which the rest, from a backslash on, is read with care."""
    while at < end and (_PLAIN[data[at]] or data[at] == BACKSLASH):
        if data[at] == BACKSLASH:
            at += 1
            if at < end and data[at] == 117:  # u
                if _unit(data, at + 1, end) < 0:
                    return end
                at += 4
            elif at >= end or _ESCAPES[data[at]] == 0:
                return end
        at += 1
    return at


@compiled
def _unit(data: Bytes, at: int, end: int) -> int:
    """The number of four hexadecimal digits; -1 if they are none."""
    if at + 4 > end:
        return -1
    found = 0
    for place in range(at, at + 4):
        byte = data[place]
        if _ZERO <= byte <= _NINE:
            found = 16 * found + byte - 48
        elif 65 <= byte <= 70:
            found = 16 * found + byte - 55
        elif 97 <= byte <= 102:
            found = 16 * found + byte - 87
        else:
            return -1
    return found


@compiled
def decoded(data: Bytes, at: int, end: int, text: Bytes, size: int) -> int:
    """Append the content of a string, without escapes; the new size, or -1 for half a character."""
    while at < end:
        if data[at] != BACKSLASH:
            text[size] = data[at]
            size, at = size + 1, at + 1
            continue
        if data[at + 1] != 117:
            text[size] = _ESCAPES[data[at + 1]]
            size, at = size + 1, at + 2
            continue
        point = _unit(data, at + 2, end)
        at += 6
        if 0xD800 <= point < 0xDC00 and at + 6 <= end and data[at] == BACKSLASH:
            low = _unit(data, at + 2, end) if data[at + 1] == 117 else -1
            if 0xDC00 <= low < 0xE000:
                point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00)
                at += 6
        if 0xD800 <= point < 0xE000:
            return -1
        if point < 0x80:
            text[size] = point
            size += 1
        elif point < 0x800:
            text[size], text[size + 1] = 0xC0 | point >> 6, 0x80 | point & 63
            size += 2
        elif point < 0x10000:
            text[size], text[size + 1] = 0xE0 | point >> 12, 0x80 | point >> 6 & 63
            text[size + 2] = 0x80 | point & 63
            size += 3
        else:
            text[size], text[size + 1] = 0xF0 | point >> 18, 0x80 | point >> 12 & 63
            text[size + 2], text[size + 3] = 0x80 | point >> 6 & 63, 0x80 | point & 63
            size += 4
    return size
