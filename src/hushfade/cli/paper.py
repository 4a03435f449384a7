"""hushfade paper: everything the paper states as a number, recomputed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hushfade.cli import console, options

if TYPE_CHECKING:
    from rich.table import Table

    from hushfade.paper.document import Chapter, Claim

Directory = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="DIRECTORY",
        help="Where the report goes; it is made if it is not there. Its files are replaced.",
        rich_help_panel=options.OUTPUT,
    ),
]
Quick = Annotated[
    bool,
    typer.Option(
        "--quick",
        help="The same chapters with fewer steps and releases, in a minute.",
        rich_help_panel=options.OUTPUT,
    ),
]


def paper(
    output: Directory = Path("paper-output"),
    quick: Quick = False,
    json: options.Json = False,
) -> None:
    """Recompute the paper: every bound, table and figure, and where it does not hold.

    Writes report.md, report.html (one file, with its figures), figures as SVG and PNG, and every
    number as CSV. An interrupted run goes on where it stopped, chapter by chapter.

    [cyan]hushfade paper --quick[/]
    """
    from hushfade.paper import pages
    from hushfade.paper.compose import report
    from hushfade.paper.contents import CHAPTERS
    from hushfade.paper.document import FULL, QUICK

    extent = QUICK if quick else FULL
    try:
        with console.progress("computing", len(CHAPTERS)) as advance:
            chapters = report(output, extent, CHAPTERS, watch=_watched(advance, len(CHAPTERS)))
    except KeyboardInterrupt:
        console.note("Interrupted; the same command goes on after the last finished chapter.")
        raise
    claims = pages.claims(chapters)
    wrong = [claim for claim in claims if claim.verdict != "holds"]
    if json:
        console.document(
            {
                "extent": extent.name,
                "directory": str(output),
                "summary": pages.summary(claims),
                "claims": [dict(zip(pages.CLAIMS, pages.cells(x), strict=True)) for x in claims],
            }
        )
        return
    page = console.out()
    page.print(pages.summary(claims), end="\n\n")
    page.print(_table(wrong))
    page.print(f"Written: {output / 'report.html'}, {output / 'report.md'}, figures and data")


def _watched(advance: console.Advance, total: int) -> Callable[[Chapter, int | None], None]:
    """Tells the bar the chapter, its place and its part."""
    done = 0

    def watch(chapter: Chapter, parts: int | None) -> None:
        nonlocal done
        if parts is None:
            done += 1
            advance(1, f"{done} of {total} chapters")
        else:
            advance(0, f"{done} of {total} chapters; {chapter.name}, part {parts}")

    return watch


def _table(claims: list[Claim]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title="Not as printed", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for head in ("where", "says", "computed", "verdict"):
        table.add_column(head)
    for claim in claims:
        style = "bold red" if claim.verdict == "false" else None
        table.add_row(claim.where, claim.says, claim.found, claim.verdict, style=style)
    return table
