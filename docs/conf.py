"""Sphinx configuration: the documentation is built without network; a warning is an error.

Docstrings here are plain text with the letters of the mathematics (`|g|`, a_n, u * v), not
reStructuredText.  `plain_text` turns them into it: paragraphs are escaped, `names` in backticks
become literals, indented blocks, columns and code are kept as they stand, doctests stay doctests.
"""

from __future__ import annotations

import ast
import re
import shutil
from itertools import groupby
from pathlib import Path
from typing import Any

import hushfade

project = "hushfade"
author = "The hushfade maintainers"
project_copyright = author
version = release = hushfade.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
smartquotes = False
myst_heading_anchors = 3
myst_enable_extensions = ["substitution"]
myst_substitutions = {"version": version}

html_theme = "furo"
html_title = f"hushfade {version}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_search_scorer = str(Path(__file__).parent / "_static" / "search_scorer.js")

# The pages in reference/names are generated from reference/api.md: remove pages of earlier names.
shutil.rmtree(Path(__file__).parent / "reference" / "names", ignore_errors=True)
autosummary_filename_map = {  # for file systems that ignore case
    "hushfade.Plan": "hushfade.Plan-class",
    "hushfade.audit.Audit": "hushfade.audit.Audit-class",
}

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_type_aliases = {name: name for name in ("Column", "ComplexColumn", "Integers")}
python_use_unqualified_type_names = True
suppress_warnings = ["ref.python"]  # two classes may share a bare name in a signature: no link then


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", plain_text)
    app.connect("autodoc-process-signature", plain_signature)


def plain_text(*event: Any) -> None:
    lines: list[str] = event[-1]  # of (app, what, name, object, options, lines)
    if lines and lines[0].startswith("Alias for field number"):  # a field of a named tuple
        lines.clear()
        return
    out: list[str] = []
    for filled, group in groupby(lines, key=lambda line: bool(line.strip())):
        block = list(group)
        if not filled or block[0].startswith(">>>"):
            out += block
        elif _stands_as_it_is(block):
            language = "python" if _is_code(block) else "text"
            out += [f".. code-block:: {language}", "", *("    " + line for line in block)]
        else:
            out += _escaped("\n".join(block)).split("\n")
    lines[:] = [*out, ""]


def plain_signature(*event: Any) -> tuple[str | None, ...]:
    """The signature with Column for TypeAliasForwardRef('Column'); none for a protocol."""
    if getattr(event[3], "_is_protocol", False):  # of (app, what, name, object, ...)
        return "", None
    return tuple(
        text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text) for text in event[-2:]
    )


def _stands_as_it_is(block: list[str]) -> bool:
    indented = all(line.startswith(" ") for line in block)
    columns = len(block) > 1 and all("   " in line.strip() for line in block)
    return indented or columns or _is_code(block)


def _is_code(block: list[str]) -> bool:
    try:
        statements = ast.parse("\n".join(block)).body
    except SyntaxError:
        return False
    return any(isinstance(statement, ast.Import | ast.Assign) for statement in statements)


def _escaped(text: str) -> str:
    pieces = re.split(r"(`[^`]+`|(?<![\w*])\*[^\s*](?:[^*]*[^\s*])?\*(?![\w*]))", text)
    for index, piece in enumerate(pieces):
        if index % 2 == 0:  # the bullet of a list is kept
            pieces[index] = re.sub(r"(?m)(?!^\* )[*\\|_]", r"\\\g<0>", piece)
        elif piece.startswith("`"):
            pieces[index] = f"\\ `{piece}`\\ "
        else:
            pieces[index] = f"*{_escaped(piece[1:-1])}*"
    return "".join(pieces)
