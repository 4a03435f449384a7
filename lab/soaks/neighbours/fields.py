"""Random fields of a record, and their meaning.

Each function returns a field in some form, and its meaning.  The forms are unusual on purpose:
huge and tiny numbers, years beyond the range of nanoseconds, exponents, blanks, quotes.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from importlib import import_module
from random import Random
from typing import Any

import numpy as np

from lab.soaks.neighbours.meaning import Fault, Steps
from lab.soaks.neighbours.settings import KEYS, UNITS, Setting

pd: Any = import_module("pandas")
BAD, EMPTY = Fault.MALFORMED, Fault.EMPTY

_DAY = 86_400 * 10**9
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_PLACES = {"s": 9, "ms": 6, "us": 3, "ns": 0}
_FAR = [
    (datetime.date(year, 1, 2).toordinal() - _EPOCH) * _DAY for year in (1, 1600, 2500, 3000, 9998)
]
_NO_TIMES = ["2026-13-01", "yesterday", " 2026-01-01", "nan", "２０２６-01-01", "2026-01-01T25:00"]
_NO_NUMBERS = [
    "nan", "inf", "-inf", "1_000", " 1", "1 ", "0x1", "--1", "１", "1e999", "9" * 400, "e",
]  # fmt: skip
_NUMBERS = [
    "0", "-0", "1", "1.5", ".5", "5.", "+2", "1e3", "1E-3", "007", "1e308", "-1e308", "1e-400",
    "9007199254740993", str(2**63), str(-(2**63)), str(2**70), "1" + "0" * 300, "3.4028235e38",
    "0.1000000000000000055511151231257827021181583404541015625",
]  # fmt: skip
_NAMES = ["ann", "bob", "7", "07", "é", "ann ", "a,b", 'q"q', "\ufeffann", "x" * 300]
_BLANKS = ["", " ", "\t", "\u3000", "\u200b"]
_OTHER_KEYS = ["x", "A", " a", "\ufeffa", "", "y" * 2000, "a\nb", '"', "é"]


def moment(random: Random, steps: Steps, grain: int = 1) -> int:
    """A random time, a multiple of the grain: near a boundary of the steps, or far away."""
    if random.random() < 0.08:
        time = random.choice(_FAR)
    else:
        time = steps.start + random.randint(-1, steps.count + 1) * steps.every
        time += random.choice((0, -1, 1, steps.every // 2, random.randrange(steps.every)))
    return time - time % grain


def written(random: Random, time: int, zoned: bool) -> str:
    """The time as text, in one of its notations."""
    minutes = random.choice((0, 0, 60, -330, 1439)) if zoned else 0
    days, rest = divmod(time + minutes * 60 * 10**9, _DAY)
    if not 1 <= _EPOCH + days <= 3_652_059:
        minutes, (days, rest) = 0, divmod(time, _DAY)
    date = datetime.date.fromordinal(_EPOCH + days).isoformat()
    clock, rest = divmod(rest, 10**9)
    seconds = f"{clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60:02}"
    fraction = f"{rest:09}".rstrip("0")
    if fraction or random.random() < 0.2:
        fraction = "." + fraction.ljust(random.randint(1, 9), "0")
    elif seconds.endswith(":00") and random.random() < 0.5:
        seconds = seconds[:-3]
    if not zoned:
        zone = ""
    elif minutes == 0:
        zone = random.choice(("Z", "+00:00", "-00"))
    else:
        hours, rest = divmod(abs(minutes), 60)
        zone = f"{'-' if minutes < 0 else '+'}{hours:02}{random.choice((':', ''))}{rest:02}"
    midnight = seconds in ("00:00", "00:00:00") and not fraction
    if midnight and zone in ("", "Z") and random.random() < 0.5:
        return date + zone
    return date + random.choice("T ") + seconds + fraction + zone


def counted(random: Random, time: int, unit: str, *, plain: bool) -> str:
    """The time as an exact decimal number of the unit; if `plain`, in the grammar of JSON."""
    sign, size = "-" if time < 0 else "", abs(time)
    whole, rest = divmod(size, UNITS[unit])
    digits = f"{rest:0{_PLACES[unit]}}" if _PLACES[unit] else ""
    forms = [f"{sign}{size}e-{_PLACES[unit]}", f"{sign}{whole}.{digits}0"]
    if not rest:
        forms += [f"{sign}{whole}"] * 3 + [f"{sign}{whole}.0", f"{sign}{whole}000E-3"]
    if not plain and not sign:
        forms.append(f"+00{whole}.{digits}")
    return random.choice(forms)


def text(
    random: Random, role: str, setting: Setting, bad: float, *, plain: bool = False
) -> tuple[str | bytes, Any]:
    """The field of a role as text, or as bytes that are not text, and its meaning."""
    if role == "time":
        steps, unit = setting.rules.steps, setting.time_unit
        return time_text(random, steps, unit, setting.zoned, bad, plain=plain)
    return {"value": number_text, "key": key_text, "user": user_text}[role](random, bad)


def time_text(
    random: Random, steps: Steps, unit: str | None, zoned: bool, bad: float, *, plain: bool = False
) -> tuple[str, int | Fault]:
    """A time as text; if there is a unit, a number."""
    if random.random() < bad:
        return _bad_time(random, steps, unit, zoned)
    if unit is not None and random.random() < 0.03:
        far = {str(2**70): 2**200, "1e400": 2**200, "-1e400": -(2**200), "1e-400": 0}
        return random.choice(list(far.items()))
    time = moment(random, steps)
    if unit is None:
        return written(random, time, zoned), time
    return counted(random, time, unit, plain=plain), time


def _bad_time(
    random: Random, steps: Steps, unit: str | None, zoned: bool
) -> tuple[str, int | Fault]:
    if random.random() < 0.2:
        return "", EMPTY
    if unit is not None:
        return random.choice((*_NO_TIMES, "1_000", " 5", "inf", "0x10")), BAD
    other = written(random, moment(random, steps), not zoned)
    return random.choice((*_NO_TIMES, other, "1767225600")), BAD


def number_text(random: Random, bad: float) -> tuple[str, float | Fault]:
    """A value as text."""
    if random.random() < bad:
        return random.choice([("", EMPTY), *((text, BAD) for text in _NO_NUMBERS)])
    if random.random() < 0.3:
        text = random.choice(_NUMBERS)
    else:
        number = random.choice((random.uniform(-6, 6), random.gauss(0, 1e9), random.randint(-9, 9)))
        text = random.choice((repr, "{:.3f}".format))(number)
    return text, float(text)


def json_number(text: str) -> bool:
    """True if the text is a number in the grammar of JSON."""
    digits = text.removeprefix("-").replace("E", "e")
    whole = digits.partition("e")[0].partition(".")[0]
    fine = whole == "0" or (whole.isdecimal() and not whole.startswith("0"))
    return fine and "." not in digits[-1:] and digits.isascii()


def key_text(random: Random, bad: float) -> tuple[str | bytes, str | Fault]:
    """A key as text, or as bytes that are not text."""
    if random.random() < bad / 2:
        return b"\xffa", BAD
    text = random.choice((*KEYS * 3, *_OTHER_KEYS))
    return text, text


def user_text(random: Random, bad: float) -> tuple[str | bytes, str | Fault]:
    """A person as text, or as bytes that are not text."""
    if random.random() < bad:
        return b"\xff\xfe" if random.random() < 0.2 else random.choice(_BLANKS), BAD
    text = random.choice((*_NAMES[:3] * 3, *_NAMES))
    return text, text


# Python objects ---------------------------------------------------------------------------------


def time_object(random: Random, setting: Setting, bad: float) -> tuple[Any, int | Fault]:
    """A time as an object: text, a number, a datetime or a timestamp."""
    steps, unit, zoned = setting.rules.steps, setting.time_unit, setting.zoned
    if random.random() < bad:
        wrong = [True, b"5", [1], 1.5j, "x", datetime.timedelta(1)]
        wrong += [5, 1.5] if unit is None else [datetime.date(2026, 1, 1)]
        wrong += [float(2**60)] * 6 if unit == "ns" else []
        return random.choice([(None, EMPTY), (float("nan"), EMPTY), *((one, BAD) for one in wrong)])
    time = moment(random, steps, 1 if unit is None else UNITS[unit])
    if random.random() < 0.3 or (unit is None and not -(2**62) < time < 2**62):
        return time_text(random, steps, unit, zoned, 0)
    if unit is not None:
        number = time // UNITS[unit]
        floats = unit != "ns" and abs(number) < 2**53 and random.random() < 0.3
        return random.choice((float(number), np.float64(number)) if floats else (
            number, Decimal(number), Decimal(number).scaleb(3) / 1000
        )), time  # fmt: skip
    stamp = pd.Timestamp(time)
    if random.random() < 0.4:
        time -= time % 1000
        stamp = pd.Timestamp(time).to_pydatetime()
    if zoned:
        zone = random.choice((datetime.UTC, datetime.timezone(datetime.timedelta(minutes=-330))))
        stamp = stamp.replace(tzinfo=datetime.UTC).astimezone(zone)
    return stamp, time


def number_object(random: Random, bad: float) -> tuple[Any, float | Fault]:
    """A value as an object."""
    if random.random() < bad:
        wrong = [True, b"1", [1], 1.5j, "x", datetime.date(2026, 1, 1), float("inf"), 10**400]
        return random.choice([(None, EMPTY), (float("nan"), EMPTY), *((one, BAD) for one in wrong)])
    text, number = number_text(random, 0)
    assert isinstance(number, float)
    forms: list[Any] = [text, number, np.float64(number), Decimal(text)]
    if number.is_integer():
        forms += [int(number)] * 2
    if abs(number) < 2**31:
        forms.append(np.int32(int(number)) if number.is_integer() else number)
    return random.choice(forms), number


def name_object(random: Random, role: str, bad: float) -> tuple[Any, Any]:
    """A key or a person as an object; digits may also be a number."""
    if random.random() < bad:
        missing = "none of the keys" if role == "key" else EMPTY
        wrong = [True, b"a", [1], 7.0, Decimal(7), "\ud800", datetime.date(2026, 1, 1)]
        return random.choice([(None, missing), *((one, BAD) for one in wrong)])
    text, means = (key_text if role == "key" else user_text)(random, 0)
    if text == "7" and random.random() < 0.5:
        return random.choice((7, np.int64(7))), means
    return text, means
