"""A store that connects again after a failure, in the same process.

Nothing is lost or repeated, because everything is read again from the database:

    old connection closed → lock taken → mark compared → a trial write → streams loaded again

A step that was drawn and not committed is withdrawn, as after a crash: nobody has seen it.  A step
that was committed and not published keeps its bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushfade.errors import Failed, Refused
from hushfade.store import schema
from hushfade.store.ledger_table import Book
from hushfade.store.open_store import connected, settle

if TYPE_CHECKING:
    from hushfade.store.database import Database
    from hushfade.store.store import Store

TRIAL = 1 << 16  # bytes that must fit on the disk before the store accepts changes again


def reopen(store: Store) -> None:
    """Connect the store again.  Raise Failed or Refused if this is not possible yet."""
    if store._where is None:
        raise Failed("the store has no address: open it in a new process")
    store._database.close()  # releases the lock; the next attempt closes it once more
    store._mark.close()
    database = connected(store._where)
    try:
        known = schema.VERSION, store.settled.name
        if (schema.version(database), schema.name(database)) != known:
            raise Refused("the database is not the one that this store had: restart the service")
        _try_out(database)
        book = Book(database)
        settle(database, book, store._mark, new_epoch=False)
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
