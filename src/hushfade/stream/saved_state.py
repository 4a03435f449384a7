"""The saved state of a stream, and the trace of one step.

    hushfade stream 3     plan, noise source, identity, steps; the state's integers and floats
    hushfade trace 2      identity and step; the step's totals and noise

Both use the binary container.  Version 0.1.0 wrote `stream 2`, which names the noise source as
text, and `trace 1`, which has no header; both can still be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hushfade.crossing import memory
from hushfade.crossing.key_file import Noise
from hushfade.crossing.noise_sources import Identity, legacy_name
from hushfade.errors import HushfadeError, Refused
from hushfade.planning.plan import Plan
from hushfade.stream import binary_container as container

if TYPE_CHECKING:
    from hushfade.check import Column, Signed
    from hushfade.stream.engine import Engine

MAGIC, OLD_MAGIC = b"hushfade stream 3\n", b"hushfade stream 2\n"
TRACE, OLD_TRACE = b"hushfade trace 2\n", b"hushfade trace 1\n"
_STREAM = "the saved stream"
_MALFORMED = (KeyError, ValueError, TypeError, OverflowError, RecursionError)


@dataclass(frozen=True)
class SavedState:
    """The contents of a saved state."""

    plan: Plan
    noise: Identity | str  # text in states of 0.1.0
    identity: bytes
    steps: int
    integers: Signed
    floats: Column

    def check_noise(self, source: Noise) -> None:
        """Raise Refused unless this is the source with which the stream was saved."""
        check_noise(self.noise, source, "stream")


def packed(engine: Engine, noise: Identity, identity: bytes) -> bytes:
    """The bytes of a saved state."""
    header = {
        "plan": engine.plan.to_json(),
        "noise": noise,
        "identity": identity.hex(),
        "steps": engine.steps,
    }
    return container.packed(MAGIC, header, engine.state())


def read(data: bytes) -> SavedState:
    """The contents of a saved state, checked against its plan."""
    frame = container.opened(data, (MAGIC, OLD_MAGIC), _STREAM)
    header = frame.header
    try:
        plan = Plan.from_json(header["plan"])
        noise, identity, steps = header["noise"], bytes.fromhex(header["identity"]), header["steps"]
        if type(steps) is not int or not 0 <= steps <= (plan.horizon or container.MOST_STEPS):
            raise Refused(f"{_STREAM} has more steps than its plan allows")
        listed = header["arrays"] if frame.magic == MAGIC else _old_arrays(header["lengths"])
        expected = memory.lengths(plan, steps)
        if [size for _, size in listed] != list(expected):
            raise Refused(f"{_STREAM} does not have the arrays of its plan")
    except HushfadeError:
        raise
    except _MALFORMED:
        raise Refused(f"{_STREAM} does not have the header of its format") from None
    integers, floats = container.split(frame.body, listed, ("<i8", "<f8"), _STREAM)
    return SavedState(plan, noise, identity, steps, integers, floats)


def check_noise(saved: Identity | str, source: Noise, what: str) -> None:
    """Raise Refused unless the source is the saved one; `saved` is text in states of 0.1.0."""
    same = legacy_name(source.identity) if isinstance(saved, str) else source.identity
    if same != saved:
        name = saved if isinstance(saved, str) else legacy_name(saved)
        raise Refused(f"noise must be {name}, as it was when the {what} was saved")


def _old_arrays(lengths: Any) -> list[list[Any]]:
    integers, floats = lengths
    return [["<i8", integers], ["<f8", floats]]


@dataclass(frozen=True)
class Trace:
    """The totals and the noise that one step added to a state."""

    step: int  # the first step is 1
    x: Signed
    z: Signed


def packed_trace(identity: bytes, step: int, x: Signed, z: Signed) -> bytes:
    """The bytes of a trace."""
    return container.packed(TRACE, {"identity": identity.hex(), "step": step}, [x, z])


def read_trace(data: bytes, identity: bytes, lanes: int) -> Trace:
    """The trace of a step of the stream with this identity."""
    magic, raw = container.recognised(data, (TRACE, OLD_TRACE), "a trace")
    if magic == OLD_TRACE:
        header, body = _old_trace(raw, lanes)
    else:
        _, header, body = container.frame(magic, raw, "a trace")
    step = header.get("step")
    if header.get("identity") != identity.hex() or type(step) is not int:
        raise Refused("a trace must belong to the saved stream")
    x, z = container.split(body, header.get("arrays"), ("<i8", "<i8"), "a trace")
    if not len(x) == len(z) == lanes:
        raise Refused("a trace must have one total and one draw per lane of its stream")
    return Trace(step, x, z)


def _old_trace(raw: memoryview, lanes: int) -> tuple[dict[str, Any], memoryview]:
    """A trace of 0.1.0: 16 bytes of identity, 8 of the step, then both arrays."""
    start = len(OLD_TRACE)
    header = {
        "identity": bytes(raw[start : start + 16]).hex(),
        "step": int.from_bytes(raw[start + 16 : start + 24], "little"),
        "arrays": [["<i8", lanes], ["<i8", lanes]],
    }
    return header, raw[start + 24 : -32]
