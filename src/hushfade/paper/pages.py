"""The report as files: one page in Markdown and in HTML, pictures, and every number as CSV."""

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
from hushfade.paper.document import Cell, Claim, Extent, Figure, Prose, Table, Verdict, Written
from hushfade.paper.draw import draw
from hushfade.paper.web import web

CLAIMS = ("where", "verdict", "says", "claimed", "computed", "instead")
TITLE = "The paper, recomputed"
PAGES = ("report.md", "report.html")


def prepare(directory: Path) -> None:
    """Make the places of all files; OSError if one cannot be made or written to."""
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
    """All files of the report; the pages come last, when all that they point to is there."""
    from hushfade.plots import write as write_picture

    blocks = [block for chapter in chapters for block in chapter.blocks]
    figures = [block for block in blocks if isinstance(block, Figure)]
    for name in PAGES:  # so that no old page points to new figures, if this is interrupted
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
    """How many claims hold, in two sentences: the paper's, and ours.

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
    """The whole page."""
    found = claims(chapters)
    wrong = [claim for claim in found if claim.verdict != "holds"]
    parts = [_head(extent, found)]
    if wrong:
        parts += ["These are not as printed:", _table(CLAIMS, map(cells, wrong))]
    parts.append("Every claim, also those that hold: [CSV](data/claims.csv)")
    for number, chapter in enumerate(chapters, start=1):
        parts.append(f"## {number}. {chapter.title}")
        parts.extend(_body(chapter))
    return "\n\n".join(parts) + "\n"


def _head(extent: Extent, found: Sequence[Claim]) -> str:
    import platform

    import scipy

    import hushfade

    kind = "the whole report" if extent.full else "a quick report, with fewer steps and releases"
    return f"""\
# {TITLE}

M. Henzinger, J. Upadhyay and S. Upadhyay, *A Unifying Framework for Differentially Private Sums
under Continual Observation*, held against the code of hushfade {hushfade.__version__}. Written by
`hushfade paper`: {kind}. Every number below was computed by that run; those of tables, figures and
claims are in full in the CSV files under `data`. Python {platform.python_version()}, numpy
{np.__version__}, scipy {scipy.__version__}, {platform.machine()}.

Statements are counted as the paper counts them: definitions, theorems, lemmas, claims and remarks
together. Its first theorem is Theorem 2. *Weak* is what is true, but is not what is meant or far
from it.

## What was found

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
    """A cell as it is read; whole numbers in full.

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
    """What stands under CLAIMS."""
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
