"""The saved state of a stream, and the trace of one step.

    hushfade stream draft     plan, noise source, identity, steps; the state's integers and floats
    hushfade trace draft      identity and step; the step's totals and noise

Both use the binary container.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushfade.crossing import memory
from hushfade.crossing.key_file import Noise
from hushfade.crossing.noise_sources import Identity, described
from hushfade.errors import HushfadeError, Refused
from hushfade.planning.plan import Plan
from hushfade.stream import binary_container as container

if TYPE_CHECKING:
    from hushfade.check import Column, Signed
    from hushfade.stream.engine import Engine

MAGIC = b"hushfade stream draft\n"
TRACE = b"hushfade trace draft\n"
_STREAM = "the saved stream"
_MALFORMED = (KeyError, ValueError, TypeError, OverflowError, RecursionError)


@dataclass(frozen=True)
class SavedState:
    """The contents of a saved state."""

    plan: Plan
    noise: Identity
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
    frame = container.opened(data, MAGIC, _STREAM)
    header = frame.header
    try:
        plan = Plan.from_json(header["plan"])
        noise, identity, steps = header["noise"], bytes.fromhex(header["identity"]), header["steps"]
        if type(steps) is not int or not 0 <= steps <= (plan.horizon or container.MOST_STEPS):
            raise Refused(f"{_STREAM} has more steps than its plan allows")
        listed = header["arrays"]
        expected = memory.lengths(plan, steps)
        if [size for _, size in listed] != list(expected):
            raise Refused(f"{_STREAM} does not have the arrays of its plan")
    except HushfadeError:
        raise
    except _MALFORMED:
        raise Refused(f"{_STREAM} does not have the header of its format") from None
    integers, floats = container.split(frame.body, listed, ("<i8", "<f8"), _STREAM)
    return SavedState(plan, noise, identity, steps, integers, floats)


def check_noise(saved: Identity, source: Noise, what: str) -> None:
    """Raise Refused unless the source is the saved one."""
    if source.identity != saved:
        name = described(saved)
        raise Refused(f"noise must be {name}, as it was when the {what} was saved")


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
    header, body = container.opened(data, TRACE, "a trace")
    step = header.get("step")
    if header.get("identity") != identity.hex() or type(step) is not int:
        raise Refused("a trace must belong to the saved stream")
    x, z = container.split(body, header.get("arrays"), ("<i8", "<i8"), "a trace")
    if not len(x) == len(z) == lanes:
        raise Refused("a trace must have one total and one draw per lane of its stream")
    return Trace(step, x, z)
