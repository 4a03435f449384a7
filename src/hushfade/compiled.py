"""How loops are compiled: once, kept on disk, floats in the order written.  Loads numba."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
inlined = numba.njit(inline="always", error_model="numpy")  # into the loops that use it


def short(signature: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """For loops of less than a microsecond: compiled for one signature, and called past the
    dispatcher, which would take as long as they do.  Arguments must have exactly these types."""

    def compile_it(function: Callable[..., Any]) -> Callable[..., Any]:
        dispatcher = numba.njit([signature], cache=True, error_model="numpy")(function)
        (found,) = dispatcher.overloads.values()
        entry: Callable[..., Any] = getattr(found, "entry_point", dispatcher)
        return entry

    return compile_it


def _forget_stale() -> None:
    """Remove kept code that is older than any source.

    numba knows a function by its own file; a function that it calls may have changed in another.
    """
    here = Path(__file__).parent
    newest = max(source.stat().st_mtime for source in here.rglob("*.py"))
    for index in here.rglob("__pycache__/*.nbi"):
        if index.stat().st_mtime < newest:
            index.unlink(missing_ok=True)


with suppress(OSError):  # a read-only installation keeps what it has
    _forget_stale()
