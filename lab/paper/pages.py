"""The files of the report: one page in Markdown and HTML, figures, and every number as CSV."""

from __future__ import annotations

import csv
import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import get_args

import numpy as np

from hushfade.atomic_files import whole
from lab.paper.document import Cell, Claim, Extent, Figure, Prose, Table, Verdict, Written
from lab.paper.draw import draw
from lab.paper.web import web

CLAIMS = ("where", "verdict", "says", "claimed", "computed", "instead")
TITLE = "The paper, recomputed"
PAGES = ("report.md", "report.html")


def prepare(directory: Path) -> None:
    """Create the directories of all files; OSError if one cannot be created or written to."""
    for place in (directory, directory / "figures", directory / "data"):
        place.mkdir(parents=True, exist_ok=True)
    for page in (directory / name for name in PAGES):
        if page.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(page))


def write(
    directory: Path,
    extent: Extent,
    chapters: Sequence[Written],
    *,
    watch: Callable[[str], None] = lambda doing: None,
) -> None:
    """Write all files of the report; the pages come last, after the files that they link to."""
    from hushfade.plots import write as write_picture

    blocks = [block for chapter in chapters for block in chapter.blocks]
    figures = [block for block in blocks if isinstance(block, Figure)]
    for name in PAGES:  # so that no old page links to new figures after an interruption
        (directory / name).unlink(missing_ok=True)
    for block in blocks:
        if isinstance(block, Table):
            _csv(directory / "data" / f"{block.name}.csv", block.columns, block.rows)
    for number, figure in enumerate(figures, start=1):
        watch(f"drawing figure {number} of {len(figures)}")
        _csv(directory / "data" / f"{figure.name}.csv", _COLUMNS, _points(figure))
        drawn = draw(figure)
        for ending in ("svg", "png"):
            write_picture(drawn, directory / "figures" / f"{figure.name}.{ending}")
    rows = (tuple(row.values()) for row in claim_rows(chapters))
    _csv(directory / "data" / "claims.csv", ("chapter", *CLAIMS), rows)
    text = markdown(extent, chapters)
    for name, page in zip(PAGES, (text, web(TITLE, text, directory)), strict=True):
        with whole(directory / name) as file:
            file.write_text(page, encoding="utf-8")


def claim_rows(chapters: Iterable[Written]) -> list[dict[str, str]]:
    """Every claim, with the columns 'chapter' and CLAIMS."""
    return [
        {"chapter": chapter.name, **dict(zip(CLAIMS, cells(claim), strict=True))}
        for chapter in chapters
        for claim in claims([chapter])
    ]


def claims(chapters: Iterable[Written]) -> list[Claim]:
    """All claims, in order."""
    return [x for chapter in chapters for x in chapter.blocks if isinstance(x, Claim)]


def summary(found: Iterable[Claim]) -> str:
    """The numbers of claims that hold, are weak, or are false: the paper's, then ours.

    >>> wrong = Claim("Theorem 3", "γ2 ≤ 1", "1", "1.0328", "false", "the sum runs to T")
    >>> right = Claim("Theorem 3, corrected", "γ2 ≤ 1.0625", "1.0625", "1.0328", "holds")
    >>> summary([wrong, right])
    "1 check of the paper's statements: 0 hold, 0 true but weak, 1 false. 1 check of our ..."
    """
    claims = list(found)
    return " ".join(
        _counted(whose, [claim.verdict for claim in claims if claim.ours == ours])
        for whose, ours in (("the paper's statements", False), ("our corrections and claims", True))
    )


def _counted(whose: str, verdicts: list[Verdict]) -> str:
    hold, weak, false = (verdicts.count(verdict) for verdict in get_args(Verdict))
    checks = f"{len(verdicts)} {'check' if len(verdicts) == 1 else 'checks'} of {whose}"
    return f"{checks}: {hold} hold, {weak} true but weak, {false} false."


# Markdown -----------------------------------------------------------------------------------


def markdown(extent: Extent, chapters: Sequence[Written]) -> str:
    """The page as Markdown."""
    found = claims(chapters)
    wrong = [claim for claim in found if claim.verdict != "holds"]
    parts = [_head(extent, found)]
    if wrong:
        parts += ["These statements are false or weak:", _table(CLAIMS, map(cells, wrong))]
    parts.append("All claims, including the ones that hold: [CSV](data/claims.csv)")
    for number, chapter in enumerate(chapters, start=1):
        parts.append(f"## {number}. {chapter.title}")
        parts.extend(_body(chapter))
    return "\n\n".join(parts) + "\n"


def _head(extent: Extent, found: Sequence[Claim]) -> str:
    import platform

    import scipy

    import hushfade

    kind = "the full report" if extent.full else "a quick report, with fewer steps and releases"
    return f"""\
# {TITLE}

This report checks M. Henzinger, J. Upadhyay and S. Upadhyay, *A Unifying Framework for
Differentially Private Sums under Continual Observation*, with hushfade {hushfade.__version__}.
`make paper` wrote it: {kind}. That run computed every number below. The CSV files under `data`
have the numbers of all tables, figures and claims in full precision. Versions: Python
{platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__},
{platform.machine()}.

Statements are numbered as in the paper: definitions, theorems, lemmas, claims and remarks share one
counter, so the first theorem is Theorem 2. A *weak* statement is true, but it is not what the
authors mean, or it is far from tight.

## Summary

{summary(found)}"""


def _body(chapter: Written) -> Iterator[str]:
    for kind, blocks in groupby(chapter.blocks, type):
        if kind is Claim:
            yield _table(CLAIMS, (cells(x) for x in blocks if isinstance(x, Claim)))
            continue
        for block in blocks:
            match block:
                case Prose():
                    yield block.text.strip()
                case Table():
                    rows = ([shown(x, block.digits) for x in row] for row in block.rows)
                    yield _table(block.columns, rows)
                    yield f"*{block.caption}* [CSV](data/{block.name}.csv)"
                case Figure():
                    alternative = re.sub(r"[\[\]*`]", "", block.caption)
                    yield f"![{alternative}](figures/{block.name}.svg)"
                    yield f"*{block.caption}* [CSV](data/{block.name}.csv)"


def shown(cell: Cell, digits: int) -> str:
    """The text of a cell; integers are shown in full.

    >>> shown(1.0327955589886444, 5), shown(1048576, 3), shown(True, 3)
    ('1.0328', '1048576', 'yes')
    """
    match cell:
        case bool():
            return "yes" if cell else "no"
        case float():
            return f"{cell:.{digits}g}"
    return str(cell)


def cells(claim: Claim) -> tuple[str, ...]:
    """The cells of a claim in the columns CLAIMS."""
    return claim.where, claim.verdict, claim.says, claim.printed, claim.found, claim.instead


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(map(_escaped, line)) + " |" for line in (columns, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(columns), *lines[1:]])


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


# Numbers ------------------------------------------------------------------------------------

_COLUMNS = ("panel", "line", "x", "y", "high")


def _points(figure: Figure) -> Iterator[tuple[Cell, ...]]:
    for panel in figure.panels:
        for one in panel.lines:
            highs: Sequence[Cell] = one.high or [""] * len(one.x)
            for x, y, high in zip(one.x, one.y, highs, strict=True):
                yield panel.title, one.label, x, y, high


def _csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    with whole(path) as hidden, hidden.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
