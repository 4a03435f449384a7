"""The one thread that changes the store.

Batches wait in a bounded queue.  The thread commits all waiting batches together, with one sync of
the disk for many requests.  Other changes use the same queue.  A full queue refuses further
changes, so that clients wait and the memory stays bounded.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from threading import Condition, Thread
from typing import Any, TypeVar

from hushfade.errors import Failed, InvalidType, InvalidValue, Refused
from hushfade.serve.error_responses import LOG, busy
from hushfade.store import Batch, Store

MOST = 1024  # changes in the queue
WEIGHT = 1 << 22  # numbers in all changes of the queue together

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class _Job:
    change: Batch | Callable[[Store], Any]
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]

    @property
    def weight(self) -> int:
        return 2 * len(self.change.lanes) + 1 if isinstance(self.change, Batch) else 1

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
        self._thread = Thread(target=self._work, name="hushfade writer", daemon=True)
        self.failed = False  # the store has failed and accepts no further changes
        self.commits = 0

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Refuse new changes, finish the queued changes, and stop the thread."""
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

    def _put(self, change: Batch | Callable[[Store], Any]) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        job = _Job(change, loop, loop.create_future())
        with self._turn:
            if self._stopping:
                raise Failed("the service is stopping: send the request again later")
            full = len(self._waiting) >= self._most or self._held + job.weight > self._weight
            if full and self._waiting:  # a single change is always accepted
                raise busy()
            self._waiting.append(job)
            self._held += job.weight
            self._turn.notify()
        return job.answer

    def _work(self) -> None:
        while jobs := self._taken():
            for together, group in groupby(jobs, key=lambda job: isinstance(job.change, Batch)):
                listed = list(group)
                if together:
                    self._accept(listed)
                else:
                    for job in listed:
                        self._do(job)

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

    def _do(self, job: _Job) -> None:
        assert not isinstance(job.change, Batch)
        try:
            result = job.change(self._store)
        except Exception as error:
            self._fell(error)
            job.told(None, error)
        else:
            job.told(result, None)

    def _fell(self, error: Exception) -> None:
        if isinstance(error, Failed) and not self.failed:
            self.failed = True
            LOG.error("the store has failed and accepts no further changes: %s", error)


def _settle(answers: Sequence[tuple[asyncio.Future[Any], Any]], error: Exception | None) -> None:
    for answer, result in answers:
        if answer.done():  # nobody waits any more; what is committed stays
            continue
        if error is None:
            answer.set_result(result)
        else:
            answer.set_exception(error)
