"""hushfade paper: everything the paper states as a number, recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hushfade.cli import console
from hushfade.cli.options import ReportOptions
from hushfade.cli.options.parameters import flag, option, option_group

if TYPE_CHECKING:
    from rich.table import Table

    from hushfade.paper.document import Claim


@option_group("Output")
class PaperOutputOptions(ReportOptions):
    """Where the report goes, and how long it takes."""

    output: Annotated[
        Path,
        option(
            "Write the report to this directory. It is created if needed, and its files are "
            "replaced.",
            "DIRECTORY",
            alias="-o",
        ),
    ] = Path("paper-output")
    quick: Annotated[
        bool, flag("Compute the same chapters with fewer steps and releases, in a minute.")
    ] = False


def paper(*, output: PaperOutputOptions = PaperOutputOptions()) -> None:
    """Recompute the paper: every bound, table and figure, and where a statement does not hold.

    The command writes report.md, report.html (one file, with its figures), figures as SVG and
    PNG, and every number as CSV. An interrupted run continues after the last finished chapter.

    `hushfade paper --quick`
    """
    from hushfade.paper import pages
    from hushfade.paper.contents import CHAPTERS
    from hushfade.paper.document import FULL, QUICK
    from hushfade.paper.write_report import report

    extent, directory = QUICK if output.quick else FULL, output.output
    done = 0
    with console.progress("computing", len(CHAPTERS)) as advance:

        def watch(chapters: int, doing: str) -> None:
            nonlocal done
            advance(chapters - done, f"{chapters} of {len(CHAPTERS)} chapters; {doing}")
            done = chapters

        try:
            found = report(directory, extent, CHAPTERS, watch=watch)
        except KeyboardInterrupt:
            raise console.Failure(_kept(done), console.Exit.INTERRUPTED) from None
        except OSError as error:
            where, reason = error.filename or directory, error.strerror or type(error).__name__
            message = f"cannot write {where}: {reason}"
            raise console.Failure(message, console.Exit.FILE) from None
    claims = pages.claims(found)
    if output.json:
        console.document(
            {
                "extent": extent.name,
                "directory": str(directory),
                "summary": pages.summary(claims),
                "claims": pages.claim_rows(found),
            }
        )
        return
    page = console.out()
    page.print(pages.summary(claims), end="\n\n")
    page.print(_table([claim for claim in claims if claim.verdict == "false"]))
    if output.quick:
        page.print("Computed with fewer steps and releases: --quick.")
    page.print(
        f"Written: {directory / 'report.html'}, {directory / 'report.md'}, figures and data."
    )


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
