"""Room for large responses: bytes in flight, in total and for each caller.

A response that finds no room waits for its turn.  It is refused only if it waits too long, or if
too many responses wait: in total, or of its caller.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from hushfade.serve.error_responses import busy

PATIENCE = 10.0  # seconds that a response waits for room
MOST = 1000  # responses that wait
EACH = 250  # of one caller


class _Waiting(NamedTuple):
    caller: str
    size: int
    turn: asyncio.Future[None]


class ByteBudget:
    """Bytes in flight.  Only the event loop uses it."""

    def __init__(
        self, total: int, each: int, *, patience: float = PATIENCE, waiting_each: int = EACH
    ) -> None:
        self._total, self._each, self._patience = total, each, patience
        self._waiting_each = waiting_each
        self._taken: Counter[str] = Counter()
        self._waiting: deque[_Waiting] = deque()

    @property
    def taken(self) -> int:
        """The bytes in flight."""
        return self._taken.total()

    @asynccontextmanager
    async def room(self, caller: str, size: int) -> AsyncIterator[None]:
        """Room for this many bytes while the block runs.  Raise if there is none for a while.

        A response that is larger than a whole limit waits until it is alone.
        """
        size = min(size, self._total, self._each)
        if self._waiting or not self._fits(caller, size):
            await self._turn(caller, size)
        else:
            self._taken[caller] += size
        try:
            yield
        finally:
            self._taken[caller] -= size
            if not self._taken[caller]:
                del self._taken[caller]
            self._admit()

    def _fits(self, caller: str, size: int) -> bool:
        return (
            self._taken[caller] + size <= self._each and self._taken.total() + size <= self._total
        )

    async def _turn(self, caller: str, size: int) -> None:
        own = sum(one.caller == caller for one in self._waiting)
        if len(self._waiting) >= MOST or own >= self._waiting_each:
            raise busy()
        one = _Waiting(caller, size, asyncio.get_running_loop().create_future())
        self._waiting.append(one)
        self._admit()
        try:
            async with asyncio.timeout(self._patience):
                await one.turn
        except BaseException as error:
            if one.turn.done() and not one.turn.cancelled():  # admitted just now
                self._taken[caller] -= size
            elif one in self._waiting:
                self._waiting.remove(one)
            self._admit()
            if isinstance(error, TimeoutError):
                raise busy() from None
            raise

    def _admit(self) -> None:
        """Admit those that fit, in order.  A caller at its own limit does not hold up others."""
        for one in list(self._waiting):
            if one.turn.done():  # cancelled, and its task has not run since
                self._waiting.remove(one)
                continue
            if self._taken.total() + one.size > self._total:
                break
            if self._fits(one.caller, one.size):
                self._waiting.remove(one)
                self._taken[one.caller] += one.size
                one.turn.set_result(None)
