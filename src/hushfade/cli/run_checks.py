"""What `hushfade run` rejects before it reads anything: options and files that contradict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hushfade.cli import console
from hushfade.cli.options import PersonOptions, RecordOptions
from hushfade.errors import InvalidValue

if TYPE_CHECKING:
    from hushfade.cli.options import DecayOptions
    from hushfade.cli.options.run import (
        RunGuaranteeOptions,
        RunMechanismOptions,
        RunOutputOptions,
        RunRecordOptions,
        RunTimeOptions,
    )


def check_inputs(files: Sequence[Path], time: RunTimeOptions, output: RunOutputOptions) -> None:
    """Raise if the files do not go with each other or with the way they are read."""
    if output.json and output.output is None:
        raise InvalidValue("--json needs --output: without it the releases are on standard output")
    standard = [path for path in files if str(path) == "-"]
    if len(standard) > 1 or (time.live and len(standard) != len(files)):
        raise InvalidValue("FILES must be - alone with --live, and - at most once otherwise")
    if len({path.resolve() for path in files}) < len(files):
        raise InvalidValue("FILES must differ: the records of a file given twice would count twice")
    if time.lateness is not None and not time.live:
        raise InvalidValue("--lateness needs --live: in whole files no record is late")


def check_declared(records: RunRecordOptions, guarantee: RunGuaranteeOptions) -> None:
    """Raise unless everything is declared that must not come from the data."""
    if records.value is None and not records.counting:
        raise InvalidValue("--low and --high need --value: without it each record counts 1")
    if guarantee.user is not None and guarantee.participations is None:
        raise InvalidValue("--user needs --participations, the number of steps per person")
    if records.key is not None and records.keys is None and records.keys_file is None:
        raise InvalidValue(
            "--key needs --keys or --keys-file: publishing only the keys that occur reveals that "
            "someone has them"
        )


def check_plan_alone(
    decay: DecayOptions,
    time: RunTimeOptions,
    guarantee: RunGuaranteeOptions,
    records: RunRecordOptions,
    mechanism: RunMechanismOptions,
) -> None:
    """Raise if an option repeats what the plan already says."""
    repeated = (
        *decay.given(),
        *guarantee.given(*PersonOptions.names()),
        *records.given(*RecordOptions.names()),
        *time.given("horizon"),
        *mechanism.given("method", "law", "expect"),
    )
    for option in repeated:
        raise InvalidValue(f"--plan and {option} exclude each other: the plan already says it")


def check_outputs(inputs: Sequence[Path], output: RunOutputOptions) -> None:
    """Raise if a result would replace a file that is read, or two results are one file."""
    from hushfade.releases.files import companion

    results: list[tuple[Path, str]] = []
    if output.output is not None:
        results += [(output.output, "--output"), (companion(output.output), "--output")]
    if output.plot is not None:
        results.append((output.plot, "--plot"))
    for path, option in results:
        if any(path.exists() and other.exists() and path.samefile(other) for other in inputs):
            raise InvalidValue("must not be a file that is read", argument=option, got=path)
        console.writable(path, force=output.force, option=option)
    if len({path.resolve() for path, _ in results}) < len(results):
        raise InvalidValue("--output and --plot must be different files")
