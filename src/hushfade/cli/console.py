"""The output of commands: results to stdout, messages to stderr, files only when complete.

    exit code   0 done   1 internal error   2 wrong options
                3 a file has invalid content, or records of which none counts
                4 refused, because it would break a guarantee   5 a file cannot be read or written
                6 a check of the audit failed   130 interrupted

An error is one line.  A traceback might contain data, so it appears only if HUSHFADE_DEBUG=1.
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

_PIPED = 120  # columns if the output is not a terminal


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
    """An error that ends the command: a message for the user, and the exit code."""

    def __init__(self, message: str, code: Exit) -> None:
        super().__init__(message)
        self.message, self.code = message, code


# Printing -----------------------------------------------------------------------------------


def out() -> Console:
    """The console for results.  In a pipe it has 120 columns, unless COLUMNS is set."""
    return _console(stderr=False)


def err() -> Console:
    """The console for messages and progress."""
    return _console(stderr=True)


def note(line: str) -> None:
    """Print a line to stderr; wrap it in a terminal only."""
    console = err()
    console.print(line, soft_wrap=not console.is_terminal)


def document(content: Mapping[str, Any]) -> None:
    """Print the content as one JSON document.  Raise if a number is not finite."""
    sys.stdout.write(json.dumps(content, indent=2, allow_nan=False) + "\n")


class Advance(Protocol):
    """A function that advances a progress bar, and can change its description."""

    def __call__(self, count: int, description: str | None = None) -> None: ...


@contextmanager
def progress(description: str, total: int | None = None) -> Iterator[Advance]:
    """The function that advances a progress bar on stderr.  Outside a terminal there is no bar.

    Without a total the bar shows only that work is in progress, and the elapsed time.
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
    """Turn an error in the block into a line on stderr and an exit code.

    With `as_json` the line is a JSON document {"error": ..., "code": ...}.
    """
    try:
        yield
        sys.stdout.flush()  # here a closed pipe is not yet an error of the interpreter
    except BrokenPipeError:  # the reading program has closed the pipe
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
    """The message and the exit code.  Messages of other libraries might contain data: omitted."""
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
    return f"internal error, {kind}. Set {DEBUG}=1 to see the traceback", Exit.INTERNAL


def _usage(error: CycloptsError) -> str:
    """The error in the options, and the command that shows the options."""
    command = " ".join(("hushfade", *(error.command_chain or ()), "--help"))
    message = str(error).rstrip()
    message = message.removesuffix("?.") + "?" if message.endswith("?.") else message
    end = "" if message.endswith((".", "?")) else "."
    return f"{message}{end} Run '{command}' to see the options."


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
        """A console that lets `reported` handle a closed pipe."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    console = Quiet(stderr=stderr, highlight=False, markup=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _PIPED
    return console


# Files --------------------------------------------------------------------------------------


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """A block that reads a file: its errors name the file."""
    try:
        yield
    except HushfadeError as error:
        raise Failure(f"{path}: {error}", Exit.DATA) from None
    except OSError as error:
        raise Failure(f"cannot read {path}: {_reason(error)}", Exit.FILE) from None


def writable(path: Path | None, *, force: bool, option: str) -> None:
    """Raise unless the file can be written.  Commands check this before they start to compute."""
    if path is None:
        return
    if option == "--plot" and path.suffix.lower() not in PICTURES:
        message = f"{option} must end in {' or '.join(PICTURES)}, got {path.name!r}"
        raise Failure(message, Exit.USAGE)
    if path.exists() and not path.is_file():
        raise Failure(f"cannot write {path}: it is not a regular file", Exit.FILE)
    if path.exists() and not force:
        raise Failure(f"{path} already exists: use --force to replace it", Exit.FILE)
    if not path.resolve().parent.is_dir():
        raise Failure(f"cannot write {path}: the directory does not exist", Exit.FILE)


@contextmanager
def written(path: Path, *, new: bool = False, mode: int = 0o666) -> Iterator[Path]:
    """A hidden file that replaces the path if the block succeeds; errors name the path.

    `new`: the path must not exist yet.
    """
    try:
        with whole(path, new=new, mode=mode) as part:
            yield part
    except OSError as error:
        raise Failure(f"cannot write {path}: {_reason(error)}", Exit.FILE) from None


def new_directory(path: Path | None, *, option: str) -> None:
    """Raise unless the directory can be created.  Commands check this before they compute."""
    if path is None:
        return
    if path.exists() or path.is_symlink():
        raise Failure(f"{path} already exists: {option} must be a new directory", Exit.FILE)
    if not path.resolve().parent.is_dir():
        raise Failure(f"cannot write {path}: the directory does not exist", Exit.FILE)


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
