"""What a command prints and writes: results to stdout, messages to stderr, complete files.

    exit code   0 done   1 internal error   2 wrong options   3 a file's content is rejected
                4 refused because it would break a promise   5 a file cannot be read or written
                6 a check of the audit failed   130 interrupted

An error is one line.  A traceback, which might contain data, appears only if HUSHFADE_DEBUG=1.
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

from cyclopts import CycloptsError

from hushfade.atomic_files import whole, whole_directory
from hushfade.errors import Failed, HushfadeError, Malformed, Refused

if TYPE_CHECKING:
    from rich.console import Console

DEBUG = "HUSHFADE_DEBUG"
PICTURES = (".png", ".svg")

_PIPED = 120  # columns where the output is not a terminal


class Exit(IntEnum):
    """The exit codes of a process."""

    DONE = 0
    INTERNAL = 1
    USAGE = 2
    DATA = 3
    REFUSED = 4
    FILE = 5
    AUDIT = 6
    INTERRUPTED = 130


_CODES = ((Malformed, Exit.DATA), (Refused, Exit.REFUSED), (Failed, Exit.FILE))


class Failure(Exception):
    """The command cannot go on: a message for its user, and the exit code."""

    def __init__(self, message: str, code: Exit) -> None:
        super().__init__(message)
        self.message, self.code = message, code


# Printing -----------------------------------------------------------------------------------


def out() -> Console:
    """The console for results.  In a pipe it has 120 columns unless COLUMNS says otherwise."""
    return _console(stderr=False)


def err() -> Console:
    """The console for messages and progress."""
    return _console(stderr=True)


def note(line: str) -> None:
    """Print a line to stderr, wrapped in a terminal and whole elsewhere."""
    console = err()
    console.print(line, soft_wrap=not console.is_terminal)


def document(content: Mapping[str, Any]) -> None:
    """Print the content as one JSON document; a number that is not finite is an error."""
    sys.stdout.write(json.dumps(content, indent=2, allow_nan=False) + "\n")


class Advance(Protocol):
    """Advances a progress bar, and changes its description if there is a new one."""

    def __call__(self, count: int, description: str | None = None) -> None: ...


@contextmanager
def progress(description: str, total: int | None = None) -> Iterator[Advance]:
    """A progress bar on stderr, and the function that advances it; silent outside a terminal.

    Without a total the bar only shows that the work goes on, and for how long.
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
    """Turns an error of the block into a line on stderr and an exit code.

    With `as_json` the line is a JSON document {"error": ..., "code": ...}.
    """
    try:
        yield
        sys.stdout.flush()  # here, where a closed pipe is not yet an error of the interpreter
    except BrokenPipeError:  # the reader has seen enough
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(int(Exit.DONE)) from None
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get(DEBUG) == "1" and not isinstance(error, CycloptsError):
            raise
        message, code = _message_and_code(error)
        _print_error(message, code, as_json=as_json)
        raise SystemExit(int(code)) from None


def _message_and_code(error: BaseException) -> tuple[str, Exit]:
    """The message and the exit code.  Messages of other libraries might show data: left out."""
    match error:
        case Failure():
            return error.message, error.code
        case HushfadeError():
            codes = (code for kind, code in _CODES if isinstance(error, kind))
            return str(error), next(codes, Exit.USAGE)
        case CycloptsError():
            return _usage(error), Exit.USAGE
        case OSError():
            where = "" if error.filename is None else f"{error.filename}: "
            return where + _reason(error), Exit.FILE
        case KeyboardInterrupt():
            return "interrupted", Exit.INTERRUPTED
    kind = "not enough memory" if isinstance(error, MemoryError) else type(error).__name__
    return f"internal error, {kind}; {DEBUG}=1 shows where", Exit.INTERNAL


def _usage(error: CycloptsError) -> str:
    """What is wrong with the options, and which command explains them."""
    command = " ".join(("hushfade", *(error.command_chain or ()), "--help"))
    return f"{str(error).rstrip()} Run '{command}' for the options."


def _print_error(message: str, code: Exit, *, as_json: bool) -> None:
    if as_json:
        sys.stderr.write(json.dumps({"error": message, "code": int(code)}) + "\n")
    else:
        from rich.text import Text

        console = err()
        text = Text.assemble(("error: ", "bold red"), message)
        console.print(text, soft_wrap=not console.is_terminal)


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
    """Errors about the content of a file, or about reading it, name the file."""
    try:
        yield
    except HushfadeError as error:
        raise Failure(f"{path}: {error}", Exit.DATA) from None
    except OSError as error:
        raise Failure(f"cannot read {path}: {_reason(error)}", Exit.FILE) from None


def writable(path: Path | None, *, force: bool, option: str) -> None:
    """Raise unless the file can be written there: asked before the work, not after it."""
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
def written(path: Path, *, new: bool = False, mode: int = 0o666) -> Iterator[Path]:
    """A hidden file that replaces the path if the block succeeds; errors name the path.

    `new`: there must be no such file before.
    """
    try:
        with whole(path, new=new, mode=mode) as part:
            yield part
    except OSError as error:
        raise Failure(f"cannot write {path}: {_reason(error)}", Exit.FILE) from None


def new_directory(path: Path | None, *, option: str) -> None:
    """Raise unless a directory can be created there: asked before the work, not after it."""
    if path is None:
        return
    if path.exists() or path.is_symlink():
        raise Failure(f"{path} exists: {option} must be a new directory", Exit.FILE)
    if not path.resolve().parent.is_dir():
        raise Failure(f"cannot write {path}: there is no such directory", Exit.FILE)


@contextmanager
def written_directory(path: Path) -> Iterator[Path]:
    """A hidden directory that becomes the path if the block succeeds; errors name the path."""
    try:
        with whole_directory(path) as part:
            yield part
    except OSError as error:
        raise Failure(f"cannot write {path}: {_reason(error)}", Exit.FILE) from None


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
