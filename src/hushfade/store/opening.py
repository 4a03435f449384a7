"""Opening a store: which database, and is it the newest copy?"""

from __future__ import annotations

from pathlib import Path

from hushfade.errors import InvalidValue, Refused
from hushfade.plan import Plan
from hushfade.store import schema
from hushfade.store.book import Book
from hushfade.store.database import Database
from hushfade.store.mark import Mark, MarkFile

ELSEWHERE = ("postgresql://", "postgres://")


def connected(where: str | Path, *, only_read: bool = False) -> Database:
    """The database of a store; with `only_read` beside the process that writes."""
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
    """The file of the high-water mark: FILE.mark, or as said where the database is elsewhere."""
    if mark is None and str(where).startswith(ELSEWHERE):
        raise InvalidValue("mark must be a file where the database is elsewhere, got None")
    return MarkFile(Path(f"{where}.mark" if mark is None else mark))


def settle(database: Database, book: Book, file: MarkFile, *, new_epoch: bool) -> str:
    """The store's name, if the database has all that the mark knows.

    Otherwise it is an older copy, whose steps could be drawn twice: Refused, or, as a new epoch,
    every stream that has not ended is charged again.
    """
    name, mark = schema.name(database), file.read()
    if mark is not None and mark.store != name:
        raise Refused("the mark must be of this store, got that of another")
    if mark is None and book.last is None:
        return name
    if mark is not None and book.digest_of(mark.number) == mark.digest:
        assert book.last is not None
        if book.last.number > mark.number:
            # committed, and the process died before the mark: marked before it is published
            file.write(Mark(name, book.last.number, book.last.digest))
        return name
    if not new_epoch:
        what = "has no mark beside it" if mark is None else "is older than its mark"
        raise Refused(
            f"the store {what}: steps could be drawn twice. Restore the newest copy, or open it "
            "as a new epoch, which charges every stream again"
        )
    with database.transaction():
        for number, stream, dataset, text, epoch in database.read(
            "SELECT stream, name, dataset, plan, epoch FROM streams WHERE ended = 0"
        ):
            book.charge(stream, dataset, Plan.from_json(text), epoch=epoch + 1)
            database.write("UPDATE streams SET epoch = ? WHERE stream = ?", epoch + 1, number)
    assert book.last is not None
    file.replace(Mark(name, book.last.number, book.last.digest))
    return name
