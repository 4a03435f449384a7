"""What the service does when its store fails: it keeps serving reads, and connects again.

a change fails → changes are refused, /ready is 503 → attempts to reconnect → registry compared
with the committed data, and what was committed but not published is published → ready again
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hushfade.errors import Failed, Refused
from hushfade.serve.error_responses import LOG, Refusal
from hushfade.serve.registry import Registry
from hushfade.store import tokens

if TYPE_CHECKING:
    from hushfade.serve.service import Service
    from hushfade.store import Store
    from hushfade.store.tokens import Token

LOOK = 0.2  # seconds between two looks at a store that works
FIRST, LONGEST = 0.5, 10.0  # seconds between two attempts, doubled after each
PATIENCE = 2.0  # seconds in which the writer must respond, or the service is not ready
FRESH = 1.0  # seconds for which a response of the writer counts


class Recovery:
    """Reconnects a failed store, and reports whether the service is ready."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._answered = -FRESH  # when the writer last responded, on the loop's clock
        self._asking: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Reconnect whenever the store has failed."""
        pause = FIRST
        while True:
            if not self._service.writer.failed:
                pause = FIRST
                await asyncio.sleep(LOOK)
                continue
            try:
                await self.attempt()
                continue
            except Exception as error:
                reason = error if isinstance(error, Failed | Refused) else type(error).__name__
                LOG.warning("the store is not available yet: %s", reason)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST)

    async def attempt(self) -> None:
        """Connect again, and publish what was committed before the failure."""
        service = self._service

        def compare(store: Store) -> tuple[Registry, list[Token]]:
            return Registry.of(store), tokens.kept(store)

        fresh, kept = await service.writer.repair(compare)
        if not kept and not service.guard.open:
            LOG.error(
                "the store had tokens and has none, so nobody has access: stop the service, create "
                "a token with hushfade token, and start the service again"
            )
        service.guard.use(kept)
        for name in service.registry.adopt(fresh):
            service.tell(name)
        LOG.warning("the store is available again")

    async def check(self) -> None:
        """Raise unless the store accepts changes now.

        The question goes through the writer, so a database that does not respond is noticed.  Many
        who ask share one question.
        """
        if self._service.hub.closed:
            raise _stopped("the service is stopping")
        if self._service.writer.failed:
            raise _stopped("the store does not accept changes now")
        hold = self._service.watch.hold
        if hold is not None:
            raise Refusal(503, "clock", hold.sentence, Retry_After="10")
        loop = asyncio.get_running_loop()
        if loop.time() < self._answered + FRESH:
            return
        if self._asking is None or self._asking.done():
            self._asking = asyncio.ensure_future(self._ask())
        try:
            async with asyncio.timeout(PATIENCE):
                await asyncio.shield(self._asking)
        except TimeoutError:
            raise _stopped("the database does not respond") from None
        except Failed:
            raise _stopped("the store does not accept changes now") from None

    async def _ask(self) -> None:
        await self._service.writer.change(lambda store: store.ping())
        self._answered = asyncio.get_running_loop().time()


def _stopped(problem: str) -> Refusal:
    return Refusal(503, "stopped", problem, Retry_After="10")
