"""Memory: what an object holds in arrays, and by how much a process grows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dev.benchmarks.timing import fresh
from hushfade import Plan

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
    """Bytes by which the job raises a fresh interpreter's resident memory: at its peak, and left.

    It starts from what is resident after `before`.  Linux only.
    """
    peak, left = fresh(_GROWTH.format(before=before, job=job))
    return peak, left


def arrays(thing: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays that an object keeps, its plan left out; a view counts as what it is a view of."""
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
    """Write to every page of those arrays, as a long stream has: fresh zeros are no memory yet."""
    for array in arrays(thing):
        if array.flags.writeable:
            np.add(array, 0, out=array)


def available() -> int:
    """Bytes that can be had without swapping.  Linux only."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
