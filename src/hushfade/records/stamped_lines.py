"""Lines of the standard input, each with its time of arrival.

A line arrives when its last byte arrives.  `stamping_process` takes the time in a separate process,
so that a time stamp does not depend on the work of this process, such as parsing a slow record.
"""

from __future__ import annotations

import select
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hushfade.errors import Failed
from hushfade.records import stamping_process
from hushfade.records.stamping_process import HEADER

LONGEST = 1 << 20  # bytes of a line, the line feed included; a longer one is malformed
BOUND = 1 << 26  # bytes that wait to be parsed; beyond it, the sender of the lines has to wait

_RECEIVED = 1 << 20  # bytes at a time


@dataclass(frozen=True)
class SteadyClock:
    """Nanoseconds since 1970: the computer's clock, read once, plus the monotonic clock.

    Setting the computer's clock later changes nothing.  All processes of a machine share the
    monotonic clock.
    """

    offset: int  # of the monotonic clock

    @classmethod
    def set_now(cls) -> SteadyClock:
        """A clock that now shows the computer's time."""
        return cls(time.time_ns() - time.monotonic_ns())

    def __call__(self) -> int:
        """The time now."""
        return self.offset + time.monotonic_ns()


@dataclass(frozen=True, repr=False)
class _Frame:
    stamp: int  # nanoseconds since 1970
    size: int
    data: bytes


class StampedLines:
    """The lines of a descriptor, in order of arrival.  Close it after use.

    Memory: `bound` bytes in the other process, a megabyte and the longest line here.
    """

    def __init__(self, descriptor: int, clock: SteadyClock, *, bound: int = BOUND) -> None:
        self.clock = clock
        self._link, theirs = socket.socketpair()
        program = Path(stamping_process.__file__)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(program), str(bound)],
                stdin=descriptor,
                stdout=theirs.fileno(),
            )
        self._received = bytearray()
        self._frames: deque[_Frame] = deque()
        self._line = bytearray()  # the beginning of a line whose end has not arrived yet
        self._known = 0  # all lines that arrived before this time are here
        self.ended = False

    def before(self, due: int | None) -> Iterator[list[bytes]]:
        """The lines that arrived before the time `due`, as they become available.

        The iterator ends when no further line can have arrived before `due`, or when the input has
        `ended`.  Without a time it ends with the input.
        """
        asked = False
        while True:
            if lines := self._arrived(due):
                yield lines
            if self.ended or (due is not None and self._known >= due):
                return
            if not asked and due is not None and not self._readable(due):
                with suppress(BrokenPipeError):  # the input has just ended: the last frame is here
                    self._link.send(b"?")
                asked = True
            self._receive()

    def close(self) -> None:
        """Stop reading."""
        self._link.close()
        self._process.kill()
        self._process.wait()

    def _arrived(self, due: int | None) -> list[bytes]:
        """The whole lines of the received frames with a time stamp before `due`."""
        lines: list[bytes] = []
        while self._frames and not self.ended:
            frame = self._frames[0]
            self._known = frame.stamp
            if due is not None and frame.stamp >= due:
                break
            self._frames.popleft()
            if frame.size > 0:
                lines += self._split(frame.data)
            elif frame.size == 0:
                self.ended = True
                if self._line:
                    lines.append(bytes(self._line))
        return lines

    def _split(self, data: bytes) -> list[bytes]:
        """The lines that end in the data; the rest waits for its end.

        A line of more than LONGEST bytes is cut there, to bound the memory.
        """
        *ended, rest = data.split(b"\n")
        lines = [line + b"\n" for line in ended]
        if lines:
            lines[0] = bytes(self._line) + lines[0]
            self._line.clear()
        self._line += rest
        del self._line[LONGEST + 1 :]
        return [line if len(line) <= LONGEST else line[:LONGEST] + b"\n" for line in lines]

    def _readable(self, due: int) -> bool:
        """Whether the other process sends something before `due`."""
        wait = max(0, due - self.clock()) / 1e9
        return bool(select.select([self._link], [], [], wait)[0])

    def _receive(self) -> None:
        data = self._link.recv(_RECEIVED)
        if not data:
            raise Failed("the process that reads the standard input has ended")
        self._received += data
        at = 0
        while len(self._received) >= at + HEADER.size:
            ticks, size = HEADER.unpack_from(self._received, at)
            end = at + HEADER.size + max(0, size)
            if len(self._received) < end:
                break
            content = bytes(self._received[at + HEADER.size : end])
            self._frames.append(_Frame(self.clock.offset + ticks, size, content))
            at = end
        del self._received[:at]
