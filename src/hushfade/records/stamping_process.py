"""A process that only reads a descriptor and adds time stamps to what arrives.

    python -I -S stamping_process.py BOUND       standard input: lines; standard output: a socket

The parent parses records.  A thread of the parent would have to wait for the parser to release the
interpreter's lock, so that one slow record would delay the time stamps of all others.

The process sends frames: a time stamp of the monotonic clock, a size, and that many bytes.  Time
stamps never decrease.

    size > 0    bytes that were there, and were read, at the time of the stamp
    size = 0    the end of the input
    size < 0    nothing was left to read at the time of the stamp; the response to the parent's byte

Memory: at most BOUND bytes wait for the parent, and one read.  At the bound the process stops
reading until the parent has caught up.  The pipe fills, and the sender of the lines has to wait.
Bytes in the pipe get their time stamp when they are read.

It imports only the standard library, and nothing of hushfade, so it starts in milliseconds.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import sys
import time
from collections import deque

HEADER = struct.Struct("<qq")
NOTHING_MORE = -1

_CHUNK = 1 << 16  # bytes
_FRAME = 256  # bytes that Python needs for a frame, at most, in addition to its content


def stamp(source: int, link: socket.socket, bound: int) -> None:
    """Send frames of what arrives, until the input has ended or the parent is gone."""
    waiting: deque[memoryview] = deque()
    held, ended, asked = 0, False, False
    parent = link.fileno()
    while waiting or not ended:
        reading = not ended and held < bound
        before = time.monotonic_ns()
        ready, writable, _ = select.select(
            [parent, source] if reading else [parent],
            [parent] if waiting else [],
            [],
            0 if asked and reading else None,
        )
        now = time.monotonic_ns()
        frame = b""
        if source in ready:
            chunk = os.read(source, _CHUNK)
            frame = HEADER.pack(now, len(chunk)) + chunk
            ended = not chunk
        elif asked and reading:
            frame = HEADER.pack(before, NOTHING_MORE)
            asked = False
        if parent in ready:
            if not link.recv(1024):
                return
            asked = True
        if frame:
            waiting.append(memoryview(frame))
            held += len(frame) + _FRAME
        if parent in writable:
            sent = link.send(waiting[0])
            held -= sent
            waiting[0] = waiting[0][sent:]
            if not waiting[0]:
                waiting.popleft()
                held -= _FRAME


def main() -> None:
    """Run the process.  It ignores Ctrl-C, which the parent handles."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=1) as link:
        link.setblocking(False)
        try:
            stamp(0, link, int(sys.argv[1]))
        except (BrokenPipeError, ConnectionResetError):  # the parent has ended
            return


if __name__ == "__main__":
    main()
