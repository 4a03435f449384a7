"""Work on later items while the caller uses earlier ones: a thread of its own, and a short queue.

Reading files, parsing and counting take similar times, and compiled loops and Arrow release the
interpreter's lock.  So each of the three can have a core.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from queue import Empty, Full, Queue
from threading import Event, Thread
from types import GeneratorType
from typing import Generic, TypeVar

T = TypeVar("T")

_AHEAD = 2  # items that wait, so that memory is bounded
_ALONE = 2  # the first items need no thread: most inputs have no more
_PATIENCE, _TRIES = 0.1, 50  # seconds, and how often a caller who stops waits for the thread


@dataclass(frozen=True)
class _Item(Generic[T]):
    """An item, or the exception in its place.  The last one has neither."""

    value: T | None = None
    error: BaseException | None = None
    is_last: bool = False


def ahead(items: Iterable[T]) -> Generator[T]:
    """The same items in the same order; a thread makes a few of them in advance.

    An exception of `items` is raised where its item would be.  When the caller stops early, `items`
    is closed.

    >>> list(ahead(range(5)))
    [0, 1, 2, 3, 4]
    """
    source = iter(items)
    try:
        for count, item in enumerate(islice(source, _ALONE), start=1):
            yield item
            if count == _ALONE:
                yield from _from_thread(source)
    finally:
        _close(source)


def _from_thread(source: Iterator[T]) -> Iterator[T]:
    queue: Queue[_Item[T]] = Queue(_AHEAD)
    stopped = Event()
    thread = Thread(target=_fill, args=(source, queue, stopped), daemon=True)
    thread.start()
    try:
        while not (found := queue.get()).is_last:
            if found.error is not None:
                raise found.error
            yield found.value  # type: ignore[misc]
    finally:
        stopped.set()
        for _ in range(_TRIES):  # a thread that waits for input ends with the process
            with suppress(Empty):
                queue.get_nowait()
            thread.join(_PATIENCE)
            if not thread.is_alive():
                break


def _fill(source: Iterator[T], queue: Queue[_Item[T]], stopped: Event) -> None:
    """Put the items into the queue until they end, one fails, or the caller has stopped."""
    try:
        for item in source:
            if not _put(queue, _Item(item), stopped):
                break
        _close(source)
        last: _Item[T] = _Item(is_last=True)
    except BaseException as error:
        last = _Item(error=error)
    _put(queue, last, stopped)


def _close(source: object) -> None:
    """Close the source if it is a generator that does not run in a thread that was left alone."""
    if isinstance(source, GeneratorType) and not source.gi_running:
        source.close()


def _put(queue: Queue[_Item[T]], item: _Item[T], stopped: Event) -> bool:
    while not stopped.is_set():
        try:
            queue.put(item, timeout=_PATIENCE)
        except Full:
            continue
        return True
    return False
