"""Durations as people write them, and their length in steps.

    24h   90min   7d   2w   1h30m   500ms       one or more numbers, each with its unit
    24                                          a plain number: steps

    w weeks   d days   h hours   m, min minutes   s seconds   ms, us, ns parts of a second

A day is 24 hours, and a week is 7 days.  A step may also be a calendar day, week (from Monday) or
month in a time zone, by default UTC.  Calendar steps have no fixed length:

    day   week   month Europe/Vienna
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from datetime import timedelta
from fractions import Fraction
from typing import TypeAlias

from hushfade.errors import InvalidType, InvalidValue

_NANOSECONDS = {
    "w": 604_800 * 10**9,
    "d": 86_400 * 10**9,
    "h": 3_600 * 10**9,
    "min": 60 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 10**3,
    "ns": 1,
}
_PART = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*(w|d|h|min|ms|us|ns|m|s)(?![a-z])")
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?")
_LONGEST = 2**62  # nanoseconds: 146 years

_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,3}")

ROWS = "rows"  # each row is a step, regardless of time
CALENDAR = ("day", "week", "month")

Length: TypeAlias = int | str | None
"""The length of a step: nanoseconds, a calendar step such as "day UTC", or None."""


def nanoseconds(text: str, *, name: str = "duration") -> int:
    """The duration in nanoseconds, an integer > 0.

    >>> nanoseconds("1h30m") == nanoseconds("90min") == 90 * 60 * 10**9
    True
    >>> nanoseconds("1mo")
    Traceback (most recent call last):
    hushfade.errors.InvalidValue: duration must be a duration such as 1h, 90min or 7d, got '1mo'
    """
    return _whole(_parts(text.strip()), text, name)


def step_length(every: object, *, name: str = "every") -> int:
    """The exact length of a step in nanoseconds; `every` is text, or a timedelta (also of pandas).

    >>> step_length("90min") == step_length(timedelta(hours=1.5)) == 90 * 60 * 10**9
    True
    """
    if isinstance(every, timedelta):
        seconds = every.days * 86_400 + every.seconds
        parts = every.microseconds * 1000 + getattr(every, "nanoseconds", 0)  # pandas only
        every = shown(seconds * 10**9 + parts)
    if not isinstance(every, str):
        raise InvalidType(
            "must be text such as '1h', or a timedelta", argument=name, got=type(every).__name__
        )
    return nanoseconds(every, name=name)


def declared_step(every: object, *, name: str = "every") -> str:
    """The text with which a plan declares its step.

    It is "rows", a calendar step, or a length in the largest units.  The name of a time zone stays
    as it is written; `check_zone` looks it up.

    >>> declared_step("90min"), declared_step(timedelta(days=7)), declared_step("rows")
    ('1h30min', '1w', 'rows')
    >>> declared_step("month"), declared_step("day Europe/Vienna")
    ('month UTC', 'day Europe/Vienna')
    """
    if isinstance(every, str):
        if every == ROWS:
            return ROWS
        unit, *zone = every.split() or [""]
        if unit in CALENDAR:
            if len(zone) > 1 or len(every) > 100 or not _ZONE.fullmatch(zone[0] if zone else "UTC"):
                raise InvalidValue(
                    f"must be {unit!r} and the name of a time zone, such as '{unit} Europe/Vienna'",
                    argument=name,
                    got=_shown(every),
                )
            return f"{unit} {zone[0] if zone else 'UTC'}"
        if _parts(every.strip()) is None or not every.strip():
            raise InvalidValue(
                "must be a duration such as 1h, 90min or 7d, a calendar step such as 'month' or "
                "'day Europe/Vienna', or 'rows'",
                argument=name,
                got=_shown(every),
            )
    return shown(step_length(every, name=name))


def check_zone(step: str, *, name: str = "every") -> None:
    """Raise if this machine's database of time zones lacks the zone of a calendar step.

    hushfade does not check plans that it loads, so a plan has the same digest on every machine.
    """
    import zoneinfo

    zone = step.partition(" ")[2]
    if not is_calendar(step) or zone == "UTC":
        return
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidValue(
            "must name a time zone such as Europe/Vienna",
            argument=name,
            got=repr(zone),
            remedy="correct the name, or install the missing time zones with pip install tzdata",
        ) from None


def is_calendar(step: str | None) -> bool:
    """Whether a declared step is a calendar step.

    >>> is_calendar("month UTC"), is_calendar("1d"), is_calendar("rows")
    (True, False, False)
    """
    return step is not None and step.partition(" ")[0] in CALENDAR


def in_words(step: str) -> str:
    """A declared step, in words for a sentence.

    >>> in_words("1h"), in_words("month Europe/Vienna")
    ('1h', 'a calendar month (Europe/Vienna)')
    """
    unit, _, zone = step.partition(" ")
    return f"a calendar {unit} ({zone})" if is_calendar(step) else step


def length(every: object, *, name: str = "every") -> Length:
    """The length of a declared step: nanoseconds, a calendar step, or None for "rows" and None.

    >>> length("1h") == 3600 * 10**9, length("month"), length("rows")
    (True, 'month UTC', None)
    """
    if every is None:
        return None
    step = declared_step(every, name=name)
    if step == ROWS:
        return None
    return step if is_calendar(step) else nanoseconds(step, name=name)


def fixed(length: Length, *, name: str = "every") -> int | None:
    """The length in nanoseconds, for input paths without calendar steps.

    >>> fixed("month UTC")
    Traceback (most recent call last):
    hushfade.errors.InvalidValue: every must be a fixed length such as 1h here, got 'month UTC': use
    hushfade run or release_events, which sort records into calendar steps, or pass one total per
    step
    """
    if isinstance(length, str):
        raise InvalidValue(
            "must be a fixed length such as 1h here",
            argument=name,
            got=repr(length),
            remedy="use hushfade run or release_events, which sort records into calendar steps, "
            "or pass one total per step",
        )
    return length


def steps(text: str, every: Length, *, name: str, step_name: str = "every") -> Fraction:
    """The number of steps in the text: a plain number, or a duration divided by `every`.

    `every` is the length of a step in nanoseconds, or None if steps have no length.  It may also be
    a calendar step; then a duration is an error.  Errors refer to the text as `name`, and to the
    length as `step_name`.

    >>> steps("36h", nanoseconds("24h"), name="half_life")
    Fraction(3, 2)
    """
    squeezed = text.strip()
    if _NUMBER.fullmatch(squeezed):
        found = Fraction(squeezed)
    elif (total := _parts(squeezed)) is None:
        raise _no_length(squeezed, name)
    elif isinstance(every, str):
        raise InvalidValue(
            f"must be a number of steps, such as 7, because a calendar {every.partition(' ')[0]} "
            "has no fixed length",
            argument=name,
            got=_shown(text),
        )
    elif every is None:
        raise InvalidValue(
            f"must be in steps unless {step_name} is given", argument=name, got=_shown(text)
        )
    else:
        found = Fraction(_whole(total, text, name), every)
    if not found > 0:
        raise InvalidValue("must be > 0", argument=name, got=_shown(text))
    return found


def whole_steps(text: str, every: Length, *, name: str, step_name: str = "every") -> int:
    """The number of steps in the text, which must be a whole number.

    >>> whole_steps("7d", nanoseconds("1h"), name="window")
    168
    """
    found = steps(text, every, name=name, step_name=step_name)
    if found.denominator != 1:
        raise InvalidValue(
            "must be a whole number of steps",
            argument=name,
            got=f"{float(found):g} from {_shown(text)}",
        )
    return int(found)


def shown(length: int) -> str:
    """A length in nanoseconds as text, in the largest units that express it exactly.

    >>> shown(5400 * 10**9), shown(7 * 86400 * 10**9)
    ('1h30min', '1w')
    """
    parts = []
    for unit, size in _NANOSECONDS.items():
        count, length = divmod(length, size) if unit != "m" else (0, length)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def _parts(text: str) -> Fraction | None:
    """The sum of the numbers with units, in nanoseconds; None if the text has another form."""
    total, at = Fraction(0), 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            return None
        total += Fraction(part[1]) * _NANOSECONDS[part[2]]
        at = part.end()
        while at < len(text) and text[at] == " ":
            at += 1
    return total


def _whole(total: Fraction | None, text: str, name: str) -> int:
    if total is None:
        raise InvalidValue(
            "must be a duration such as 1h, 90min or 7d", argument=name, got=_shown(text)
        )
    if not total > 0:
        raise InvalidValue("must be > 0", argument=name, got=_shown(text))
    if total.denominator != 1 or total > _LONGEST:
        raise InvalidValue("must be whole nanoseconds, at most 146 years", argument=name)
    return int(total)


def _no_length(text: str, name: str) -> InvalidValue:
    """The error about a text that is neither a number of steps nor a duration."""
    with suppress(ValueError):
        number = float(text)
        if not number > 0:
            return InvalidValue("must be > 0", argument=name, got=f"{number:g}")
        if not math.isfinite(number):
            return InvalidValue("must be finite", argument=name, got=f"{number:g}")
    rule = "must be a number of steps or a duration such as 24h"
    return InvalidValue(rule, argument=name, got=_shown(text))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
