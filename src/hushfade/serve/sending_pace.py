"""A pace for sending large pieces to many clients at once.

A release of a wide stream is ready for all its listeners at the same moment.  If each of them were
sent a piece in the same pass of the event loop, other requests would wait for all of these writes.
So a pass sends only a few pieces.
"""

from __future__ import annotations

import asyncio
from collections import deque

EACH = 8  # pieces per pass


class SendingPace:
    """Grants turns, a few in each pass of the event loop.  A client that waits holds no turn."""

    def __init__(self, each: int = EACH) -> None:
        self._each = each
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._granting = False

    async def turn(self) -> None:
        """Wait for a turn to send one piece."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.append(turn)
        if not self._granting:
            self._granting = True
            loop.call_soon(self._grant, loop)
        await turn

    def _grant(self, loop: asyncio.AbstractEventLoop) -> None:
        granted = 0
        while self._waiting and granted < self._each:
            turn = self._waiting.popleft()
            if not turn.done():  # its client may have left
                turn.set_result(None)
                granted += 1
        self._granting = bool(self._waiting)
        if self._granting:
            loop.call_soon(self._grant, loop)
