"""The options of `hushfade run` only: input files, times, columns and output."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
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
from hushfade.cli.options.name_lists import distinct
from hushfade.cli.options.parameters import (
    OptionGroup,
    choice,
    count,
    flag,
    naming_options,
    number,
    option,
    option_group,
)
from hushfade.cli.store_access import MarkFile
from hushfade.errors import InvalidValue

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan


def _paths(kind: object, tokens: Sequence[Token]) -> tuple[Path, ...]:
    """The files.  Raise if a name starts with a hyphen, which means an unknown option, except -."""
    from hushfade.cli import app

    for token in tokens:
        if token.value.startswith("-") and token.value != "-":
            known = app["run"].assemble_argument_collection()
            raise UnknownOptionError(token=token, argument_collection=known)
    return tuple(Path(token.value) for token in tokens)


Files = Annotated[
    tuple[Path, ...],
    Parameter(
        help="CSV, TSV, JSON lines or Parquet files, also compressed as .gz, .bz2, .zst or .lz4. "
        "- is the standard input.",
        metavar="FILES",
        allow_leading_hyphen=True,
        converter=_paths,
    ),
]


@option_group("Time")
class RunTimeOptions(TimeOptions):
    """The steps, and the step of each record."""

    time: Annotated[
        str | None,
        option(
            "The column with the time of a record, such as 2026-01-31 or 2026-01-31T12:00, with "
            "or without Z or +01:00. Without this option a step is --rows-per-step rows.",
            "COLUMN",
        ),
    ] = None
    time_unit: Annotated[
        Literal["s", "ms", "us", "ns"] | None,
        choice("Times are numbers of this unit since 1970-01-01 UTC."),
    ] = None
    start: Annotated[
        str | None,
        option(
            "The start of the first step. hushfade drops earlier records.",
            "TIME",
            default="with --live, the current step",
        ),
    ] = None
    end: Annotated[
        str | None, option("The end of the last step. hushfade drops later records.", "TIME")
    ] = None
    steps: Annotated[
        int | None,
        count("The number of steps, in place of --end. With --live: stop after this many steps."),
    ] = None
    public_range: Annotated[
        bool,
        flag(
            "Take the first and the last step from the data. Use this only if the times of the "
            "first and the last record are public. hushfade then reads the files twice."
        ),
    ] = False
    rows_per_step: Annotated[int, count("Without --time: the number of rows per step.")] = 1
    live: Annotated[
        bool,
        flag(
            "Read lines from the standard input as they arrive, and release each step when it "
            "closes: by the clock with --every, at an empty line otherwise. Without --time, a line "
            "belongs to the step in which it arrives."
        ),
    ] = False
    lateness: Annotated[
        str | None,
        option(
            "With --live and --time: how long a step waits for late lines after its end.",
            "DURATION",
        ),
    ] = None

    def of_plan(self, plan: "Plan") -> "RunTimeOptions":
        """These options with the plan's step length.  Raise if --every contradicts it.

        If the records have no times, raise unless --every declares that each row is a step.
        """
        from hushfade.duration import ROWS

        if plan.every not in (None, ROWS) and self.rows_per_step != 1:
            raise InvalidValue(
                "--rows-per-step must not be given: a step of this plan is a length of time"
            )
        by_clock = self.time is not None or self.live
        with naming_options(self):
            plan.step_length(self.every)
            if not by_clock:
                plan.check_rows(self.every)
        if plan.every == ROWS:
            if self.time is not None:
                raise InvalidValue(
                    "--time must not be given: a step of this plan is a number of rows"
                )
            return self
        if plan.every is None:
            return self
        return replace(self, every=plan.every if by_clock else None)


@option_group("Guarantee")
class RunGuaranteeOptions(PersonOptions):
    """The guarantee, and the person behind each record."""

    user: Annotated[
        str | None,
        option(
            "The column with the person behind a record. Needs --protect person, or another option "
            "that describes a person. hushfade counts a person's first records within these "
            "limits, in order of arrival, and drops the others, so that the guarantee holds for "
            "every person.",
            "COLUMN",
        ),
    ] = None


@option_group("Records")
class RunRecordOptions(RecordOptions):
    """The columns of a record."""

    value: Annotated[
        str | None,
        option(
            "The column with the number to sum. Needs --low and --high. Without this option each "
            "record counts as 1.",
            "COLUMN",
        ),
    ] = None
    skip_empty: Annotated[
        bool, flag("Skip records without a value. Otherwise they are an error.")
    ] = False
    key: Annotated[
        str | None,
        option(
            "The column with the key of a record. hushfade drops keys that are not in --keys. "
            "Several columns, such as district,result, form one key. Then --keys lists the values "
            "of each column, such as a,b/yes,no, and every combination is a key, such as a/yes.",
            "COLUMN[,COLUMN]",
        ),
    ] = None

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of a key."""
        found = () if self.key is None else tuple(self.key.split(","))
        if len(found) > 3:
            raise InvalidValue("--key must name at most 3 columns", got=len(found))
        return found

    def declared_keys(self) -> tuple[str, ...] | None:
        """The keys; with several key columns, every combination of the declared values.

        >>> RunRecordOptions(key="district,result", keys="a,b/yes,no").declared_keys()
        ('a/yes', 'a/no', 'b/yes', 'b/no')
        """
        columns = len(self.key_columns)
        if columns <= 1 or self.keys is None:
            return super().declared_keys()
        lists = self.keys.split("/")
        if len(lists) != columns:
            raise InvalidValue(
                f"--keys must have {columns} lists separated by /, one per column of --key",
                got=len(lists),
            )
        each = [distinct(one.split(","), "--keys", "place") for one in lists]
        return tuple("/".join(parts) for parts in product(*each))

    allow_empty: Annotated[
        bool,
        flag(
            "Accept a file with records of which none counts, for example because all are outside "
            "the steps. Without this option hushfade refuses the file. A file without records, or "
            "with records beyond the limits of their person, needs no option."
        ),
    ] = False
    input_format: Annotated[
        Literal["csv", "tsv", "jsonl", "parquet"] | None,
        choice("The input format. By default the file name decides, and standard input is CSV."),
    ] = None
    delimiter: Annotated[
        str | None,
        option(
            "The character between the columns of a CSV file, such as ';' or '|'.",
            "CHARACTER",
            default="a comma; a tab for TSV",
        ),
    ] = None


@option_group("Mechanism")
class RunMechanismOptions(MechanismOptions):
    """The mechanism, or a complete plan."""

    plan_file: Annotated[
        Path | None,
        option(
            "A plan file from hushfade plan -o, in place of the options for decay, guarantee, "
            "bounds and keys.",
            "FILE",
            name="--plan",
        ),
    ] = None


@option_group("Store")
class RunStoreOptions(OptionGroup):
    """The store that continues the series with each file."""

    store: Annotated[
        str | None,
        option(
            "Continue the series --stream in this store: a SQLite file or a postgresql:// address. "
            "The first run adds the stream. Later runs need no plan options.",
            "STORE",
        ),
    ] = None
    mark: MarkFile = None
    dataset: Annotated[
        str | None,
        option(
            "With --store: the dataset whose budget pays for the stream. Streams that release the "
            "same records need the same dataset.",
            "NAME",
            default="the name of the stream",
        ),
    ] = None
    budget_epsilon: Annotated[
        float | None,
        number(
            "With --store: the epsilon of the budget of a new dataset, which all its streams share "
            "and which cannot change.",
            default="the guarantee of the plan, which leaves nothing for a second stream",
        ),
    ] = None
    budget_delta: Annotated[
        float | None,
        number("With --budget-epsilon: the delta of the budget.", default="the delta of the plan"),
    ] = None
    different_records: Annotated[
        bool,
        flag(
            "With --store: declare that the records of the files differ from all records that the "
            "streams of other datasets have released. Without this option, hushfade refuses a file "
            "whose content a stream of another dataset has released."
        ),
    ] = False
    append: Annotated[
        bool,
        flag(
            "With --store: replace --output with a file of all steps of the stream. An existing "
            "file must have releases of this stream, as its companion file states. Other files "
            "need --force."
        ),
    ] = False
    dry_run: Annotated[
        bool,
        flag("With --store: report what the run would do. Draw no noise and change nothing."),
    ] = False


@option_group("Output")
class RunOutputOptions(FileOptions):
    """The releases, and how to show them."""

    output_format: Annotated[
        Literal["csv", "jsonl", "parquet"] | None,
        choice("The format of --output. By default its name decides, and standard output is CSV."),
    ] = None
    confidence: Annotated[
        float,
        number("The probability that the interval from lower to upper contains the true value."),
    ] = 0.95
    non_negative: Annotated[
        bool, flag("Replace negative values by 0. This adds a bias, and costs no privacy.")
    ] = False
    whole: Annotated[bool, flag("Round values to whole numbers. This costs no privacy.")] = False
    watch: Annotated[bool, flag("Draw the series in the terminal during the run.")] = False
    plot_label: Annotated[
        str | None,
        option(
            "What the figure of --plot shows, with its unit, such as 'mean delay, minutes'.", "TEXT"
        ),
    ] = None

    @property
    def changes(self) -> tuple[str, ...]:
        """The changes to values after the noise, as the companion file names them."""
        return tuple(name for name in ("non_negative", "whole") if getattr(self, name))
