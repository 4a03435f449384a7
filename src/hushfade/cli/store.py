"""hushfade store: check, verify, list, copy or restore a store."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from hushfade.cli import console, ledger_statement
from hushfade.cli.options import ReportOptions
from hushfade.cli.options.parameters import OptionGroup, choice, flag, option, option_group
from hushfade.cli.store_access import Where, check_exists, reader_of, shown
from hushfade.errors import HushfadeError, InvalidValue, Malformed, Refused
from hushfade.privacy.rounding import rounded_down, rounded_up

if TYPE_CHECKING:
    from hushfade.privacy.account import Account
    from hushfade.store import Reader
    from hushfade.store.high_water_mark import Mark

Action: TypeAlias = Annotated[
    Literal["check", "verify", "ledger", "backup", "restore"],
    Parameter(help="What to do:"),
]


@option_group("Restore")
class RestoreOptions(OptionGroup):
    """The options of `restore`."""

    source: Annotated[
        str | None, option("The backup that replaces the store.", "BACKUP", name="--from")
    ] = None
    mark: Annotated[
        Path | None,
        option(
            "The high-water mark of the store.",
            "FILE",
            default="STORE.mark",
        ),
    ] = None
    force: Annotated[
        bool, flag("Replace a store that is intact. Whatever is newer in it is lost.")
    ] = False


@option_group("Output")
class StoreOutputOptions(ReportOptions):
    """The options of `ledger` and `backup`."""

    kind: Annotated[
        Literal["dataset", "charge", "lost", "step", "end", "all"] | None,
        choice("List the entries of this kind as they are stored. Without it: a statement."),
    ] = None
    output: Annotated[
        Path | None,
        option("Where backup writes the copy. The file must not exist.", "FILE", alias="-o"),
    ] = None


def store(
    action: Action,
    where: Where,
    /,
    *,
    restore: RestoreOptions = RestoreOptions(),
    output: StoreOutputOptions = StoreOutputOptions(),
) -> None:
    """Check, verify, list or back up a store, also while it is in use; or restore a backup.

    - **check** tests whether the database is intact and every stream can continue from it.
    - **verify** tests whether the ledger is an unbroken chain and the releases are those it names.
    - **ledger** verifies it, and prints a statement: each charge with its date, and the totals.
    - **backup** copies what is committed to --output.
    - **restore** replaces the store with the backup --from. The store must not be in use.

    `hushfade store verify releases.db`
    """
    _check_options(action, restore, output)
    with console.progress(f"{action}: {shown(where)}"):
        if restore.source is not None:
            found = _restored(where, restore.source, restore.mark, force=restore.force)
        else:
            if output.output is not None:
                _check_free(output.output)
            with reader_of(where) as reader:
                found = _done(action, reader, output)
    if output.json:
        console.document(found)
    else:
        _print(found)


def _check_options(action: str, restore: RestoreOptions, output: StoreOutputOptions) -> None:
    if (action == "backup") != (output.output is not None):
        raise InvalidValue("--output must be given for backup, and only for backup")
    if (action == "restore") != (restore.source is not None):
        raise InvalidValue("--from must be given for restore, and only for restore")
    if action != "restore" and (restore.mark is not None or restore.force):
        raise InvalidValue("--mark and --force must be given for restore only")
    if action != "ledger" and output.kind is not None:
        raise InvalidValue("--kind must be given for ledger only")


def _print(found: dict[str, Any]) -> None:
    page = console.out()
    if "statement" in found:
        page.print(ledger_statement.table(found["statement"]))
    for entry in found.get("entries", []):
        line = f"{entry['number']:>6}  {entry['kind']:<8} {entry['digest'][:12]}  {entry['body']}"
        page.print(line, soft_wrap=True)  # a break would part names and digests
    lines = [found["said"]]
    for account in found.get("budgets", []):
        lines.append(f"Dataset {account['dataset']!r}: {_spent(account)}")
    for stream in found.get("new_epochs", []):
        lines.append(
            f"Stream {stream['stream']!r}: epsilon = {rounded_up(stream['epsilon'])} at delta = "
            f"{rounded_up(stream['delta'], 3)}, for all that it has published in all epochs."
        )
    for line in lines:
        page.print(line, soft_wrap=not page.is_terminal)


def _spent(account: dict[str, Any]) -> str:
    """What was spent of a budget, and what one more stream would bring it to, in words."""
    delta = rounded_up(account["delta"], 3)
    spent = f"epsilon = {rounded_up(account['spent_epsilon'])} of {rounded_up(account['epsilon'])}"
    largest = f"epsilon = {rounded_down(account['left_epsilon'])}"
    if account["composition"] == "basic":
        spent += f" and delta = {rounded_up(account['spent_delta'], 3)} of {delta} are spent."
        largest += f" and delta = {rounded_down(account['left_delta'], 3)}"
    else:
        spent += f" at delta = {delta} is spent."
    unit = "" if account["unit"] is None else f" It protects {account['unit']}."
    if account["left_epsilon"] <= 0:
        return f"{spent} Nothing is left.{unit}"
    if account["next_epsilon"] is None:
        return spent + unit
    return (
        f"{spent} One more stream like the last would bring epsilon to "
        f"{rounded_up(account['next_epsilon'])}. The largest that fits has {largest}.{unit}"
    )


def _check_free(output: Path) -> None:
    """Raise unless a backup can be written there."""
    if str(output).startswith(("postgresql:/", "postgres:/")):
        raise InvalidValue("--output must be a file")
    if output.exists():
        raise console.Failure(f"{output} exists: a backup replaces nothing", console.Exit.FILE)
    if not output.absolute().parent.is_dir():
        raise console.Failure(f"there is no directory {output.parent}", console.Exit.FILE)


def _done(action: str, reader: Reader, output: StoreOutputOptions) -> dict[str, Any]:
    kind, copy = output.kind, output.output
    if action == "check":
        reader.check()
        return {"said": "The database is intact, and every stream can continue from it."}
    if copy is not None:
        reader.backup(copy)
        return {"said": f"Written: {copy}. With it alone a store opens as a new epoch only."}
    entries = reader.verify()
    found: dict[str, Any] = {
        "said": f"The ledger is an unbroken chain of {entries} entries. The releases match it.",
        "budgets": [_budget(account) for account in reader.accounts().values()],
        "new_epochs": [_composed(reader, name) for name in reader.streams() if reader.epoch(name)],
    }
    if action == "ledger" and kind is None:
        found["statement"] = ledger_statement.lines(reader)
    elif action == "ledger":
        found["entries"] = [
            {"number": x.number, "kind": x.kind, "body": x.body, "digest": x.digest}
            for x in reader.entries()
            if kind in ("all", x.kind)
        ]
    return found


def _budget(account: Account) -> dict[str, Any]:
    gaussian = account.composition != "basic"
    return {
        "dataset": account.name,
        "composition": account.composition,
        "mu": account.mu if gaussian else None,
        "delta": account.delta,
        "epsilon": account.epsilon,
        "spent": account.spent if gaussian else None,
        "spent_epsilon": account.spent_epsilon,
        "spent_delta": account.spent_delta,
        "left": account.left if gaussian else None,
        "left_epsilon": account.left_epsilon,
        "left_delta": account.left_delta,
        "next_epsilon": account.next_epsilon,
        "unit": ledger_statement.unit(account),
    }


def _composed(reader: Reader, stream: str) -> dict[str, Any]:
    """The guarantee of a stream after a new epoch: its steps were drawn, and charged, again.

    mu is null where its charges are epsilon and delta.
    """
    guarantee = reader.guarantee(stream)
    return {
        "stream": stream,
        "epoch": reader.epoch(stream),
        "mu": guarantee.declared_mu,
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
    }


# Restoring ----------------------------------------------------------------------------------


def _restored(where: str, source: str, mark: Path | None, *, force: bool) -> dict[str, Any]:
    """Replaces the store with the backup, but not its mark; returns what opening it means."""
    from hushfade.store.open_store import connected, mark_of

    if shown(where) != where:
        raise Refused(
            "a PostgreSQL database must be restored by pg_restore; leave its mark as it is"
        )
    if "://" in source:
        raise InvalidValue("--from must be a file, as hushfade store backup writes it")
    check_exists(source)
    place, known = Path(where), mark_of(where, mark).read()
    if place.exists() and place.samefile(source):
        raise InvalidValue("--from must be another file than the store")
    with closing(connected(source, only_read=True)) as copy:
        from hushfade.store.sqlite import replacing

        with replacing(place) as made:
            copy.backup(made)
            with console.reading(Path(source)):
                entries, newest = _examined(made, known)
            if not force and _intact(place):
                raise Refused(
                    f"{where} is intact, and its streams can continue: --force replaces it, and "
                    "whatever is newer in it is lost"
                )
    if newest:
        meaning = "It is as new as its mark: open it as usual."
    else:
        why = "It is older than its mark" if known else "There is no mark beside it"
        meaning = (
            f"{why}: steps could be drawn twice. Open it with --new-epoch, which charges every "
            "stream again, or ends it if its budget does not suffice."
        )
    said = (
        f"Restored: {where}, with {entries} entries in the ledger. {meaning} Records, releases "
        "and tokens come from the backup: revoke again the tokens that were revoked since."
    )
    return {"said": said, "ledger": entries, "new_epoch": not newest}


def _intact(place: Path) -> bool:
    """Whether there is a store from which streams can continue."""
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
    """The length of the ledger of a backup, and whether the backup is as new as the mark."""
    from hushfade.store import Reader, schema
    from hushfade.store.open_store import connected

    with closing(connected(made)) as database:
        if not {"meta", "ledger"} <= database.tables():
            raise Malformed("a backup must be a store, but this is a database of something else")
        schema.migrate(database)
        reader = Reader(database)
        reader.check()
        entries = reader.verify()
        if mark is None:
            return entries, entries == 0
        if mark.store != schema.name(database):
            raise Refused("a backup must be of this store, but the mark belongs to another")
        last = (entry.digest for entry in reader.entries() if entry.number == mark.number)
        return entries, next(last, None) == mark.digest
