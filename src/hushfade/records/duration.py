"""Durations as people write them, and how many steps they are.

    24h   90min   7d   2w   1h30m   500ms       a number and its unit, several may follow
    24                                          a plain number: steps

    w weeks   d days   h hours   m, min minutes   s seconds   ms, us, ns parts of a second

A day is 24 hours, a week 7 days.  Months and years have no fixed length and are refused.
"""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

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


def nanoseconds(text: str, *, name: str = "duration") -> int:
    """The duration in nanoseconds, whole and above 0.

    >>> nanoseconds("1h30m") == nanoseconds("90min") == 90 * 60 * 10**9
    True
    >>> nanoseconds("1mo")
    Traceback (most recent call last):
    hushfade.errors.InvalidValue: duration must be like 1h, 90min or 7d, got '1mo'
    """
    squeezed = text.strip()
    total, at = Fraction(0), 0
    while at < len(squeezed):
        part = _PART.match(squeezed, at)
        if part is None:
            raise InvalidValue(f"{name} must be like 1h, 90min or 7d, got {_shown(text)}")
        total += Fraction(part[1]) * _NANOSECONDS[part[2]]
        at = part.end()
        while at < len(squeezed) and squeezed[at] == " ":
            at += 1
    if not total > 0:
        raise InvalidValue(f"{name} must be > 0, got {_shown(text)}")
    if total.denominator != 1 or total > _LONGEST:
        raise InvalidValue(f"{name} must be whole nanoseconds, at most 146 years")
    return int(total)


def step_length(every: object, *, name: str = "every") -> int:
    """A step's length in nanoseconds, exactly: `every` is text or a timedelta, pandas' as well.

    >>> step_length("90min") == step_length(timedelta(hours=1.5)) == 90 * 60 * 10**9
    True
    """
    if isinstance(every, timedelta):
        seconds = every.days * 86_400 + every.seconds
        parts = every.microseconds * 1000 + getattr(every, "nanoseconds", 0)  # only pandas has them
        every = shown(seconds * 10**9 + parts)
    if not isinstance(every, str):
        raise InvalidType(
            f"{name} must be text such as '1h', or a timedelta, got {type(every).__name__}"
        )
    return nanoseconds(every, name=name)


def steps(text: str, every: int | None, *, name: str) -> Fraction:
    """How many steps the text says: a plain number as it is, a duration divided by `every`.

    `every` is a step's length in nanoseconds, or None where steps have none.

    >>> steps("36h", nanoseconds("24h"), name="half_life")
    Fraction(3, 2)
    """
    squeezed = text.strip()
    if _NUMBER.fullmatch(squeezed):
        found = Fraction(squeezed)
    elif every is None:
        nanoseconds(squeezed, name=name)  # what is no duration either is told so
        raise InvalidValue(f"{name} must be in steps where a step has no length, got {text!r}")
    else:
        found = Fraction(nanoseconds(squeezed, name=name), every)
    if not found > 0:
        raise InvalidValue(f"{name} must be > 0, got {_shown(text)}")
    return found


def whole_steps(text: str, every: int | None, *, name: str) -> int:
    """The same, refused unless it is a whole number of steps.

    >>> whole_steps("7d", nanoseconds("1h"), name="window")
    168
    """
    found = steps(text, every, name=name)
    if found.denominator != 1:
        raise InvalidValue(
            f"{name} must be a whole number of steps, got {float(found):g} from {_shown(text)}"
        )
    return int(found)


def shown(length: int) -> str:
    """A length in nanoseconds in the largest units that leave no rest.

    >>> shown(5400 * 10**9), shown(7 * 86400 * 10**9)
    ('1h30min', '1w')
    """
    parts = []
    for unit, size in _NANOSECONDS.items():
        count, length = divmod(length, size) if unit != "m" else (0, length)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
