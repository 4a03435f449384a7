"""Steps that the clock closes: step t at start + t · every.

How many steps are closed is what the store says; the clock only says how many should be.  A clock
that jumps back closes nothing, and one that jumps forward closes the steps between one by one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hushfade.errors import Refused
from hushfade.serve.error_responses import LOG

if TYPE_CHECKING:
    from hushfade.serve.registry import Facts
    from hushfade.serve.service import Service

TICK = 0.5  # seconds
MOST = 50  # steps of a stream that a tick closes


class Schedule:
    """Closes what is due, never two steps of a stream at a time."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._over: set[str] = set()  # beyond their horizon

    async def run(self) -> None:
        """Look at the clock, again and again."""
        while True:
            try:
                await self.tick()
            except (
                Exception
            ) as error:  # a full queue, or a stopped store: the next tick tries again
                LOG.warning("steps are not closed: %s", type(error).__name__)
            await asyncio.sleep(TICK)

    async def tick(self) -> None:
        """Close what is due now, stream by stream, at most MOST steps of each."""
        for facts in self._service.registry.all():
            for _ in range(MOST):
                if not self._due(facts):
                    break
                await self._close(facts.name)

    def _due(self, facts: Facts) -> bool:
        registry = self._service.registry
        if facts.every is None or facts.start is None or facts.name in self._over:
            return False
        if registry.ended(facts.name):
            return False
        wanted = (self._service.clock() - facts.start) // facts.every
        return wanted > registry.step(facts.name)

    async def _close(self, name: str) -> None:
        step = self._service.registry.step(name) + 1
        try:
            await self._service.close_step(name, step)
        except Refused:  # its horizon is reached, or it has just ended
            self._over.add(name)
            LOG.info("the clock closes no more steps of stream %r: refused at step %d", name, step)
