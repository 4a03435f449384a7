"""How loops are compiled: once, kept on disk, floats in the order written.  Loads numba.

numba knows kept code by the file of the function alone.  A loop calls others, of other files, and
old loops on a new layout of memory would read anywhere.  So every kept function's name has a digest
of all files that loops are made of: when one changes, nothing that was kept is found again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba

_HOME = Path(__file__).parent
_SOURCES = sorted(
    [
        *(_HOME / name for name in ("compiled.py", "crossing.py", "kernels.py", "mixing.py")),
        _HOME / "recursion.py",
        *(_HOME / "convolve").glob("*.py"),
        *(_HOME / "events" / name for name in ("blocks.py", "bounding.py")),
    ]
)
DIGEST = hashlib.sha256(b"".join(source.read_bytes() for source in _SOURCES)).hexdigest()[:16]

inlined = numba.njit(inline="always", error_model="numpy")  # into the loops that use it


def compiled(function: Callable[..., Any]) -> Any:
    """The function, compiled when first called with each kind of arguments; without the GIL."""
    return numba.njit(cache=True, nogil=True, error_model="numpy")(_named(function))


def short(signature: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """For loops of less than a microsecond: compiled for one signature, and called past the
    dispatcher, which would take as long as they do.  Arguments must have exactly these types."""

    def compile_it(function: Callable[..., Any]) -> Callable[..., Any]:
        dispatcher = numba.njit([signature], cache=True, error_model="numpy")(_named(function))
        (found,) = dispatcher.overloads.values()
        entry: Callable[..., Any] = getattr(found, "entry_point", dispatcher)
        return entry

    return compile_it


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    function.__qualname__ = f"{function.__name__}-{DIGEST}"
    return function


def _forget() -> None:
    """Remove what was kept beside the sources for other digests."""
    for kept in _HOME.rglob("__pycache__/*.nb[ic]"):
        if DIGEST not in kept.name:
            kept.unlink(missing_ok=True)


with suppress(OSError):  # a read-only installation keeps what it has
    _forget()
