"""The series that `hushfade run --store` begins or continues: its plan, its steps, its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushfade.cli import run_checks, stored_releases
from hushfade.cli.options import PersonOptions, RecordOptions
from hushfade.cli.options.parameters import naming_options
from hushfade.cli.run_source import Source
from hushfade.cli.run_steps import order_of
from hushfade.errors import InvalidValue, Refused
from hushfade.privacy.unit import Person
from hushfade.records import Columns, Timed
from hushfade.records.calendar import calendar, instant

if TYPE_CHECKING:
    from hushfade.cli.options import DecayOptions
    from hushfade.cli.options.noise import NoiseOptions
    from hushfade.cli.options.run import (
        RunGuaranteeOptions,
        RunMechanismOptions,
        RunOutputOptions,
        RunRecordOptions,
        RunTimeOptions,
    )
    from hushfade.cli.options.statistics import StatisticOptions
    from hushfade.planning.plan import Plan
    from hushfade.store import Reader

_READING = {  # settings of a source, and their options
    "time_unit": "--time-unit",
    "skip_empty": "--skip-empty",
    "delimiter": "--delimiter",
    "form": "--input-format",
}


@dataclass(frozen=True)
class Options:
    """All options of `hushfade run` except the store."""

    decay: DecayOptions
    time: RunTimeOptions
    guarantee: RunGuaranteeOptions
    records: RunRecordOptions
    statistic: StatisticOptions
    mechanism: RunMechanismOptions
    noise: NoiseOptions
    output: RunOutputOptions

    @property
    def for_plan(self) -> list[str]:
        """The given options that describe the plan."""
        return [
            *self.decay.given(),
            *self.guarantee.given(*PersonOptions.names()),
            *self.records.given(*RecordOptions.names()),
            *(x for x in self.statistic.given() if x != "--suppress-below"),
            *self.time.given("horizon"),
            *self.mechanism.given(),
        ]

    def plan(self) -> Plan:
        """The plan that the options describe."""
        from hushfade.cli.run import plan_in_file, plan_of

        if self.mechanism.plan_file is not None:
            run_checks.check_plan_alone(
                self.decay, self.time, self.guarantee, self.records, self.mechanism
            )
            plan = plan_in_file(self.mechanism.plan_file)
            self.time.of_plan(plan)
            return plan
        run_checks.check_declared(self.records, self.guarantee)
        return plan_of(
            self.decay,
            self.time,
            self.guarantee,
            self.records,
            self.statistic,
            self.mechanism,
            None,
        )


@dataclass(frozen=True)
class Series:
    """The series that the run continues or begins: its plan, its steps, and how to read files."""

    name: str
    plan: Plan
    start: str  # of the first step of the series
    source: Source
    closed: int = 0
    is_new: bool = False

    def open_from(self) -> str:
        """The beginning of the next open step."""
        step = self.plan.step_length(None)
        assert step is not None
        whole = calendar(self.start, step)
        return stored_releases.time_text(whole.end_of(self.closed), zoned=whole.zoned)

    def settings(self, dataset: str, *, keyed: bool) -> dict[str, Any]:
        """The settings with which a later run reads files in the same way."""
        reading = {name: getattr(self.source, name) for name in _READING}
        files = {"start": self.start, "keyed": keyed, "columns": asdict(self.source.columns)}
        return {"dataset": dataset, "files": files | reading}


def check_begins(options: Options, name: str, reader: Reader | None) -> None:
    """Raise unless the options describe a new series.  `reader` is None without a store."""
    if options.time.time is not None and options.time.start is not None:
        return
    problem, wrong = "the store does not exist yet", "--store"
    if reader is not None:
        problem, wrong = f"the store has no stream {name!r}", "--stream"
        if reader.streams():
            problem += f" ({stored_releases.named_streams(reader)})"
    raise InvalidValue(
        f"{problem}: correct {wrong}, or begin a new series with --time, --start, --every and the "
        "options of the plan"
    )


def begun(files: Sequence[Path], options: Options, name: str, reader: Reader | None) -> Series:
    """A new series, as the options describe it.  `reader` is None if there is no store yet."""
    check_begins(options, name, reader)
    assert options.time.start is not None
    plan = options.plan()
    if plan.step_length(None) is None:
        raise InvalidValue("--store needs --every, the length of a step, such as 1d")
    source = _source(files, options)
    if source.columns.user is not None and not isinstance(plan.guarantee.protects, Person):
        raise InvalidValue(
            "--user and --store need a plan that protects persons: the dataset of this plan would "
            "protect records, but without a person's first record another one counts. Plan with "
            "--person-steps, --within or --period"
        )
    return Series(name, plan, options.time.start, source, is_new=True)


def _source(files: Sequence[Path], options: Options) -> Source:
    return Source.of(
        files, options.records, options.time, options.guarantee, options.statistic.denominator
    )


def continued(files: Sequence[Path], options: Options, name: str, reader: Reader) -> Series:
    """The series in the store.  Raise if an option contradicts it."""
    plan, kept_settings = reader.plan(name), reader.settings(name).get("files")
    if kept_settings is None:
        raise Refused(
            f"a service or a program feeds stream {name!r}, not files: choose another name"
        )
    if kept_settings["keyed"] != (options.noise.noise_key is not None):
        kind = (
            "needs --noise-key" if kept_settings["keyed"] else "has fresh noise: omit --noise-key"
        )
        raise Refused(f"stream {name!r} {kind}, as in its first run")
    if options.for_plan:
        _check_same(plan, _given_plan(options, name), name)
    with naming_options(options.time):
        plan.step_length(options.time.every)
    given, kept = _source(files, options), Columns(**kept_settings["columns"])
    for role, column in asdict(given.columns).items():
        stored = getattr(kept, role)
        if column is not None and column != stored:
            what = f"the {role.replace('_', ' ')} of stream {name!r}"
            raise Refused(
                f"{what} must be in column {stored!r}, as in its first run"
                if stored is not None
                else f"the first run of stream {name!r} had no column with the {role}: omit it",
                got=None if stored is None else repr(column),
            )
    for field, option in _READING.items():
        if getattr(given, field) not in (None, False, kept_settings[field]):
            first = kept_settings[field]
            rule = "must not be given" if first in (None, False) else f"must be {first!r}"
            raise Refused(f"{option} {rule} for stream {name!r}, as in its first run")
    source = replace(given, columns=kept, **{field: kept_settings[field] for field in _READING})
    return Series(name, plan, kept_settings["start"], source, reader.steps(name))


def _given_plan(options: Options, name: str) -> Plan:
    """The plan of the options, if they describe a whole plan."""
    try:
        return options.plan()
    except InvalidValue:
        given = ", ".join(options.for_plan)
        raise InvalidValue(
            f"stream {name!r} already has a plan: omit {given}, or repeat all options of the plan"
        ) from None


def _check_same(kept: Plan, given: Plan, name: str) -> None:
    if kept.digest == given.digest:
        return
    parts = ("decay", "guarantee", "every", "horizon", "keys", "statistic")
    differ = [part for part in parts if getattr(kept, part) != getattr(given, part)]
    raise Refused(
        f"stream {name!r} has a different plan, in {', '.join(differ) or 'bounds or mechanism'}. "
        "Omit the options of the plan, or choose another name for the new plan"
    )


def next_steps(series: Series, time: RunTimeOptions) -> Timed:
    """The steps that the run closes: from the next open step to --end.

    More than one step needs --start: if yesterday's file is missing, a job must not release
    yesterday without its records.
    """
    begin = series.open_from()
    at, zoned = instant(begin, name="start")
    if time.start is not None and not series.is_new:
        with naming_options(time):
            start, same = instant(time.start, name="start")
        if same != zoned:
            raise InvalidValue(
                f"--start must have {'a' if zoned else 'no'} time zone, like {begin}",
                got=time.start,
            )
        if start != at:
            problem = (
                "and the steps from then on are missing: release their files first, or together "
                f"with this one, with --start {begin}"
                if start > at
                else "and earlier steps are released already: print them with hushfade store "
                "releases, or omit --start"
            )
            raise Refused(
                f"--start must not be {time.start}. The next open step of stream {series.name!r} "
                f"begins at {begin}, {problem}"
            )
    if time.end is None and time.steps is None:
        raise InvalidValue("--store needs --end, the end of the last step of the files, or --steps")
    if time.end is not None and not series.is_new:
        with naming_options(time):
            end, _ = instant(time.end, name="end")
        if end <= at:
            raise Refused(
                f"the steps of stream {series.name!r} up to {begin} are released already: print "
                "them with hushfade store releases, or give a later --end"
            )
    chosen = replace(time, time=series.source.columns.time, every=series.plan.every, start=begin)
    order = order_of(chosen, series.source)
    assert isinstance(order, Timed)
    if time.start is None and (order.steps or 0) > 1:
        raise Refused(
            f"this run would release {order.steps} steps of stream {series.name!r}, from {begin}: "
            "if a file is missing, release it first. If these steps belong to this run, confirm "
            f"them with --start {begin}"
        )
    return order


def check_horizon(series: Series, count: int) -> None:
    """Raise if this many further steps exceed the horizon of the plan."""
    horizon = series.plan.horizon
    if horizon is not None and series.closed + count > horizon:
        raise Refused(
            f"stream {series.name!r} has {horizon - series.closed} steps left up to its horizon: "
            "choose an earlier --end, and begin a new stream for later files"
        )
