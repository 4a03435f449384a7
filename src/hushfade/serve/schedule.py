"""Steps that the clock closes: step t at start + t · every.

The store knows how many steps are closed.  The clock only determines how many should be.  If the
clock jumps back, nothing closes.  If it jumps forward, the steps in between close one by one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hushfade.errors import Refused
from hushfade.serve import guard
from hushfade.serve.error_responses import LOG

if TYPE_CHECKING:
    from hushfade.serve.registry import Facts
    from hushfade.serve.service import Service

TICK = 0.5  # seconds
MOST = 50  # steps per stream that one tick closes
AT_ONCE = 2 * guard.LARGE  # simultaneous closings


class Schedule:
    """Closes due steps: one step of a stream at a time, and no stream waits for another.

    A closing waits until the batches that arrived before it are parsed.  The guard admits half as
    many large bodies at a time as there may be closings, so other streams always have their turn.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._over: set[str] = set()  # streams beyond their horizon
        self._closing: set[str] = set()  # streams with a closing in progress
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        """Close due steps at every tick of the clock."""
        ticks: set[asyncio.Task[None]] = set()
        try:
            while True:
                task = asyncio.create_task(self.tick())
                ticks.add(task)
                task.add_done_callback(ticks.discard)
                await asyncio.sleep(TICK)
        finally:
            for task in ticks:
                task.cancel()
            await asyncio.gather(*ticks, return_exceptions=True)

    async def tick(self) -> None:
        """Close the steps that are due now, at most MOST steps per stream."""
        streams = self._service.registry.all()
        due = [x for x in streams if x.name not in self._closing and self._due(x)]
        await asyncio.gather(*map(self._catch_up, due))

    async def _catch_up(self, facts: Facts) -> None:
        self._closing.add(facts.name)
        try:
            for _ in range(MOST):
                if not self._due(facts):
                    break
                async with self._turn:
                    await self._close(facts.name)
        except Exception as error:  # a full queue or a stopped store: the next tick tries again
            LOG.warning("cannot close steps, will try again: %s", type(error).__name__)
        finally:
            self._closing.discard(facts.name)

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
            LOG.info(
                "the clock stops closing steps of stream %r: the store refused step %d", name, step
            )
