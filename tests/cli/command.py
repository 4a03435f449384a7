"""Commands as the tests call them."""

import io
import json
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hushfade.cli import main

ONE = "--epsilon 1 --delta 1e-6"


@dataclass(frozen=True)
class Result:
    """What a command did."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


def invoke(*words: str, text: str | None = None) -> Result:
    """The command of these words, in this process; `text` is its standard input."""
    with _streams(text or "") as (out, err):
        try:
            main([str(word) for word in words])
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Result(code, _read(out), _read(err))


def run(line: str, *more: str) -> Result:
    """The command of the line; `more` are arguments with spaces, or paths."""
    return invoke(*line.split(), *more)


def document(line: str, *more: str) -> Any:
    """The JSON document that the command prints; it prints nothing else."""
    result = run(line, *more, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout)


@contextmanager
def _streams(text):
    kept = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    try:
        yield sys.stdout, sys.stderr
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept


def _read(stream):
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8")
