"""Compiled loops, whose machine code is cached on disk.  Importing this module loads numba.

numba checks only the file of a function to decide whether its cached code is current.  But a loop
calls loops in other files, and an old loop on a new memory layout would read the wrong places.  The
name of each cached function therefore ends with a digest of its own module and of every hushfade
module that it imports.  When one of them changes, numba compiles again, and `compiled` removes the
old files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba

_PACKAGE = Path(__file__).parent
_IMPORT = re.compile(r"^from (hushfade[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)

inlined = numba.njit(inline="always", error_model="numpy")  # inlined into its callers


def compiled(function: Callable[..., Any]) -> Any:
    """The function, compiled at its first call with each argument type.  It releases the GIL."""
    return numba.njit(cache=True, nogil=True, error_model="numpy")(_named(function))


def short(signature: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for loops that take less than a microsecond.

    It compiles the loop for one signature and bypasses numba's dispatcher, which would take as long
    as the loop.  Arguments must have exactly the types of the signature.
    """

    def compile_it(function: Callable[..., Any]) -> Callable[..., Any]:
        dispatcher = numba.njit([signature], cache=True, error_model="numpy")(_named(function))
        (overload,) = dispatcher.overloads.values()
        entry: Callable[..., Any] = getattr(overload, "entry_point", dispatcher)
        return entry

    return compile_it


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, renamed so that its name changes with the sources that it is compiled from."""
    name, digest = function.__name__, sources_digest(function.__module__)
    function.__qualname__ = f"{name}-{digest}"
    with suppress(OSError):  # a read-only installation keeps its old files
        source = Path(function.__code__.co_filename)
        for cached in (source.parent / "__pycache__").glob(f"{source.stem}.{name}-*.nb[ic]"):
            if digest not in cached.name:
                cached.unlink(missing_ok=True)
    return function


@lru_cache(maxsize=256)
def sources_digest(module: str) -> str:
    """A digest (16 hexadecimal digits) of a module and of all hushfade modules that it imports."""
    sources: dict[str, bytes] = {}
    pending = [module, __name__]
    while pending:
        name = pending.pop()
        path = _source(name)
        if name in sources or path is None:
            continue
        sources[name] = path.read_bytes()
        for package, names in _IMPORT.findall(sources[name].decode()):
            pending += [package, *(f"{package}.{part}" for part in re.findall(r"\w+", names))]
    joined = b"".join(name.encode() + sources[name] for name in sorted(sources))
    return hashlib.sha256(joined).hexdigest()[:16]


def _source(module: str) -> Path | None:
    """The file of a hushfade module; None if the module does not exist."""
    place = _PACKAGE.joinpath(*module.split(".")[1:])
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file() and module != "hushfade"), None)
