"""Writes docs/cli.md: every command with every option, from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import Signature, cleandoc, signature
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo

from dev.paths import DOCS

PAGE = DOCS / "cli.md"

FOREWORD = """\
# Commands

`pip install .`, in a virtual environment, installs the command `hushfade`. [On the command
line](command-line.md) shows how the commands go together; this page lists them all. It is written
by `make tables` from the commands themselves, which say the same with `--help`.

`hushfade --install-completion` lets the shell complete commands, options and their values;
`hushfade --version` tells the version.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | an internal error, or checks of an audit that broke down |
| 2 | wrong options, or options that contradict each other |
| 3 | the content of a file was refused; file and line are named |
| 4 | refused because it would break a promise |
| 5 | a file cannot be read or written |
| 6 | a check of `hushfade audit` failed |
| 130 | interrupted |

Results go to the standard output, messages and progress to the standard error. `--json` makes a
report one JSON document; errors are then one too, on the standard error. No message shows a
record's value.
"""


def main() -> None:
    """The page, written."""
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: {PAGE.name}")


def page() -> str:
    """The whole page."""
    from hushfade.cli import COMMANDS

    parts = [FOREWORD]
    for command in COMMANDS:
        parts += list(_command(command))
    return "\n".join(parts).rstrip() + "\n"


@dataclass(frozen=True)
class Parameter:
    """An argument or option, as its annotation and its default say."""

    name: str
    told: Any  # typer's OptionInfo or ArgumentInfo
    kind: Any
    default: Any

    @property
    def panel(self) -> str:
        """Where the help shows it."""
        return self.told.rich_help_panel or "Other options"

    @property
    def names(self) -> list[str]:
        """The option's names; annotated, typer keeps the first in the place of a default."""
        return [self.told.default, *self.told.param_decls]

    @property
    def value(self) -> str:
        """What stands after the option; nothing after a flag."""
        if self.kind is bool:
            return ""
        options = [kind for kind in get_args(self.kind) if kind is not NoneType] or [self.kind]
        choices = get_args(options[0]) if get_origin(options[0]) is Literal else options
        listed = "|".join(choices) if isinstance(choices[0], str) else self.told.metavar
        return f"`{listed}`".replace("|", "\\|")

    @property
    def meaning(self) -> str:
        """The help, and the default where one is told."""
        said, told = " ".join(self.told.help.split()), self.told.show_default
        default = told if isinstance(told, str) else self.default
        silent = default in (None, Signature.empty) or self.kind is bool
        return said if silent else f"{said} Default: {default}."


def parameters(command: Callable[..., object]) -> Iterator[Parameter]:
    """What a command takes."""
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in signature(command).parameters.items():
        kind, told, *_ = get_args(hints[name])
        yield Parameter(name, told, kind, parameter.default)


def _command(command: Callable[..., object]) -> Iterator[str]:
    yield f"\n## hushfade {command.__name__}\n"
    for paragraph in cleandoc(command.__doc__ or "").split("\n\n"):
        example = re.fullmatch(r"\[cyan\](.*)\[/\]", paragraph.strip(), re.DOTALL)
        if example:
            yield f"```text\n{' '.join(example[1].split())}\n```\n"
        else:
            yield " ".join(re.sub(r"\[/?\w*\]", "", paragraph).split()) + "\n"
    listed = list(parameters(command))
    for argument in listed:
        if isinstance(argument.told, ArgumentInfo):
            yield f"`{argument.told.metavar}`: {argument.meaning}\n"
    options = [option for option in listed if not isinstance(option.told, ArgumentInfo)]
    panels = list(dict.fromkeys(option.panel for option in options))
    for panel in panels:
        yield f"| {panel} | | |\n|---|---|---|"
        for option in options:
            if option.panel == panel:
                names = ", ".join(f"`{name}`" for name in option.names)
                yield f"| {names} | {option.value} | {option.meaning} |"
        yield ""
