"""The steps of a bucket, in Spark's state: which have closed, and what waits in the open ones."""

from __future__ import annotations

from typing import Any

from hushfade.errors import Refused
from hushfade.records.calendar import Calendar


class Clock:
    """Which steps have ended, in the milliseconds in which Spark's watermark counts."""

    def __init__(self, calendar: Calendar) -> None:
        self._start, self._every = calendar.start // 1000, calendar.every // 1000
        self._steps = calendar.steps

    def ended(self, watermark: int) -> int:
        """How many steps have ended at this watermark: no record of theirs is let in any more."""
        found = max(0, (watermark * 1000 - self._start) // self._every)
        return found if self._steps is None else min(found, self._steps)

    def timer(self, closed: int) -> int | None:
        """When the next step may close; None after the last.

        A timer fires when the watermark is beyond it, and a step closes when it is at its end.
        """
        if self._steps is not None and closed >= self._steps:
            return None
        end = self._start + (closed + 1) * self._every
        return -(-end // 1000) - 1


class Steps:
    """How many steps of a bucket have closed, bytes for each that is open, and the next timer."""

    def __init__(self, handle: Any, clock: Clock, bond: str) -> None:
        self._handle, self._clock, self._bond = handle, clock, bond
        self._begun = handle.getValueState("bond", "said string")
        self._closed = handle.getValueState("closed", "steps bigint")
        self._open = handle.getMapState("open", "step bigint", "waiting binary")

    def begin(self) -> None:
        """No step has closed; the bucket belongs from now on to what was declared."""
        self._begun.update((self._bond,))
        self.close(0)

    def check(self) -> None:
        """Refuse a checkpoint in which something else was declared.  Before anything is done."""
        found = self._begun.get()
        if found is None or found[0] != self._bond:
            raise Refused(
                "the checkpoint must be of the same plan, noise, steps, columns, limits, buckets "
                "and session: something of them has changed since. Restore it, or begin anew with "
                "another directory and a higher epoch, and count the guarantee again"
            )

    @property
    def closed(self) -> int:
        """How many have closed."""
        return int(self._closed.get()[0])

    def close(self, ended: int) -> None:
        """So many have closed, 0 at first: wait for the end of the next."""
        self._closed.update((ended,))
        timer = self._clock.timer(ended)
        if timer is not None:
            self._handle.registerTimer(timer)

    def waiting(self, ended: int) -> list[int]:
        """Steps before this one in which something waits, in order."""
        found = self._open.keys()
        return sorted(step for (step,) in found if step < ended)

    def found(self, step: int) -> bytes | None:
        """What waits in a step."""
        if not self._open.containsKey((step,)):  # Spark warns of what is missing
            return None
        return bytes(self._open.getValue((step,))[0])

    def put(self, step: int, waiting: bytes) -> None:
        """From now on this waits in the step."""
        self._open.updateValue((step,), (waiting,))

    def taken(self, step: int) -> bytes:
        """What waited in a step, which is erased."""
        found = self.found(step)
        assert found is not None
        self._open.removeKey((step,))
        return found
