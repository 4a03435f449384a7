"""The streams as readers see them: what is public of each, and its newest release, in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hushfade import duration
from hushfade.serve.error_responses import absent

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan
    from hushfade.privacy.guarantee import Guarantee
    from hushfade.store import Published, Store

CONFIDENCE = 0.95  # of the intervals in answers and on the page


@dataclass(frozen=True)
class Facts:
    """What never changes of a stream."""

    name: str
    dataset: str
    plan: Plan
    every: int | None = None  # nanoseconds
    start: int | None = None  # nanoseconds since 1970: step t closes at start + t every
    epoch: int = 0
    composed: Guarantee | None = None  # of all epochs; None: that of the plan

    @cached_property
    def first_stddev(self) -> float:
        """The error's standard deviation at step 1."""
        return self.plan.stddev(1)

    def margin(self, release: Published) -> float:
        """Half the width of a release's 95 % interval."""
        return self.plan.errors.margin(release.step, CONFIDENCE, stddev=release.stddev)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all that the stream has published, over all its epochs."""
        return self.plan.guarantee if self.composed is None else self.composed

    @property
    def scalar(self) -> bool:
        """Is a release one number?"""
        return self.plan.grid.scalar


class Registry:
    """Every stream's facts and newest release, changed by the event loop alone."""

    def __init__(self, facts: Iterable[Facts] = ()) -> None:
        self._facts = {fact.name: fact for fact in facts}
        self._newest: dict[str, Published] = {}
        self._ended: set[str] = set()
        self.changes = 0  # how often anything of this changed

    @classmethod
    def of(cls, store: Store) -> Registry:
        """The streams of a store, each loaded once."""
        names = store.streams()
        settings = {name: store.live(name).settings for name in names}
        datasets = {name: told.get("dataset", "") for name, told in settings.items()}
        if not all(datasets.values()):  # made without the service: the ledger knows
            for entry in store.entries():
                if entry.kind == "charge":
                    datasets[entry.content["stream"]] = entry.content["dataset"]
        found = cls(
            Facts(
                name,
                datasets[name],
                store.live(name).plan,
                told.get("every"),
                told.get("start"),
                store.epoch(name),
                store.guarantee(name),
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

    def add(self, facts: Facts) -> None:
        """A stream more."""
        self._facts[facts.name] = facts
        self.changes += 1

    def published(self, release: Published) -> None:
        """The newest release of its stream, unless a newer one is known."""
        if release.step > self.step(release.stream):
            self._newest[release.stream] = release
            self.changes += 1

    def end(self, name: str) -> None:
        """The stream takes no more steps."""
        self._ended.add(name)

    def all(self) -> list[Facts]:
        """All streams, in the order they were added."""
        return list(self._facts.values())

    def facts(self, name: str) -> Facts:
        """Those of one stream; refused if there is none."""
        try:
            return self._facts[name]
        except KeyError:
            raise absent("stream") from None

    def newest(self, name: str) -> Published | None:
        """The last release, if there is one."""
        return self._newest.get(name)

    def step(self, name: str) -> int:
        """The last step that is closed."""
        release = self._newest.get(name)
        return 0 if release is None else release.step

    def ended(self, name: str) -> bool:
        """Does the stream take no more steps?"""
        return name in self._ended

    def described(self, facts: Facts) -> dict[str, Any]:
        """The stream as plain data, all of it public."""
        release, guarantee = self.newest(facts.name), facts.guarantee
        return {
            "name": facts.name,
            "dataset": facts.dataset,
            "decay": repr(facts.plan.decay),
            "guarantee": guarantee.sentence(),
            "epsilon": guarantee.epsilon,
            "delta": guarantee.delta,
            "epoch": facts.epoch,
            "keys": None if facts.plan.keys is None else list(facts.plan.keys),
            "every": None if facts.every is None else duration.shown(facts.every),
            "start": None if facts.start is None else shown(facts.start),
            "step": self.step(facts.name),
            "stddev": facts.first_stddev if release is None else release.stddev,
            "closed": None if release is None else shown(release.closed),
            "ended": self.ended(facts.name),
        }


def shown(nanoseconds: int) -> str:
    """A time since 1970 as ISO 8601, in UTC, to the millisecond.

    >>> shown(1_767_225_600_250_000_000)
    '2026-01-01T00:00:00.250Z'
    """
    seconds, rest = divmod(nanoseconds, 10**9)
    at = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)
    return at.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
