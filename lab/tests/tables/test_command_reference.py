"""docs/reference/cli.md states what the commands state."""

from hushfade.cli import COMMANDS
from lab.tables import command_reference


def test_the_page_of_commands_is_up_to_date():
    """If this fails, run `make tables`."""
    page = command_reference.PAGE.read_text(encoding="utf-8")
    assert page == command_reference.page()


def test_every_option_has_a_meaning():
    for command in COMMANDS:
        for parameter in command_reference.parameters(command):
            assert len(parameter.meaning) > 10, (command.__name__, parameter.name)
