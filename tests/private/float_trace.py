"""A trace of every hushfade function: does a local, an attribute or a result hold a total as float?

The tests choose records whose units are unmistakable numbers.  The trace then looks, after every
line of hushfade's Python code and in every thread, for a float or a float array that holds such a
number, in units or in the records' own unit.  Only the quantiser itself may hold one.
"""

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import numpy as np

from hushfade.private.grid import Grid

_QUANTISER: set[CodeType] = {Grid.rule.__code__, Grid._quantised.__code__}
_DEEP = 3  # levels of containers and attributes that are looked into
_LONG = 64  # items of a container


class FloatTrace:
    """Notes where a float equal to one of the private numbers was held."""

    def __init__(self, private: Iterable[float], modules: tuple[str, ...] = ("hushfade",)) -> None:
        self._private = np.unique(np.array(list(private), dtype=np.float64))
        self._modules = modules
        self.frames = 0
        self.seen: set[str] = set()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Trace this thread, and those that start meanwhile."""
        before = sys.gettrace()
        threading.settrace(self._called)
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(before)
            threading.settrace(before)  # type: ignore[arg-type]

    def _called(self, frame: FrameType, event: str, argument: object) -> Any:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(self._modules) or frame.f_code in _QUANTISER:
            return None
        self.frames += 1
        return self._ran

    def _ran(self, frame: FrameType, event: str, argument: object) -> Any:
        held = dict(frame.f_locals)
        if event == "return":
            held["the result"] = argument
        for name, value in held.items():
            if self._holds(value, _DEEP if event == "return" else 1):
                module = frame.f_globals["__name__"]
                self.seen.add(f"{module}.{frame.f_code.co_qualname}: {name}")
        return self._ran

    def _holds(self, value: object, deep: int) -> bool:
        if isinstance(value, float | np.floating):
            return bool(np.isin(abs(float(value)), self._private))
        if isinstance(value, np.ndarray):
            return value.dtype.kind == "f" and bool(np.isin(np.abs(value), self._private).any())
        if deep == 0:
            return False
        return any(self._holds(inner, deep - 1) for inner in _inside(value))


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())[:_LONG]
    if isinstance(value, list | tuple):
        return list(value[:_LONG])
    if type(value).__module__.startswith("hushfade"):
        slots = getattr(type(value), "__slots__", ())
        named = [getattr(value, name, None) for name in slots if isinstance(name, str)]
        return [*named, *vars(value).values()] if hasattr(value, "__dict__") else named
    return []
