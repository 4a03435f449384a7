"""hushfade store: look after a store, beside the process that writes to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hushfade.cli import console, options
from hushfade.errors import InvalidValue

if TYPE_CHECKING:
    from hushfade.ledger import Account
    from hushfade.store import Reader

Action = Annotated[
    Literal["check", "verify", "ledger", "backup"],
    typer.Argument(metavar="ACTION", help="check, verify, ledger or backup."),
]
Where = Annotated[
    str,
    typer.Argument(metavar="STORE", help="A SQLite file, or postgresql://... of a database."),
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


def store(action: Action, where: Where, output: Copy = None, json: options.Json = False) -> None:
    """Check, verify, list or copy a store, also while it is in use.

    [bold]check[/]: is the database whole, and can every stream go on from it?
    [bold]verify[/]: is the ledger an unbroken chain, and are the releases those that it names?
    [bold]ledger[/]: every entry, and what is left of each budget.
    [bold]backup[/]: a copy of what is committed, to --output.

    [cyan]hushfade store verify releases.db[/]
    """
    if (action == "backup") != (output is not None):
        raise InvalidValue("--output must be given for backup, and only there")
    with _reader(where) as reader, console.progress(f"{action}: {where}"):
        found = _done(action, reader, output)
    if json:
        console.document(found)
        return
    page = console.out()
    for entry in found.pop("entries", []):
        page.print(
            f"{entry['number']:>6}  {entry['kind']:<8} {entry['digest'][:12]}  {entry['body']}"
        )
    page.print(found["said"])
    for account in found.get("budgets", []):
        page.print(
            f"Dataset {account['dataset']!r}: mu = {account['spent']:.4g} of {account['mu']:.4g} "
            f"spent; epsilon = {account['epsilon']:.4g} at delta = {account['delta']:.3g} in all."
        )


@contextmanager
def _reader(where: str) -> Iterator[Reader]:
    """The store, closed in the end; a file that is not there is not made."""
    from hushfade.store import Reader
    from hushfade.store.opening import ELSEWHERE

    if not where.startswith(ELSEWHERE) and not Path(where).is_file():
        raise console.Failure(f"cannot read {where}: there is no such file", console.Exit.FILE)
    reader = Reader.beside(where)
    try:
        yield reader
    finally:
        reader.close()


def _done(action: str, reader: Reader, output: Path | None) -> dict[str, Any]:
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
        ]
    return found


def _told(account: Account) -> dict[str, Any]:
    from hushfade.guarantee import epsilon_of

    return {
        "dataset": account.name,
        "mu": account.mu,
        "delta": account.delta,
        "epsilon": epsilon_of(account.mu, account.delta),
        "spent": account.spent,
        "left": account.left,
    }
