"""The invariants of every parser, and the watch that checks them.

For any bytes a parser returns a value or raises one of hushfade's own errors, in bounded time and
memory.  An error repeats no record and leaves the state unchanged.
"""

from __future__ import annotations

import mmap
import os
import re
import resource
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from hushfade.errors import HushfadeError

SECONDS = 60.0  # per input; the machine may be busy
MEMORY = 1 << 30  # bytes by which the process may grow
ROOM = 1 << 20  # bytes of an input that are kept in case the process dies
KEPT = 20  # faults that are described

# These marks stand for the content of records.  No message may contain one.
MARK = re.compile(rb"zq[0-9a-f]{4}ed|73[0-9]{4}37")


def _nothing() -> bytes:
    return b""


def _same(data: bytes) -> bytes:
    return data


@dataclass(frozen=True)
class Target:
    """A parser: well-formed inputs, a function that reads bytes, and the state to protect."""

    name: str
    seeds: tuple[bytes, ...]
    read: Callable[[bytes], object]
    state: Callable[[], bytes] = _nothing
    repair: Callable[[bytes], bytes] = _same  # corrects the checksums after a change
    refusals: tuple[type[Exception], ...] = (HushfadeError,)
    records: bool = False  # True if the inputs are people's records, which no message may repeat
    words: tuple[bytes, ...] = ()  # the words of its texts, if there is a grammar
    seconds: float = SECONDS  # the time limit of an input


class Overtime(BaseException):
    """An input exceeded its time limit."""


@dataclass
class Watch:
    """Counts the outcomes of a target's inputs."""

    target: Target
    last: Path | None = None  # a file with the current input, in case the process dies
    accepted: int = 0
    refused: int = 0
    slowest: float = 0.0  # seconds of the processor
    kinds: Counter[str] = field(default_factory=Counter)  # of refusals, by class
    faults: Counter[str] = field(default_factory=Counter)
    examples: list[tuple[str, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._state: bytes | None = None  # as the last input left it
        self._size = _largest()
        self._hand: mmap.mmap | None = None
        if self.last is not None:
            self.last.write_bytes(bytes(ROOM))
            with self.last.open("r+b") as file:
                self._hand = mmap.mmap(file.fileno(), ROOM)

    @property
    def inputs(self) -> int:
        """The number of inputs."""
        return self.accepted + self.refused + self.faults["crash"] + self.faults["hang"]

    def grown(self) -> int:
        """The growth of the process's peak memory since the start, in bytes."""
        return _largest() - self._size

    def judge(self, data: bytes) -> None:
        """Give one input to the target and check the invariants."""
        if self._hand is not None:
            kept = data[: ROOM - 8]
            self._hand[: 8 + len(kept)] = len(kept).to_bytes(8, "little") + kept
        if self._state is None:
            self._state = self.target.state()
        began, worked, error = perf_counter(), process_time(), self._error(data)
        taken = perf_counter() - began
        self.slowest = max(self.slowest, process_time() - worked)
        state = self.target.state()
        if error is None:
            self.accepted += 1
        elif isinstance(error, self.target.refusals):
            self.refused += 1
            self.kinds[type(error).__name__] += 1
            if state != self._state:
                self._note("change", type(error).__name__, data)
            if self.target.records and repeats(error, data):
                self._note("leak", str(error)[:100], data)
        elif not isinstance(error, Overtime):
            self._note("crash", _place(error), data)
        if isinstance(error, Overtime) or taken > self.target.seconds:
            self._note("hang", f"{taken:.1f} s", data, counted=isinstance(error, Overtime))
        if self.grown() > MEMORY:
            self._note("memory", f"more than {MEMORY >> 20} MiB", data)
        self._state = state

    def _error(self, data: bytes) -> BaseException | None:
        with limited(self.target.seconds), warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                self.target.read(data)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                return error
        return None

    def _note(self, kind: str, words: str, data: bytes, *, counted: bool = True) -> None:
        self.faults[kind] += counted
        description = f"{kind}: {words}"
        if len(self.examples) < KEPT and description not in {known for known, _ in self.examples}:
            self.examples.append((description, data))

    def counts(self) -> dict[str, Any]:
        """The counts as plain data."""
        return {
            "inputs": self.inputs,
            "accepted": self.accepted,
            "refused": self.refused,
            "slowest": self.slowest,
            "memory": self.grown(),
            "kinds": dict(self.kinds),
            "faults": {kind: count for kind, count in self.faults.items() if count},
            "examples": [(description, data.hex()) for description, data in self.examples],
        }


def repeats(error: BaseException, data: bytes) -> bool:
    """True if the error, or an error that it is chained to, shows a mark of the input.

    >>> repeats(ValueError("not a number: zq0001ed"), b"1,zq0001ed")
    True
    """
    marks = {mark.decode() for mark in MARK.findall(data)}
    if not marks:
        return False
    text = "".join(traceback.format_exception(error))
    return any(mark in text for mark in marks)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """A context that raises Overtime after this many seconds."""
    signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def in_hand(path: Path) -> bytes:
    """The input that a process was reading when it died."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    return content[8 : 8 + length]


def _largest() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _late(number: int, frame: object) -> None:
    raise Overtime


def _place(error: BaseException) -> str:
    """The error's class, and the place in hushfade that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if f"{os.sep}hushfade{os.sep}" in frame.filename]
    last = inside[-1] if inside else frames[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}, {last.name}"
