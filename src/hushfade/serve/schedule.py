"""Steps that the clock closes: step t at start + t · every.

The store knows how many steps are closed.  The clock only determines how many should be.  In each
round every stream that is due closes one step, and steps of many streams share a transaction.  So
no stream waits for another that has many steps to close, and all of them fall behind alike if the
machine is too slow.  If the clock jumps back, nothing closes.  If it jumps forward by more than a
bound, all steps are held (`clock_watch`).
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

from hushfade.errors import Refused
from hushfade.serve.error_responses import LOG
from hushfade.serve.writer import groups_of
from hushfade.store import Closing, Published

if TYPE_CHECKING:
    from hushfade.serve.registry import Facts
    from hushfade.serve.service import Service

TICK = 0.5  # seconds between two rounds, at most
_SHORTEST = 0.01  # seconds between two rounds, at least
BEHIND = 2  # steps behind the clock from which on the log mentions a stream
_REPORT = 10.0  # seconds between two lines about streams that are behind
_LISTED = 10  # closings of one round that the log lists one by one


class Schedule:
    """Closes due steps in rounds: one step of each stream per round."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._over: set[str] = set()  # streams beyond their horizon
        self._waiting: dict[str, asyncio.Task[None]] = {}  # streams whose batches are being parsed
        self._reported = -_REPORT
        self._held = False
        self._blocked = False  # steps are due and cannot close

    async def run(self) -> None:
        """Close due steps whenever a step is due."""
        try:
            while True:
                again = await self.round()
                await asyncio.sleep(0.0 if again else TICK if self._blocked else self._pause())
        finally:
            waiting = list(self._waiting.values())
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def round(self) -> bool:
        """Close the next step of each stream that is due; whether it closed any."""
        service = self._service
        self._blocked = self._hold() or service.writer.failed
        if self._blocked:
            return False
        now = service.watch.now  # the reading that is trusted, not a later one
        listed = [x for x in service.registry.all() if x.name not in self._waiting]
        due = [facts for facts in listed if self.lag(facts, now) > 0]
        ready = []
        for facts in due:
            if service.order.close_now(facts.name):
                step = service.registry.step(facts.name) + 1
                ready.append(Closing(facts.name, step, now, facts.plan.grid.lanes))
            else:  # without waiting for this stream
                task = asyncio.create_task(self._later(facts))
                self._waiting[facts.name] = task
        closed = await self._close(ready)
        self._blocked = bool(ready) and not closed
        self._report(closed)
        return bool(closed)

    async def _close(self, steps: list[Closing]) -> list[Published]:
        """The releases of the steps, all queued now and published as they are committed."""
        service = self._service
        try:
            found = await asyncio.gather(*map(service.close_together, groups_of(steps)))
        except Exception as error:  # the store has stopped: a later round tries again
            LOG.warning("cannot close steps, will try again: %s", type(error).__name__)
            return []
        closed = []
        for step, result in zip(steps, (one for group in found for one in group), strict=True):
            if isinstance(result, Published):
                closed.append(result)
            elif isinstance(result, Refused):  # its horizon is reached, or it has just ended
                self._over.add(step.stream)
                LOG.info(
                    "the clock stops closing steps of stream %r: the store refused step %d",
                    *(step.stream, step.step),
                )
        return closed

    async def _later(self, facts: Facts) -> None:
        """Close a step after the batches that arrived before it are parsed."""
        try:
            step = self._service.registry.step(facts.name) + 1
            await self._service.close_step(facts.name, step)
        except Refused:
            self._over.add(facts.name)
        except Exception as error:
            LOG.warning("cannot close steps, will try again: %s", type(error).__name__)
        finally:
            self._waiting.pop(facts.name, None)

    # The clock ------------------------------------------------------------------------------

    def lag(self, facts: Facts, now: int | None = None) -> int:
        """The steps by which a stream is behind the clock; negative if it is ahead of it.

        0 for a stream without a clock, or one that has ended.
        """
        registry = self._service.registry
        if facts.every is None or facts.start is None or facts.name in self._over:
            return 0
        if registry.ended(facts.name):
            return 0
        now = self._service.clock() if now is None else now
        wanted = (now - facts.start) // facts.every
        return max(0, wanted) - registry.step(facts.name)

    def lags(self) -> dict[str, int]:
        """The lag of each stream that has a clock."""
        return {x.name: self.lag(x) for x in self._service.registry.all() if x.every is not None}

    def _pause(self) -> float:
        """Seconds until the next step is due, at most TICK."""
        now, registry = self._service.clock(), self._service.registry
        soonest = min(
            (
                facts.start + (registry.step(facts.name) + 1) * facts.every - now
                for facts in registry.all()
                if facts.every is not None and facts.start is not None
                and facts.name not in self._over and not registry.ended(facts.name)
                and facts.name not in self._waiting
            ),
            default=round(TICK * 10**9),
        )  # fmt: skip
        return max(_SHORTEST, min(TICK, soonest / 10**9))

    def _hold(self) -> bool:
        """Whether all steps are held, because the clock jumped.  A change is logged."""
        hold = self._service.watch.look()
        if hold is not None and not self._held:
            LOG.error("%s", hold.sentence)
        elif hold is None and self._held:
            LOG.warning("the wall clock is trusted again: steps close")
        self._held = hold is not None
        return self._held

    # The log --------------------------------------------------------------------------------

    def _report(self, closed: list[Published]) -> None:
        if len(closed) <= _LISTED:
            for release in closed:
                LOG.info("step %d of stream %r closed", release.step, release.stream)
        else:
            LOG.info("closed one step of each of %d streams", len(closed))
        if monotonic() < self._reported + _REPORT:
            return
        behind = {name: lag for name, lag in self.lags().items() if lag >= BEHIND}
        if behind:
            self._reported = monotonic()
            worst = max(behind, key=lambda name: behind[name])
            LOG.warning(
                "%d streams are behind the clock, stream %r by %d steps",
                *(len(behind), worst, behind[worst]),
            )
