"""The one thread that changes the store.

Batches wait in a bounded queue.  The thread commits all waiting batches together, with one sync of
the disk for many requests, and so it does with the steps that close.  Other changes use the same
queue.  A full queue refuses further changes, so that clients wait and the memory stays bounded.
Steps that the clock closes are never refused: each stream has at most one in the queue.

Batches and steps of one stream keep their order.  Different streams do not depend on each other, so
the thread commits waiting batches first, then the steps after them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from threading import Condition, Event, Thread
from typing import Any, TypeVar

from hushfade.errors import Failed, InvalidType, InvalidValue, Refused
from hushfade.serve.error_responses import LOG, busy
from hushfade.store import Batch, Closing, Published, Store
from hushfade.store.statement_deadline import interruptible

MOST = 1024  # changes in the queue
WEIGHT = 1 << 22  # numbers in all changes of the queue together
GROUP, LANES = 250, 500_000  # steps that one transaction closes, and the lanes of their streams

Result = TypeVar("Result")


@dataclass(frozen=True)
class Closings:
    """Steps of different streams that close in one transaction."""

    steps: Sequence[Closing]


Change = Batch | Closings | Callable[[Store], Any]


@dataclass(frozen=True, eq=False)
class _Job:
    change: Change
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]

    @cached_property
    def weight(self) -> int:
        """The number of numbers; eight characters of a person's name are like one more."""
        if not isinstance(self.change, Batch):
            return 1
        weight, persons = 2 * len(self.change.lanes) + 1, self.change.persons
        if persons is not None:
            weight += len(persons.users) + sum(map(len, persons.users)) // 8
            weight += persons.cells.size + persons.units.size
        return weight

    def told(self, result: Any, error: Exception | None) -> None:
        """Pass the result to the thread that waits for it."""
        self.loop.call_soon_threadsafe(_settle, [(self.answer, result)], error)


class Writer:
    """Makes the changes to a store one by one, in order of arrival."""

    def __init__(self, store: Store, *, most: int = MOST, weight: int = WEIGHT) -> None:
        self._store, self._most, self._weight = store, most, weight
        self._waiting: deque[_Job] = deque()
        self._held = 0
        self._turn = Condition()
        self._stopping = False
        self._given_up = Event()  # ends an attempt to connect again
        self._thread = Thread(target=self._work, name="hushfade writer", daemon=True)
        self.failed = False  # the store has failed and accepts no further changes
        self.commits = 0

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Refuse new changes, finish the queued changes, and stop the thread.

        An attempt to connect again is given up: its checks could take minutes, and commit nothing.
        """
        self._given_up.set()
        with self._turn:
            self._stopping = True
            self._turn.notify()
        self._thread.join()

    def accept(self, batch: Batch) -> asyncio.Future[str]:
        """Queue a batch now; return the store's result after the batch is on disk."""
        return self._put(batch)

    def change(self, action: Callable[[Store], Result]) -> asyncio.Future[Result]:
        """Queue an action now; return its result after the writer's thread has run it."""
        return self._put(action)

    def close(self, steps: Sequence[Closing]) -> asyncio.Future[list[Published | Exception]]:
        """Queue steps of different streams now; return their releases after they are on disk.

        A step that the store refuses has the error in place of its release.
        """
        return self._put(Closings(steps), always=True)

    def _put(
        self, change: Change, *, always: bool = False, repairing: bool = False
    ) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        job = _Job(change, loop, loop.create_future())
        with self._turn:
            if self._stopping:
                raise Failed("the service is stopping: send the request again later")
            if self.failed and not repairing:
                raise Failed("the store is not available: send the request again later")
            full = len(self._waiting) >= self._most or self._held + job.weight > self._weight
            if full and self._waiting and not always:  # a single change is always accepted
                raise busy()
            self._waiting.append(job)
            self._held += job.weight
            self._turn.notify()
        return job.answer

    def repair(self, after: Callable[[Store], Result]) -> asyncio.Future[Result]:
        """Queue an attempt to connect again after a failure, and return the result of `after`."""

        def work(store: Store) -> Result:
            with interruptible(self._given_up):
                store.reopen()
                result = after(store)
            self.failed = False
            return result

        return self._put(work, always=True, repairing=True)

    def _work(self) -> None:
        while jobs := self._taken():
            batches: list[_Job] = []
            closings: list[_Job] = []
            closed: set[str] = set()  # streams with a step in `closings`
            for job in jobs:
                own = _streams(job.change)
                if own is None or closed & own:  # it must come after the waiting steps
                    self._commit(batches, closings, closed)
                if own is None:
                    self._do(job)
                elif isinstance(job.change, Batch):
                    batches.append(job)
                else:
                    closings.append(job)
                    closed |= own
            self._commit(batches, closings, closed)

    def _commit(self, batches: list[_Job], closings: list[_Job], closed: set[str]) -> None:
        """Commit the batches, then the steps, and empty the lists."""
        if batches:
            self._accept(batches)
        for group in _groups(closings):
            self._close(group)
        batches.clear()
        closings.clear()
        closed.clear()

    def _taken(self) -> list[_Job]:
        """All waiting changes, or none if the thread must stop."""
        with self._turn:
            while not self._waiting and not self._stopping:
                self._turn.wait()
            jobs = list(self._waiting)
            self._waiting.clear()
            self._held = 0
            return jobs

    def _accept(self, jobs: Sequence[_Job]) -> None:
        batches = [job.change for job in jobs if isinstance(job.change, Batch)]
        try:
            self.commits += 1
            results = self._store.accept(batches)
        except (InvalidValue, InvalidType, Refused) as error:
            if len(jobs) == 1:
                jobs[0].told(None, error)
                return
            for job in jobs:  # one of them is invalid: run them one by one
                self._accept([job])
        except Exception as error:
            self._fell(error)
            for job in jobs:
                job.told(None, error)
        else:  # the loop is woken once for all of them
            for loop, group in groupby(zip(jobs, results, strict=True), key=lambda x: x[0].loop):
                answers = [(job.answer, result) for job, result in group]
                loop.call_soon_threadsafe(_settle, answers, None)

    def _close(self, jobs: Sequence[_Job]) -> None:
        steps = [step for job in jobs for step in _steps(job)]
        try:
            self.commits += 1
            found = iter(self._closed(steps))
        except Exception as error:
            self._fell(error)
            for job in jobs:
                job.told(None, error)
        else:  # on the disk, so they may be published
            for job in jobs:
                job.told([next(found) for _ in _steps(job)], None)

    def _closed(self, steps: Sequence[Closing]) -> list[Published | Exception]:
        """The releases, or for a refused step the error."""
        try:
            if len(steps) > 1:
                return list(self._store.close_steps(steps))
            ((stream, step, closed, _),) = steps
            if 1 <= step < self._store.live(stream).steps:  # another request has closed it
                return list(self._store.releases(stream, after=step - 1, most=1))
            return [self._store.close_step(stream, step, closed=closed)]
        except (InvalidValue, Refused) as error:
            if len(steps) == 1:
                return [error]
            return [one for step in steps for one in self._closed([step])]

    def _do(self, job: _Job) -> None:
        assert not isinstance(job.change, Batch | Closings)
        try:
            result = job.change(self._store)
        except Exception as error:
            self._fell(error)
            job.told(None, error)
        else:
            job.told(result, None)

    def _fell(self, error: Exception) -> None:
        stopped = isinstance(error, Failed) or self._store.stopped
        if stopped and not self.failed:
            self.failed = True
            reason = error if isinstance(error, Failed) else type(error).__name__
            LOG.error("the store has failed and accepts no further changes: %s", reason)


def _streams(change: Change) -> set[str] | None:
    """The streams that a batch or steps change; None for other changes, which may change all."""
    if isinstance(change, Batch):
        return {change.stream}
    return {step.stream for step in change.steps} if isinstance(change, Closings) else None


def _steps(job: _Job) -> Sequence[Closing]:
    assert isinstance(job.change, Closings)
    return job.change.steps


def _groups(jobs: Sequence[_Job]) -> Iterator[Sequence[_Job]]:
    """The jobs in transactions of bounded size."""
    group: list[_Job] = []
    for job in jobs:
        steps = [step for one in (*group, job) for step in _steps(one)]
        if group and len(groups_of(steps)) > 1:
            yield group
            group = []
        group.append(job)
    if group:
        yield group


def groups_of(steps: Sequence[Closing]) -> list[list[Closing]]:
    """The steps in groups of bounded size, so that batches do not wait long for a transaction."""
    groups: list[list[Closing]] = []
    lanes = 0
    for step in steps:
        if not groups or len(groups[-1]) >= GROUP or lanes + step.lanes > LANES:
            groups.append([])
            lanes = 0
        groups[-1].append(step)
        lanes += step.lanes
    return groups


def _settle(answers: Sequence[tuple[asyncio.Future[Any], Any]], error: Exception | None) -> None:
    for answer, result in answers:
        if answer.done():  # nobody waits any more; what is committed stays
            continue
        if error is None:
            answer.set_result(result)
        else:
            answer.set_exception(error)
