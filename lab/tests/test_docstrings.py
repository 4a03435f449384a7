"""The examples in the docstrings of the development code hold."""

import doctest
from importlib import import_module

from lab.paths import ROOT

FOLDER = ROOT / "lab"


def test_the_examples_in_the_docstrings_hold():
    files = [*FOLDER.glob("*.py"), *FOLDER.glob("[!.]*/**/*.py")]
    names = {file: file.relative_to(ROOT).with_suffix("").parts for file in files}
    modules = [
        ".".join(parts)
        for file, parts in names.items()
        if "    >>> " in file.read_text(encoding="utf-8") and "tests" not in parts
    ]
    assert len(modules) > 5
    for module in modules:
        results = doctest.testmod(import_module(module), optionflags=doctest.ELLIPSIS)
        assert results.attempted > 0, module
        assert results.failed == 0, module
