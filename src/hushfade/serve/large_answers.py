"""A large answer: made when it is its turn, sent as fast as it is read, forgotten after that."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hushfade.serve.error_responses import answer_to

PIECE = 1 << 16  # bytes that are sent at a time: the next waits until they are under way
PATIENCE = 300.0  # seconds for an answer to be read


class Held(Response):
    """An answer that takes room from when it is made until it is sent.

    One who asks and does not read holds their own room, and no more than that.
    """

    def __init__(
        self, room: AbstractContextManager[None], make: Callable[[], Awaitable[Response]]
    ) -> None:
        self._room, self._make = room, make
        super().__init__()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Make it, and send it piece by piece."""
        with ExitStack() as stack:
            try:
                stack.enter_context(self._room)
                made = await self._make()
            except Exception as error:
                made = answer_to(error)
            body = bytes(made.body)
            async with asyncio.timeout(PATIENCE):
                start = {"type": "http.response.start", "status": made.status_code}
                await send(start | {"headers": made.raw_headers})
                for at in range(0, max(1, len(body)), PIECE):
                    more = at + PIECE < len(body)
                    piece = body[at : at + PIECE]
                    await send({"type": "http.response.body", "body": piece, "more_body": more})
