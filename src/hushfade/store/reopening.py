"""A store that connects again after a failure, in the same process.

Nothing is lost or repeated, because everything is read again from the database:

    old connection closed → same file → lock taken → log written back → a trial write
    → checks of a first opening → mark compared and written again → streams loaded again

A step that was drawn and not committed is withdrawn, as after a crash: nobody has seen it.  A step
that was committed and not published keeps its bytes.

After a failed sync the operating system may show bytes that are not on the disk, and report no
error again.  So the log is written back to the database, and the mark to a new file: these are
new writes, whose syncs succeed only if the bytes are on the disk.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from hushfade.errors import Failed, Refused
from hushfade.store import schema
from hushfade.store.high_water_mark import Mark
from hushfade.store.ledger_table import Book
from hushfade.store.open_store import connected, settle
from hushfade.store.reader import Reader

if TYPE_CHECKING:
    from hushfade.store.database import Database
    from hushfade.store.store import Store

CHECK = 60.0  # seconds for the checks of a database with a log; a first opening has no limit
_ANOTHER = "the database is not the one that this store had: restart the service"
TRIAL = 1 << 16  # bytes that must fit on the disk before the store accepts changes again


def reopen(store: Store) -> None:
    """Connect the store again.  Raise Failed or Refused if this is not possible yet."""
    if store._where is None:
        raise Failed("the store has no address: open it in a new process")
    store._database.close()  # releases the lock; the next attempt closes it once more
    store._mark.close()
    if store._database.place() != store._place:
        raise Refused(_ANOTHER)
    database = connected(store._where)
    try:
        if database.place() != store._place:
            raise Refused(_ANOTHER)
        known = schema.FORMAT, store.settled.name
        if (schema.format_of(database), schema.name(database)) != known:
            raise Refused(_ANOTHER)
        database.settled(CHECK)
        _try_out(database)
        if database.recovered:
            _check(database)
        book = Book(database)
        settle(database, book, store._mark, new_epoch=False)
        if book.last is not None:
            mark = Mark(store.settled.name, book.last.number, book.last.digest)
            store._mark.replace(mark, book.accounts())
    except OSError:
        database.close()
        raise Failed("the mark cannot be written: nothing was published") from None
    except BaseException:
        database.close()
        raise
    store._database, store._book = database, book
    store._live.clear()
    store._failures += 1
    store._stopped = False
    try:
        for name in store.streams():
            store.live(name)  # raises if the state does not match the releases
    except BaseException:
        store._stopped = True
        store._live.clear()
        raise


def _check(database: Database) -> None:
    """Check a database with a log as the first opening does, in bounded time."""
    until = monotonic() + CHECK
    database.sound(CHECK)
    Reader(database).verified(until)


def _try_out(database: Database) -> None:
    """Write and erase some bytes: a disk that is still full must not look available."""
    with database.transaction():
        database.write(
            "INSERT INTO meta (name, value) VALUES ('trial', ?)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            "0" * TRIAL,
        )
    with database.transaction():
        database.write("DELETE FROM meta WHERE name = 'trial'")
