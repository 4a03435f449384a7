"""Commands as the tests call them."""

import json
from typing import Any

from typer.testing import CliRunner, Result

from hushfade.cli import app

ONE = "--epsilon 1 --delta 1e-6"


def run(line: str, *more: str) -> Result:
    """The command of the line; `more` are arguments with spaces, or paths."""
    return CliRunner().invoke(app, [*line.split(), *more])


def document(line: str, *more: str) -> Any:
    """The JSON document that the command prints; it prints nothing else."""
    result = run(line, *more, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout)
