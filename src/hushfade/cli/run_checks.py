"""The checks of `hushfade run` before it reads any record: options and files that conflict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hushfade.cli import console
from hushfade.cli.options import PersonOptions, RecordOptions
from hushfade.errors import InvalidValue, Malformed

if TYPE_CHECKING:
    from hushfade.cli.options import DecayOptions
    from hushfade.cli.options.run import (
        RunGuaranteeOptions,
        RunMechanismOptions,
        RunOutputOptions,
        RunRecordOptions,
        RunTimeOptions,
    )
    from hushfade.cli.options.statistics import StatisticOptions
    from hushfade.records import Counts

_PERSON = ("protect", "person_steps", "records_per_step", "apart", "within", "period")


def check_inputs(files: Sequence[Path], time: RunTimeOptions, output: RunOutputOptions) -> None:
    """Raise if the files conflict with each other, or with the options on how to read them."""
    if output.json and output.output is None:
        raise InvalidValue(
            "--json needs --output: without it the releases go to the standard output"
        )
    standard = [path for path in files if str(path) == "-"]
    if len(standard) > 1 or (time.live and len(standard) != len(files)):
        raise InvalidValue(
            "FILES must be only -, the standard input, with --live"
            if time.live
            else "FILES must contain - at most once: the standard input cannot be read twice"
        )
    if len({path.resolve() for path in files}) < len(files):
        raise InvalidValue("FILES must not contain a file twice: its records would count twice")
    if time.lateness is not None and not time.live:
        raise InvalidValue("--lateness needs --live: no record of a complete file is late")


def check_declared(records: RunRecordOptions, guarantee: RunGuaranteeOptions) -> None:
    """Raise unless the options declare everything that must not be derived from the data."""
    if records.value is None and not records.counting:
        raise InvalidValue("--low and --high need --value: without it each record counts as 1")
    if guarantee.user is not None and not guarantee.given(*_PERSON):
        raise InvalidValue(
            "--user needs a unit of privacy for persons, such as --person-steps, --within 7d or "
            "--period week"
        )
    if guarantee.user is not None and guarantee.protect == "record":
        raise InvalidValue("--user and --protect record cannot be combined")
    if records.key is not None and records.keys is None and records.keys_file is None:
        raise InvalidValue(
            "--key needs --keys or --keys-file. Declare the keys in advance: publishing only the "
            "keys that occur reveals that someone has them"
        )


def check_statistic(
    statistic: StatisticOptions, mechanism: RunMechanismOptions, output: RunOutputOptions
) -> None:
    """Raise if the statistic contradicts other options."""
    kind = statistic.kind
    if mechanism.plan_file is not None:
        if kind not in (None, "ratio"):
            raise InvalidValue(
                f"--plan and --{kind} cannot be combined: the plan already contains it. Name the "
                "column with --value"
            )
        # --ratio names both columns of a plan with a ratio
        for option in statistic.given("numerator_high", "denominator_high", "largest_ratio"):
            raise InvalidValue(
                f"--plan and {option} cannot be combined: the plan already contains it"
            )
    if output.changes and kind not in (None, "histogram"):
        options = " and ".join(f"--{name.replace('_', '-')}" for name in output.changes)
        raise InvalidValue(
            f"{options}: only sums, counts and histograms can be changed, not {kind}"
        )
    if output.plot_label is not None and output.plot is None:
        raise InvalidValue("--plot-label needs --plot")


def check_plan_alone(
    decay: DecayOptions,
    time: RunTimeOptions,
    guarantee: RunGuaranteeOptions,
    records: RunRecordOptions,
    mechanism: RunMechanismOptions,
) -> None:
    """Raise if an option repeats or contradicts the plan."""
    repeated = (
        *decay.given(),
        *guarantee.given(*PersonOptions.names()),
        *records.given(*RecordOptions.names()),
        *time.given("horizon"),
        *mechanism.given("method", "law", "expect"),
    )
    for option in repeated:
        raise InvalidValue(f"--plan and {option} cannot be combined: the plan already contains it")


def check_outputs(inputs: Sequence[Path], output: RunOutputOptions) -> None:
    """Raise if a result would replace an input, or if two results have the same file."""
    from hushfade.releases.files import companion

    results: list[tuple[Path, str]] = []
    if output.output is not None:
        results += [(output.output, "--output"), (companion(output.output), "--output")]
    if output.plot is not None:
        results.append((output.plot, "--plot"))
    for path, option in results:
        if any(path.exists() and other.exists() and path.samefile(other) for other in inputs):
            raise InvalidValue(
                "must not be an input file",
                argument=option,
                got=path,
                remedy="choose another file",
            )
        console.writable(path, force=output.force, option=option)
    if len({path.resolve() for path, _ in results}) < len(results):
        raise InvalidValue("--output and --plot must be different files")


def check_counted(
    paths: Sequence[Path | None], by_source: Mapping[int, Counts], *, allow_empty: bool
) -> None:
    """Raise if a file has records but none of them counts; warn if most are not in the steps.

    This file is probably the wrong one, and its steps could not be released again.  Records
    beyond a person's limits are in the right file.  The check depends on the records, so its result
    is for the operator only.
    """
    for number, counts in sorted(by_source.items()):
        path = paths[number]
        name = "the standard input" if path is None else str(path)
        private = f"Not for publication: {counts.sentence()}"
        if counts.all_useless and not allow_empty:
            raise Malformed(
                f"no record of {name} counts, and nothing was released: check whether it is the "
                f"right file, or confirm it with --allow-empty. {private}"
            )
        if counts.mostly_out_of_range:
            console.note(
                f"Warning: most records of {name} are late or outside the steps: check whether it "
                f"is the right file. {private}."
            )
