"""What a command says and writes: results to stdout, messages to stderr, files whole or not at all.

    exit code   0 done   1 internal error   2 wrong options   3 refused content of a file
                4 refused because it would break a promise   5 a file cannot be read or written
                6 a check of the audit failed   130 interrupted

An error is one line, never a traceback, unless HUSHFADE_DEBUG=1 asks for it: a traceback may show
what the data are.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer
from typer.exceptions import TyperException

from hushfade.atomic_files import whole
from hushfade.errors import Failed, HushfadeError, Malformed, Refused

if TYPE_CHECKING:
    from rich.console import Console

DEBUG = "HUSHFADE_DEBUG"
PICTURES = (".png", ".svg")

_PIPED = 120  # columns where the output is not a terminal


class Exit(IntEnum):
    """What the process says when it ends."""

    DONE = 0
    INTERNAL = 1
    USAGE = 2
    DATA = 3
    REFUSED = 4
    FILE = 5
    AUDIT = 6
    INTERRUPTED = 130


_CODES = {Malformed: Exit.DATA, Refused: Exit.REFUSED, Failed: Exit.FILE}


class Failure(Exception):
    """The command cannot go on: a message for its user, and the exit code."""

    def __init__(self, message: str, code: Exit) -> None:
        super().__init__(message)
        self.message, self.code = message, code


# Saying -------------------------------------------------------------------------------------


def out() -> Console:
    """The console of results.  Piped, it has 120 columns unless COLUMNS says otherwise."""
    return _console(stderr=False)


def err() -> Console:
    """The console of messages and progress."""
    return _console(stderr=True)


def note(line: str) -> None:
    """A line on stderr, broken between words in a terminal and not at all elsewhere."""
    console = err()
    console.print(line, soft_wrap=not console.is_terminal)


def document(content: Mapping[str, Any]) -> None:
    """Print the content as one JSON document; a number that is not finite is an error."""
    sys.stdout.write(json.dumps(content, indent=2, allow_nan=False) + "\n")


class Advance(Protocol):
    """Moves a bar on, and says what it is at if that is new."""

    def __call__(self, count: int, description: str | None = None) -> None: ...


@contextmanager
def progress(description: str, total: int | None = None) -> Iterator[Advance]:
    """A bar on stderr, and the function that moves it; nothing where stderr is no terminal.

    Without a total it only shows that something goes on, and for how long.
    """
    console = err()
    if not console.is_terminal:
        yield lambda count, description=None: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield lambda count, description=None: bar.update(
            task, advance=count, description=description
        )


@contextmanager
def reported(*, as_json: bool) -> Iterator[None]:
    """Errors of the block become a line on stderr and an exit code.

    With `as_json` the line is a JSON document {"error": ..., "code": ...}.
    """
    try:
        yield
        sys.stdout.flush()  # here, where a closed pipe can still be met quietly
    except BrokenPipeError:  # who reads has seen enough
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(Exit.DONE) from None
    except (typer.Exit, typer.Abort):
        raise
    except TyperException as error:
        if not as_json:
            raise
        _fail(error.format_message(), error.exit_code, as_json=True)
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get(DEBUG) == "1":
            raise
        _fail(*_told(error), as_json=as_json)


def _told(error: BaseException) -> tuple[str, Exit]:
    """The message and the exit code.  Foreign messages are left out: they might show the data."""
    match error:
        case Failure():
            return error.message, error.code
        case HushfadeError():
            return str(error), _CODES.get(type(error), Exit.USAGE)
        case OSError():
            where = "" if error.filename is None else f"{error.filename}: "
            return where + _reason(error), Exit.FILE
        case KeyboardInterrupt():
            return "interrupted", Exit.INTERRUPTED
    kind = "not enough memory" if isinstance(error, MemoryError) else type(error).__name__
    return f"internal error, {kind}; {DEBUG}=1 shows where", Exit.INTERNAL


def _fail(message: str, code: int, *, as_json: bool) -> None:
    if as_json:
        sys.stderr.write(json.dumps({"error": message, "code": int(code)}) + "\n")
    else:
        from rich.text import Text

        console = err()
        text = Text.assemble(("error: ", "bold red"), message)
        console.print(text, soft_wrap=not console.is_terminal)
    raise typer.Exit(int(code))


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    class Quiet(Console):
        """A console that leaves a closed pipe to `reported`."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    found = Quiet(stderr=stderr, highlight=False, markup=False)
    if not found.is_terminal and "COLUMNS" not in os.environ:
        found.width = _PIPED
    return found


# Files --------------------------------------------------------------------------------------


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What is wrong with the file's content, or with reading it, is told with the file's name."""
    try:
        yield
    except HushfadeError as error:
        raise Failure(f"{path}: {error}", Exit.DATA) from None
    except OSError as error:
        raise Failure(f"cannot read {path}: {_reason(error)}", Exit.FILE) from None


def writable(path: Path | None, *, force: bool, option: str) -> None:
    """Raise unless the file can be made there: asked before the work, not after it."""
    if path is None:
        return
    if option == "--plot" and path.suffix.lower() not in PICTURES:
        message = f"{option} must end in {' or '.join(PICTURES)}, got {path.name!r}"
        raise Failure(message, Exit.USAGE)
    if path.exists() and not path.is_file():
        raise Failure(f"cannot write {path}: it is not a regular file", Exit.FILE)
    if path.exists() and not force:
        raise Failure(f"{path} exists: --force replaces it", Exit.FILE)
    if not path.resolve().parent.is_dir():
        raise Failure(f"cannot write {path}: there is no such directory", Exit.FILE)


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A hidden file that takes the path's place if all goes well; what fails names the path."""
    try:
        with whole(path) as part:
            yield part
    except OSError as error:
        raise Failure(f"cannot write {path}: {_reason(error)}", Exit.FILE) from None


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
