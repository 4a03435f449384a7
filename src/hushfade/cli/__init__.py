"""The command line: `hushfade plan`, `compare`, `bounds`, `explain`, and what else is in COMMANDS.

options    the options that commands share        choices   from options to hushfade's objects
console    what is said, written and refused      one module for each command
"""

from __future__ import annotations

import inspect
import sys
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hushfade.cli import (
    audit,
    bounds,
    compare,
    console,
    demo,
    explain,
    paper,
    plan,
    run,
    serve,
    store,
)

COMMANDS = (
    demo.demo,
    plan.plan,
    run.run,
    compare.compare,
    bounds.bounds,
    explain.explain,
    paper.paper,
    audit.audit,
    store.store,
    serve.serve,
    serve.token,
)  # in the order of the help

_JSON = "hushfade.json"


class Commands(TyperGroup):
    """All commands, with one way to report what goes wrong in any of them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, and remember whether errors are to be told as JSON."""
        ctx.meta[_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with console.reported(as_json=ctx.meta[_JSON]):
            return super().invoke(ctx)


app = typer.Typer(
    name="hushfade",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # they show local variables, and with them the data
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _version(asked: bool) -> None:
    if asked:
        from hushfade import __version__

        typer.echo(f"hushfade {__version__}")
        raise typer.Exit


@app.callback()
def _hushfade(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Decaying sums of sensitive streams at every step, for ever, with differential privacy.

    Start with [bold]hushfade explain[/], then plan:

    [cyan]hushfade plan --half-life 24h --every 1h --epsilon 1 --delta 1e-6[/]
    """


def _unwrapped(docstring: str | None) -> str:
    """The docstring with each paragraph on one line: the terminal's width breaks it anew."""
    paragraphs = inspect.cleandoc(docstring or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split("\n")) for paragraph in paragraphs)


for command in COMMANDS:
    app.command(help=_unwrapped(command.__doc__))(command)


def main() -> None:
    """The entry point of the `hushfade` command."""
    for stream in (sys.stdout, sys.stderr):
        # letters that the terminal does not have are shown as '?', not as a crash
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    app(prog_name="hushfade")
