"""What is public is documented: every command, option and name."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import hushfade
from hushfade.cli import COMMANDS
from tables import commands

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [*DOCS.glob("*.md"), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"]
NAME = re.compile(r"(?<![\w./-])(?:hf|hushfade)(?:\.[a-zA-Z_]\w*)+(?![\w-])")
MISSING = """
import importlib, sys
import hushfade as hf

def exists(name):
    package, *parts = name.split(".")
    found, path = hf, "hushfade"
    for part in parts:
        path = f"{path}.{part}"
        if package == "hushfade":
            try:
                importlib.import_module(path)
            except ModuleNotFoundError:
                pass
        if not hasattr(found, part):
            return part in getattr(found, "__annotations__", {})
        found = getattr(found, part)
    return True

print(*(name for name in sys.stdin.read().split() if not exists(name)))
"""


def test_the_page_of_commands_is_what_the_commands_say():
    """Written by `make tables`; a new option needs it anew."""
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == commands.page()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_every_command_is_shown_at_work(command):
    page = (DOCS / "command-line.md").read_text(encoding="utf-8")
    assert re.search(rf"^\$ .*hushfade {command.__name__}\b", page, re.MULTILINE)


def test_every_option_has_a_meaning():
    for command in COMMANDS:
        for parameter in commands.parameters(command):
            assert len(parameter.meaning) > 10, (command.__name__, parameter.name)


def test_every_public_name_is_used_in_the_documentation():
    pages = [page for page in PAGES if page.name != "api.md"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    for name in hushfade.__all__:
        assert re.search(rf"\b(hf|hushfade)\.{name}\b|`{name}\b", text), name


def test_every_public_name_is_in_the_reference():
    """A module of the public API is there by its own names."""
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   ([a-zA-Z]\w*(?:\.\w+)*)$", page, re.MULTILINE))
    public = {
        name for name in hushfade.__all__ if not isinstance(getattr(hushfade, name), ModuleType)
    }
    assert public - listed == set()
    for module in ("factors", "theory", "plots", "store", "serve", "spark", "frames", "audit"):
        names = import_module(f"hushfade.{module}").__all__
        for name in names:
            shown = f"{module}.{name}" in listed or name in listed or name.isupper()
            assert shown, f"{module}.{name}"


def test_every_name_in_the_documentation_exists():
    """In a process that has imported hushfade alone, so that `hf.` names need no other import."""
    named = {
        (match[0], page.name)
        for page in PAGES
        for match in NAME.finditer(page.read_text(encoding="utf-8"))
    }
    assert len(named) > 200
    lines = "\n".join(sorted({name for name, _ in named}))
    done = subprocess.run(
        [sys.executable, "-c", MISSING], input=lines, capture_output=True, text=True, check=True
    )
    missing = set(done.stdout.split())
    assert {(name, page) for name, page in named if name in missing} == set()


def test_every_page_is_in_the_index():
    index = (DOCS / "index.md").read_text(encoding="utf-8").splitlines()
    for page in DOCS.glob("*.md"):
        assert page.stem == "index" or page.stem in index
