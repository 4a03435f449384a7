"""Steps of several streams, closed in one transaction: all of them or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from hushfade.store import fail_points
from hushfade.store.database import Writes
from hushfade.store.reader import Published

if TYPE_CHECKING:
    from hushfade.store.database import Database
    from hushfade.store.ledger_table import Book
    from hushfade.store.live_streams import Live


class Closing(NamedTuple):
    """A step to close, and the time in nanoseconds since 1970, which has no effect."""

    stream: str
    step: int
    closed: int
    lanes: int = 1  # of the stream: transactions have a bounded size


def closed(
    database: Database, book: Book, lives: Sequence[Live], closings: Sequence[Closing]
) -> list[Published]:
    """The releases, with all rows written, inside a transaction.  Each stream occurs once.

    Each statement is executed once for all streams.  That is correct because no stream's rows
    depend on another's, and a stream's own statements change different tables.
    """
    writes, releases = Writes(), []
    for live, one in zip(lives, closings, strict=True):
        fail_points.reached("before draw")
        drawn = live.close(writes, one.closed)
        release = Published(one.stream, one.step, one.closed, *drawn)
        fail_points.reached("after draw")
        told = {"stream": live.name, "epoch": live.epoch, "step": one.step}
        book.enter_step(writes, release=release.digest, **told)
        releases.append(release)
    writes.flush(database)
    return releases
