"""hushfade store: look after a store, beside the process that writes to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hushfade.cli import console, options
from hushfade.errors import HushfadeError, InvalidValue, Malformed, Refused

if TYPE_CHECKING:
    from hushfade.privacy.ledger import Account
    from hushfade.store import Reader
    from hushfade.store.high_water_mark import Mark

Action = Annotated[
    Literal["check", "verify", "ledger", "backup", "restore"],
    typer.Argument(metavar="ACTION", help="check, verify, ledger, backup or restore."),
]
Where = Annotated[
    str,
    typer.Argument(metavar="STORE", help="A SQLite file, or postgresql://... of a database."),
]
Kind = Annotated[
    Literal["dataset", "charge", "lost", "step", "end", "all"] | None,
    typer.Option(
        "--kind",
        help="Which entries `ledger` lists. Without it: all but the steps.",
        rich_help_panel=options.OUTPUT,
    ),
]
Copy = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Where `backup` writes the copy; it must not exist.",
        rich_help_panel=options.OUTPUT,
    ),
]
Source = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="BACKUP",
        help="The copy that `restore` puts in the store's place.",
        rich_help_panel="Restore",
    ),
]
MarkFile = Annotated[
    Path | None,
    typer.Option(
        "--mark",
        metavar="FILE",
        help="Where the store's mark is, for `restore`. STORE.mark, unless it was said otherwise.",
        rich_help_panel="Restore",
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Let `restore` replace a store that is whole; what is newer in it is lost.",
        rich_help_panel="Restore",
    ),
]


def store(
    action: Action,
    where: Where,
    kind: Kind = None,
    output: Copy = None,
    source: Source = None,
    mark: MarkFile = None,
    force: Force = False,
    json: options.Json = False,
) -> None:
    """Check, verify, list or copy a store, also while it is in use; or restore a copy.

    [bold]check[/]: is the database whole, and can every stream go on from it?
    [bold]verify[/]: is the ledger an unbroken chain, and are the releases those that it names?
    [bold]ledger[/]: its entries, and what is left of each budget.
    [bold]backup[/]: a copy of what is committed, to --output.
    [bold]restore[/]: the copy --from takes the store's place, whole or not at all; nobody may
    use the store meanwhile.

    [cyan]hushfade store verify releases.db[/]
    """
    if (action == "backup") != (output is not None):
        raise InvalidValue("--output must be given for backup, and only there")
    if (action == "restore") != (source is not None):
        raise InvalidValue("--from must be given for restore, and only there")
    if action != "restore" and (mark is not None or force):
        raise InvalidValue("--mark and --force must be given for restore only")
    if action != "ledger" and kind is not None:
        raise InvalidValue("--kind must be given for ledger only")
    with console.progress(f"{action}: {shown(where)}"):
        if source is not None:
            found = _restored(where, source, mark, force=force)
        else:
            if output is not None:
                _free(output)
            with beside(where) as reader:
                found = _done(action, reader, output, kind)
    if json:
        console.document(found)
    else:
        _print(found)


def shown(where: str) -> str:
    """The store's place as it may be shown: the address of a database has a password."""
    from hushfade.store.open_store import ELSEWHERE

    if where.startswith(ELSEWHERE):
        return "the database"
    if "://" in where:
        raise InvalidValue("STORE must be a file, or as postgresql://user:password@host:port/name")
    return where


@contextmanager
def beside(where: str) -> Iterator[Reader]:
    """The store, read and closed in the end; a file that is not there is not made."""
    from hushfade.store import Reader

    there(where)
    with closing(Reader.beside(where)) as reader:
        yield reader


def there(where: str) -> None:
    """Raise if the store is a file that is not there."""
    if shown(where) == where and not Path(where).exists():
        raise console.Failure(f"cannot read {where}: there is no such file", console.Exit.FILE)


def _print(found: dict[str, Any]) -> None:
    page = console.out()
    for entry in found.get("entries", []):
        line = f"{entry['number']:>6}  {entry['kind']:<8} {entry['digest'][:12]}  {entry['body']}"
        page.print(line, soft_wrap=True)  # a break would part names and digests
    lines = [found["said"]]
    if found.get("left_out"):
        lines.append(f"{found['left_out']} entries are not shown: --kind all shows them.")
    for account in found.get("budgets", []):
        lines.append(
            f"Dataset {account['dataset']!r}: epsilon = {account['left_epsilon']:.4g} of "
            f"{account['epsilon']:.4g} is left at delta = {account['delta']:.3g} "
            f"(mu = {account['left']:.4g} of {account['mu']:.4g})."
        )
    for line in lines:
        page.print(line, soft_wrap=not page.is_terminal)


def _free(output: Path) -> None:
    """Raise unless a backup can be made there."""
    if str(output).startswith(("postgresql:/", "postgres:/")):
        raise InvalidValue("--output must be a file")
    if output.exists():
        raise console.Failure(f"{output} exists: a backup replaces nothing", console.Exit.FILE)
    if not output.absolute().parent.is_dir():
        raise console.Failure(f"there is no directory {output.parent}", console.Exit.FILE)


def _done(action: str, reader: Reader, output: Path | None, kind: str | None) -> dict[str, Any]:
    match action:
        case "check":
            reader.check()
            return {"said": "The database is whole, and every stream can go on from it."}
        case "backup":
            assert output is not None
            reader.backup(output)
            return {"said": f"Written: {output}. With it alone a store opens as a new epoch only."}
    entries = reader.verify()
    found: dict[str, Any] = {
        "said": f"The ledger's {entries} entries are an unbroken chain; the releases are its own.",
        "budgets": [_told(account) for account in reader.accounts().values()],
    }
    if action == "ledger":
        found["entries"] = [
            {"number": x.number, "kind": x.kind, "body": x.body, "digest": x.digest}
            for x in reader.entries()
            if kind in ("all", x.kind) or (kind is None and x.kind != "step")
        ]
        found["left_out"] = entries - len(found["entries"])
    return found


def _told(account: Account) -> dict[str, Any]:
    from hushfade.privacy.guarantee import epsilon_of

    return {
        "dataset": account.name,
        "mu": account.mu,
        "delta": account.delta,
        "epsilon": epsilon_of(account.mu, account.delta),
        "spent": account.spent,
        "left": account.left,
        "left_epsilon": epsilon_of(account.left, account.delta) if account.left > 0 else 0.0,
    }


# Restoring ----------------------------------------------------------------------------------


def _restored(where: str, source: str, mark: Path | None, *, force: bool) -> dict[str, Any]:
    """What opening the store will mean, now that the copy is in its place; the mark stays."""
    from hushfade.store.open_store import connected, mark_of

    if shown(where) != where:
        raise Refused(
            "a PostgreSQL database must be restored by pg_restore; leave its mark as it is"
        )
    if "://" in source:
        raise InvalidValue("--from must be a file, as hushfade store backup writes it")
    there(source)
    place, known = Path(where), mark_of(where, mark).read()
    if place.exists() and place.samefile(source):
        raise InvalidValue("--from must be another file than the store")
    with closing(connected(source, only_read=True)) as copy:
        from hushfade.store.sqlite import replacing

        with replacing(place) as made:
            copy.backup(made)
            with console.reading(Path(source)):
                entries, newest = _examined(made, known)
            if not force and _whole(place):
                raise Refused(
                    f"{where} is whole, and its streams can go on: --force replaces it, and what "
                    "is newer in it is lost"
                )
    if newest:
        meaning = "It has all that the mark knows: open it as ever."
    else:
        why = "It is older than its mark" if known else "There is no mark beside it"
        meaning = (
            f"{why}: steps could be drawn twice. Open it with --new-epoch; every stream is charged "
            "again then, or ended where its budget does not allow that."
        )
    said = (
        f"Restored: {where}, with {entries} entries of the ledger. {meaning} Records, releases and "
        "tokens are those of the backup: revoke again what was revoked since."
    )
    return {"said": said, "ledger": entries, "new_epoch": not newest}


def _whole(place: Path) -> bool:
    """Is there a store from which streams can go on?"""
    from hushfade.store import Reader
    from hushfade.store.open_store import connected

    if not place.exists():
        return False
    try:
        with closing(connected(place, only_read=True)) as database:
            found = Reader(database)  # of whatever version
            found.check()
            return found.verify() > 0
    except HushfadeError:
        return False


def _examined(made: Path, mark: Mark | None) -> tuple[int, bool]:
    """The ledger's length and whether it has all that the mark knows, if the copy is a store."""
    from hushfade.store import Reader, schema
    from hushfade.store.open_store import connected

    with closing(connected(made)) as database:
        if not {"meta", "ledger"} <= database.tables():
            raise Malformed("a backup must be a store, got a database of something else")
        schema.migrate(database)
        reader = Reader(database)
        reader.check()
        entries = reader.verify()
        if mark is None:
            return entries, entries == 0
        if mark.store != schema.name(database):
            raise Refused("a backup must be of this store, got another than the mark is of")
        last = (entry.digest for entry in reader.entries() if entry.number == mark.number)
        return entries, next(last, None) == mark.digest
