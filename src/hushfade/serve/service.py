"""The service: its parts, and the changes that it makes to the store."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio

from hushfade.errors import HushfadeError, InvalidValue, Refused
from hushfade.privacy.unit_words import words
from hushfade.serve.arrival_order import ArrivalOrder
from hushfade.serve.byte_budget import ByteBudget
from hushfade.serve.clock_watch import ClockWatch, uptime
from hushfade.serve.error_responses import LOG, Refusal, absent
from hushfade.serve.guard import Guard
from hushfade.serve.limits import Limits
from hushfade.serve.page_files import Pages
from hushfade.serve.read_access import ReadAccess
from hushfade.serve.recovery import Recovery
from hushfade.serve.registry import Facts, Registry
from hushfade.serve.schedule import Schedule
from hushfade.serve.server_sent_events import Hub
from hushfade.serve.shared_texts import SharedTexts
from hushfade.serve.writer import Writer
from hushfade.store import Batch, Closing, Published, Store, tokens

if TYPE_CHECKING:
    from hushfade.planning.joint_charge import JointCharge
    from hushfade.privacy.account import Account
    from hushfade.privacy.guarantee import Guarantee
    from hushfade.privacy.ledger import Joint
    from hushfade.store.tokens import Token

_NOTED = 3600.0  # seconds between two notes of the clock
_EVENT, _NUMBER = 150, 20  # about the bytes of an event, and of a number in it


class Service:
    """A service of a store.  The application calls `start` and `stop`."""

    def __init__(
        self,
        store: Store,
        guard: Guard | None = None,
        *,
        limits: Limits | None = None,
        clock: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], int] = uptime,
    ) -> None:
        self.store, self.guard, self.clock = store, guard or Guard(), clock
        self.limits = limits or Limits()
        self.registry = Registry.of(store)
        self.writer = Writer(store)
        self.reads = ReadAccess(store)
        self.hub = Hub(self.limits)
        self.responses = ByteBudget(
            self.limits.responses,
            self.limits.responses_each,
            waiting_each=self.limits.waiting_each,
        )
        # Reads of the database can hang.  Live events are made in threads of their own.
        self.shared = SharedTexts(anyio.CapacityLimiter(2))
        self.formatting = anyio.CapacityLimiter(2)  # large responses formatted at a time
        self.lookups = anyio.CapacityLimiter(2)  # searches of keys, and small descriptions
        self.history = anyio.CapacityLimiter(8)  # small responses and events that read the database
        self.watch = ClockWatch(clock, monotonic, bound=self.limits.clock_jump)
        self.watch.resume(store.note("clock"), self.registry.last_closed)
        self.recovery = Recovery(self)
        self.pages = Pages()
        self.schedule = Schedule(self)
        self.order = ArrivalOrder()
        self.reading = anyio.CapacityLimiter(2)  # large bodies parsed at a time
        self.reading_small = anyio.CapacityLimiter(2)  # small bodies never wait for large bodies
        self.planning = anyio.CapacityLimiter(2)  # plans computed at a time
        self._closing: Counter[str] = Counter()  # closings in progress, by stream
        self._tasks: list[asyncio.Task[None]] = []
        self._adding = asyncio.Lock()  # one new stream at a time: the next one must fit to it

    async def start(self) -> None:
        """Start the writer and the clock."""
        self.writer.start()
        await self._note_clock()
        work = (self.schedule.run(), self.recovery.run(), self._keep_time())
        self._tasks = [asyncio.create_task(one) for one in work]
        LOG.info("started with %d streams", len(self.registry.all()))

    def release_listeners(self) -> None:
        """Disconnect the listeners: a server that stops waits for the end of all responses."""
        self.hub.close()

    async def stop(self) -> None:
        """Finish the queued changes, then close the store."""
        self.hub.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self.writer.stop)
        await asyncio.to_thread(self.reads.close)
        await asyncio.to_thread(self.store.close)
        if not self.writer.failed:
            LOG.info("stopped: all accepted data are on disk")

    async def _keep_time(self) -> None:
        """Store the trusted offset of the clock from time to time, for the next process."""
        while True:
            await asyncio.sleep(_NOTED)
            await self._note_clock()

    async def _note_clock(self) -> None:
        if self.watch.hold is None:
            with suppress(HushfadeError, Refusal):
                text = self.watch.stored
                await self.writer.change(lambda store: store.keep_note("clock", text))

    async def confirm_clock(self) -> None:
        """Trust the wall clock as it is now."""
        self.watch.confirm()
        LOG.warning("an administrator confirmed the wall clock")
        await self._note_clock()

    def described(self, facts: Facts) -> dict[str, Any]:
        """The public description of the stream, with its distance from the clock."""
        lag = None if facts.every is None else self.schedule.lag(facts)
        return self.registry.described(facts) | {"lag": lag}

    def releases(self, name: str, *, after: int, most: int) -> list[Published]:
        """The published releases after a step.

        A step can be committed while its mark is not written yet: it is not published.
        """
        last = self.registry.step(name)
        newest = self.registry.newest(name)
        if newest is not None and after == newest.step - 1:  # in memory
            return [newest]
        found = self.reads.releases(name, after=after, most=most)
        return [release for release in found if release.step <= last]

    # Changes --------------------------------------------------------------------------------

    def accept(self, batch: Batch) -> asyncio.Future[str]:
        """Queue a batch now; return the store's result after the batch is on disk."""
        # The store checks this too.  The check here keeps invalid batches out of joint commits.
        if self.registry.ended(batch.stream):
            raise Refused(f"stream {batch.stream!r} has ended: add a new stream for later records")
        open_step = self.registry.step(batch.stream) + 1
        latest = open_step + self._closing[batch.stream]  # closings may be queued before it
        if batch.step is not None and batch.step > latest:
            raise Refused(f"step must not be beyond the open one, {open_step}")
        return self.writer.accept(batch)

    async def close_step(self, name: str, step: int) -> Published:
        """Close the step and return its release, or return the release of a closed step.

        Batches that have arrived by now belong to the step, later batches do not.
        """
        if 1 <= step <= self.registry.step(name):  # nothing to wait for
            return await self.writer.change(lambda store: _published(store, name, step))
        lanes = self.registry.facts(name).plan.grid.lanes
        closing = Closing(name, step, self.clock(), lanes)
        self._closing[name] += 1
        try:
            async with self.order.closing(name):
                publishing = self.close_together([closing])
        finally:
            self._closing[name] -= 1
        (release,) = await publishing
        if isinstance(release, Exception):
            raise release
        LOG.info("step %d of stream %r closed", release.step, name)
        return release

    def close_together(
        self, steps: Sequence[Closing]
    ) -> asyncio.Future[list[Published | Exception]]:
        """Queue steps of different streams now; publish and return their releases when committed.

        A step that the store refuses has the error in place of its release.
        """
        closing = self.writer.close(steps)
        self._closing.update(step.stream for step in steps)

        async def publish() -> list[Published | Exception]:
            try:
                found = await closing
            finally:
                self._closing.subtract(step.stream for step in steps)
            for release in found:
                if isinstance(release, Published):
                    self._publish(release)
            return found

        return asyncio.ensure_future(publish())

    def _publish(self, release: Published) -> None:
        """Show a committed release to readers and listeners."""
        self.registry.published(release)
        if release.step == self.registry.facts(release.stream).plan.horizon:
            self.registry.end(release.stream)  # the last step of the horizon ends the stream
        self.tell(release.stream)

    def tell(self, name: str) -> None:
        """Notify the listeners of a stream."""
        lanes = self.registry.facts(name).plan.grid.lanes
        self.hub.tell(name, _EVENT + _NUMBER * lanes)

    async def end(self, name: str) -> None:
        """End the stream: it accepts no further steps."""
        await self.writer.change(lambda store: store.end(name))
        self.registry.end(name)
        self.tell(name)

    async def add_dataset(
        self, name: str, guarantee: Guarantee, every: str | None = None
    ) -> Account:
        """Add a dataset with its budget, and return its account."""
        return await self.writer.change(
            lambda store: store.add_dataset(name, guarantee, every=every)
        )

    async def add_stream(self, facts: Facts, *, started: bool = False) -> Facts:
        """Add a stream, charge it to its dataset, and return it with its joint charge, if any.

        `started` states that its start was declared.
        """
        async with self._adding:
            return await self._add(facts if started else self.registry.in_step(facts))

    async def _add(self, facts: Facts) -> Facts:
        settings: dict[str, Any] = {
            "dataset": facts.dataset, "every": facts.every, "start": facts.start
        }  # fmt: skip
        if facts.by_hand:
            settings["by_hand"] = True
        if facts.suppress_below is not None:
            settings["suppress_below"] = facts.suppress_below

        def add(store: Store) -> tuple[Joint | None, float]:
            if facts.dataset not in store.accounts():
                raise InvalidValue("dataset does not exist: add it first")
            store.add_stream(
                facts.name,
                facts.plan,
                dataset=facts.dataset,
                settings=settings,
                limits="enforced" if facts.enforced else "assumed",
                order=facts.order if facts.enforced else None,
            )
            return store.joint(facts.name), store.accounts()[facts.dataset].delta

        joint, delta = await self.writer.change(add)
        added = replace(facts, joint=joint, budget_delta=delta)
        self.registry.add(added)
        return added

    async def charge_together(self, joint: JointCharge, dataset: str) -> dict[str, Any]:
        """Charge several streams together, and return the dataset's budget."""

        def charge(store: Store) -> dict[str, Any]:
            if dataset not in store.accounts():
                raise InvalidValue("dataset does not exist: add it first")
            return budget(store.enter_joint(joint, dataset=dataset), store.reserved())

        return await self.writer.change(charge)

    async def add_token(self, name: str, scopes: list[str]) -> str:
        """Create a token and return it this one time.  The first token must have scope admin."""

        def add(store: Store) -> tuple[str, list[Token]]:
            if not tokens.kept(store) and "admin" not in scopes:
                raise Refused(
                    "the first token must have the scope admin: without it nobody could create more"
                )
            text = tokens.add(store, name, scopes)
            return text, tokens.kept(store)

        text, kept = await self.writer.change(add)
        self.guard.use(kept)
        self.hub.tell_all()
        return text

    async def revoke_token(self, name: str) -> None:
        """Revoke a token.  Raise if it is the last token with scope admin."""

        def revoke(store: Store) -> list[Token]:
            others = [token for token in tokens.kept(store) if token.name != name]
            if len(others) == len(tokens.kept(store)):
                raise absent("token")
            if not any("admin" in token.scopes for token in others):
                raise Refused("the last token with the scope admin cannot be revoked")
            tokens.revoke(store, name)
            return tokens.kept(store)

        self.guard.use(await self.writer.change(revoke))
        self.hub.tell_all()


def _published(store: Store, name: str, step: int) -> Published:
    return store.releases(name, after=step - 1, most=1)[0]


def budget(account: Account, reserved: Mapping[str, str]) -> dict[str, Any]:
    """A dataset's account as plain data; spent amounts are rounded up, remaining amounts down.

    left_epsilon and left_delta are the guarantee of a further stream.  mu, spent and left are null
    if epsilons and deltas add up.  `reserved` maps each stream that is paid for and does not exist
    yet to its dataset.
    """
    gaussian = account.composition != "basic"
    return {
        "name": account.name,
        "epsilon": account.epsilon,
        "delta": account.delta,
        "spent_epsilon": account.spent_epsilon,
        "left_epsilon": account.left_epsilon,
        "spent_delta": account.spent_delta,
        "left_delta": account.left_delta,
        "composition": account.composition,
        "next_epsilon": account.next_epsilon,
        "unit": words(account.relation),
        "mu": account.mu if gaussian else None,
        "spent": account.spent if gaussian else None,
        "left": account.left if gaussian else None,
        "reserved": [stream for stream, dataset in reserved.items() if dataset == account.name],
    }
