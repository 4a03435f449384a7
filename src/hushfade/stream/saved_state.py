"""A stream's saved state as bytes: a magic line, a JSON header, the arrays, a checksum."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hushfade.errors import HushfadeError, Refused
from hushfade.planning.plan import Plan

if TYPE_CHECKING:
    from hushfade.check import Column, Signed
    from hushfade.crossing.step import Memory

MAGIC = b"hushfade stream 2\n"
TRACE = b"hushfade trace 1\n"


@dataclass(frozen=True)
class Saved:
    """What a state file holds."""

    plan: Plan
    source: str  # the noise source's repr
    identity: bytes
    steps: int
    state: tuple[Signed, Column]


def written(plan: Plan, source: str, identity: bytes, steps: int, memory: Memory) -> bytes:
    """The file's bytes.  Rows of the rings that no step has reached are left out."""
    from hushfade.crossing import memory as layout

    arrays = [
        part[:length].astype(kind)
        for part, length, kind in zip(
            memory.state, layout.lengths(plan, steps), ("<i8", "<f8"), strict=True
        )
    ]
    header = {
        "plan": plan.to_json(),
        "noise": source,
        "identity": identity.hex(),
        "steps": steps,
        "lengths": [len(part) for part in arrays],
    }
    text = json.dumps(header).encode()
    body = MAGIC + len(text).to_bytes(8, "little") + text + b"".join(a.tobytes() for a in arrays)
    return body + hashlib.sha256(body).digest()


def read(data: bytes) -> Saved:
    """The contents of whole bytes; the checksum finds accidents, not forgers."""
    from hushfade.crossing import memory as layout

    if not isinstance(data, bytes | bytearray | memoryview):
        raise Refused("the saved stream must be bytes", got=type(data).__name__)
    raw = bytes(data)
    if not raw.startswith(MAGIC):
        raise Refused("the saved stream must be of format 'hushfade stream 2'")
    if len(raw) < len(MAGIC) + 40 or hashlib.sha256(raw[:-32]).digest() != raw[-32:]:
        raise Refused("the saved stream must be whole: its checksum does not match")
    start = len(MAGIC) + 8
    length = int.from_bytes(raw[len(MAGIC) : start], "little")
    try:
        header: Any = json.loads(raw[start : start + length])
        plan = Plan.from_json(header["plan"])
        source, identity = str(header["noise"]), bytes.fromhex(header["identity"])
        steps, lengths = header["steps"], header["lengths"]
        if type(steps) is not int or not 0 <= steps <= (plan.horizon or 2**61):
            raise Refused("the saved stream must have a step that its plan allows")
        if lengths != list(layout.lengths(plan, steps)):
            raise Refused("the saved stream must have the arrays of its plan")
        at = start + length
        between = at + 8 * lengths[0]
        integers = np.frombuffer(raw, dtype="<i8", count=lengths[0], offset=at).astype(np.int64)
        floats = np.frombuffer(raw, dtype="<f8", count=lengths[1], offset=between)
    except HushfadeError:
        raise
    except (KeyError, ValueError, TypeError, OverflowError, RecursionError):
        raise Refused("the saved stream must have the header and arrays of its plan") from None
    if between + 8 * lengths[1] != len(raw) - 32:
        raise Refused("the saved stream must have no bytes beyond its arrays")
    return Saved(plan, source, identity, steps, (integers, floats.astype(np.float64)))


@dataclass(frozen=True)
class Trace:
    """What one step added to a state."""

    step: int  # the first is 1
    x: Signed
    z: Signed


def trace_written(identity: bytes, step: int, x: Signed, z: Signed) -> bytes:
    """A step's trace: its stream, its number, its totals and its noise, with a checksum."""
    body = TRACE + identity + step.to_bytes(8, "little") + b"".join(
        part.astype("<i8").tobytes() for part in (x, z)
    )  # fmt: skip
    return body + hashlib.sha256(body).digest()


def trace_read(data: bytes, identity: bytes, lanes: int) -> Trace:
    """The trace of a step of that stream."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise Refused("a trace must be bytes", got=type(data).__name__)
    raw = bytes(data)
    if not raw.startswith(TRACE) or hashlib.sha256(raw[:-32]).digest() != raw[-32:]:
        raise Refused("a trace must be whole and of format 'hushfade trace 1'")
    at = len(TRACE) + 16
    if raw[len(TRACE) : at] != identity or len(raw) != at + 8 + 16 * lanes + 32:
        raise Refused("a trace must be of the saved stream")
    numbers = np.frombuffer(raw, dtype="<i8", count=2 * lanes, offset=at + 8).astype(np.int64)
    step = int.from_bytes(raw[at : at + 8], "little")
    return Trace(step, numbers[:lanes], numbers[lanes:])
