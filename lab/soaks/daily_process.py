"""The command of a daily job, killed at random moments or at a point of its work.

A command is a new process, or a copy of this process, in which everything is loaded: then kills
at random moments meet the work, not the start of Python.

`python -m lab.soaks.daily_process POINT COUNT WORD...` runs `hushfade WORD...` until the point.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hushfade import atomic_files
from hushfade.store import Published, Store, file_runs
from hushfade.store.file_memory import Remembered
from lab.paths import ROOT
from lab.soaks import daily_data, store_process
from lab.soaks.store_kills import POINTS

SYNC = "sync"  # of the mark, of the output and of its companion
ALL_POINTS = (*POINTS, SYNC)
_OUT, _ERRORS = ".out", ".errors"

Build = Callable[[], None]


@dataclass(frozen=True)
class Kill:
    """When to kill a process: after some seconds, or the count-th time that it is at a point."""

    seconds: float | None = None
    point: str | None = None
    count: int = 1


@dataclass(frozen=True)
class Ended:
    """The end of a command; the code is None if it was killed."""

    code: int | None
    output: str
    errors: str
    seconds: float


def as_it_is() -> None:
    """Change nothing: the correct build."""


def forgetting_people() -> None:
    """Install a bug: each run counts all people as if they were new."""
    patch.object(Remembered, "earlier", lambda *_: None).start()


def recording_people_later() -> None:
    """Install a bug: a run records its people in a second transaction, after its steps."""
    commit, record = file_runs.commit, Remembered.record
    waiting: list[tuple[Any, ...]] = []

    def late(store: Store, *words: Any, **options: Any) -> list[Published]:
        releases = commit(store, *words, **options)
        with store._changing():
            record(*waiting.pop())
        return releases

    patch.object(Remembered, "record", lambda *words: waiting.append(words)).start()
    patch.object(file_runs, "commit", late).start()


def load(days: Sequence[Sequence[str]]) -> None:
    """Load what runs need into this process: release a file for each day."""
    with tempfile.TemporaryDirectory() as name, redirect_stdout(io.StringIO()):
        file, key = Path(name) / "1.csv", Path(name) / "key"
        key.write_bytes(os.urandom(32))
        key.chmod(0o600)
        others = ["--store", f"{name}/1.db", "--noise-key", str(key), "-o", f"{name}/out.csv"]
        for visits, words in zip(daily_data.year(len(days)), days, strict=True):
            daily_data.write(file, visits)
            with redirect_stderr(io.StringIO()):
                if _main(["run", str(file), *others, "--append", "--json", *words], Kill()):
                    raise AssertionError("a run without kills must succeed")


def ended(
    words: Sequence[str], directory: Path, kill: Kill, *, build: Build | None = None
) -> Ended:
    """The end of `hushfade WORDS` in the directory.

    With a build, the command is a copy of this process; without one, it is a new process.
    """
    began = time.monotonic()
    process = os.fork()
    if process == 0:
        _become(words, directory, kill, build)
    watched = os.pidfd_open(process)
    try:
        if not select.select([watched], [], [], kill.seconds)[0]:
            os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
    finally:
        os.close(watched)
    code = None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)
    output, errors = ((directory / name).read_text("utf-8") for name in (_OUT, _ERRORS))
    return Ended(code, output, errors, time.monotonic() - began)


def _become(words: Sequence[str], directory: Path, kill: Kill, build: Build | None) -> None:
    """Become the command, and end."""
    code = 9
    try:
        os.chdir(directory)
        for number, name in ((1, _OUT), (2, _ERRORS)):
            file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(file, number)
        if build is None:
            _execute(words, kill)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8") for number in (1, 2))
        assert build is not None
        build()
        code = _main(words, kill)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _execute(words: Sequence[str], kill: Kill) -> None:
    command = [str(Path(sys.executable).with_name("hushfade"))]
    if kill.point is not None:
        command = [sys.executable, "-m", __name__, kill.point, str(kill.count)]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    os.execve(command[0], [*command, *words], os.environ | {"PYTHONPATH": paths})


def _main(words: Sequence[str], kill: Kill) -> int:
    """The exit code of the command, unless it is killed at its point."""
    from hushfade.cli import main

    if kill.point == SYNC:
        _kill_at_sync(kill.count)
    elif kill.point is not None:
        store_process.kill_at(kill.point, kill.count)
    try:
        main(list(words))
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _kill_at_sync(count: int) -> None:
    synced, left = atomic_files.synced, count

    def dying(path: Path) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        synced(path)

    patch.object(atomic_files, "synced", dying).start()


if __name__ == "__main__":
    asked, number, *rest = sys.argv[1:]
    sys.exit(_main(rest, Kill(point=asked, count=int(number))))
