"""Exact parsing of decimal numbers in text.

A number has an optional sign, digits with at most one decimal point, and an optional exponent:
5, -1.5, +.5, 1e3.  Nothing else is a number: no blanks, underscores, hexadecimal or full-width
digits, 'nan' or 'inf'.
"""

from __future__ import annotations

from hushfade.check import Signed
from hushfade.compiled import compiled, inlined
from hushfade.records.faults import EMPTY, NOT_A_NUMBER, Codes
from hushfade.records.texts import Bytes, Offsets

_PLUS, _MINUS, _POINT, _ZERO, _NINE = 43, 45, 46, 48, 57
_LARGEST = 2**63 - 1  # of int64
_FARTHEST = 10**9  # exponents beyond it make any text of less than a gigabyte 0 or too large


@compiled
def check(data: Bytes, offsets: Offsets, codes: Codes) -> None:
    """Set the code of each text that is not a number."""
    for row in range(len(codes)):
        at, end = offsets[row], offsets[row + 1]
        if at == end:
            codes[row] = EMPTY
        elif not _parsed(data, at, end)[0]:
            codes[row] = NOT_A_NUMBER


@compiled
def floors(data: Bytes, offsets: Offsets, places: int, found: Signed, codes: Codes) -> None:
    """Set each number times 10^places, rounded down, or the nearest int64 if it is out of range."""
    for row in range(len(codes)):
        at, end = offsets[row], offsets[row + 1]
        if at == end:
            codes[row] = EMPTY
            continue
        right, start, stop, exponent = _parsed(data, at, end)
        if right:
            found[row] = _floor(data, start, stop, exponent + places, data[at] == _MINUS)
        else:
            codes[row] = NOT_A_NUMBER


@inlined
def _parsed(data: Bytes, at: int, end: int) -> tuple[bool, int, int, int]:
    """Whether it is a number; where its digits, with the point, begin and end; its exponent."""
    if data[at] == _PLUS or data[at] == _MINUS:
        at += 1
    start, digits, points = at, 0, 0
    while at < end and (_ZERO <= data[at] <= _NINE or (data[at] == _POINT and points == 0)):
        points += data[at] == _POINT
        digits += data[at] != _POINT
        at += 1
    stop, exponent = at, 0
    right = digits > 0
    if at < end and (data[at] == 101 or data[at] == 69):  # e, E
        at += 1
        negative = at < end and data[at] == _MINUS
        if at < end and (data[at] == _PLUS or data[at] == _MINUS):
            at += 1
        right = right and at < end
        while at < end and _ZERO <= data[at] <= _NINE:
            exponent = min(10 * exponent + (data[at] - _ZERO), _FARTHEST)
            at += 1
        if negative:
            exponent = -exponent
    return right and at == end, start, stop, exponent


@inlined
def _floor(data: Bytes, start: int, stop: int, shift: int, negative: bool) -> int:
    """The digits as a number, times 10^shift, rounded down, within int64."""
    point = start
    while point < stop and data[point] != _POINT:
        point += 1
    left = point - start + shift  # digits of the whole part that are still to come
    total, rest, large = 0, False, False
    for at in range(start, stop):
        if at == point:
            continue
        digit = data[at] - _ZERO
        if left <= 0:
            rest = rest or digit > 0
        elif total > (_LARGEST - digit) // 10:
            large = True
        else:
            total = 10 * total + digit
        left -= 1
    while left > 0 and total > 0 and not large:
        large = total > _LARGEST // 10
        total *= 10
        left -= 1
    if large:
        total, rest = _LARGEST, True
    return -total - rest if negative else total
