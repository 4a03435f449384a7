"""hushfade paper: recompute every number in the paper."""

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
    """The directory and the size of the report."""

    output: Annotated[
        Path,
        option(
            "Write the report to this directory. hushfade creates the directory if needed, and "
            "replaces its files.",
            "DIRECTORY",
            alias="-o",
        ),
    ] = Path("paper-output")
    quick: Annotated[
        bool, flag("Use fewer steps and releases in every chapter. Takes about a minute.")
    ] = False


def paper(*, output: PaperOutputOptions = PaperOutputOptions()) -> None:
    """Recompute every bound, table and figure of the paper, and list the false statements.

    The command writes report.md, report.html (one file that includes the figures), the figures as
    SVG and PNG, and all numbers as CSV. After an interruption, run the same command again: it
    continues after the last finished chapter.

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
        page.print("Computed with fewer steps and releases, because of --quick.")
    page.print(f"Wrote {directory / 'report.html'}, {directory / 'report.md'}, figures and data.")


def _kept(chapters: int) -> str:
    """The message after an interruption: how many chapters are finished, and how to continue."""
    if not chapters:
        return "interrupted before the first chapter was finished"
    finished = "1 chapter is" if chapters == 1 else f"{chapters} chapters are"
    return f"interrupted: {finished} finished. Run the same command again to continue after them"


def _table(claims: list[Claim]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title="False as printed", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for head in ("where", "says", "computed", "instead"):
        table.add_column(head)
    for claim in claims:
        table.add_row(claim.where, claim.says, claim.found, claim.instead)
    return table
