"""Memory: the size of an object's arrays, and the growth of a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hushfade import Plan
from lab.benchmarks.timing import fresh

_GROWTH = """
def resident(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))

{before}
before = resident("VmRSS:")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak is counted from here on
{job}
print(resident("VmHWM:") - before, resident("VmRSS:") - before)
"""


def growth(before: str, job: str) -> tuple[float, float]:
    """The bytes by which the job raises a fresh interpreter's resident memory: peak and end.

    The baseline is the resident memory after `before`.  Linux only.
    """
    peak, left = fresh(_GROWTH.format(before=before, job=job))
    return peak, left


def arrays(thing: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays that an object keeps, without its plan; a view counts as its base array."""
    seen: set[int] = set()

    def within(part: Any) -> Iterator[np.ndarray[Any, Any]]:
        while isinstance(part, np.ndarray) and isinstance(part.base, np.ndarray):
            part = part.base
        if id(part) in seen or isinstance(part, Plan | type):
            return
        seen.add(id(part))
        if isinstance(part, np.ndarray):
            yield part
        elif isinstance(part, list | tuple):
            for item in part:
                yield from within(item)
        elif type(part).__module__.startswith("hushfade"):
            names = [*getattr(type(part), "__slots__", ()), *getattr(part, "__dict__", ())]
            for name in names:
                yield from within(getattr(part, name, None))

    yield from within(thing)


def array_bytes(thing: Any) -> int:
    """The bytes of the arrays that an object keeps."""
    return sum(array.nbytes for array in arrays(thing))


def touch(thing: Any) -> None:
    """Write to every page of the object's arrays: fresh zeros use no memory yet."""
    for array in arrays(thing):
        if array.flags.writeable:
            np.add(array, 0, out=array)


def available() -> int:
    """The bytes that are available without swapping.  Linux only."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
