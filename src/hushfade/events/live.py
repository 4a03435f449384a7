"""Lines as they come, and a release when a step closes.

A step is closed by the clock, some lateness after its end, or by an empty line from whoever feeds
the lines.  Never by the records: if a record's time could close a step, one odd record would make
all others late, and the moment of a release would tell that somebody came.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import IO, Protocol

import numpy as np

from hushfade import check
from hushfade.check import Signed
from hushfade.errors import InvalidValue
from hushfade.events.blocks import Block
from hushfade.events.calendar import Calendar
from hushfade.events.readers import LineReader
from hushfade.events.totals import Reader

AHEAD = 1 << 10  # steps that may be open at once
_MOST = 1 << 16  # lines read at once
_WAITING = 1 << 18  # lines that may wait: beyond it the feeder has to

Clock = Callable[[], int]
"""Nanoseconds since 1970."""


def steady_clock() -> Clock:
    """The clock's time now, going on evenly: setting the clock later changes nothing."""
    wall, ticks = time.time_ns(), time.monotonic_ns()
    return lambda: wall + time.monotonic_ns() - ticks


class Source(Protocol):
    """Where lines come from."""

    def take(self, seconds: float | None) -> list[bytes] | None:
        """The lines that wait, after at most so many seconds; None when there are no more."""


class Lines:
    """The lines of a file, read in the background, so that waiting for one can end."""

    def __init__(self, file: IO[bytes]) -> None:
        self._queue: queue.Queue[bytes] = queue.Queue(_WAITING)
        self._ended = False
        self._taken = 0
        threading.Thread(target=self._fill, args=(file,), daemon=True).start()

    def _fill(self, file: IO[bytes]) -> None:
        try:
            for line in iter(file.readline, b""):
                self._queue.put(line)
        finally:
            self._queue.put(b"")

    def take(self, seconds: float | None) -> list[bytes] | None:
        """The lines that wait, after at most so many seconds; None when there are no more."""
        if self._ended:
            return None
        found: list[bytes] = []
        try:
            line = self._queue.get(timeout=seconds)
            while line and len(found) < _MOST:
                found.append(line)
                line = self._queue.get_nowait()
        except queue.Empty:
            return found
        self._ended = not line
        if line:
            found.append(line)
        return found or None


class OpenSteps:
    """Totals of the steps that have not closed.  Private."""

    def __init__(self, reader: Reader, lines: LineReader) -> None:
        self._reader, self._lines = reader, lines
        self._totals: deque[Signed] = deque()
        self._line, self._unclosed = 1, b""

    def add(self, lines: bytes) -> None:
        """Whole lines: added to the totals of their steps, or refused with the line's number."""
        data = self._unclosed + lines
        self._unclosed = b""
        if data.count(b'"') % 2 and not data.lstrip().startswith(b"{"):  # a quoted line break
            self._unclosed = data
            return
        batch = self._lines.batch(Block(data, self._line))
        self._line += data.count(b"\n")
        if batch is None:
            return
        cells, units = self._reader.read(batch)
        lanes = self._reader.lanes
        steps = cells // lanes - self._reader.closed
        near = steps < AHEAD
        self._reader.counts.outside += int(np.sum(~near))
        for step, lane, unit in zip(
            steps[near].tolist(), (cells % lanes)[near].tolist(), units[near].tolist(), strict=True
        ):
            while len(self._totals) <= step:
                self._totals.append(np.zeros(lanes, dtype=np.int64))
            self._totals[step][lane] += unit

    def skip(self, lines: int) -> None:
        """Empty lines: nothing but that number more."""
        self._line += lines

    def close(self) -> Signed:
        """The totals of the oldest open step, which is closed by this."""
        self._reader.closed += 1
        return self._totals.popleft() if self._totals else np.zeros(self._reader.lanes, np.int64)


def by_clock(
    source: Source, steps: OpenSteps, calendar: Calendar, *, lateness: int, now: Clock
) -> Iterator[Signed]:
    """The totals of one step after the other, each when its end and the lateness are over."""
    closed = 0
    while calendar.steps is None or closed < calendar.steps:
        due = calendar.start + (closed + 1) * calendar.every + lateness
        wait = due - now()
        if wait <= 0:
            closed += 1
            yield steps.close()
            continue
        lines = source.take(wait / 1e9)
        if lines is None:
            return
        for filled, run in groupby(lines, key=_filled):
            together = list(run)
            if filled:
                steps.add(b"".join(together))
            else:
                steps.skip(len(together))


def by_empty_lines(source: Source, steps: OpenSteps, *, most: int | None) -> Iterator[Signed]:
    """The totals of one step after the other, each at its empty line."""
    closed = 0
    while most is None or closed < most:
        lines = source.take(None)
        if lines is None:
            return
        for filled, run in groupby(lines, key=_filled):
            if filled:
                steps.add(b"".join(run))
                continue
            for _ in run:
                steps.skip(1)
                closed += 1
                yield steps.close()
                if closed == most:
                    return


def current(every: int, now: Clock) -> Calendar:
    """Steps of that length from the one that is open now; they begin at whole multiples of it."""
    check.count(every=every)
    return Calendar(now() // every * every, every, zoned=True)


def check_start(calendar: Calendar, now: Clock) -> None:
    """Refuse a start before the open step: nothing could be known of the steps since."""
    if calendar.start + calendar.every <= now():
        raise InvalidValue("start must not be more than a step ago when lines are read live")


def _filled(line: bytes) -> bool:
    return bool(line.strip())
