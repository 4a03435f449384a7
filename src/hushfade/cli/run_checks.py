"""What `hushfade run` refuses before it reads anything: options and files that contradict."""

from __future__ import annotations

from pathlib import Path

from hushfade.cli import console
from hushfade.errors import InvalidValue

_OF_PLAN = (
    "--decay", "--half-life", "--alpha", "--power", "--window", "--weights", "--epsilon", "--delta",
    "--mu", "--rho", "--low", "--high", "--resolution", "--keys", "--keys-file", "--horizon",
    "--participations", "--neighbours", "--separation", "--per-user-limit", "--method",
)  # fmt: skip


def check_files(
    files: list[Path], *, live: bool, as_json: bool, output: Path | None, lateness: str | None
) -> None:
    """Which files there may be."""
    if as_json and output is None:
        raise InvalidValue("--json needs --output: without it the releases are on standard output")
    standard = [path for path in files if str(path) == "-"]
    if len(standard) > 1 or (live and files != standard):
        raise InvalidValue("FILES must be - alone with --live, and - at most once otherwise")
    if len({path.resolve() for path in files}) < len(files):
        raise InvalidValue(
            "FILES must differ: the records of a file that is there twice count twice"
        )
    if lateness is not None and not live:
        raise InvalidValue("--lateness needs --live: in whole files no record is late")


def check_declared(
    *,
    value: str | None,
    low: float | None,
    high: float | None,
    user: str | None,
    participations: int | None,
    key: str | None,
    keys: str | None,
    keys_file: Path | None,
) -> None:
    """What has to be declared, and cannot come from the data."""
    if value is None and (low is not None or high is not None):
        raise InvalidValue("--low and --high need --value: without it each record counts 1")
    if user is not None and participations is None:
        raise InvalidValue("--user needs --participations: in how many steps a person may count")
    if key is not None and keys is None and keys_file is None:
        raise InvalidValue(
            "--key needs declared keys, by --keys or --keys-file: a key that were published "
            "because it occurs would tell that somebody has it"
        )


def check_plan(said: tuple[object, ...]) -> None:
    """With a plan, what the plan says must not be said again."""
    for option, value in zip(_OF_PLAN, said, strict=True):
        if value is not None:
            raise InvalidValue(f"--plan and {option} exclude each other: the plan says it")


def check_paths(inputs: list[Path], output: Path | None, plot: Path | None, *, force: bool) -> None:
    """Nothing that is read may be overwritten, and no two results may be one file."""
    from hushfade.releases.files import companion

    results = [] if output is None else [(output, "--output"), (companion(output), "--output")]
    results += [] if plot is None else [(plot, "--plot")]
    for path, option in results:
        if any(path.exists() and other.exists() and path.samefile(other) for other in inputs):
            raise InvalidValue(f"{option} must not be a file that is read, got {path}")
        console.writable(path, force=force, option=option)
    if len({path.resolve() for path, _ in results}) < len(results):
        raise InvalidValue("--output and --plot must be different files")
