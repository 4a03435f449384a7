"""A peer: another library that runs in its own environment and measures jobs on request."""

from __future__ import annotations

import json
import select
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from lab import environments
from lab.benchmarks.peers.protocol import Round
from lab.environments import Absent, foreign_variables, made, reason
from lab.paths import ROOT

PLACE = environments.PLACE / "peers"

# The requirements of the environment in which peers/<name>.py runs.
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


class Peer:
    """A peer's script at work: see `peer`."""

    def __init__(self, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._errors = process, errors
        self._requests, self._answers = process.stdin, process.stdout
        self.versions: dict[str, str] = self._answer()["versions"]

    def round(self, job: str) -> Round:
        """One measurement of the job."""
        try:
            self._requests.write(json.dumps({"job": job}).encode() + b"\n")
            self._requests.flush()
        except BrokenPipeError:
            raise Absent(self._last_words()) from None
        return measurement(self._answer())

    def _answer(self) -> Any:
        if not select.select([self._answers], [], [], PATIENCE)[0]:
            self._process.kill()
            raise Absent(f"no answer within {PATIENCE:g} s")
        line = self._answers.readline()
        if not line:
            raise Absent(self._last_words())
        return json.loads(line)

    def _last_words(self) -> str:
        self._process.wait()
        self._errors.seek(0)
        return reason(self._errors.read().decode(errors="replace"))


@contextmanager
def peer(name: str) -> Iterator[Peer]:
    """The peer's script, running in its environment until the `with` block ends."""
    command = [str(installed(name)), "-m", f"lab.benchmarks.peers.{name}"]
    pipe = subprocess.PIPE
    environment = foreign_variables() | SETTINGS
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
    """A script's answer as a round; raises Absent with the reason if the script failed.

    >>> measurement({"job": "step", "seconds": 1.0, "count": 10, "yardstick": 0.01}).each
    0.1
    """
    if "failed" in answer:
        raise Absent(reason(answer["failed"]))
    return Round(answer["seconds"], answer["count"], answer["yardstick"])


def installed(name: str) -> Path:
    """The peer's Python, in an environment with its requirements; raises Absent if pip fails."""
    return made(PLACE / name, PEERS[name])
