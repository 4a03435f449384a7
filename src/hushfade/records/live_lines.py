"""Lines as they come, and a release when a step closes.

A step is closed by the clock, some lateness after its end, or by an empty line from whoever feeds
the lines.  Never by the records: if a record's time could close a step, one odd record would make
all others late, and the moment of a release would tell that somebody came.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import groupby
from typing import Protocol

import numpy as np

from hushfade import check
from hushfade.check import Signed
from hushfade.errors import InvalidValue, Malformed
from hushfade.private.unit_sums import UnitSums
from hushfade.records.calendar import Calendar
from hushfade.records.csv_lines import CsvLines
from hushfade.records.files import LineReader
from hushfade.records.line_blocks import Block
from hushfade.records.step_totals import Reader

_MOST = 1 << 16  # lines read at once
_CHUNK = 1 << 16  # bytes
_WAITING = 1 << 18  # lines that may wait: beyond it the feeder has to
LONGEST = 1 << 20  # bytes of a line

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
    """Lines, read in the background, so that waiting for one can end.

    `read` gives some bytes as soon as there are any, and none at the end: os.read of a descriptor.
    (A file object's own lock would be held while it waits, also when the process ends.)
    """

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._queue: queue.Queue[bytes | None] = queue.Queue(_WAITING)
        self._ended = False
        threading.Thread(target=self._fill, args=(read,), daemon=True).start()

    def _fill(self, read: Callable[[int], bytes]) -> None:
        rest = b""
        try:
            while len(rest) <= LONGEST and (chunk := read(_CHUNK)):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._queue.put(line + b"\n")
        finally:
            if rest:
                self._queue.put(rest)
            self._queue.put(None)

    def take(self, seconds: float | None) -> list[bytes] | None:
        """The lines that wait, after at most so many seconds; None when there are no more."""
        if self._ended:
            return None
        found: list[bytes] = []
        with suppress(queue.Empty):
            line = self._queue.get(timeout=seconds)
            while line is not None and len(found) < _MOST:
                if len(line) > LONGEST:
                    raise Malformed(f"standard input: a line is longer than {LONGEST} bytes")
                found.append(line)
                line = self._queue.get_nowait()
            self._ended = line is None
            if line is not None:
                found.append(line)
            elif not found:
                return None
        return found


class OpenSteps:
    """Totals of the steps that have not closed, in units.  Private."""

    def __init__(self, reader: Reader, lines: LineReader) -> None:
        self._reader, self._lines = reader, lines
        self._sums: dict[int, UnitSums] = {}  # of the open steps that have records
        self._line = 1

    def add(self, lines: list[bytes]) -> None:
        """Add each line, a whole record, to its step.  Malformed lines are dropped and counted."""
        if not lines:
            return
        batch = self._lines.batch(Block(b"".join(lines), self._line))
        self._line += len(lines)
        if batch is None:
            return
        cells, units = self._reader.read_live(batch)
        steps, lanes = np.divmod(cells, self._reader.lanes)
        for step in np.unique(steps).tolist():
            if step not in self._sums:
                self._sums[step] = self._reader.sums(self._reader.lanes)
            chosen = steps == step
            self._sums[step].add(lanes[chosen], units[chosen])

    def skip(self) -> None:
        """An empty line that closes a step."""
        if isinstance(self._lines, CsvLines) and self._lines.width == 1:
            raise InvalidValue(
                "in CSV of one column an empty line is an empty value, and cannot close a step: "
                "give a second column, or JSON lines"
            )
        self._line += 1

    def close(self) -> Signed:
        """Close the oldest open step; its totals in units."""
        empty = self._reader.sums(self._reader.lanes)
        sums = self._sums.pop(self._reader.closed, empty)
        self._reader.closed += 1
        return sums.totals


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
        steps.add(lines)


def by_empty_lines(source: Source, steps: OpenSteps, *, most: int | None) -> Iterator[Signed]:
    """The totals of one step after the other, each at its empty line."""
    closed = 0
    while most is None or closed < most:
        lines = source.take(None)
        if lines is None:
            return
        for filled, run in groupby(lines, key=_filled):
            if filled:
                steps.add(list(run))
                continue
            for _ in run:
                steps.skip()
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
        raise InvalidValue(
            "must not be more than a step ago when lines are read live", argument="start"
        )


def _filled(line: bytes) -> bool:
    return line not in (b"\n", b"\r\n")
