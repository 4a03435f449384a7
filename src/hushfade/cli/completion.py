"""hushfade --install-completion, --show-completion: shell completion of commands and options."""

from __future__ import annotations

import sys
from typing import Annotated, Literal, TypeAlias

from cyclopts import Parameter

from hushfade.cli import app, console

Shell: TypeAlias = Annotated[
    Literal["bash", "zsh", "fish", "powershell"] | None,
    Parameter(help="The shell; by default the shell that runs this command."),
]


def install(shell: Shell = None, /) -> None:
    """Install completion for the current shell."""
    path = app.install_completion(shell=shell)
    console.note(f"Wrote {path}. Open a new shell to use completion.")


def show(shell: Shell = None, /) -> None:
    """Print the completion script, to copy or adapt it."""
    sys.stdout.write(app.generate_completion(shell=shell))
