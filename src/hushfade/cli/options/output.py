"""The options for the output of a command."""

from pathlib import Path
from typing import Annotated, TypeAlias

from hushfade.cli import console
from hushfade.cli.options.parameters import OptionGroup, flag, option, option_group

Force: TypeAlias = Annotated[bool, flag("Replace existing files.")]


@option_group("Output")
class ReportOptions(OptionGroup):
    """The form of the report."""

    json: Annotated[bool, flag("Print one JSON document to standard output, and nothing else.")] = (
        False
    )


@option_group("Output")
class PictureOptions(ReportOptions):
    """A report and a figure."""

    plot: Annotated[Path | None, option("Write a figure to this file, .png or .svg.", "FILE")] = (
        None
    )
    force: Force = False

    def check_files(self) -> None:
        """Raise unless the files can be written: asked before the work, not after it."""
        console.writable(self.plot, force=self.force, option="--plot")


@option_group("Output")
class FileOptions(PictureOptions):
    """A report, a figure and a file of results."""

    output: Annotated[
        Path | None,
        option(
            "Write the result to this file. The file appears only when it is complete.",
            "FILE",
            alias="-o",
        ),
    ] = None

    def check_files(self) -> None:
        """Raise unless the files can be written: asked before the work, not after it."""
        console.writable(self.output, force=self.force, option="--output")
        super().check_files()


@option_group("Output")
class PlanFileOptions(FileOptions):
    """A report, a figure, and the plan or the plans of several series."""

    output: Annotated[
        Path | None,
        option(
            "Write the plan to this file. With --together: write the plan of each series to this "
            "new directory. The file or directory appears only when it is complete.",
            "FILE|DIRECTORY",
            alias="-o",
        ),
    ] = None
