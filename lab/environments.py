"""Environments of other libraries: each has its own Python, without hushfade."""

from __future__ import annotations

import os
import re
import subprocess
import venv
from collections.abc import Sequence
from pathlib import Path

from lab.progress import progress

PLACE = Path(__file__).parent / ".environments"


class Absent(Exception):
    """The library cannot be installed, or did not answer.  The message is one line."""


def made(place: Path, *wanted: Sequence[str]) -> Path:
    """The Python of an environment in `place`, made by one call of pip per list of arguments.

    The function reuses an environment with the same arguments and replaces any other.  It raises
    Absent if pip fails.
    """
    words = [word for given in wanted for word in given]
    python, stamp = place / "bin" / "python", place / "holds"
    if stamp.exists() and stamp.read_text() == "\n".join(words):
        return python
    progress(f"installing {', '.join(word for word in words if not word.startswith('-'))}")
    place.parent.mkdir(parents=True, exist_ok=True)
    (place.parent / ".gitignore").write_text("*\n")
    try:
        venv.create(place, clear=True, with_pip=True, symlinks=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Absent(reason(str(error))) from None
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    for given in wanted:
        done = ran([str(python), "-m", "pip", "install", *quiet, *given], cwd=place.parent)
        if done.returncode != 0:
            raise Absent(reason(done.stderr))
    stamp.write_text("\n".join(words))
    return python


def reason(text: str) -> str:
    """The reason of a failure in one line without URLs and paths: pip's error, or the last line.

    >>> reason("Traceback:\\n  File '/home/me/x.py'\\nImportError: no name (/home/me/y.py)\\n")
    'ImportError: no name (...)'
    >>> reason("ERROR: no version of tensorflow from https://host/simple\\nnotice: a new pip")
    'ERROR: no version of tensorflow from ...'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["unknown reason"]
    shown = next((line for line in lines if line.startswith("ERROR:")), lines[-1])
    shown = re.sub(r"\w+://[^\s)'\"]+", "...", shown)
    shown = re.sub(r"(?<![\w.])/[^\s)'\"]+", "...", shown).replace("|", "/")
    return shown if len(shown) <= 200 else f"{shown[:197]}..."


def ran(
    command: Sequence[str], *, cwd: Path, timeout: float | None = None, **settings: str
) -> subprocess.CompletedProcess[str]:
    """The finished command, run without this process's own libraries."""
    return subprocess.run(
        command, env=foreign_variables() | settings, cwd=cwd, timeout=timeout, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


def foreign_variables() -> dict[str, str]:
    """This process's environment variables, without the ones that lead to its own libraries."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME"}
    }
