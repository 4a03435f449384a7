"""Lines as they arrive, and a release when a step closes.

Either the clock closes a step, some lateness after its end, or the sender closes it with an empty
line.  Records never close a step.  Otherwise one odd record could make all others late, and the
moment of a release would reveal that a record arrived.

A line belongs to the step in which it arrived, or to the step of its own time if it arrived before
that step closed.  The time of parsing does not matter, so a slow record displaces no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Protocol

import numpy as np

from hushfade import check
from hushfade.check import Signed
from hushfade.errors import InvalidValue, Malformed
from hushfade.private.unit_sums import UnitSums
from hushfade.records.calendar import Calendar, Timed
from hushfade.records.csv_lines import CsvLines
from hushfade.records.files import LineReader
from hushfade.records.line_blocks import Block
from hushfade.records.local_calendar import Dates, LocalCalendar
from hushfade.records.stamped_lines import LONGEST
from hushfade.records.step_totals import Reader

Clock = Callable[[], int]
"""Nanoseconds since 1970."""


class Source(Protocol):
    """A source of lines, with the time of arrival of each line."""

    ended: bool

    def before(self, due: int | None) -> Iterator[list[bytes]]:
        """The lines that arrived before the time `due`; without a time, all until the end.

        The iterator ends when no further line can have arrived before `due`, or with the input.
        """


class OpenSteps:
    """Totals of the open steps, in units.  Private."""

    def __init__(self, reader: Reader, lines: LineReader) -> None:
        if not reader.may_leave_out:
            raise InvalidValue(
                "live lines need 0 between low and high with neighbours='replace': hushfade drops "
                "a malformed line, which then counts as 0"
            )
        self._reader, self._lines = reader, lines
        self._sums: dict[int, UnitSums] = {}  # of the open steps that have records
        self._line = 1

    def add(self, lines: list[bytes], *, started: bool = True) -> None:
        """Add each line, a whole record, to its step.  Malformed lines are dropped and counted.

        Before the first step has `started`, records without a time belong to no step.
        """
        self._reader.started = started
        for long, run in groupby(lines, key=_too_long):
            if long:
                self._drop(list(run))
            else:
                self._add(list(run))

    def _drop(self, lines: list[bytes]) -> None:
        """Count lines that are too long."""
        words = f"standard input, line {self._line}: must have at most {LONGEST} bytes"
        if isinstance(self._lines, CsvLines) and not self._lines.width:
            raise Malformed(words)  # the header
        self._reader.reject(len(lines), words)
        self._line += len(lines)

    def _add(self, lines: list[bytes]) -> None:
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
        """Handle an empty line, which closes a step."""
        if isinstance(self._lines, CsvLines) and self._lines.width == 1:
            raise InvalidValue(
                "in CSV of one column an empty line is an empty value and cannot close a step: "
                "add a second column, or use JSON lines"
            )
        self._line += 1

    def close(self) -> Signed:
        """Close the oldest open step; return its totals in units, cut at the plan's largest total.

        If a larger total ended the stream, one record would decide about all later steps.  Cutting
        a total never increases the change that a record causes.
        """
        reader = self._reader
        sums = self._sums.pop(reader.closed, reader.sums(reader.lanes))
        reader.close()
        totals = np.clip(sums.totals, -reader.largest_total, reader.largest_total)
        reader.stopped += int(np.sum(totals != sums.totals))
        return totals


def by_clock(source: Source, steps: OpenSteps, clock: Timed, *, lateness: int) -> Iterator[Signed]:
    """The totals of each step, when its end and the lateness have passed.

    Every line that arrived before that moment is parsed before the step closes, however long this
    takes.  Without a column of times, a line belongs to the step in which it arrived.  A line that
    arrived before the start belongs to no step.
    """
    for lines in source.before(clock.start):
        steps.add(lines, started=False)
    closed = 0
    while not source.ended and (clock.steps is None or closed < clock.steps):
        due = clock.end_of(closed + 1) + lateness
        for lines in source.before(due):
            steps.add(lines)
        if not source.ended:
            closed += 1
            yield steps.close()


def by_empty_lines(source: Source, steps: OpenSteps, *, most: int | None) -> Iterator[Signed]:
    """The totals of each step, when its empty line arrives."""
    closed = 0
    for lines in source.before(None):
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


def current(every: int | str, now: Clock, steps: int | None = None) -> Timed:
    """Steps from the current step on.  Steps of a fixed length begin at its multiples."""
    if isinstance(every, str):
        dates = Dates(every, zoned=True)
        return LocalCalendar(dates, dates.containing(now()), steps)
    check.count(every=every)
    return Calendar(now() // every * every, every, True, steps)


def check_start(clock: Timed, now: Clock) -> None:
    """Raise if the start is before the current step: records of past steps are unknown."""
    if clock.end_of(1) <= now():
        raise InvalidValue(
            "must not be more than one step in the past with live lines", argument="start"
        )


def _too_long(line: bytes) -> bool:
    return len(line) > LONGEST


def _filled(line: bytes) -> bool:
    return line not in (b"\n", b"\r\n")
