"""JSON in pieces: large lists never take the interpreter for long, and never fill the memory.

The C encoder holds the interpreter's lock until it is done.  So a list of 100,000 numbers is
encoded in slices, and other threads, such as the one that answers /health, run between them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

PIECE = 1 << 16  # bytes that are sent at a time
_SLICE = 2048  # items


def dumps(content: Any) -> str:
    """The content as JSON.  Equal content gives equal text."""
    return json.dumps(content, allow_nan=False, separators=(",", ":"))


def texts(content: Any) -> Iterator[str]:
    """The same text as `dumps`, in parts.  A column of numbers is like a list.

    >>> "".join(texts({"a": list(range(3)), "b": []})) == dumps({"a": [0, 1, 2], "b": []})
    True
    """
    if isinstance(content, dict) and content:
        for at, (name, value) in enumerate(content.items()):
            yield f"{',' if at else '{'}{json.dumps(name)}:"
            yield from texts(value)
        yield "}"
    elif isinstance(content, np.ndarray):  # one row of numbers
        for at in range(0, len(content), _SLICE):
            yield ("," if at else "[") + dumps(content[at : at + _SLICE].tolist())[1:-1]
        yield "]" if len(content) else "[]"
    elif isinstance(content, list | tuple) and len(content) * _weight(content) > _SLICE:
        size = max(1, _SLICE // _weight(content))
        for at in range(0, len(content), size):
            yield ("," if at else "[") + dumps(content[at : at + size])[1:-1]
        yield "]"
    else:
        yield dumps(content)


def _weight(items: Sequence[Any]) -> int:
    """The numbers in an item of the list, judged by its first item."""
    first = items[0] if items else None
    return max(1, len(first)) if isinstance(first, list) else 1


def gathered(parts: Iterable[str]) -> Iterator[bytes]:
    """The text in pieces of about PIECE bytes."""
    waiting: list[bytes] = []
    size = 0
    for part in parts:
        waiting.append(part.encode())
        size += len(waiting[-1])
        if size >= PIECE:
            yield from cut(b"".join(waiting))
            waiting, size = [], 0
    if waiting:
        yield from cut(b"".join(waiting))


def cut(content: bytes) -> Iterator[bytes]:
    """The bytes in pieces of at most PIECE and a bit."""
    if len(content) <= 2 * PIECE:
        yield content
        return
    for at in range(0, len(content), PIECE):
        yield content[at : at + PIECE]
