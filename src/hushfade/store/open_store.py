"""Opening a store: connect to its database, and check that it is the newest copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hushfade.errors import InvalidValue, Refused
from hushfade.planning.plan import Plan
from hushfade.privacy.account import Account
from hushfade.store import schema
from hushfade.store.database import Database
from hushfade.store.high_water_mark import Mark, MarkFile
from hushfade.store.ledger_table import Book
from hushfade.store.live_streams import erase

ELSEWHERE = ("postgresql://", "postgres://")
_NOTHING = "0" * 64  # the digest in the mark of an empty ledger, whose number is 0


def connected(where: str | Path, *, only_read: bool = False) -> Database:
    """The database of a store; with `only_read`, also while another process writes."""
    try:
        if str(where).startswith(ELSEWHERE):
            from hushfade.store.postgres import Postgres

            return Postgres(str(where), only_read=only_read)
        from hushfade.store.sqlite import SQLite

        return SQLite(Path(where), only_read=only_read)
    except ModuleNotFoundError as error:
        extra = "postgres" if error.name == "psycopg" else "store"
        message = f"a store needs {error.name}: pip install 'hushfade[{extra}]'"
        raise Refused(message) from None


def mark_of(where: str | Path, mark: str | Path | None) -> MarkFile:
    """The file of the high-water mark: FILE.mark for SQLite, else the given file."""
    if mark is None and str(where).startswith(ELSEWHERE):
        raise InvalidValue(
            "mark (--mark) must be given for a database server: a file that is not restored "
            "together with the database"
        )
    return MarkFile(Path(f"{where}.mark" if mark is None else mark))


RENEWED = "new epoch"  # the note of a store that was opened as a new epoch


@dataclass(frozen=True)
class Settled:
    """The store's name, and the streams that a new epoch charged or ended."""

    name: str
    charged: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()  # their budgets do not allow another charge
    renewed: bool = False


def settle(database: Database, book: Book, file: MarkFile, *, new_epoch: bool) -> Settled:
    """The store's name, if the database contains everything that the mark knows.

    Otherwise it is an older copy, which could draw steps twice: raise Refused.  As a new epoch, it
    enters the spending since the copy, and charges every stream again, or ends a stream if its
    budget does not suffice.  It voids the reservations of joint charges, because a newer copy may
    have created these streams.
    """
    name, mark = schema.name(database), file.read()
    if mark is not None and mark.store != name:
        raise Refused("the mark must be of this store", got="the mark of another store")
    if mark is None and book.last is None:
        # a mark of the empty ledger: the process may die between the first commit and its mark
        file.write(Mark(name, 0, _NOTHING))
        return Settled(name)
    if mark is not None and (mark.number == 0 or book.digest_of(mark.number) == mark.digest):
        last = book.last
        if last is not None and last.number > mark.number:
            # the process died between commit and mark: write the mark before publishing
            file.write(Mark(name, last.number, last.digest), book.accounts())
        if last is not None and file.long:
            file.replace(Mark(name, last.number, last.digest), book.accounts())
        return Settled(name)
    if not new_epoch:
        what = "has no mark" if mark is None else "is older than its mark"
        raise Refused(
            f"the store {what}: steps could be drawn twice. Restore the newest copy, or open it "
            "as a new epoch (new_epoch=True, --new-epoch), which charges every stream again"
        )
    found = _renewed(name, database, book, file.accounts())
    assert book.last is not None
    file.replace(Mark(name, book.last.number, book.last.digest), book.accounts())
    return found


def _renewed(name: str, database: Database, book: Book, known: Mapping[str, Account]) -> Settled:
    charged, ended = [], []
    with database.transaction():
        database.write(
            "INSERT INTO meta (name, value) VALUES (?, 'yes') ON CONFLICT (name) DO NOTHING",
            f"note {RENEWED}",
        )
        book.restore(known)
        book.void()
        for number, stream, dataset, text, epoch in database.read(
            "SELECT stream, name, dataset, plan, epoch FROM streams WHERE ended = 0 ORDER BY stream"
        ):
            try:
                book.charge(stream, dataset, Plan.from_json(text), epoch=epoch + 1)
            except Refused:
                erase(database, number)
                ((steps,),) = database.read(
                    "SELECT COUNT(*) FROM releases WHERE stream = ?", number
                )
                book.enter("end", stream=stream, epoch=epoch, steps=steps)
                ended.append(stream)
            else:
                database.write("UPDATE streams SET epoch = ? WHERE stream = ?", epoch + 1, number)
                charged.append(stream)
    return Settled(name, tuple(charged), tuple(ended), renewed=True)
