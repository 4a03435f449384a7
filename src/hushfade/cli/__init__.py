"""The command line: one module per command, imported when the command runs.

options    the options that commands share      console   messages, files, exit codes
run_*      the parts of `hushfade run`          plain_words, live_chart   text and chart
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from cyclopts import App

from hushfade.cli import console

COMMANDS = (  # in the order of the help; the module of a command has its name
    "demo", "plan", "run", "compare", "explain", "audit", "store", "serve",
    "token",
)  # fmt: skip


def _version() -> str:
    from hushfade import __version__

    return f"hushfade {__version__}"


app = App(
    name="hushfade",
    help="""Release decaying sums of sensitive streams at every step, with differential privacy.

    `hushfade explain` describes how hushfade works. Then plan a series:

    `hushfade plan --half-life 24h --every 1h --epsilon 1 --delta 1e-6`
    """,
    help_format="markdown",
    version=_version,
    suppress_keyboard_interrupt=False,
)
for place, name in enumerate(COMMANDS):
    app.command(f"hushfade.cli.{name}:{name}", name=name, sort_key=place)
for name in ("install", "show"):
    app.command(f"hushfade.cli.completion:{name}", name=f"--{name}-completion")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command in `arguments`, by default in sys.argv; exit if its exit code is not 0."""
    if arguments is None:
        # imports create many objects and no garbage: collections took a third of a short command
        gc.set_threshold(100_000, 20, 20)
        atexit.register(gc.freeze)
    for stream in (sys.stdout, sys.stderr):
        # a terminal that cannot encode a character shows '?'
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in app.help_flags:
        app.resolved_commands()  # the list of commands shows the first line of each docstring
    with console.reported(as_json="--json" in words):
        app(words, exit_on_error=False, print_error=False, result_action="return_value")
