"""hushfade run --store: a daily job that continues a series with each new file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hushfade.cli import console, dataset_budget, run_checks, stored_releases
from hushfade.cli.run_series import (
    Options,
    Series,
    begun,
    check_begins,
    check_horizon,
    continued,
    next_steps,
)
from hushfade.cli.run_statement import Outcome, Promise
from hushfade.cli.store_access import check_not_store, opened, reader_of, shown
from hushfade.errors import InUse, InvalidValue, Refused

if TYPE_CHECKING:
    from hushfade.check import Signed
    from hushfade.cli.options.noise import NoiseOptions
    from hushfade.cli.options.run import (
        RunStoreOptions,
    )
    from hushfade.crossing.key_file import KeyFile
    from hushfade.records import Reader as Records
    from hushfade.records import Timed
    from hushfade.store import Reader
    from hushfade.store import Store as OpenStore
    from hushfade.store.file_memory import Remembered
    from hushfade.store.file_runs import NewStream


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
    check_not_store(options.output.output, where.store, where.mark)
    run_checks.check_outputs(
        [path for path in inputs if path is not None],
        # with --append, `check_replaces` decides when the plan is known
        replace(options.output, force=options.output.force or where.append),
    )
    if shown(where.store) == where.store and not Path(where.store).exists():
        check_begins(options, name, None)  # a wrong path creates no store
        run = _read(files, options, where, name, None)  # nor does a wrong file
        if where.dry_run:
            _report(run, options, None)
            return
        with _writing(where) as store:
            if store.streams() or store.accounts():
                raise InUse("another process has created the store: run the command again")
            _commit(run, options, where, store)
    elif where.dry_run:
        with reader_of(where.store) as reader:
            _report(_read(files, options, where, name, reader), options, reader)
    else:
        with _writing(where) as store:
            _commit(_read(files, options, where, name, store), options, where, store)


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
        option = "--watch" if options.output.watch else "--plot"
        raise InvalidValue(
            f"--store and {option} cannot be combined: draw the series from the releases, for "
            "example with hf.plots.series in Python"
        )


@dataclass(frozen=True, repr=False)
class _FilesRead:
    """The totals of the files, and everything that the commit needs.  Private."""

    series: Series
    order: Timed
    dataset: str
    new: NewStream | None
    noise: KeyFile | None
    memory: Remembered
    records: Records
    totals: Signed
    released: list[bytes]  # digests of the files, except files of which no record counts
    replaces: bool  # whether the run may replace existing output files

    @property
    def last(self) -> int:
        """The last step of the run."""
        return self.series.closed + len(self.totals)

    @property
    def ends(self) -> list[int]:
        """The ends of the steps."""
        return [self.order.end_of(step) for step in range(1, len(self.totals) + 1)]

    @property
    def span(self) -> str:
        """The steps of the run and their times, in words."""
        end = stored_releases.time_text(self.ends[-1], zoned=self.order.zoned)
        times = f"from {self.series.open_from()} to {end}"
        return f"{_steps(self.series.closed + 1, self.last)}, {times},"


def _read(
    files: Sequence[Path],
    options: Options,
    where: RunStoreOptions,
    name: str,
    reader: Reader | None,
) -> _FilesRead:
    """Read the files, and raise if the run must be refused.  `reader` is None without a store.

    Nothing is written or drawn yet.
    """
    from hushfade.store import file_runs
    from hushfade.store.file_memory import SOURCES, Remembered

    known = reader is not None and name in reader.streams()
    if known and reader is not None:
        series = continued(files, options, name, reader)
    else:
        series = begun(files, options, name, reader)
    replaces = options.output.force
    if where.append and not replaces:
        assert options.output.output is not None
        stream = None if series.is_new else name
        replaces = stored_releases.check_replaces(options.output.output, series.plan, stream)
    order = next_steps(series, options.time)
    noise = _noise(options.noise, name)
    check_horizon(series, order.steps or 0)
    dataset = _dataset(series, where, reader)
    budget = dataset_budget.of(series.plan, where, dataset, reader)
    new = None
    if series.is_new:
        settings = series.settings(dataset, keyed=noise is not None)
        new = file_runs.NewStream(series.plan, dataset, settings, budget)
        if budget is not None:
            dataset_budget.charged(series.plan, dataset, budget)  # before a store is created
    if reader is not None and new is not None:
        file_runs.check_new(reader, new)
    if reader is not None and noise is not None:
        file_runs.check_keyed(reader, name)
    memory = Remembered() if reader is None else file_runs.remembered(reader, name)
    contents = [_content(path) for path in files]
    digests = [memory.digest(content, SOURCES) for content in contents]
    if reader is not None:
        _refuse_repeated(reader, where, name, files, digests)
        if not where.different_records:
            _refuse_released_elsewhere(reader, series, dataset, files, contents)
    records = series.source.reader(series.plan, order)
    records.continues = series.closed > 0
    if records.persons is not None:
        records.persons.continue_from(memory.earlier)
    found = series.source.tally(records)
    if contents != [_content(path) for path in files]:
        raise Refused(
            "a file changed while hushfade read it, and nothing was released: run the command "
            "again when the file is complete"
        )
    counts = found.by_source
    with_records = [digests[file] for file in counts if counts[file].records]
    if len(set(with_records)) < len(with_records):
        raise Refused(
            "two files have the same content, and their records would count twice: give each "
            "file once"
        )
    run_checks.check_counted(series.source.paths, counts, allow_empty=options.records.allow_empty)
    stored_releases.form_of(series.plan, order, options.output)  # an error after the commit is late
    released = [digests[file] for file in counts if not counts[file].all_useless]
    return _FilesRead(
        series, order, dataset, new, noise, memory, records, found.totals, released, replaces
    )


def _report(run: _FilesRead, options: Options, reader: Reader | None) -> None:
    """Report what the run would do."""
    series = run.series
    console.note(f"Dry run: would release {run.span} of stream {series.name!r}.")
    if series.is_new:
        promise = Promise(series.plan, series.source.columns.user is not None, unsafe=False)
        promise.show(series.plan, run.last, options.output.confidence)
        budget = None if run.new is None else run.new.budget
        dataset_budget.report(series.plan, run.dataset, budget, reader)
    else:
        console.note("The stream is charged already: this run adds no privacy loss.")
    console.note(f"Not for publication: {run.records.counts.sentence()}.")


def _commit(run: _FilesRead, options: Options, where: RunStoreOptions, store: OpenStore) -> None:
    """Draw and commit the steps, and write the releases."""
    from hushfade.store import file_runs
    from hushfade.store.file_memory import SOURCES

    series, name, count = run.series, run.series.name, len(run.totals)
    counted, stretch = [], SOURCES + 1
    if run.records.persons is not None:
        counted = run.records.persons.counted(count)
        stretch = run.records.persons.stretch_of(count)
    if run.new is not None and run.new.budget is not None:
        console.note(dataset_budget.added("Adding", series.plan, run.dataset, run.new.budget))
    committed = file_runs.FileRun(name, run.totals, run.ends, run.released, counted, stretch)
    file_runs.commit(store, committed, run.memory, new=run.new, noise=run.noise)
    shown_as = replace(options.output, force=run.replaces)
    promise = Promise.of_stream(store, name)
    if not options.output.json:
        promise.show(series.plan, run.last, options.output.confidence)
        console.note(f"Committed {run.span} of stream {name!r}.")
    after = 0 if where.append else series.closed
    stored_releases.write(
        store, name, shown_as, after=after, suppress_below=options.statistic.suppress_below
    )
    outcome = Outcome(series.plan, promise, run.records, options.output.output, None)
    outcome.show(run.last - after, as_json=options.output.json)


def _noise(noise: NoiseOptions, name: str) -> KeyFile | None:
    from hushfade.crossing.key_file import KeyFile

    if noise.noise_key is None:
        return None
    with console.reading(noise.noise_key):
        return KeyFile(noise.noise_key, stream=name)


def _dataset(series: Series, where: RunStoreOptions, reader: Reader | None) -> str:
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

    for path, digest in zip(files, found, strict=True):
        steps = file_runs.released_in(reader, name, digest)
        if steps is not None:
            raise Refused(
                f"the records of {path} are released already, in {_steps(*steps)}. Print these "
                f"releases with hushfade store releases {shown(where.store or '')} --stream {name} "
                f"--after {steps[0] - 1}"
            )


def _refuse_released_elsewhere(
    reader: Reader, series: Series, dataset: str, files: Sequence[Path], contents: list[bytes]
) -> None:
    """Raise if a stream of another dataset has released a file: no budget covers both releases."""
    from hushfade.store import file_runs

    for path, content in zip(files, contents, strict=True):
        for other in file_runs.released_elsewhere(reader, dataset, content):
            remedy = (
                f"To charge both releases to one budget, give --dataset {other.dataset}"
                if series.is_new
                else f"Stream {series.name!r} charges dataset {dataset!r}, and that cannot change"
            )
            raise Refused(
                f"stream {other.stream!r} has released the records of {path} already, in "
                f"{_steps(other.first, other.last)}, and charged dataset {other.dataset!r}, "
                f"not dataset {dataset!r}. {remedy}. If {path} contains different records that "
                "happen to look the same, confirm this with --different-records"
            )


def _steps(first: int, last: int) -> str:
    """The steps in words.

    >>> _steps(3, 3), _steps(3, 5)
    ('step 3', 'steps 3 to 5')
    """
    return f"step {first}" if first == last else f"steps {first} to {last}"


def _content(path: Path) -> bytes:
    """The SHA-256 of a file.  Only its keyed digest is stored."""
    with console.reading(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
