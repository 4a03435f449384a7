"""What is public is documented: every command and every name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hushfade
from hushfade.cli import COMMANDS

DOCS = Path(__file__).parents[2] / "docs"
README = DOCS.parent / "README.md"
SECTIONS = ("tutorials", "how-to", "explanation", "reference")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_shown_at_work(command):
    pages = [page.read_text(encoding="utf-8") for page in (DOCS / "how-to").glob("*.md")]
    shown = re.compile(rf"^\$ .*hushfade {command}\b", re.MULTILINE)
    assert any(shown.search(page) for page in pages)


@pytest.mark.parametrize("name", hushfade.__all__)
def test_every_public_name_is_used_in_the_documentation(name):
    pages = [*(page for section in SECTIONS for page in (DOCS / section).glob("*.md")), README]
    texts = [page.read_text(encoding="utf-8") for page in pages if page.name != "api.md"]
    assert any(re.search(rf"\b(hf|hushfade)\.{name}\b|`{name}\b", text) for text in texts)


def test_every_page_is_in_the_index_of_its_section():
    for section in SECTIONS:
        index = (DOCS / section / "index.md").read_text(encoding="utf-8").splitlines()
        for page in (DOCS / section).glob("*.md"):
            assert page.stem == "index" or page.stem in index, page
