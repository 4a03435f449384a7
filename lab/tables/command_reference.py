"""Writes docs/reference/cli.md: every command with every option, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any

from hushfade.cli import COMMANDS, app
from lab.paths import DOCS

PAGE = DOCS / "reference" / "cli.md"

FOREWORD = """\
# Commands

`pip install .`, in a virtual environment, installs the command `hushfade`. [On the command
line](../how-to/command-line.md) shows how the commands work together. This page lists all commands.
`make tables` generates it from the help texts, which `--help` shows too.

`hushfade --install-completion` lets the shell complete commands, options and their values, and
`hushfade --show-completion` prints the script. `hushfade --version` prints the version.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | an internal error, or a check of an audit that could not be completed |
| 2 | wrong options, or options that contradict each other |
| 3 | a file has invalid content, or has records of which none counts; the message names the file |
| 4 | refused, because it would break a guarantee |
| 5 | a file cannot be read or written |
| 6 | a check of `hushfade audit` failed |
| 130 | interrupted |

Commands print results to the standard output, and messages and progress to the standard error.
With `--json` a report is one JSON document, and an error is one JSON document on the standard
error. No message contains the value of a record.
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: {PAGE.name}")


def page() -> str:
    """The complete page."""
    parts = [FOREWORD, *(part for name in COMMANDS for part in _command(name))]
    return "\n".join(parts).rstrip() + "\n"


@dataclass(frozen=True)
class Parameter:
    """An argument or option of a command, as the page shows it."""

    declared: Any  # cyclopts' Argument

    @property
    def name(self) -> str:
        """Its first name."""
        return str(self.declared.name)

    @property
    def panel(self) -> str:
        """The panel of the help that shows it."""
        return str(self.declared.parameter.group[0].name)

    @property
    def names(self) -> str:
        """All its names."""
        return ", ".join(f"`{name}`" for name in self.declared.names)

    @property
    def value(self) -> str:
        """The value that follows the option; empty for a flag."""
        choices = self.declared.get_choices()
        text = "|".join(choices) if choices else self.declared.parameter.metavar or ""
        return f"`{text}`".replace("|", "\\|") if text else ""

    @property
    def meaning(self) -> str:
        """The help, and the default if the help shows one."""
        text, shown = str(self.declared.parameter.help), self.declared.show_default
        default = shown if isinstance(shown, str) else self.declared.field_info.default
        return f"{text} Default: {default}." if shown else text


def parameters(name: str) -> list[Parameter]:
    """The arguments and options of a command."""
    declared = app[name].assemble_argument_collection()
    return [Parameter(each) for each in declared if each.parse and not each.children]


def _command(name: str) -> Iterator[str]:
    yield f"\n## hushfade {name}\n"
    for paragraph in cleandoc(app[name].help).split("\n\n"):
        if paragraph.startswith(f"`hushfade {name}"):
            yield f"```text\n{' '.join(paragraph.strip('`').split())}\n```\n"
        else:
            yield paragraph.replace("\n", " ").replace(" - **", "\n- **") + "\n"
    found = parameters(name)
    for argument in found:
        if argument.panel == "Arguments":
            choices = ", ".join(argument.declared.get_choices() or ())
            yield f"`{argument.name}`: {argument.meaning} {choices}".rstrip() + "\n"
    panels = dict.fromkeys(option.panel for option in found if option.panel != "Arguments")
    for panel in panels:
        yield f"| {panel} | | |\n|---|---|---|"
        for option in found:
            if option.panel == panel:
                yield f"| {option.names} | {option.value} | {option.meaning} |"
        yield ""
