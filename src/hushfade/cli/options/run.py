"""The options of `hushfade run` alone: where records come from, when, and where releases go."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter, Token, UnknownOptionError

from hushfade.cli.options import (
    FileOptions,
    MechanismOptions,
    PersonOptions,
    RecordOptions,
    TimeOptions,
)
from hushfade.cli.options.parameters import (
    choice,
    count,
    flag,
    naming_options,
    number,
    option,
    option_group,
)
from hushfade.errors import InvalidValue

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan


def _paths(kind: object, tokens: Sequence[Token]) -> tuple[Path, ...]:
    """The files.  A word that starts with a hyphen is an unknown option, unless it is - alone."""
    from hushfade.cli import app

    for token in tokens:
        if token.value.startswith("-") and token.value != "-":
            known = app["run"].assemble_argument_collection()
            raise UnknownOptionError(token=token, argument_collection=known)
    return tuple(Path(token.value) for token in tokens)


Files = Annotated[
    tuple[Path, ...],
    Parameter(
        help="CSV, TSV, JSON lines or Parquet, also compressed as .gz, .bz2, .zst or .lz4. - is "
        "the standard input.",
        metavar="FILES",
        allow_leading_hyphen=True,
        converter=_paths,
    ),
]


@option_group("Time")
class RunTimeOptions(TimeOptions):
    """The steps, and which step a record belongs to."""

    time: Annotated[
        str | None,
        option(
            "The time of a record: 2026-01-31 or 2026-01-31T12:00, with Z or +01:00 or without. "
            "Without this option the rows are the steps, in order.",
            "COLUMN",
        ),
    ] = None
    time_unit: Annotated[
        Literal["s", "ms", "us", "ns"] | None,
        choice("Times are numbers: these units since 1970, UTC."),
    ] = None
    start: Annotated[
        str | None,
        option(
            "When the first step begins. Earlier records are dropped.",
            "TIME",
            default="with --live, the current step",
        ),
    ] = None
    end: Annotated[
        str | None, option("When the last step ends. Later records are dropped.", "TIME")
    ] = None
    steps: Annotated[
        int | None,
        count("The number of steps, in place of --end. With --live: stop after this many steps."),
    ] = None
    public_range: Annotated[
        bool,
        flag(
            "Take the first and the last step from the data. Use this only if the times of the "
            "first and the last record are public. Reads the files twice."
        ),
    ] = False
    rows_per_step: Annotated[int, count("Without --time: the number of rows in a step.")] = 1
    live: Annotated[
        bool,
        flag(
            "Read lines from the standard input as they arrive, and release when a step closes: "
            "at the end of the time --every, or at an empty line if --every is not given. Without "
            "--time, a line belongs to the step in which it arrives."
        ),
    ] = False
    lateness: Annotated[
        str | None,
        option(
            "With --live and --time: how long after its end a step accepts the lines that arrive.",
            "DURATION",
        ),
    ] = None

    def of_plan(self, plan: "Plan") -> "RunTimeOptions":
        """These options with the plan's step, which --every must not contradict."""
        from hushfade.duration import ROWS

        with naming_options(self):
            plan.step_length(self.step)
            plan.check_declared(self.every)
        if plan.every == ROWS:
            if self.time is not None:
                raise InvalidValue("--time must not be given: the plan's steps are rows")
            return self
        if plan.every is not None and self.rows_per_step != 1:
            raise InvalidValue("--rows-per-step must not be given: the plan's steps are times")
        by_clock = self.time is not None or self.live
        return replace(self, every=plan.every) if plan.every and by_clock else self


@option_group("Guarantee")
class RunGuaranteeOptions(PersonOptions):
    """The guarantee, and whose records they are."""

    user: Annotated[
        str | None,
        option(
            "The person behind a record. Needs --participations. hushfade drops the records of a "
            "person that exceed --participations, --separation or --records-per-step, in the "
            "order of arrival, so that the guarantee holds for every person.",
            "COLUMN",
        ),
    ] = None


@option_group("Records")
class RunRecordOptions(RecordOptions):
    """The columns of a record."""

    value: Annotated[
        str | None,
        option(
            "The number to sum. Without this option each record counts 1. Needs --low and --high.",
            "COLUMN",
        ),
    ] = None
    skip_empty: Annotated[
        bool, flag("Leave out records without a value. Otherwise they are an error.")
    ] = False
    key: Annotated[
        str | None,
        option(
            "The key of a record, one of --keys. Records with other keys are dropped.", "COLUMN"
        ),
    ] = None
    input_format: Annotated[
        Literal["csv", "tsv", "jsonl", "parquet"] | None,
        choice("The format of the files. By default the file names decide; standard input is CSV."),
    ] = None
    delimiter: Annotated[
        str | None,
        option(
            "What separates the columns of CSV, such as ';' or '|'.",
            "CHARACTER",
            default="a comma; a tab for TSV",
        ),
    ] = None


@option_group("Mechanism")
class RunMechanismOptions(MechanismOptions):
    """The mechanism, or a whole plan."""

    plan_file: Annotated[
        Path | None,
        option(
            "A plan from hushfade plan -o, in place of the options for decay, guarantee, "
            "bounds and keys.",
            "FILE",
            name="--plan",
        ),
    ] = None


@option_group("Output")
class RunOutputOptions(FileOptions):
    """The releases, and what is shown of them."""

    output_format: Annotated[
        Literal["csv", "jsonl", "parquet"] | None,
        choice("The format of --output. By default its name decides; standard output is CSV."),
    ] = None
    confidence: Annotated[
        float, number("The probability that the true sum lies between lower and upper.")
    ] = 0.95
    non_negative: Annotated[
        bool, flag("Show 0 in place of negative values. Adds a bias, costs no privacy.")
    ] = False
    whole: Annotated[bool, flag("Round values to whole numbers. Costs no privacy.")] = False
    watch: Annotated[bool, flag("Draw the series in the terminal while it is released.")] = False

    @property
    def changes(self) -> tuple[str, ...]:
        """How values are changed after the noise, as the companion file names it."""
        return tuple(name for name in ("non_negative", "whole") if getattr(self, name))
