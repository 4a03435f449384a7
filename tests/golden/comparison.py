"""The differences between recorded and present values, by case and field.

Integers, texts and the parameters of the noise must be equal.  Other floats may differ in their
last digits from machine to machine, because libraries add in other orders.  With the kernels of
OpenBLAS for several processors, and with numpy and numba without vector extensions, claimed deltas
of long memories moved by up to 3e-7 of their size (6e-9 near the declared delta), and all other
floats by less than 1e-9.  The tolerances are 1e-6 for deltas and 1e-9 for other floats.  For a
released value it is 1e-9 of the width of the interval at that step, because a value near 0 is the
difference of large numbers, and 1e-11 of the value, which is recorded with 12 digits.  One unit of
the noise moves a value by far more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

TOLERANCE, DIGITS = 1e-9, 1e-11
TOLERANCES = {"delta": 1e-6}
_SERIES = ("s", "intervals")


def differences(
    recorded: Any, present: Any, name: str, relative: float = TOLERANCE
) -> Iterator[str]:
    """A line per field that differs, with the names of the case and of the field."""
    if isinstance(recorded, dict) and isinstance(present, dict):
        for key in recorded | present:
            if key not in recorded or key not in present:
                yield f"{name}: {key}: {'not recorded' if key in present else 'no longer there'}"
            elif key in _SERIES:
                yield from _away(recorded, present, key, name)
            elif key == "noise" and recorded[key] != present[key]:
                yield f"{name}: {key}: recorded {recorded[key]}, now {present[key]}"
            else:
                allowed = TOLERANCES.get(key, relative)
                yield from differences(recorded[key], present[key], f"{name}: {key}", allowed)
    elif isinstance(recorded, list) and isinstance(present, list):
        if len(recorded) != len(present):
            yield f"{name}: recorded {len(recorded)} numbers, now {len(present)}"
        else:
            for place, pair in enumerate(zip(recorded, present, strict=True)):
                yield from differences(*pair, f"{name}[{place}]", relative)
    elif not _near(recorded, present, relative):
        yield f"{name}: recorded {recorded!r}, now {present!r}"


def _away(recorded: Any, present: Any, key: str, name: str) -> Iterator[str]:
    """Differences of released values, or of the ends of their intervals."""
    was, now = recorded[key], present[key]
    if _shape(was) != _shape(now):
        yield f"{name}: {key}: another number of steps or lanes"
        return
    for step, ends in enumerate(recorded["intervals"]):
        for lane, (low, high) in enumerate(zip(*ends, strict=True)):
            rows = (
                [(was[step], now[step])] if key == "s" else zip(was[step], now[step], strict=True)
            )
            for one, other in rows:
                if not _near(one[lane], other[lane], DIGITS, TOLERANCE * (high - low)):
                    yield f"{name}: {key}[{step}]: recorded {one[lane]!r}, now {other[lane]!r}"


def _shape(value: Any) -> Any:
    return [_shape(inner) for inner in value] if isinstance(value, list) else None


def _near(recorded: Any, present: Any, relative: float, absolute: float = 0.0) -> bool:
    """Whether two numbers agree: floats within the tolerance, everything else exactly."""
    if isinstance(recorded, float) and isinstance(present, float):
        return math.isclose(recorded, present, rel_tol=relative, abs_tol=absolute)
    return type(recorded) is type(present) and bool(recorded == present)
