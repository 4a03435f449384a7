"""Large responses: computed one by one, sent as fast as the client reads, then freed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hushfade.serve.error_responses import answer_to

PIECE = 1 << 16  # bytes sent at a time: the next piece waits until these are on their way
PATIENCE = 300.0  # seconds in which the client must read a response


class Held(Response):
    """A response that occupies memory until it is sent.

    A client that does not read its responses uses up only its own share of the memory.
    """

    def __init__(
        self, room: AbstractContextManager[None], make: Callable[[], Awaitable[Response]]
    ) -> None:
        self._room, self._make = room, make
        super().__init__()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Compute the response, and send it in pieces."""
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
