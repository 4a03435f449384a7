"""How commands reach a store: its address, a reader of it, or the store itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from cyclopts import Parameter

from hushfade.cli import console
from hushfade.cli.options.parameters import option
from hushfade.errors import InvalidValue

if TYPE_CHECKING:
    from hushfade.store import Reader, Store

Where: TypeAlias = Annotated[
    str,
    Parameter("STORE", help="A SQLite file, or the postgresql:// address of a database."),
]
MarkFile: TypeAlias = Annotated[
    Path | None,
    option(
        "The file of the high-water mark. Must be given for a postgresql:// database.",
        "FILE",
        default="STORE.mark",
    ),
]


def shown(where: str) -> str:
    """The place of the store as it may be shown: the address of a database contains a password."""
    from hushfade.store.open_store import ELSEWHERE

    if where.startswith(ELSEWHERE):
        return "the database"
    if "://" in where:
        raise InvalidValue("STORE must be a file, or as postgresql://user:password@host:port/name")
    return where


def check_exists(where: str) -> None:
    """Raise if the store is a file that does not exist."""
    if shown(where) == where and not Path(where).exists():
        raise console.Failure(f"cannot read {where}: there is no such file", console.Exit.FILE)


@contextmanager
def reader_of(where: str) -> Iterator[Reader]:
    """A reader of the store, closed at the end.  A file that does not exist is not created."""
    from hushfade.store import Reader

    check_exists(where)
    with closing(Reader.beside(where)) as reader:
        yield reader


def opened(where: str, mark: Path | None, *, new_epoch: bool) -> Store:
    """The store; notes say whether it is new, and what a new epoch did to its streams."""
    from hushfade.store import Store

    is_file = shown(where) == where
    if not is_file and mark is None:
        raise InvalidValue("--mark FILE must be given with postgresql://")
    new = is_file and not Path(where).exists()
    store = Store.open(where, mark=mark, new_epoch=new_epoch)
    if new:
        console.note(f"A new store: {where}")
    if store.settled.renewed:
        charged, ended = store.settled.charged, store.settled.ended
        console.note(f"A new epoch: {len(charged)} streams are charged again.")
        if ended:
            names = ", ".join(map(repr, ended))
            console.note(f"Ended, because their budgets are spent: {names}.")
    return store
