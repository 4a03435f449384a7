"""Durations as people write them, and how many steps they are.

    24h   90min   7d   2w   1h30m   500ms       a number and its unit, several may follow
    24                                          a plain number: steps

    w weeks   d days   h hours   m, min minutes   s seconds   ms, us, ns parts of a second

A day is 24 hours, a week 7 days.  Months and years have no fixed length and are refused.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
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

ROWS = "rows"  # each row is a step, whatever time has passed


def nanoseconds(text: str, *, name: str = "duration") -> int:
    """The duration in nanoseconds, whole and above 0.

    >>> nanoseconds("1h30m") == nanoseconds("90min") == 90 * 60 * 10**9
    True
    >>> nanoseconds("1mo")
    Traceback (most recent call last):
    hushfade.errors.InvalidValue: duration must be like 1h, 90min or 7d, got '1mo'
    """
    return _whole(_parts(text.strip()), text, name)


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
            "must be text such as '1h', or a timedelta", argument=name, got=type(every).__name__
        )
    return nanoseconds(every, name=name)


def declared_step(every: object, *, name: str = "every") -> str:
    """A step as a plan states it: "rows", or its length in the largest units.

    >>> declared_step("90min"), declared_step(timedelta(days=7)), declared_step("rows")
    ('1h30min', '1w', 'rows')
    """
    if isinstance(every, str) and every == ROWS:
        return ROWS
    return shown(step_length(every, name=name))


def steps(text: str, every: int | None, *, name: str, step_name: str = "every") -> Fraction:
    """How many steps the text means: a plain number of steps, or a duration divided by `every`.

    `every` is a step's length in nanoseconds, or None where steps have none.  Errors call the
    text `name` and the length `step_name`.

    >>> steps("36h", nanoseconds("24h"), name="half_life")
    Fraction(3, 2)
    """
    squeezed = text.strip()
    if _NUMBER.fullmatch(squeezed):
        found = Fraction(squeezed)
    elif (total := _parts(squeezed)) is None:
        raise _no_length(squeezed, name)
    elif every is None:
        raise InvalidValue(
            f"must be in steps unless {step_name} is given", argument=name, got=_shown(text)
        )
    else:
        found = Fraction(_whole(total, text, name), every)
    if not found > 0:
        raise InvalidValue("must be > 0", argument=name, got=_shown(text))
    return found


def whole_steps(text: str, every: int | None, *, name: str, step_name: str = "every") -> int:
    """The same, refused unless it is a whole number of steps.

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


def _parts(text: str) -> Fraction | None:
    """The sum of numbers with units, in nanoseconds; None if the text is anything else."""
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
        raise InvalidValue("must be like 1h, 90min or 7d", argument=name, got=_shown(text))
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
