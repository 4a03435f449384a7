"""The parts of the service together, and the changes that it makes."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import anyio

from hushfade import check, duration
from hushfade.errors import InvalidValue, Malformed, Refused
from hushfade.planning.plan import Plan
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.unit import words
from hushfade.serve import metrics
from hushfade.serve.arrival_order import ArrivalOrder
from hushfade.serve.error_responses import LOG, absent
from hushfade.serve.guard import Guard
from hushfade.serve.page_files import Pages
from hushfade.serve.registry import Facts, Registry
from hushfade.serve.schedule import Schedule
from hushfade.serve.server_sent_events import Hub
from hushfade.serve.writer import Writer
from hushfade.store import Batch, Published, Store, tokens

if TYPE_CHECKING:
    from hushfade.privacy.account import Account
    from hushfade.store.tokens import Token

SHORTEST = 10**9  # nanoseconds of a step that the clock closes
MISSED = 1000  # steps that a new stream may have missed

_SUPPORT, _LANES = 1 << 22, 100_000  # of a plan that is sent
_PIECES = 4096  # different taps of a plan whose loss is computed
_TIMES, _SPAN = 10_000, 1 << 20  # participations, and the steps from the first to the last
_MISFITS = (ArithmeticError, ValueError, TypeError, LookupError, MemoryError, AssertionError)


class Service:
    """A store that is served.  `start` and `stop` are called by the application."""

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
        self.reading = anyio.CapacityLimiter(2)  # large bodies that are parsed at a time
        self.reading_small = anyio.CapacityLimiter(2)  # no small body waits for a large one
        self.planning = anyio.CapacityLimiter(2)  # plans that are made at a time
        self._closing: Counter[str] = Counter()  # closings of each stream under way
        self._scraped = -1, ""
        self._ticking: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to write, and to follow the clock."""
        self.writer.start()
        self._ticking = asyncio.create_task(self.schedule.run())
        LOG.info("started with %d streams", len(self.registry.all()))

    def release_listeners(self) -> None:
        """Let those go that would listen for ever: the server waits for every answer's end."""
        self.hub.close()

    async def stop(self) -> None:
        """Finish what waits, then close the store."""
        self.hub.close()
        if self._ticking is not None:
            self._ticking.cancel()
            await asyncio.gather(self._ticking, return_exceptions=True)
        await asyncio.to_thread(self.writer.stop)
        await asyncio.to_thread(self.store.close)
        if not self.writer.failed:
            LOG.info("stopped in order: all that was accepted is on the disk")

    @property
    def ready(self) -> bool:
        """Can it take changes?"""
        return not self.writer.failed and not self.hub.closed

    def releases(self, name: str, *, after: int, most: int) -> list[Published]:
        """The releases after a step that were published.

        A step may be committed and its mark not be written: nobody may be told of it yet.
        """
        last = self.registry.step(name)
        found = self.store.releases(name, after=after, most=most)
        return [release for release in found if release.step <= last]

    def scraped(self) -> str:
        """The newest releases for a monitor, made once for each change."""
        changes, text = self._scraped
        if changes != self.registry.changes:
            changes = self.registry.changes
            text = metrics.text(self.registry)
            self._scraped = changes, text
        return text

    # Changes --------------------------------------------------------------------------------

    def accept(self, batch: Batch) -> asyncio.Future[str]:
        """Queue a batch now; what the store says of it, when that is on the disk."""
        # The store checks this too.  Checked here, a batch at fault breaks up no common commit.
        if self.registry.ended(batch.stream):
            raise Refused(f"stream {batch.stream!r} has ended")
        open_step = self.registry.step(batch.stream) + 1
        latest = open_step + self._closing[batch.stream]  # closings may be queued before it
        if batch.step is not None and batch.step > latest:
            raise Refused(f"step must not be beyond the open one, {open_step}")
        return self.writer.accept(batch)

    async def close_step(self, name: str, step: int) -> Published:
        """The release of the step; of one that is closed already the same again.

        Batches that have arrived by now belong to the step, later ones do not.
        """
        if 1 <= step <= self.registry.step(name):  # nothing to wait for
            return await self.writer.change(lambda store: _published(store, name, step))
        now = self.clock()

        def close(store: Store) -> tuple[Published, bool]:
            if 1 <= step < store.live(name).steps:
                return _published(store, name, step), store.live(name).ended
            release = store.close_step(name, step, closed=now)
            return release, store.live(name).ended  # the last of a horizon ends it

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
        """The stream takes no more steps."""
        await self.writer.change(lambda store: store.end(name))
        self.registry.end(name)
        self.hub.tell(name)

    async def add_dataset(
        self, name: str, guarantee: Guarantee, every: str | None = None
    ) -> Account:
        """A new dataset with its budget."""
        return await self.writer.change(
            lambda store: store.add_dataset(name, guarantee, every=every)
        )

    async def add_stream(self, facts: Facts) -> None:
        """A new stream, charged to its dataset."""
        settings = {"dataset": facts.dataset, "every": facts.every, "start": facts.start}

        def add(store: Store) -> None:
            if facts.dataset not in store.accounts():
                raise InvalidValue("there is no such dataset")
            store.add_stream(facts.name, facts.plan, dataset=facts.dataset, settings=settings)

        await self.writer.change(add)
        self.registry.add(facts)

    async def add_token(self, name: str, scopes: list[str]) -> str:
        """A new token, which is shown this once; the first one must be an administrator's."""

        def add(store: Store) -> tuple[str, list[Token]]:
            if not tokens.kept(store) and "admin" not in scopes:
                raise Refused("the first token must have the scope admin: nobody else could go on")
            text = tokens.add(store, name, scopes)
            return text, tokens.kept(store)

        text, kept = await self.writer.change(add)
        self.guard.use(kept)
        self.hub.tell_all()
        return text

    async def revoke_token(self, name: str) -> None:
        """The token opens nothing more; the last administrator's is not revoked."""

        def revoke(store: Store) -> list[Token]:
            others = [token for token in tokens.kept(store) if token.name != name]
            if len(others) == len(tokens.kept(store)):
                raise absent("token")
            if not any("admin" in token.scopes for token in others):
                raise Refused("a token with the scope admin must be left")
            tokens.revoke(store, name)
            return tokens.kept(store)

        self.guard.use(await self.writer.change(revoke))
        self.hub.tell_all()


def _published(store: Store, name: str, step: int) -> Published:
    return store.releases(name, after=step - 1, most=1)[0]


def budget(account: Account) -> dict[str, Any]:
    """A dataset's account as plain data; what was spent is rounded up, what is left down.

    left_epsilon and left_delta are the guarantee of one more stream.  mu, spent and left are null
    where epsilon and delta add up.
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
    }


def guarantee_of(document: dict[str, Any], **more: Any) -> Guarantee:
    """The guarantee that is asked for, within what is worth asking for and can be computed."""
    epsilon = check.real(epsilon=document["epsilon"])
    delta = check.real(delta=document["delta"])
    if not 1e-3 <= epsilon <= 100:
        raise InvalidValue("must be from 0.001 to 100", argument="epsilon", got=repr(epsilon))
    if not (delta == 0 or 1e-30 <= delta <= 0.5):
        raise InvalidValue("must be 0, or from 1e-30 to 0.5", argument="delta", got=repr(delta))
    return Guarantee(epsilon=epsilon, delta=delta, **more)


def unit_of(document: dict[str, Any]) -> dict[str, Any]:
    """The unit of privacy that is asked for; by default one record, added or removed."""
    return {
        "neighbours": document.get("neighbours", "add_remove"),
        **{
            name: check.count(**{name: document.get(name, 1)}, most=_SPAN)
            for name in ("participations", "separation", "records_per_step")
        },
    }


def length_text(every: Any) -> str:
    """The text of a step's length, which is not read yet."""
    if not isinstance(every, str) or len(every) > 100:
        raise Malformed("every must be a text of at most 100 characters, such as 1h")
    return every


def plan_of(document: Any) -> Plan:
    """The plan of a document as `Plan.to_json` gives it, if it is not too large to be served."""
    if not isinstance(document, dict):
        raise Malformed("plan must be a JSON object")
    try:
        if not 0 < document["taps"]["support"] <= _SUPPORT:
            raise InvalidValue(f"the plan must have at most {_SUPPORT} taps")
        records = document["records"]
        if not max(records["width"], len(records["keys"] or ())) <= _LANES:
            raise InvalidValue(f"the plan must have at most {_LANES} keys")
        several = len(document["taps"]["value"]) > _PIECES
        if several and "law" in document.get("noise", {}):  # each costs time in the bound on delta
            raise InvalidValue(f"a plan without Gaussian noise must have at most {_PIECES} jumps")
        promised = document["guarantee"]
        span = (promised["participations"] - 1) * promised["separation"]
        endless = document["horizon"] is None
        if not promised["participations"] <= _TIMES or (endless and not span <= _SPAN):
            raise InvalidValue(
                f"the plan's participations must be at most {_TIMES}, within {_SPAN} steps"
            )
        "".join(records["keys"] or ()).encode()  # half a letter cannot be published
        return Plan.from_json(json.dumps(document))
    except (InvalidValue, Malformed):
        raise
    except _MISFITS:
        raise InvalidValue("plan must be as hushfade wrote it") from None


def step_times(every: Any, start: Any, now: int) -> tuple[int | None, int | None]:
    """A step's length, and when the first one begins, in nanoseconds; None where no clock closes.

    Without a start the first step begins now.
    """
    if every is None:
        if start is not None:
            raise InvalidValue("start must be given with every only")
        return None, None
    length = duration.nanoseconds(length_text(every), name="every")
    if not length >= SHORTEST:
        raise InvalidValue("every must be at least 1s")
    if start is None:
        return length, now
    if not isinstance(start, str):
        raise Malformed("start must be a text, such as 2026-01-01T00:00:00Z")
    try:
        at = datetime.fromisoformat(start)
    except ValueError:
        raise InvalidValue("start must be a time such as 2026-01-01T00:00:00Z") from None
    if at.tzinfo is None:
        raise InvalidValue("start must have a zone, such as the Z of 2026-01-01T00:00:00Z")
    if not 1970 < at.year < 2200:
        raise InvalidValue("start must be within 1971 and 2199")
    begins = round((at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 10**6) * 1000
    if not now - begins <= MISSED * length:
        raise InvalidValue(f"start must be at most {MISSED} steps ago")
    return length, begins
