"""The public description and the newest release of each stream, in memory."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hushfade import duration
from hushfade.planning import promise
from hushfade.planning.statistic_summary import released
from hushfade.privacy.account import Loss
from hushfade.privacy.rounding import epsilon_up
from hushfade.records.calendar import Calendar
from hushfade.serve.error_responses import absent
from hushfade.serve.statistic_blocks import StatisticBlocks

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan
    from hushfade.privacy.guarantee import Guarantee
    from hushfade.privacy.ledger import Joint
    from hushfade.store import Published, Store

RECORDS = {
    "grid": "number", "numbers": "number", "truths": "boolean", "texts": "string", "pairs": "pair",
}  # fmt: skip
BY_HAND = "by hand"  # instead of a length: an operator closes the steps
NAMED = 1000  # keys that a description lists; the route .../keys has all of them
CONFIDENCE = 0.95  # of the intervals in responses and on the page


@dataclass(frozen=True)
class Facts:
    """The properties of a stream that never change."""

    name: str
    dataset: str
    plan: Plan
    every: int | None = None  # nanoseconds
    start: int | None = None  # nanoseconds since 1970: step t closes at start + t every
    epoch: int = 0
    composed: Guarantee | None = None  # of all epochs; None: the plan's guarantee
    by_hand: bool = False  # an operator closes the steps
    joint: Joint | None = None  # the joint charge that paid for the stream
    budget_delta: float = 0.0  # the delta of the dataset's budget
    suppress_below: float | None = None  # the noisy count below which no statistic is shown
    enforced: bool = False  # the store enforces the limits per person

    @property
    def order(self) -> Calendar | None:
        """The times of the steps; None without a clock."""
        if self.every is None or self.start is None:
            return None
        return Calendar(self.start, self.every, zoned=True)

    @cached_property
    def first_stddev(self) -> float:
        """The standard deviation of the error at step 1."""
        return self.plan.stddev(1)

    @cached_property
    def blocks(self) -> StatisticBlocks:
        """The readings of the releases of a statistic."""
        return StatisticBlocks(self.plan, CONFIDENCE)

    def per_record(self, stddev: float) -> float:
        """The standard deviation of a lane in records, if the plan has a statistic."""
        return stddev if self.plan.statistic is None else stddev / self.plan.grid.lane_bounds[1]

    def margin(self, release: Published) -> float:
        """Half the width of a release's 95 % confidence interval."""
        return self.plan.errors.margin(release.step, CONFIDENCE, stddev=release.stddev)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all releases of the stream, in all its epochs."""
        return self.plan.guarantee if self.composed is None else self.composed

    @property
    def scalar(self) -> bool:
        """Whether a release is one number."""
        return self.plan.grid.scalar


class Registry:
    """The facts and the newest release of every stream.  Only the event loop changes them."""

    def __init__(self, facts: Iterable[Facts] = ()) -> None:
        self._facts = {fact.name: fact for fact in facts}
        self._newest: dict[str, Published] = {}
        self._ended: set[str] = set()
        self.changes = 0  # the number of changes so far

    @classmethod
    def of(cls, store: Store) -> Registry:
        """The registry of a store.  It loads each stream once."""
        names = store.streams()
        settings = {name: store.live(name).settings for name in names}
        datasets = {name: told.get("dataset", "") for name, told in settings.items()}
        if not all(datasets.values()):  # created without the service: look in the ledger
            for entry in store.entries():
                if entry.kind in ("charge", "member"):
                    datasets[entry.content["stream"]] = entry.content["dataset"]
        accounts = store.accounts()
        found = cls(
            Facts(
                name,
                datasets[name],
                store.live(name).plan,
                told.get("every"),
                told.get("start"),
                store.epoch(name),
                store.guarantee(name),
                told.get("by_hand") is True,
                store.joint(name),
                accounts[datasets[name]].delta,
                told.get("suppress_below"),
                store.enforces(name),
            )
            for name, told in settings.items()
        )
        for name in names:
            live = store.live(name)
            for release in store.releases(name, after=live.steps - 1):
                found.published(release)
            if live.ended:
                found.end(name)
        return found

    def in_step(self, facts: Facts) -> Facts:
        """The stream, with steps that begin when the steps of its dataset's other streams begin.

        If the unit is renewed, the store refuses other steps (`hushfade.store.step_times`).
        """
        if facts.plan.relation.lifelong or facts.every is None or facts.start is None:
            return facts
        for other in self._facts.values():
            same = other.dataset == facts.dataset and other.every == facts.every
            if same and other.start is not None:
                late = (facts.start - other.start) % facts.every
                return replace(facts, start=facts.start - late)
        return facts

    def add(self, facts: Facts) -> None:
        """Add a stream."""
        self._facts[facts.name] = facts
        self.changes += 1

    def published(self, release: Published) -> None:
        """Record the newest release of its stream, unless a newer release is known."""
        if release.step > self.step(release.stream):
            self._newest[release.stream] = release
            self.changes += 1

    def end(self, name: str) -> None:
        """Record that the stream accepts no further steps."""
        self._ended.add(name)

    def adopt(self, fresh: Registry) -> list[str]:
        """Take over what another registry of the same store knows; the streams that changed."""
        changed = []
        for name, facts in fresh._facts.items():
            ended = fresh.ended(name) and not self.ended(name)
            if name not in self._facts:
                self.add(facts)
            elif fresh.step(name) <= self.step(name) and not ended:
                continue
            release = fresh.newest(name)
            if release is not None:
                self.published(release)
            if ended:
                self.end(name)
            changed.append(name)
        return changed

    def all(self) -> list[Facts]:
        """The facts of all streams, in the order in which they were added."""
        return list(self._facts.values())

    def facts(self, name: str) -> Facts:
        """The facts of one stream.  Raise if it does not exist."""
        try:
            return self._facts[name]
        except KeyError:
            raise absent("stream") from None

    def newest(self, name: str) -> Published | None:
        """The newest release, or None."""
        return self._newest.get(name)

    def step(self, name: str) -> int:
        """The last closed step, or 0."""
        release = self._newest.get(name)
        return 0 if release is None else release.step

    @property
    def last_closed(self) -> int:
        """The time of the newest release of all streams, in nanoseconds since 1970, or 0."""
        return max((release.closed for release in self._newest.values()), default=0)

    def ended(self, name: str) -> bool:
        """Whether the stream accepts no further steps."""
        return name in self._ended

    def described(self, facts: Facts) -> dict[str, Any]:
        """The public description of the stream, as plain data."""
        release, guarantee = self.newest(facts.name), facts.guarantee
        return {
            "name": facts.name,
            "dataset": facts.dataset,
            "decay": repr(facts.plan.decay),
            "guarantee": promise.sentence(
                facts.plan, enforced=facts.enforced, guarantee=facts.guarantee
            ),
            "epsilon": guarantee.epsilon,
            "delta": guarantee.delta,
            "epoch": facts.epoch,
            "keys": None if facts.plan.keys is None else list(facts.plan.keys[:NAMED]),
            "key_count": None if facts.plan.keys is None else len(facts.plan.keys),
            "keys_next": NAMED if len(facts.plan.keys or ()) > NAMED else None,
            "statistic": _statistic(facts),
            "suppress_below": facts.suppress_below,
            "every": _every(facts),
            "start": None if facts.start is None else shown(facts.start),
            "step": self.step(facts.name),
            "stddev": facts.per_record(facts.first_stddev if release is None else release.stddev),
            "closed": None if release is None else shown(release.closed),
            "ended": self.ended(facts.name),
            "limits": promise.stated_limits(facts.plan, enforced=facts.enforced),
            "together": _together(facts),
        }


def _statistic(facts: Facts) -> dict[str, Any] | None:
    """The statistic of a stream as plain data; None for sums and counts."""
    statistic = facts.plan.statistic
    if statistic is None:
        return None
    low, high = statistic.range
    return {
        "name": statistic.name,
        "released": released(statistic),
        "records": RECORDS[statistic.kind],
        "output": statistic.output_name or None,
        "outputs": None if statistic.outputs is None else list(statistic.outputs),
        "range": [low, high] if math.isfinite(high - low) else None,
        "parts": list(statistic.sums),
    }


def _every(facts: Facts) -> str | None:
    if facts.by_hand:
        return BY_HAND
    return None if facts.every is None else duration.shown(facts.every)


def _together(facts: Facts) -> dict[str, Any] | None:
    """The streams of the joint charge, and their joint guarantee, rounded up."""
    if facts.joint is None:
        return None
    spending, delta = facts.joint.spending, facts.budget_delta
    if isinstance(spending, Loss):
        epsilon, delta = spending.epsilon, spending.delta
    else:
        epsilon = float(epsilon_up(spending, delta, 9))
    return {"streams": list(facts.joint.streams), "epsilon": epsilon, "delta": delta}


def shown(nanoseconds: int) -> str:
    """The time as ISO 8601 in UTC, to the millisecond; given in nanoseconds since 1970.

    >>> shown(1_767_225_600_250_000_000)
    '2026-01-01T00:00:00.250Z'
    """
    seconds, rest = divmod(nanoseconds, 10**9)
    at = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)
    return at.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
