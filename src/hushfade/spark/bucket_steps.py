"""The steps of a bucket in Spark's state: the closed steps, and the content of open steps."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Protocol

from hushfade.check import Signed
from hushfade.errors import Refused
from hushfade.records.calendar import Calendar, Timed
from hushfade.records.local_calendar import LocalCalendar
from hushfade.spark.step_bounds import microseconds


class Clock(Protocol):
    """The ends of steps, in microseconds, compared with Spark's watermark in milliseconds."""

    def ended(self, watermark: int) -> int:
        """The number of steps that have ended at this watermark, and accept no more records."""

    def timer(self, closed: int) -> int | None:
        """The timer for the next step to close; None after the last step.

        A timer fires when the watermark is beyond it, and a step closes when the watermark reaches
        its end.
        """


def clock_of(calendar: Timed) -> Clock:
    """The clock of declared steps.  It is sent to workers, which look up no time zone."""
    if isinstance(calendar, LocalCalendar):
        return CalendarClock(microseconds(calendar)[1:])
    assert isinstance(calendar, Calendar)
    return EvenClock(calendar)


class CalendarClock:
    """The listed ends of calendar steps."""

    def __init__(self, ends: Signed) -> None:
        self._ends = ends

    def ended(self, watermark: int) -> int:
        return bisect_right(self._ends, watermark * 1000)

    def timer(self, closed: int) -> int | None:
        return None if closed >= len(self._ends) else _before(int(self._ends[closed]))


class EvenClock:
    """The ends of steps of one length."""

    def __init__(self, calendar: Calendar) -> None:
        self._start, self._every = calendar.start // 1000, calendar.every // 1000
        self._steps = calendar.steps

    def ended(self, watermark: int) -> int:
        found = max(0, (watermark * 1000 - self._start) // self._every)
        return found if self._steps is None else min(found, self._steps)

    def timer(self, closed: int) -> int | None:
        if self._steps is not None and closed >= self._steps:
            return None
        return _before(self._start + (closed + 1) * self._every)


def _before(end: int) -> int:
    """The last millisecond before an end in microseconds."""
    return -(-end // 1000) - 1


class Steps:
    """The number of closed steps of a bucket, bytes for each open step, and the next timer."""

    def __init__(self, handle: Any, clock: Clock, bond: str) -> None:
        self._handle, self._clock, self._bond = handle, clock, bond
        self._begun = handle.getValueState("bond", "said string")
        self._closed = handle.getValueState("closed", "steps bigint")
        self._open = handle.getMapState("open", "step bigint", "waiting binary")

    def begin(self) -> None:
        """Start the state: no step has closed, and the bucket belongs to this declaration."""
        self._begun.update((self._bond,))
        self.close(0)

    def check(self) -> None:
        """Raise, before any change, if the checkpoint belongs to another declaration."""
        found = self._begun.get()
        if found is None or found[0] != self._bond:
            raise Refused(
                "the checkpoint belongs to another plan, noise, steps, columns, limits, buckets or "
                "session. Restore the old settings, or start again with another directory and a "
                "higher epoch, and count the guarantee again"
            )

    @property
    def closed(self) -> int:
        """The number of closed steps."""
        return int(self._closed.get()[0])

    def close(self, ended: int) -> None:
        """Set the number of closed steps, 0 at first, and wait for the end of the next step."""
        self._closed.update((ended,))
        timer = self._clock.timer(ended)
        if timer is not None:
            self._handle.registerTimer(timer)

    def waiting(self, ended: int) -> list[int]:
        """The earlier steps with waiting content, in order."""
        found = self._open.keys()
        return sorted(step for (step,) in found if step < ended)

    def found(self, step: int) -> bytes | None:
        """The content of an open step, or None."""
        if not self._open.containsKey((step,)):  # Spark warns of what is missing
            return None
        return bytes(self._open.getValue((step,))[0])

    def put(self, step: int, waiting: bytes) -> None:
        """Set the content of an open step."""
        self._open.updateValue((step,), (waiting,))

    def taken(self, step: int) -> bytes:
        """Remove the content of a step, and return it."""
        found = self.found(step)
        assert found is not None
        self._open.removeKey((step,))
        return found
