"""Large responses: made piece by piece, as fast as the client reads, in bounded memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack

import anyio
from anyio.to_thread import run_sync
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hushfade.serve.error_responses import answer_to

PATIENCE = 60.0  # seconds without progress, after which a client is given up
LONGEST = 900.0  # seconds in which a client must have read a whole response

Making = Callable[[], Iterable[bytes]]


class Pieces(Response):
    """A response whose pieces are made in a thread while it is sent.

    `room` is room in memory, taken before the first piece is made.  A small response needs none: it
    is made as a whole, and has a Content-Length.  If a later piece cannot be made, the service cuts
    the connection, so that the client does not take a part for the whole.  Pieces that exist
    already need no thread.
    """

    def __init__(
        self,
        make: Making | list[bytes],
        *,
        media_type: str,
        headers: Mapping[str, str] | None = None,
        room: AbstractAsyncContextManager[None] | None = None,
        limiter: anyio.CapacityLimiter | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._make, self._room, self._limiter = make, room, limiter
        self._patience = patience
        super().__init__(headers=headers, media_type=media_type)
        self.raw_headers = [pair for pair in self.raw_headers if pair[0] != b"content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        async with AsyncExitStack() as stack:
            try:
                if self._room is not None:
                    await stack.enter_async_context(self._room)
                pieces = await self._pieces()
                first = await anext(pieces, b"")
                second = await anext(pieces, None)
            except Exception as error:
                await answer_to(error)(scope, receive, send)
                return
            headers = list(self.raw_headers)
            if second is None:
                headers.append((b"content-length", str(len(first)).encode()))
            start = {"type": "http.response.start", "status": self.status_code, "headers": headers}
            try:
                async with asyncio.timeout(LONGEST):
                    await self._sent(send, start)
                    await self._sent(send, _body(first, more=second is not None))
                    if second is None:
                        return
                    await self._sent(send, _body(second, more=True))
                    if scope["method"] != "HEAD":
                        async for piece in pieces:
                            await self._sent(send, _body(piece, more=True))
                    await self._sent(send, _body(b"", more=False))
            except Exception:  # too slow, or a piece cannot be made
                scope.get("hushfade.abort", lambda: None)()

    async def _pieces(self) -> AsyncIterator[bytes]:
        make = self._make
        if isinstance(make, list):
            return _existing(make)
        if self._room is None:
            return _existing(await run_sync(lambda: [b"".join(make())], limiter=self._limiter))
        return in_threads(make, self._limiter)

    async def _sent(self, send: Send, message: Mapping[str, object]) -> None:
        """Send a message.  The next one waits until this one is on its way."""
        async with asyncio.timeout(self._patience):
            await send(dict(message))


def _body(piece: bytes, *, more: bool) -> dict[str, object]:
    return {"type": "http.response.body", "body": piece, "more_body": more}


async def in_threads(make: Making, limiter: anyio.CapacityLimiter | None) -> AsyncIterator[bytes]:
    """The pieces, each made in a thread when it is asked for."""
    made: Iterator[bytes] = iter(await run_sync(make, limiter=limiter))
    while True:
        piece = await run_sync(next, made, None, limiter=limiter)
        if piece is None:
            return
        yield piece


async def _existing(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
