"""Access of commands to a store: its address, a reader, or the open store."""

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
        "The file with the high-water mark. Required for a postgresql:// database.",
        "FILE",
        default="STORE.mark",
    ),
]


def shown(where: str) -> str:
    """The store's name for messages.  It hides the address of a database, with its password."""
    from hushfade.store.open_store import ELSEWHERE

    if where.startswith(ELSEWHERE):
        return "the database"
    if "://" in where:
        raise InvalidValue("STORE must be a file, or postgresql://user:password@host:port/name")
    return where


def check_exists(where: str) -> None:
    """Raise if the store is a file that does not exist."""
    if shown(where) == where and not Path(where).exists():
        raise console.Failure(
            f"cannot read {where}: the file does not exist. Check its path", console.Exit.FILE
        )


def check_not_store(output: Path | None, where: str, mark: Path | None) -> None:
    """Raise if the output would replace the store or its mark."""
    if output is None or shown(where) != where:
        return
    kept = [Path(where), Path(f"{where}.mark") if mark is None else mark]
    kept += [Path(f"{where}{end}") for end in ("-wal", "-shm", ".lock")]
    if any(path.resolve() == output.resolve() for path in kept):
        raise InvalidValue("must not be a file of the store", argument="--output", got=output)


@contextmanager
def reader_of(where: str) -> Iterator[Reader]:
    """A reader of the store, closed after the block.  A missing file is an error."""
    from hushfade.store import Reader

    check_exists(where)
    with closing(Reader.beside(where)) as reader:
        yield reader


def opened(where: str, mark: Path | None, *, new_epoch: bool) -> Store:
    """The open store.  Notes report a new store, and the streams of a new epoch."""
    from hushfade.store import Store

    is_file = shown(where) == where
    if not is_file and mark is None:
        raise InvalidValue("--mark FILE must be given for a postgresql:// database")
    new = is_file and not Path(where).exists()
    store = Store.open(where, mark=mark, new_epoch=new_epoch)
    if new:
        console.note(f"Created the store {where}.")
    if store.settled.renewed:
        charged, ended = store.settled.charged, store.settled.ended
        streams = "1 stream" if len(charged) == 1 else f"{len(charged)} streams"
        console.note(f"Started a new epoch, and charged {streams} again.")
        if ended:
            names = ", ".join(map(repr, ended))
            console.note(f"Ended these streams, because their budgets are spent: {names}.")
    return store
