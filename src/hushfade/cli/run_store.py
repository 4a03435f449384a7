"""hushfade run --store: a job that runs every day, each time with the next file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushfade.cli import console, run_checks, stored_releases
from hushfade.cli.options import PersonOptions, RecordOptions
from hushfade.cli.options.parameters import naming_options
from hushfade.cli.run_source import Source
from hushfade.cli.run_statement import Outcome, Promise
from hushfade.cli.run_steps import order_of
from hushfade.cli.store_access import opened, reader_of, shown
from hushfade.errors import InUse, InvalidValue, Refused
from hushfade.records import Columns, Timed, tally
from hushfade.records.calendar import calendar, instant

if TYPE_CHECKING:
    from hushfade.cli.options import DecayOptions
    from hushfade.cli.options.noise import NoiseOptions
    from hushfade.cli.options.run import (
        RunGuaranteeOptions,
        RunMechanismOptions,
        RunOutputOptions,
        RunRecordOptions,
        RunStoreOptions,
        RunTimeOptions,
    )
    from hushfade.cli.options.statistics import StatisticOptions
    from hushfade.crossing.key_file import KeyFile
    from hushfade.planning.plan import Plan
    from hushfade.store import Reader
    from hushfade.store import Store as OpenStore

_READING = ("time_unit", "skip_empty", "delimiter", "form")


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
class _Series:
    """The series that the run continues or begins: its plan, its steps, and how to read files."""

    name: str
    plan: Plan
    start: str  # of the first step of all
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
        """The settings from which a later run reads files in the same way."""
        reading = {name: getattr(self.source, name) for name in _READING}
        files = {"start": self.start, "keyed": keyed, "columns": asdict(self.source.columns)}
        return {"dataset": dataset, "files": files | reading}


def run_store(files: Sequence[Path], options: Options, where: RunStoreOptions) -> None:
    """Close the next steps of the series with the records of the files."""
    assert where.store is not None
    _check(files, options, where)
    name = options.noise.stream
    assert name is not None
    inputs = (
        *files,
        options.mechanism.plan_file,
        options.records.keys_file,
        options.noise.noise_key,
    )
    run_checks.check_outputs(
        [path for path in inputs if path is not None],
        replace(options.output, force=options.output.force or where.append),
    )
    if where.dry_run:
        if shown(where.store) == where.store and not Path(where.store).exists():
            _run(files, options, where, name, None)
        else:
            with reader_of(where.store) as reader:
                _run(files, options, where, name, reader)
        return
    with _writing(where) as store:
        _run(files, options, where, name, store, store)


@contextmanager
def _writing(where: RunStoreOptions) -> Iterator[OpenStore]:
    assert where.store is not None
    try:
        store = opened(where.store, where.mark, new_epoch=False)
    except InUse:
        raise InUse(
            f"another process, such as hushfade serve, writes to {shown(where.store)}: stop it "
            "during this run, or use a separate store for the files"
        ) from None
    try:
        yield store
    finally:
        store.close()


def _check(files: Sequence[Path], options: Options, where: RunStoreOptions) -> None:
    time, noise = options.time, options.noise
    if noise.stream is None:
        raise InvalidValue("--store needs --stream, the name of the series in the store")
    if noise.unsafe:
        raise InvalidValue("--store and --unsafe-seed cannot be combined: releases must be private")
    if time.live:
        raise InvalidValue(
            "--store and --live cannot be combined: a store commits the steps of complete files. "
            "For live records use hushfade serve"
        )
    if time.public_range:
        raise InvalidValue(
            "--store and --public-range cannot be combined: the steps follow from --start"
        )
    if time.rows_per_step != 1:
        raise InvalidValue("--store and --rows-per-step cannot be combined: steps need times")
    if any(str(path) == "-" for path in files):
        raise InvalidValue("--store needs files, because the standard input cannot be read again")
    if where.append and options.output.output is None:
        raise InvalidValue("--append needs --output")
    if options.output.plot is not None or options.output.watch:
        raise InvalidValue("--plot and --watch cannot be combined with --store")


def _run(
    files: Sequence[Path],
    options: Options,
    where: RunStoreOptions,
    name: str,
    reader: Reader | None,
    store: OpenStore | None = None,
) -> None:
    """The run.  `store` is None for a dry run, and `reader` too if there is no store yet."""
    from hushfade.store import file_runs
    from hushfade.store.file_memory import SOURCES

    known = reader is not None and name in reader.streams()
    if known and reader is not None:
        series = _continued(files, options, name, reader)
    else:
        series = _begun(files, options, name)
    order = _range(series, options.time)
    noise = _noise(options.noise, name)
    count, first = order.steps or 0, series.closed + 1
    _check_horizon(series, count)
    dataset = _dataset(series, where, reader)
    if reader is None:
        memory = None
        digests = []
    else:
        memory = file_runs.remembered(reader, name)
        digests = [memory.digest(_content(path), SOURCES) for path in files]
        _refuse_repeated(reader, where, name, files, digests)
    records = series.source.reader(series.plan, order)
    records.continues = series.closed > 0
    if records.persons is not None and memory is not None:
        records.persons.continue_from(memory.earlier)
    rows = [0] * len(files)
    totals = tally(_counting(series.source, rows), records).totals
    if reader is not None and memory is not None:
        again = [memory.digest(_content(path), SOURCES) for path in files]
        if again != digests:
            raise Refused("a file changed while hushfade read it: nothing was released")
    ends = [order.end_of(step) for step in range(1, count + 1)]
    last = series.closed + count
    span = f"steps {first} to {last}, from {series.open_from()} to {_text(order, ends[-1])}"
    promise = Promise(series.plan, series.source.columns.user is not None, unsafe=False)
    if store is None or memory is None:
        console.note(f"Dry run: would release {span} of stream {name!r}.")
        if series.is_new:
            _report_charge(series.plan, dataset, reader)
        else:
            console.note("The stream is charged already: the run costs no further privacy loss.")
        console.note(f"Not for publication: {records.counts.sentence()}.")
        return
    counted, stretch = [], SOURCES + 1
    if records.persons is not None:
        counted = records.persons.counted(count)
        stretch = records.persons.stretch_of(count)
    with_records = [digest for digest, seen in zip(digests, rows, strict=True) if seen]
    new = None
    if series.is_new:
        settings = series.settings(dataset, keyed=noise is not None)
        new = file_runs.NewStream(series.plan, dataset, settings)
        if dataset not in store.accounts():
            console.note(f"Adds dataset {dataset!r}: its budget is the guarantee of this plan.")
    run = file_runs.FileRun(name, totals, ends, with_records, counted, stretch)
    file_runs.commit(store, run, memory, new=new, noise=noise)
    shown_as = replace(options.output, force=options.output.force or where.append)
    if not options.output.json:
        promise.show(series.plan, last, options.output.confidence)
        console.note(f"Committed {span} of stream {name!r}.")
    after = 0 if where.append else series.closed
    stored_releases.write(
        store, name, shown_as, after=after, suppress_below=options.statistic.suppress_below
    )
    outcome = Outcome(series.plan, promise, records, options.output.output, None)
    outcome.show(last - after, as_json=options.output.json)


def _begun(files: Sequence[Path], options: Options, name: str) -> _Series:
    """A new series, as the options describe it."""
    if options.time.time is None or options.time.start is None:
        raise InvalidValue(
            f"stream {name!r} is new: --time, --start and --every must be given, and the options "
            "of the plan"
        )
    plan = options.plan()
    if plan.step_length(None) is None:
        raise InvalidValue("--store needs --every, the length of a step, such as 1d")
    source = _source(files, options)
    return _Series(name, plan, options.time.start, source, is_new=True)


def _source(files: Sequence[Path], options: Options) -> Source:
    return Source.of(
        files, options.records, options.time, options.guarantee, options.statistic.denominator
    )


def _continued(files: Sequence[Path], options: Options, name: str, reader: Reader) -> _Series:
    """The series in the store.  Raise if an option contradicts it."""
    plan, kept_settings = reader.plan(name), reader.settings(name).get("files")
    if kept_settings is None:
        raise Refused(
            f"files do not feed stream {name!r}, but a service or a program: choose another name"
        )
    if kept_settings["keyed"] != (options.noise.noise_key is not None):
        kind = (
            "needs --noise-key" if kept_settings["keyed"] else "has fresh noise: omit --noise-key"
        )
        raise Refused(f"stream {name!r} {kind}, as in its first run")
    if options.for_plan:
        _check_same(plan, options.plan(), name)
    with naming_options(options.time):
        plan.step_length(options.time.every)
    given, kept = _source(files, options), Columns(**kept_settings["columns"])
    for role, column in asdict(given.columns).items():
        stored = getattr(kept, role)
        if column is not None and column != stored:
            raise Refused(
                f"the {role.replace('_', ' ')} of stream {name!r} must be in column {stored!r}, "
                "as in its first run",
                got=repr(column),
            )
    for field in _READING:
        if getattr(given, field) not in (None, False, kept_settings[field]):
            raise Refused(
                f"{field.replace('_', ' ').replace('form', 'input format')} of stream {name!r} "
                f"must be {kept_settings[field]!r}, as in its first run"
            )
    source = replace(given, columns=kept, **{field: kept_settings[field] for field in _READING})
    return _Series(name, plan, kept_settings["start"], source, reader.steps(name))


def _check_same(kept: Plan, given: Plan, name: str) -> None:
    if kept.digest == given.digest:
        return
    parts = ("decay", "guarantee", "every", "horizon", "keys", "statistic")
    differ = [part for part in parts if getattr(kept, part) != getattr(given, part)]
    raise Refused(
        f"stream {name!r} has another plan: {', '.join(differ) or 'bounds or mechanism'} differ. "
        "Omit the options of the plan, or choose another name for another plan"
    )


def _range(series: _Series, time: RunTimeOptions) -> Timed:
    """The steps that the run closes: from the next open step to --end."""
    begin = series.open_from()
    at, zoned = instant(begin, name="start")
    if time.start is not None and not series.is_new:
        with naming_options(time):
            start, same = instant(time.start, name="start")
        if same != zoned or start != at:
            what = "steps before it are missing" if start > at else "its step is released already"
            remedy = (
                "release the missing files first" if start > at else "print it with store releases"
            )
            raise Refused(
                f"--start must be {begin}, the next open step of stream {series.name!r}, because "
                f"{what}: {remedy}, or omit --start",
                got=time.start,
            )
    if time.end is not None:
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
    return order


def _check_horizon(series: _Series, count: int) -> None:
    horizon = series.plan.horizon
    if horizon is not None and series.closed + count > horizon:
        raise Refused(
            f"stream {series.name!r} has {horizon - series.closed} steps left up to its horizon: "
            "choose an earlier --end, and begin a new stream for later files"
        )


def _noise(noise: NoiseOptions, name: str) -> KeyFile | None:
    from hushfade.crossing.key_file import KeyFile

    if noise.noise_key is None:
        return None
    with console.reading(noise.noise_key):
        return KeyFile(noise.noise_key, stream=name)


def _dataset(series: _Series, where: RunStoreOptions, reader: Reader | None) -> str:
    if series.is_new or reader is None:
        return where.dataset or series.name
    kept = reader.dataset(series.name)
    if where.dataset not in (None, kept):
        raise Refused(f"stream {series.name!r} charges dataset {kept!r}: omit --dataset")
    return kept


def _refuse_repeated(
    reader: Reader, where: RunStoreOptions, name: str, files: Sequence[Path], found: list[bytes]
) -> None:
    from hushfade.store import file_runs

    if len(set(found)) < len(found):
        raise Refused("two files have the same content: its records would count twice")
    for path, digest in zip(files, found, strict=True):
        steps = file_runs.released_in(reader, name, digest)
        if steps is not None:
            raise Refused(
                f"{path} is in the releases already, in steps {steps[0]} to {steps[1]}. Print them "
                f"with hushfade store releases {shown(where.store or '')} --stream {name} --after "
                f"{steps[0] - 1}"
            )


def _report_charge(plan: Plan, dataset: str, reader: Reader | None) -> None:
    from hushfade.cli import budget_lines
    from hushfade.planning.charge import charge_of
    from hushfade.privacy.account import Account

    account = None if reader is None else reader.accounts().get(dataset)
    if account is None:
        account = Account.of(dataset, plan.guarantee, plan.every)
        console.note(f"Would add dataset {dataset!r}: its budget is the guarantee of this plan.")
    after = account.charged(account.spending(charge_of(plan)), plan.relation)
    said = budget_lines.sentence(budget_lines.budget(after))
    console.note(f"After the charge of the new stream, dataset {dataset!r}: {said}")


def _content(path: Path) -> bytes:
    """The SHA-256 of a file.  Only its keyed digest is stored."""
    with console.reading(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _counting(source: Source, rows: list[int]) -> Iterator[Any]:
    """The batches of all files; `rows` counts the rows of each file."""
    for place, path in enumerate(source.paths):
        for batch in replace(source, paths=(path,)).batches():
            rows[place] += batch.rows
            yield batch


def _text(order: Timed, time: int) -> str:
    return stored_releases.time_text(time, zoned=order.zoned)
