"""The binary container of all saved states: a magic line, a header, arrays, and a checksum.

    magic line        b"hushfade stream draft\\n": the content, and its format
    8 bytes           the length of the header, little-endian
    header            JSON; "arrays" lists the type and length of each array
    arrays            little-endian, one after another
    32 bytes          SHA-256 of all of the above

The checksum detects accidental damage, not forgery.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushfade.errors import Refused
from hushfade.format_marker import check_marker

MOST_STEPS = (
    2**61
)  # the most steps of a saved state without a horizon; random bits have positions for twice as many
_CHECKSUM = 32
_LONGEST = 64  # bytes of a magic line


class Frame(NamedTuple):
    """The parts of a saved container."""

    header: dict[str, Any]
    body: memoryview


def packed(magic: bytes, header: dict[str, Any], arrays: Sequence[NDArray[Any]]) -> bytes:
    """The bytes of a container."""
    little = [array.astype(array.dtype.newbyteorder("<"), copy=False) for array in arrays]
    listed = [[array.dtype.str, array.size] for array in little]
    text = json.dumps(
        {**header, "arrays": listed}, sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode()
    parts = [magic, len(text).to_bytes(8, "little"), text, *(a.tobytes() for a in little)]
    checksum = hashlib.sha256()
    for part in parts:  # arrays may be large, so join them only once
        checksum.update(part)
    return b"".join([*parts, checksum.digest()])


def opened(data: Any, magic: bytes, what: str) -> Frame:
    """The parts of a container with this magic line, checked by its checksum.

    `what` names the content in messages.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise Refused(f"{what} must be bytes", got=type(data).__name__)
    raw = memoryview(data).cast("B")
    _check_magic(bytes(raw[:_LONGEST]), magic, what)
    start = len(magic) + 8
    whole = len(raw) >= start + _CHECKSUM
    if not whole or hashlib.sha256(raw[:-_CHECKSUM]).digest() != raw[-_CHECKSUM:]:
        raise Refused(f"{what} is damaged: its checksum does not match")
    end = start + int.from_bytes(raw[len(magic) : start], "little")
    try:
        header = json.loads(bytes(raw[start:end]))
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or end > len(raw) - _CHECKSUM:
        raise Refused(f"{what} has no readable header")
    return Frame(header, raw[end:-_CHECKSUM])


def _check_magic(start: bytes, magic: bytes, what: str) -> None:
    """Raise Refused unless the bytes start with the magic line."""
    if start.startswith(magic):
        return
    line, _, _ = start.partition(b"\n")
    check_marker(
        what,
        line.decode("ascii", errors="replace"),
        magic.decode().strip(),
        remedy="begin again with this version of hushfade",
        error=Refused,
    )
    raise Refused(f"{what} is damaged: its first line is incomplete")


def split(body: memoryview, listed: Any, kinds: Sequence[str], what: str) -> list[NDArray[Any]]:
    """The body, split into arrays of these types and copied into native byte order.

    `listed` has the type and length of each array.  It must match the types and fill the body.
    """
    sizes = _sizes(listed, kinds)
    if sizes is None or sum(sizes) != len(body):
        raise Refused(f"{what} does not have the arrays that its header lists")
    arrays, at = [], 0
    for kind, size in zip(kinds, sizes, strict=True):
        native = np.dtype(kind).newbyteorder("=")
        arrays.append(np.frombuffer(body[at : at + size], dtype=kind).astype(native))
        at += size
    return arrays


def _sizes(listed: Any, kinds: Sequence[str]) -> list[int] | None:
    """The number of bytes of each array; None if the list does not consist of types and lengths."""
    if not isinstance(listed, list) or len(listed) != len(kinds):
        return None
    sizes = []
    for entry, expected in zip(listed, kinds, strict=True):
        match entry:
            case [str(kind), int(length)] if kind == expected and length >= 0:
                sizes.append(np.dtype(kind).itemsize * length)
            case _:
                return None
    return sizes
