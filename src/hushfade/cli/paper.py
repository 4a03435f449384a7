"""hushfade paper: everything the paper states as a number, recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hushfade.cli import console, options

if TYPE_CHECKING:
    from rich.table import Table

    from hushfade.paper.document import Claim

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
    done = 0
    with console.progress("computing", len(CHAPTERS)) as advance:

        def watch(chapters: int, doing: str) -> None:
            nonlocal done
            advance(chapters - done, f"{chapters} of {len(CHAPTERS)} chapters; {doing}")
            done = chapters

        try:
            found = report(output, extent, CHAPTERS, watch=watch)
        except KeyboardInterrupt:
            raise console.Failure(_kept(done), console.Exit.INTERRUPTED) from None
        except OSError as error:
            where, reason = error.filename or output, error.strerror or type(error).__name__
            message = f"cannot write {where}: {reason}"
            raise console.Failure(message, console.Exit.FILE) from None
    claims = pages.claims(found)
    if json:
        names = ("chapter", *pages.CLAIMS)
        console.document(
            {
                "extent": extent.name,
                "directory": str(output),
                "summary": pages.summary(claims),
                "claims": [dict(zip(names, row, strict=True)) for row in pages.listed(found)],
            }
        )
        return
    page = console.out()
    page.print(pages.summary(claims), end="\n\n")
    page.print(_table([claim for claim in claims if claim.verdict == "false"]))
    if quick:
        page.print("With fewer steps and releases: --quick.")
    page.print(f"Written: {output / 'report.html'}, {output / 'report.md'}, figures and data.")


def _kept(chapters: int) -> str:
    """What an interrupted run leaves."""
    if not chapters:
        return "interrupted before the first chapter was finished"
    finished = "1 finished chapter is" if chapters == 1 else f"{chapters} finished chapters are"
    return f"interrupted; {finished} kept, and the same command goes on after them"


def _table(claims: list[Claim]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title="False as printed", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for head in ("where", "says", "computed", "instead"):
        table.add_column(head)
    for claim in claims:
        table.add_row(claim.where, claim.says, claim.found, claim.instead)
    return table
