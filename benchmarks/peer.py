"""A peer: another library in an environment of its own, asked for one measurement after another."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import tempfile
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from benchmarks.peers.protocol import Round
from benchmarks.timing import progress

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "benchmarks" / ".peers"

# The script benchmarks/peers/<name>.py and what its environment holds.
PEERS: dict[str, tuple[str, ...]] = {
    "jax_privacy": ("jax-privacy==2.0.0", "jax==0.10.2", "jaxlib==0.10.2", "numpy==2.4.6"),
    "opake": ("opake-dpftrl==0.16.1", "torch==2.13.0", "numpy==2.4.6"),
    "opendp": ("opendp==0.16.0", "numpy==2.4.6"),
    "pandas": ("pandas==3.1.1", "numpy==2.4.6"),
    "tf_privacy": ("tensorflow-privacy==0.9.0", "tensorflow==2.15.1"),  # brings numpy 1.26
}
TITLES = {
    "jax_privacy": "JAX Privacy",
    "opake": "opake-dpftrl",
    "opendp": "OpenDP",
    "pandas": "pandas",
    "tf_privacy": "TensorFlow Privacy",
}
SETTINGS = {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
PATIENCE = 600.0  # seconds for one answer


class Absent(Exception):
    """The peer cannot be installed, or gave no measurement: why, in one line."""


class Peer:
    """A peer's script at work: see `peer`."""

    def __init__(self, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._errors = process, errors
        self._asked, self._told = process.stdin, process.stdout
        self.versions: dict[str, str] = self._answer()["versions"]

    def round(self, job: str) -> Round:
        """One measurement of the job."""
        try:
            self._asked.write(json.dumps({"job": job}).encode() + b"\n")
            self._asked.flush()
        except BrokenPipeError:
            raise Absent(self._last_words()) from None
        return measurement(self._answer())

    def _answer(self) -> Any:
        if not select.select([self._told], [], [], PATIENCE)[0]:
            self._process.kill()
            raise Absent(f"no answer within {PATIENCE:g} s")
        line = self._told.readline()
        if not line:
            raise Absent(self._last_words())
        return json.loads(line)

    def _last_words(self) -> str:
        self._process.wait()
        self._errors.seek(0)
        return reason(self._errors.read().decode(errors="replace"))


@contextmanager
def peer(name: str) -> Iterator[Peer]:
    """The peer's script, started in the peer's environment; it ends with the `with` block."""
    command = [str(installed(name)), "-m", f"benchmarks.peers.{name}"]
    pipe = subprocess.PIPE
    environment = _environment() | SETTINGS
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=errors
        ) as process,
    ):
        try:
            yield Peer(process, errors)
        finally:
            process.kill()


def measurement(answer: Mapping[str, Any]) -> Round:
    """A script's answer as a round; raises Absent with what went wrong if it tells of that.

    >>> measurement({"job": "step", "seconds": 1.0, "count": 10, "yardstick": 0.01}).each
    0.1
    """
    if "failed" in answer:
        raise Absent(reason(answer["failed"]))
    return Round(answer["seconds"], answer["count"], answer["yardstick"])


def installed(name: str) -> Path:
    """The peer's Python, in an environment that holds what PEERS says; raises Absent if not."""
    return made(PLACE / name, PEERS[name])


def made(place: Path, *wanted: Sequence[str]) -> Path:
    """The Python of an environment for which pip was given these words, one list after another.

    It is made where it is not there, or holds something else.  Raises Absent if that fails.
    """
    words = [word for given in wanted for word in given]
    python, stamp = place / "bin" / "python", place / "holds"
    if stamp.exists() and stamp.read_text() == "\n".join(words):
        return python
    progress(f"installing {', '.join(word for word in words if not word.startswith('-'))}")
    place.parent.mkdir(exist_ok=True)
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
    """Why it failed, in one line without addresses and places: pip's error, or the last line.

    >>> reason("Traceback:\\n  File '/home/me/x.py'\\nImportError: no name (/home/me/y.py)\\n")
    'ImportError: no name (...)'
    >>> reason("ERROR: no version of tensorflow from https://host/simple\\nnotice: a new pip")
    'ERROR: no version of tensorflow from ...'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no word of why"]
    told = next((line for line in lines if line.startswith("ERROR:")), lines[-1])
    told = re.sub(r"\w+://[^\s)'\"]+", "...", told)
    told = re.sub(r"(?<![\w.])/[^\s)'\"]+", "...", told).replace("|", "/")
    return told if len(told) <= 200 else f"{told[:197]}..."


def ran(
    command: Sequence[str], *, cwd: Path, timeout: float | None = None, **settings: str
) -> subprocess.CompletedProcess[str]:
    """The command, run to its end outside of this process's own libraries."""
    return subprocess.run(
        command, env=_environment() | settings, cwd=cwd, timeout=timeout, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


def _environment() -> dict[str, str]:
    """This process's environment, without what leads to its own libraries."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME"}
    }
