"""The order of a stream's batches and closings: by arrival, not by how long a body takes to parse.

A batch belongs to the step that is open when the last byte of its body arrives.  So a closing waits
until the batches that arrived before it are parsed and queued for the writer, and batches that
arrive after it are queued after it.  A closing never waits for a sender or the network: a body that
is still arriving belongs to a later step.  Batches between two closings do not wait for each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class Interval:
    """The batches that arrive between two closings of a stream."""

    def __init__(self) -> None:
        self._unqueued = 0
        self._begun = asyncio.Event()  # the closing before it is queued
        self._queued = asyncio.Event()  # so are all its batches
        self._queued.set()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """A batch that has arrived, until it is queued or refused."""
        self._unqueued += 1
        self._queued.clear()
        try:
            yield
        finally:
            self._unqueued -= 1
            if not self._unqueued:
                self._queued.set()

    async def turn(self) -> None:
        """Wait until a batch of this interval may be queued."""
        await self._begun.wait()

    async def over(self) -> None:
        """Wait until the closing after this interval may be queued."""
        await self._begun.wait()
        await self._queued.wait()

    def begin(self) -> None:
        """The closing before this interval is queued."""
        self._begun.set()

    @property
    def ready(self) -> bool:
        """Whether the closing after this interval may be queued now."""
        return self._begun.is_set() and self._queued.is_set()


class ArrivalOrder:
    """The open interval of each stream.  Only the event loop uses it."""

    def __init__(self) -> None:
        self._open: dict[str, Interval] = {}

    def interval(self, stream: str) -> Interval:
        """The interval in which a batch that arrives now belongs."""
        if stream not in self._open:
            self._open[stream] = Interval()
            self._open[stream].begin()
        return self._open[stream]

    def close_now(self, stream: str) -> bool:
        """Whether a closing that arrives now may be queued at once, which the caller then does.

        Otherwise batches that arrived before it are still parsed: use `closing`.
        """
        if not self.interval(stream).ready:
            return False
        self._open[stream] = Interval()
        self._open[stream].begin()
        return True

    @asynccontextmanager
    async def closing(self, stream: str) -> AsyncIterator[None]:
        """A closing that arrives now; the block queues it when its turn has come."""
        before, after = self.interval(stream), Interval()
        self._open[stream] = after
        try:
            await before.over()
            yield
        finally:
            after.begin()
