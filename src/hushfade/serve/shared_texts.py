"""Texts that many clients receive: made once, in a thread, and shared by all of them.

For each name only the newest version is kept, and only as many bytes as the limit allows.  A client
that is still sending an older version keeps it alive itself.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable

import anyio
from anyio.to_thread import run_sync

LIMIT = 64 << 20  # bytes


class SharedTexts:
    """The newest version of each text, as pieces.  Only the event loop uses it."""

    def __init__(self, limiter: anyio.CapacityLimiter, limit: int = LIMIT) -> None:
        self._limiter, self._limit = limiter, limit
        self._made: OrderedDict[Hashable, tuple[int, asyncio.Future[list[bytes]]]] = OrderedDict()
        self.count = 0  # the number of texts made so far

    async def pieces(
        self, name: Hashable, version: int, make: Callable[[], Iterable[bytes]]
    ) -> list[bytes]:
        """The pieces of this version.  Of several clients that ask, only the first one makes it."""
        known = self._made.get(name)
        if known is None or known[0] != version:
            making: asyncio.Future[list[bytes]] = asyncio.ensure_future(self._make(make))
            if known is None or known[0] < version:  # an older version is not kept
                self._made[name] = version, making
        else:
            making = known[1]
            self._made.move_to_end(name)
        try:
            found = await asyncio.shield(making)
        except BaseException:
            if making.done() and self._made.get(name) == (version, making):
                del self._made[name]
            raise
        self._bound()
        return found

    def forget(self, name: Hashable) -> None:
        """Forget a text."""
        self._made.pop(name, None)

    async def _make(self, make: Callable[[], Iterable[bytes]]) -> list[bytes]:
        self.count += 1
        return await run_sync(lambda: list(make()), limiter=self._limiter)

    def _bound(self) -> None:
        """Forget texts that were not used for the longest time."""
        size = sum(map(_size, self._made.values()))
        while size > self._limit and len(self._made) > 1:
            _, gone = self._made.popitem(last=False)
            size -= _size(gone)


def _size(made: tuple[int, asyncio.Future[list[bytes]]]) -> int:
    done = made[1].done() and not made[1].cancelled() and made[1].exception() is None
    return sum(map(len, made[1].result())) if done else 0
