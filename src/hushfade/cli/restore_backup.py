"""Replacing a store with one of its backups."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushfade.cli import console
from hushfade.cli.store_access import check_exists, shown
from hushfade.errors import HushfadeError, InvalidValue, Malformed, Refused

if TYPE_CHECKING:
    from hushfade.store.high_water_mark import Mark


def restored(where: str, source: str, mark: Path | None, *, force: bool) -> dict[str, Any]:
    """Replace the store, but not its mark, with the backup; return how to open the store."""
    from hushfade.store.open_store import connected, mark_of

    if shown(where) != where:
        raise Refused(
            "hushfade does not restore PostgreSQL databases: use pg_restore, and keep the mark file"
        )
    if "://" in source:
        raise InvalidValue("--from must be a file written by hushfade store backup")
    check_exists(source)
    place, known = Path(where), mark_of(where, mark).read()
    if place.exists() and place.samefile(source):
        raise InvalidValue("--from must not be the store itself")
    with closing(connected(source, only_read=True)) as copy:
        from hushfade.store.sqlite import replacing

        with replacing(place) as made:
            copy.backup(made)
            with console.reading(Path(source)):
                entries, newest = _examined(made, known)
            if not force and _intact(place):
                raise Refused(
                    f"{where} is intact, and its streams can continue. Use --force to replace it: "
                    "everything newer than the backup is lost"
                )
    if newest:
        meaning = "The backup is as new as the mark: open the store as usual."
    else:
        why = "The backup is older than the mark" if known else "The store has no mark"
        meaning = (
            f"{why}, so steps could be drawn twice. Open the store with --new-epoch, which charges "
            "every stream again, or ends a stream if its budget does not suffice."
        )
    said = (
        f"Restored {where}, with {entries} entries in the ledger. {meaning} Records, releases and "
        "tokens come from the backup: revoke again all tokens that were revoked since the backup."
    )
    return {"said": said, "ledger": entries, "new_epoch": not newest}


def _intact(place: Path) -> bool:
    """Whether the file is a store whose streams can continue."""
    from hushfade.store import Reader
    from hushfade.store.open_store import connected

    if not place.exists():
        return False
    try:
        with closing(connected(place, only_read=True)) as database:
            found = Reader(database)
            found.check()
            return found.verify() > 0
    except HushfadeError:
        return False


def _examined(made: Path, mark: Mark | None) -> tuple[int, bool]:
    """The number of ledger entries of a backup, and whether the backup is as new as the mark."""
    from hushfade.store import Reader, schema
    from hushfade.store.open_store import connected

    with closing(connected(made)) as database:
        if not {"meta", "ledger"} <= database.tables():
            raise Malformed("the file is not a backup of a store, but another database")
        schema.check_format(database)
        reader = Reader(database)
        reader.check()
        entries = reader.verify()
        if mark is None:
            return entries, entries == 0
        if mark.store != schema.name(database):
            raise Refused("the backup belongs to another store than the mark")
        last = (entry.digest for entry in reader.entries() if entry.number == mark.number)
        return entries, next(last, None) == mark.digest
