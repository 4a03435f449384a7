"""hushfade store: check, verify or list a store, write its releases, back it up, restore it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from hushfade.cli import budget_lines, console, ledger_statement
from hushfade.cli.options import ReportOptions
from hushfade.cli.options.parameters import OptionGroup, choice, count, flag, option, option_group
from hushfade.cli.restore_backup import restored
from hushfade.cli.store_access import (
    Where,
    check_exists,
    check_not_store,
    opened,
    reader_of,
    shown,
)  # fmt: skip
from hushfade.errors import InvalidValue
from hushfade.planning import promise
from hushfade.privacy.rounding import rounded_up
from hushfade.privacy.unit_words import words

if TYPE_CHECKING:
    from rich.table import Table

    from hushfade.store import Reader

Action: TypeAlias = Annotated[
    Literal["check", "verify", "list", "ledger", "releases", "backup", "restore"],
    Parameter(help="What to do:"),
]


@option_group("Restore")
class RestoreOptions(OptionGroup):
    """The options of `restore`, two of which `releases` shares."""

    source: Annotated[
        str | None, option("The backup that replaces the store.", "BACKUP", name="--from")
    ] = None
    mark: Annotated[
        Path | None,
        option(
            "The file with the high-water mark of the store.",
            "FILE",
            default="STORE.mark",
        ),
    ] = None
    force: Annotated[
        bool,
        flag(
            "For restore: replace an intact store, and lose everything newer than the backup. For "
            "releases: replace an existing file."
        ),
    ] = False


@option_group("Output")
class StoreOutputOptions(ReportOptions):
    """The options of `ledger`, `releases` and `backup`."""

    kind: Annotated[
        Literal["dataset", "charge", "joint", "member", "void", "lost", "step", "end", "all"]
        | None,
        choice("Print the stored ledger entries of this kind in place of a statement."),
    ] = None
    stream: Annotated[str | None, option("For releases: the name of the stream.", "NAME")] = None
    after: Annotated[int, count("For releases: write only the steps after this step.")] = 0
    output: Annotated[
        Path | None,
        option(
            "The file for the backup, or for the releases. It must not exist yet, unless --force "
            "is given.",
            "FILE",
            alias="-o",
        ),
    ] = None


def store(
    action: Action,
    where: Where,
    /,
    *,
    restore: RestoreOptions = RestoreOptions(),
    output: StoreOutputOptions = StoreOutputOptions(),
) -> None:
    """Check, verify, list or back up a store, write its releases, or restore a backup.

    - **check** tests whether the database is intact and every stream can continue from it.
    - **verify** tests whether the ledger is an unbroken chain and matches the releases.
    - **list** prints the streams: guarantee, steps, charge, and the limits per person.
    - **ledger** verifies the ledger and prints a statement: each charge with its date, and totals.
    - **releases** writes the committed releases of --stream to --output or the standard output.
    - **backup** copies all committed data to --output.
    - **restore** replaces the store with the backup --from.

    A service or a job may use the store at the same time, except during releases and restore.

    `hushfade store verify releases.db`
    """
    _check_options(action, restore, output)
    with console.progress(f"{action}: {shown(where)}"):
        if restore.source is not None:
            found = restored(where, restore.source, restore.mark, force=restore.force)
        else:
            if output.output is not None:
                check_not_store(output.output, where, restore.mark)
                _check_free(output.output, force=restore.force)
            if output.stream is not None:
                _write_releases(where, restore, output.stream, output)
                return
            with reader_of(where) as reader:
                found = _done(action, reader, output)
    if output.json:
        console.document(found)
    else:
        _print(found)


def _check_options(action: str, restore: RestoreOptions, output: StoreOutputOptions) -> None:
    if (action == "releases") != (output.stream is not None):
        raise InvalidValue(
            "releases needs --stream, the name of a stream"
            if action == "releases"
            else "--stream must be given for releases only"
        )
    if action != "releases" and output.after:
        raise InvalidValue("--after must be given for releases only")
    if action == "releases" and output.json:
        raise InvalidValue("--json and releases cannot be combined: write a .jsonl file")
    if action == "backup" and output.output is None:
        raise InvalidValue("backup needs --output, the file for the copy")
    if action not in ("backup", "releases") and output.output is not None:
        raise InvalidValue("--output must be given for backup and releases only")
    if (action == "restore") != (restore.source is not None):
        raise InvalidValue(
            "restore needs --from, the backup that replaces the store"
            if action == "restore"
            else "--from must be given for restore only"
        )
    if action not in ("restore", "releases") and (restore.mark is not None or restore.force):
        raise InvalidValue("--mark and --force must be given for restore and releases only")
    if action != "ledger" and output.kind is not None:
        raise InvalidValue("--kind must be given for ledger only")


def _print(found: dict[str, Any]) -> None:
    page = console.out()
    if "statement" in found:
        page.print(ledger_statement.table(found["statement"]))
    for entry in found.get("entries", []):
        line = f"{entry['number']:>6}  {entry['kind']:<8} {entry['digest'][:12]}  {entry['body']}"
        page.print(line, soft_wrap=True)  # a line break would split names and digests
    if "streams" in found:
        page.print(_streams_table(found["streams"]))
    lines = [found["said"]]
    limited = found.get("streams", []) + found.get("limits", [])
    for text in dict.fromkeys(stream["limits"] for stream in limited):
        names = [stream["stream"] for stream in limited if stream["limits"] == text]
        lines.append(f"{', '.join(names)}: {text}")
    for account in found.get("budgets", []):
        lines.append(f"Dataset {account['dataset']!r}: {budget_lines.sentence(account)}")
    for stream in found.get("new_epochs", []):
        lines.append(
            f"Stream {stream['stream']!r}: epsilon = {rounded_up(stream['epsilon'])} at delta = "
            f"{rounded_up(stream['delta'], 3)}, for all its releases in all epochs."
        )
    for line in lines:
        page.print(line, soft_wrap=not page.is_terminal)


def _write_releases(
    where: str, restore: RestoreOptions, stream: str, output: StoreOutputOptions
) -> None:
    """Write the releases.  A store that nobody writes to is opened, so that its mark knows them."""
    from hushfade.cli import stored_releases
    from hushfade.cli.options.run import RunOutputOptions
    from hushfade.errors import InUse

    wanted = RunOutputOptions(output=output.output, force=restore.force)
    check_exists(where)
    try:
        store = opened(where, restore.mark, new_epoch=False)
    except InUse:
        raise InUse(
            f"another process writes to {shown(where)}: read the releases over HTTP if it is "
            "hushfade serve, or wait until it has ended"
        ) from None
    with closing(store):
        written = stored_releases.write(store, stream, wanted, after=output.after)
    steps = "1 step" if written == 1 else f"{written} steps"
    console.note(f"Wrote {steps} of stream {stream!r}.")


def _check_free(output: Path, *, force: bool) -> None:
    """Raise unless the backup or the releases can be written to this file."""
    if str(output).startswith(("postgresql:/", "postgres:/")):
        raise InvalidValue("--output must be a file")
    if output.exists() and not force:
        raise console.Failure(f"{output} already exists: choose a new file", console.Exit.FILE)
    if not output.absolute().parent.is_dir():
        raise console.Failure(
            f"the directory {output.parent} does not exist: create it first", console.Exit.FILE
        )


def _done(action: str, reader: Reader, output: StoreOutputOptions) -> dict[str, Any]:
    kind, copy = output.kind, output.output
    if action == "check":
        reader.check()
        return {"said": "The database is intact, and every stream can continue from it."}
    if copy is not None:
        reader.backup(copy)
        return {
            "said": f"Wrote {copy}. Without the store's mark, the backup opens only as a new epoch."
        }
    if action == "list":
        return _listed(reader)
    entries = reader.verify()
    found: dict[str, Any] = {
        "said": f"The ledger is an unbroken chain of {entries} entries and matches the releases.",
        "budgets": [budget_lines.budget(account) for account in reader.accounts().values()],
        "new_epochs": [_composed(reader, name) for name in reader.streams() if reader.epoch(name)],
        "limits": [{"stream": name, "limits": _limits(reader, name)} for name in reader.streams()],
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


def _listed(reader: Reader) -> dict[str, Any]:
    """The streams with their guarantees, and the limits per person."""
    streams = [_stream(reader, name) for name in reader.streams()]
    reserved = [{"stream": name, "dataset": dataset} for name, dataset in reader.reserved().items()]
    said = f"{len(streams)} streams." if len(streams) != 1 else "1 stream."
    if reserved:
        names = ", ".join(one["stream"] for one in reserved)
        said += f" Joint charges have paid for streams that do not exist yet: {names}."
    return {"said": said, "streams": streams, "reserved": reserved}


def _stream(reader: Reader, name: str) -> dict[str, Any]:
    plan, guarantee, joint = reader.plan(name), reader.guarantee(name), reader.joint(name)
    return {
        "stream": name,
        "dataset": reader.dataset(name),
        "releases": "sum" if plan.statistic is None else plan.statistic.name,
        "decay": repr(plan.decay),
        "every": plan.every,
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "epoch": reader.epoch(name),
        "steps": reader.steps(name),
        "unit": words(plan.relation),
        "limits": _limits(reader, name),
        "joint": None if joint is None else joint.number,
    }


def _limits(reader: Reader, name: str) -> str:
    return promise.stated_limits(reader.plan(name), enforced=reader.enforces(name))


def _streams_table(streams: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    table = Table(title="Streams", title_justify="left", title_style="bold")
    for head in ("stream", "dataset", "releases", "decay", "step"):
        table.add_column(head)
    for head in ("epsilon", "delta", "steps"):
        table.add_column(head, justify="right")
    table.add_column("charge")
    for one in streams:
        table.add_row(
            one["stream"],
            one["dataset"],
            one["releases"],
            one["decay"],
            one["every"] or "not declared",
            rounded_up(one["epsilon"]),
            rounded_up(one["delta"], 3),
            str(one["steps"]),
            "its own" if one["joint"] is None else f"joint charge {one['joint']}",
        )
    return table


def _composed(reader: Reader, stream: str) -> dict[str, Any]:
    """The guarantee of a stream with several epochs, in which steps were drawn and charged again.

    mu is null if the charges are epsilon and delta.
    """
    guarantee = reader.guarantee(stream)
    return {
        "stream": stream,
        "epoch": reader.epoch(stream),
        "mu": guarantee.declared_mu,
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
    }
