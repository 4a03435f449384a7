"""Texts that many clients receive: made once, in a thread, and shared by all of them.

For each name only the newest version is kept, and only as many texts and bytes as the limits allow.
A client that is still sending an older version keeps it alive itself.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import anyio
from anyio.to_thread import run_sync

LIMIT = 64 << 20  # bytes
MOST = 1000  # texts: each selection of keys is a text of its own


class SharedTexts:
    """The newest version of each text, as pieces.  Only the event loop uses it."""

    def __init__(
        self, limiter: anyio.CapacityLimiter, limit: int = LIMIT, most: int = MOST
    ) -> None:
        self._limiter, self._limit, self._most = limiter, limit, most
        self._made: OrderedDict[Hashable, _Text] = OrderedDict()
        self._size = 0  # bytes of the texts that are made and kept
        self.count = 0  # the number of texts made so far

    async def pieces(
        self, name: Hashable, version: int, make: Callable[[], Iterable[bytes]]
    ) -> list[bytes]:
        """The pieces of this version.  Of several clients that ask, only the first one makes it."""
        known = self._made.get(name)
        if known is None or known.version != version:
            text = _Text(version, asyncio.ensure_future(self._make(make)))
            if known is None or known.version < version:  # an older version is not kept
                self.forget(name)
                self._made[name] = text
                text.making.add_done_callback(lambda _: self._count(name, text))
                self._bound()
        else:
            text = known
            self._made.move_to_end(name)
        try:
            found = await asyncio.shield(text.making)
        except BaseException:
            if text.making.done() and self._made.get(name) is text:
                self.forget(name)
            raise
        return found

    def __len__(self) -> int:
        """The number of texts that are kept."""
        return len(self._made)

    def forget(self, name: Hashable) -> None:
        """Forget a text."""
        gone = self._made.pop(name, None)
        if gone is not None:
            self._size -= gone.size

    async def _make(self, make: Callable[[], Iterable[bytes]]) -> list[bytes]:
        self.count += 1
        return await run_sync(lambda: list(make()), limiter=self._limiter)

    def _count(self, name: Hashable, text: _Text) -> None:
        """Count the bytes of a text that is made, also if nobody waits for it any more."""
        made = text.making
        if self._made.get(name) is text and not made.cancelled() and made.exception() is None:
            text.size = sum(map(len, made.result()))
            self._size += text.size
            self._bound()

    def _bound(self) -> None:
        """Forget texts that were not used for the longest time, but never the newest."""
        while len(self._made) > self._most or (self._size > self._limit and len(self._made) > 1):
            self.forget(next(iter(self._made)))


@dataclass(eq=False)
class _Text:
    version: int
    making: asyncio.Future[list[bytes]]
    size: int = 0  # bytes, once it is made
