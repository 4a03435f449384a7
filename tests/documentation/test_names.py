"""The reference has all public names, and every name in the documentation exists."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import hushfade

DOCS = Path(__file__).parents[2] / "docs"
SECTIONS = ("tutorials", "how-to", "explanation", "reference")
PAGES = [
    DOCS / "index.md",
    *(page for section in SECTIONS for page in (DOCS / section).glob("*.md")),
    DOCS.parent / "README.md",
    DOCS.parent / "CONTRIBUTING.md",
]
ADDED = re.compile(r"^\+.*$", re.MULTILINE)  # lines that an example adds to the source
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


def test_every_public_name_is_in_the_reference():
    """The names of a public module stand for the module."""
    page = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    reference = set(re.findall(r"^   ([a-zA-Z]\w*(?:\.\w+)*)$", page, re.MULTILINE))
    for name in hushfade.__all__:
        if not isinstance(getattr(hushfade, name), ModuleType):
            assert name in reference, name
    for module in ("factors", "theory", "plots", "store", "serve", "spark", "frames", "audit"):
        for name in import_module(f"hushfade.{module}").__all__:
            places = {name, f"{module}.{name}"}
            assert places & reference or name.isupper(), f"{module}.{name}"


def test_every_name_in_the_documentation_exists():
    """In a process that has imported hushfade alone, so that `hf.` names need no other import."""
    named = {
        (match[0], page.name)
        for page in PAGES
        for match in NAME.finditer(ADDED.sub("", page.read_text(encoding="utf-8")))
    }
    assert len(named) > 200
    lines = "\n".join(sorted({name for name, _ in named}))
    done = subprocess.run(
        [sys.executable, "-c", MISSING], input=lines, capture_output=True, text=True, check=True
    )
    missing = set(done.stdout.split())
    assert {(name, page) for name, page in named if name in missing} == set()
