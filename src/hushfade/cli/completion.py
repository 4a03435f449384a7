"""hushfade --install-completion, --show-completion: the shell completes commands and options."""

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
    console.note(f"Written: {app.install_completion(shell=shell)}. It works in new shells.")


def show(shell: Shell = None, /) -> None:
    """Show the completion script, to copy or adapt it."""
    sys.stdout.write(app.generate_completion(shell=shell))
