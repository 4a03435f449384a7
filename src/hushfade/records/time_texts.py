"""Exact parsing of times in text, to nanoseconds since 1970.

    2026-01-31   2026-01-31T12   2026-01-31 12:00   2026-01-31T12:00:00.123456789
    2026-01-31Z  2026-01-31T12:00Z   2026-01-31T12:00+01:00   +0100   +01

The years are 0001 to 9999.  int64 reaches from 1677 to 2262: an earlier or later time becomes the
first or the last nanosecond of int64, which is outside all declared steps.
"""

from __future__ import annotations

import numpy as np

from hushfade.check import Signed
from hushfade.compiled import compiled, inlined
from hushfade.records.faults import EMPTY, NOT_A_TIME, WITH_ZONE, WITHOUT_ZONE, Codes
from hushfade.records.texts import Bytes, Offsets

_ZERO, _NINE, _DASH, _COLON, _POINT, _PLUS = 48, 57, 45, 58, 46, 43
_T, _Z, _SPACE = 84, 90, 32
_LAST = 9_223_372_036  # whole seconds of int64 nanoseconds
_FIRST, _REST = -_LAST - 1, 854_775_807
_MONTHS = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334], dtype=np.int64)
_LENGTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], dtype=np.int64)
_EPOCH = 719_162  # days from 0001-01-01 to 1970-01-01


@compiled
def nanoseconds(data: Bytes, offsets: Offsets, zoned: bool, found: Signed, codes: Codes) -> None:
    """Set the nanoseconds of each time; times with a zone are converted to UTC.

    A text that is not a time gets a code.  So does a time with a zone if times are not `zoned`, and
    a time without a zone if they are.
    """
    for row in range(len(codes)):
        at, end = offsets[row], offsets[row + 1]
        if at == end:
            codes[row] = EMPTY
            continue
        right, with_zone, seconds, rest = _parsed(data, at, end)
        if not right:
            codes[row] = NOT_A_TIME
        elif with_zone != zoned:
            codes[row] = WITH_ZONE if with_zone else WITHOUT_ZONE
        else:
            found[row] = _within_int64(seconds, rest)


@compiled
def has_zone(data: Bytes) -> bool:
    """Whether the text is a time with a zone."""
    right, with_zone, _, _ = _parsed(data, 0, len(data))
    return right and with_zone


@inlined
def _within_int64(seconds: int, rest: int) -> int:
    """seconds · 10^9 + rest, or the nearest int64."""
    if seconds > _LAST or (seconds == _LAST and rest > _REST):
        return 2**63 - 1
    if seconds < _FIRST or (seconds == _FIRST and 10**9 - rest > _REST + 1):
        return -(2**63)
    if seconds < 0:  # so that the product stays within int64
        return (seconds + 1) * 10**9 - (10**9 - rest)
    return seconds * 10**9 + rest


@inlined
def _parsed(data: Bytes, at: int, end: int) -> tuple[bool, bool, int, int]:
    """Is it a time; has it a zone; seconds since 1970 and the nanoseconds after them."""
    days, date_right = _date(data, at, end)
    at += 10
    seconds, rest, clock_right, zoned, zone_right = 0, 0, True, False, True
    if at < end and (data[at] == _T or data[at] == _SPACE):
        at, seconds, rest = _clock(data, at + 1, end)
        clock_right = seconds >= 0
        if at < end and data[at] != _Z:
            offset, zone_right = _offset(data, at, end)
            seconds, zoned, at = seconds - offset, True, end
    if at < end:  # a date, or a time without offset: Z may follow
        zoned, zone_right = True, data[at] == _Z and at + 1 == end
    return date_right and clock_right and zone_right, zoned, 86_400 * days + seconds, rest


@inlined
def _date(data: Bytes, at: int, end: int) -> tuple[int, bool]:
    """The days since 1970 of a text that begins with a date, and whether it does."""
    if end - at < 10 or data[at + 4] != _DASH or data[at + 7] != _DASH:
        return 0, False
    century, year = _digits(data, at, end), _digits(data, at + 2, end)
    month, day = _digits(data, at + 5, end), _digits(data, at + 8, end)
    if min(century, year, day) < 0 or not 1 <= month <= 12:
        return 0, False
    year += 100 * century
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    right = year >= 1 and 1 <= day <= _LENGTHS[month - 1] + (leap and month == 2)
    before = year - 1
    days = 365 * before + before // 4 - before // 100 + before // 400 - _EPOCH
    return days + _MONTHS[month - 1] + (leap and month > 2) + day - 1, right


@inlined
def _clock(data: Bytes, at: int, end: int) -> tuple[int, int, int]:
    """Where the time of day ends; its seconds, or -1 if it is none; its nanoseconds."""
    hour, minute, second, rest, scale = _digits(data, at, end), 0, 0, 0, 0
    at += 2
    if at < end and data[at] == _COLON:
        minute = _digits(data, at + 1, end)
        at += 3
        if at < end and data[at] == _COLON:
            second = _digits(data, at + 1, end)
            at += 3
            if at < end and data[at] == _POINT:
                scale, at = 10**9, at + 1
                while at < end and _ZERO <= data[at] <= _NINE and scale > 1:
                    scale //= 10
                    rest += scale * (data[at] - _ZERO)
                    at += 1
    right = 0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60
    if not right or scale == 10**9:  # a point without digits
        return at, -1, 0
    return at, 3600 * hour + 60 * minute + second, rest


@inlined
def _offset(data: Bytes, at: int, end: int) -> tuple[int, bool]:
    """The seconds of an offset such as +01:00, +0100 or +01, and whether the text is one."""
    hours, minutes = _digits(data, at + 1, end), 0
    right = (data[at] == _PLUS or data[at] == _DASH) and 0 <= hours < 24
    sign = 1 if data[at] == _PLUS else -1
    at += 3
    if at < end:
        at += data[at] == _COLON
        minutes = _digits(data, at, end)
        at += 2
    right = right and 0 <= minutes < 60 and at == end
    return sign * (3600 * hours + 60 * minutes), right


@inlined
def _digits(data: Bytes, at: int, end: int) -> int:
    """The number of two digits; -1 if they are none."""
    if at + 2 > end:
        return -1
    tens, ones = data[at], data[at + 1]
    right = _ZERO <= tens <= _NINE and _ZERO <= ones <= _NINE
    return 10 * (tens - _ZERO) + (ones - _ZERO) if right else -1
