"""The service: its parts, and the changes that it makes to the store."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import anyio

from hushfade import check, duration
from hushfade.errors import InvalidValue, Malformed, Refused
from hushfade.planning.plan import Plan
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.unit import Unit, unit_of
from hushfade.privacy.unit_words import words
from hushfade.serve import metrics
from hushfade.serve.arrival_order import ArrivalOrder
from hushfade.serve.error_responses import LOG, absent
from hushfade.serve.guard import Guard
from hushfade.serve.page_files import Pages
from hushfade.serve.registry import BY_HAND, Facts, Registry
from hushfade.serve.schedule import Schedule
from hushfade.serve.server_sent_events import Hub
from hushfade.serve.writer import Writer
from hushfade.store import Batch, Published, Store, tokens

if TYPE_CHECKING:
    from hushfade.planning.joint_charge import JointCharge
    from hushfade.privacy.account import Account
    from hushfade.privacy.ledger import Joint
    from hushfade.store.tokens import Token

SHORTEST = 10**9  # nanoseconds of a step that the clock closes
MISSED = 1000  # steps by which the start of a new stream may lie in the past

_SUPPORT, _LANES = 1 << 22, 100_000  # of a plan that is sent
_PIECES = 4096  # different taps of a plan whose loss is computed
_TIMES, _SPAN = 10_000, 1 << 20  # steps of one person, and the steps from the first to the last
_MISFITS = (ArithmeticError, ValueError, TypeError, LookupError, MemoryError, AssertionError)


class Service:
    """A service of a store.  The application calls `start` and `stop`."""

    def __init__(
        self, store: Store, guard: Guard | None = None, *, clock: Callable[[], int] = time.time_ns
    ) -> None:
        self.store, self.guard, self.clock = store, guard or Guard(), clock
        self.registry = Registry.of(store)
        self.writer = Writer(store)
        self.hub = Hub()
        self.pages = Pages()
        self.schedule = Schedule(self)
        self.order = ArrivalOrder()
        self.reading = anyio.CapacityLimiter(2)  # large bodies parsed at a time
        self.reading_small = anyio.CapacityLimiter(2)  # small bodies never wait for large bodies
        self.planning = anyio.CapacityLimiter(2)  # plans computed at a time
        self._closing: Counter[str] = Counter()  # closings in progress, by stream
        self._scraped = -1, ""
        self._ticking: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the writer and the clock."""
        self.writer.start()
        self._ticking = asyncio.create_task(self.schedule.run())
        LOG.info("started with %d streams", len(self.registry.all()))

    def release_listeners(self) -> None:
        """Disconnect the listeners: a server that stops waits for the end of all responses."""
        self.hub.close()

    async def stop(self) -> None:
        """Finish the queued changes, then close the store."""
        self.hub.close()
        if self._ticking is not None:
            self._ticking.cancel()
            await asyncio.gather(self._ticking, return_exceptions=True)
        await asyncio.to_thread(self.writer.stop)
        await asyncio.to_thread(self.store.close)
        if not self.writer.failed:
            LOG.info("stopped: all accepted data are on disk")

    @property
    def ready(self) -> bool:
        """Whether the service accepts changes."""
        return not self.writer.failed and not self.hub.closed

    def releases(self, name: str, *, after: int, most: int) -> list[Published]:
        """The published releases after a step.

        A step can be committed while its mark is not written yet: it is not published.
        """
        last = self.registry.step(name)
        found = self.store.releases(name, after=after, most=most)
        return [release for release in found if release.step <= last]

    def scraped(self) -> str:
        """The newest releases as OpenMetrics text, computed once after each change."""
        changes, text = self._scraped
        if changes != self.registry.changes:
            changes = self.registry.changes
            text = metrics.text(self.registry)
            self._scraped = changes, text
        return text

    # Changes --------------------------------------------------------------------------------

    def accept(self, batch: Batch) -> asyncio.Future[str]:
        """Queue a batch now; return the store's result after the batch is on disk."""
        # The store checks this too.  The check here keeps invalid batches out of joint commits.
        if self.registry.ended(batch.stream):
            raise Refused(f"stream {batch.stream!r} has ended")
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
        now = self.clock()

        def close(store: Store) -> tuple[Published, bool]:
            if 1 <= step < store.live(name).steps:
                return _published(store, name, step), store.live(name).ended
            release = store.close_step(name, step, closed=now)
            return release, store.live(name).ended  # the last step of the horizon ends the stream

        self._closing[name] += 1
        try:
            async with self.order.closing(name):
                closing = self.writer.change(close)
            release, ended = await closing
        finally:
            self._closing[name] -= 1
        if release.step > self.registry.step(name):
            LOG.info("step %d of stream %r closed", release.step, name)
        self.registry.published(release)
        if ended:
            self.registry.end(name)
        self.hub.tell(name)
        return release

    async def end(self, name: str) -> None:
        """End the stream: it accepts no further steps."""
        await self.writer.change(lambda store: store.end(name))
        self.registry.end(name)
        self.hub.tell(name)

    async def add_dataset(
        self, name: str, guarantee: Guarantee, every: str | None = None
    ) -> Account:
        """Add a dataset with its budget, and return its account."""
        return await self.writer.change(
            lambda store: store.add_dataset(name, guarantee, every=every)
        )

    async def add_stream(self, facts: Facts) -> Facts:
        """Add a stream, charge it to its dataset, and return it with its joint charge, if any."""
        settings = {"dataset": facts.dataset, "every": facts.every, "start": facts.start}
        if facts.by_hand:
            settings["by_hand"] = True

        def add(store: Store) -> tuple[Joint | None, float]:
            if facts.dataset not in store.accounts():
                raise InvalidValue("dataset does not exist: add it first")
            store.add_stream(facts.name, facts.plan, dataset=facts.dataset, settings=settings)
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
        "unit": None if account.relation is None else words(account.relation),
        "mu": account.mu if gaussian else None,
        "spent": account.spent if gaussian else None,
        "left": account.left if gaussian else None,
        "reserved": [stream for stream, dataset in reserved.items() if dataset == account.name],
    }


def guarantee_of(document: dict[str, Any], **more: Any) -> Guarantee:
    """The requested guarantee, within ranges that are meaningful and can be computed."""
    epsilon = check.real(epsilon=document["epsilon"])
    delta = check.real(delta=document["delta"])
    if not 1e-3 <= epsilon <= 100:
        raise InvalidValue("must be from 0.001 to 100", argument="epsilon", got=repr(epsilon))
    if not (delta == 0 or 1e-30 <= delta <= 0.5):
        raise InvalidValue("must be 0, or from 1e-30 to 0.5", argument="delta", got=repr(delta))
    return Guarantee(epsilon=epsilon, delta=delta, **more)


def neighbours_of(document: dict[str, Any]) -> dict[str, Any]:
    """The requested unit of privacy; by default one record, added or removed."""
    return {
        "neighbours": document.get("neighbours", "add_remove"),
        "protects": requested_unit(document, steps=_SPAN, apart=_SPAN),
    }


def requested_unit(document: dict[str, Any], *, steps: int, apart: int) -> Unit:
    """The field `protects` of a request: "record", or the arguments of hushfade.Person."""
    unit = unit_of(document.get("protects", "record"))
    check.count(steps=unit.steps, most=steps)
    check.count(apart=unit.apart, most=apart)
    return unit


def length_text(every: Any) -> str:
    """The step length as a string, not parsed yet."""
    if not isinstance(every, str) or len(every) > 100:
        raise Malformed("every must be a string of at most 100 characters, such as 1h")
    return every


def check_step(plan: Plan, every: Any) -> None:
    """Raise unless the clock closes steps of the plan's length, or `every` is 'by hand'."""
    plan.step_length(None if every == BY_HAND else every)
    if every is None and plan.every not in (None, duration.ROWS):
        raise InvalidValue(
            f"every must be {plan.every}, the plan's step, so that the clock closes steps of that "
            f"length, or {BY_HAND!r} if an operator closes them"
        )
    if every not in (None, BY_HAND) and plan.every is None and not plan.relation.single:
        raise InvalidValue(
            "plan must state its step length (--every) if a person may have several records"
        )


def plan_of(document: Any) -> Plan:
    """The plan in a document from `Plan.to_json`.  Raise if it is too large to be served."""
    if not isinstance(document, dict):
        raise Malformed("plan must be a JSON object")
    try:
        if not 0 < document["taps"]["support"] <= _SUPPORT:
            raise InvalidValue(f"the plan must have at most {_SUPPORT} taps")
        records = document["records"]
        if not max(records["width"], len(records["keys"] or ())) <= _LANES:
            raise InvalidValue(f"the plan must have at most {_LANES} keys")
        several = len(document["taps"]["value"]) > _PIECES
        if several and "law" in document.get("noise", {}):  # each costs time in computing delta
            raise InvalidValue(f"a plan without Gaussian noise must have at most {_PIECES} jumps")
        promised = document["guarantee"]
        span = (promised["participations"] - 1) * promised["separation"]
        endless = document["horizon"] is None
        if not promised["participations"] <= _TIMES or (endless and not span <= _SPAN):
            raise InvalidValue(
                f"a person of the plan must have at most {_TIMES} steps, within {_SPAN} steps"
            )
        "".join(records["keys"] or ()).encode()  # a lone surrogate cannot be published
        plan = Plan.from_json(json.dumps(document))
        plan.require_sums("the service")
        return plan
    except (InvalidValue, Malformed):
        raise
    except _MISFITS:
        raise InvalidValue("plan must be an unchanged plan file from hushfade plan -o") from None


def step_times(every: Any, start: Any, now: int) -> tuple[int | None, int | None]:
    """The step length and the start of the first step in nanoseconds; None without a clock.

    Without a start the first step begins now.
    """
    if every in (None, BY_HAND):
        if start is not None:
            raise InvalidValue(
                "start needs a length in every: without it no clock closes the steps"
            )
        return None, None
    length = duration.length(length_text(every))
    if not isinstance(length, int):
        raise InvalidValue(
            f"every must be a fixed length such as 1h, or {BY_HAND!r}: the clock cannot close rows "
            "or calendar steps, so close them with a request"
        )
    if not length >= SHORTEST:
        raise InvalidValue("every must be at least 1s")
    if start is None:
        return length, now
    if not isinstance(start, str):
        raise Malformed("start must be a string such as 2026-01-01T00:00:00Z")
    try:
        at = datetime.fromisoformat(start)
    except ValueError:
        raise InvalidValue("start must be a time such as 2026-01-01T00:00:00Z") from None
    if at.tzinfo is None:
        raise InvalidValue("start must have a time zone, such as the Z in 2026-01-01T00:00:00Z")
    if not 1970 < at.year < 2200:
        raise InvalidValue("start must be between 1971 and 2199")
    begins = round((at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 10**6) * 1000
    if not now - begins <= MISSED * length:
        raise InvalidValue(f"start must be at most {MISSED} steps ago")
    return length, begins
