"""What `hushfade run` is asked to do, from its options: steps, columns, limits, noise."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushfade.cli.choices import said_as_options
from hushfade.errors import InvalidValue
from hushfade.records import Arrival, Batch, Calendar, Columns, Reader, RowOrder, batches, duration
from hushfade.records import parse_columns as read
from hushfade.records.calendar import Order, calendar
from hushfade.records.files import line_reader
from hushfade.records.live_lines import (
    Clock,
    Lines,
    OpenSteps,
    by_clock,
    by_empty_lines,
    check_start,
    current,
)
from hushfade.releases.files import times_written

if TYPE_CHECKING:
    from hushfade.check import Signed
    from hushfade.crossing.noise_sources import NoiseSource
    from hushfade.planning.plan import Plan
    from hushfade.privacy.guarantee import Guarantee

_RANGE = (
    "--time needs --start, and --end or --steps: if they came from the data, the first and the "
    "last record would show in what is published. Say --public-range where their times are public"
)


@dataclass(frozen=True)
class Source:
    """Where records are, and how they are read."""

    paths: tuple[Path | None, ...]  # None is the standard input
    columns: Columns
    form: str | None = None
    time_unit: str | None = None
    skip_empty: bool = False

    def batches(self, progress: Callable[[int], object] | None = None) -> Iterator[Batch]:
        """The batches of all files, one file after the other."""
        for path in self.paths:
            yield from batches(path, self.columns, form=self.form, progress=progress)

    def reader(self, plan: Plan, order: Order) -> Reader:
        """What turns batches into cells and units; with a column of persons, within the limits
        that the guarantee says."""
        return Reader(
            plan, self.columns, order, time_unit=self.time_unit, skip_empty=self.skip_empty
        )


@dataclass(frozen=True)
class Steps:
    """The options about time."""

    every: int | None
    start: str | None
    end: str | None
    count: int | None
    public_range: bool
    rows: int


def order_of(asked: Steps, source: Source) -> Calendar | RowOrder:
    """Which steps a run of whole files has."""
    if source.columns.time is None:
        given = {
            "--every": asked.every, "--start": asked.start, "--end": asked.end,
            "--steps": asked.count, "--time-unit": source.time_unit,
            "--public-range": asked.public_range or None,
        }  # fmt: skip
        for option, value in given.items():
            if value is not None:
                raise InvalidValue(f"{option} needs --time: without it the rows are the steps")
        return RowOrder(asked.rows)
    if asked.rows != 1:
        raise InvalidValue("--rows-per-step and --time exclude each other")
    if asked.every is None:
        raise InvalidValue("--time needs --every, a step's length such as 1h")
    if asked.public_range:
        if asked.start is not None or asked.end is not None or asked.count is not None:
            raise InvalidValue("--public-range excludes --start, --end and --steps")
        return _public_range(asked.every, source)
    if asked.start is None or (asked.end is None and asked.count is None):
        raise InvalidValue(_RANGE)
    with said_as_options():
        return calendar(asked.start, asked.every, end=asked.end, steps=asked.count)


def _public_range(every: int, source: Source) -> Calendar:
    """From the step of the first record to that of the last, at whole multiples of the length."""
    if None in source.paths:
        raise InvalidValue("--public-range reads the files twice, which standard input cannot be")
    name = source.columns.time
    assert name is not None
    ends: list[int] = []
    zones: set[bool] = set()
    for batch in replace(source, columns=Columns(time=name)).batches():
        times, zoned = read.times(batch, name, unit=source.time_unit)
        ends += [int(times.min()), int(times.max())] if len(times) else []
        zones.add(zoned)
    if not ends:
        raise InvalidValue("--public-range needs a record: there is none")
    if len(zones) > 1:
        raise InvalidValue("times must have a zone in all files, or in none")
    start = min(ends) // every * every
    return Calendar(start, every, zones.pop(), (max(ends) - start) // every + 1)


def live_order(asked: Steps, source: Source, now: Clock) -> Calendar | Arrival:
    """Which steps lines that come live have."""
    if asked.rows != 1 or asked.public_range or asked.end is not None:
        raise InvalidValue("--live excludes --rows-per-step, --public-range and --end")
    if asked.every is None:
        if source.columns.time is not None or asked.start is not None:
            raise InvalidValue("--live with --time or --start needs --every")
        return Arrival(asked.count)
    if asked.start is None:
        found = current(asked.every, now)
        return Calendar(found.start, found.every, True, asked.count)
    with said_as_options():
        found = calendar(asked.start, asked.every, steps=asked.count)
    if not found.zoned:
        raise InvalidValue("--start must have a zone where lines come live, as 2026-01-31T12:00Z")
    check_start(found, now)
    return found


def live_totals(
    source: Source, reader: Reader, order: Order, lateness: int, now: Clock
) -> Iterator[Signed]:
    """The totals of one step after the other, as the clock or empty lines close them."""
    lines = line_reader(source.form or "csv", "standard input", source.columns)
    steps, feed = OpenSteps(reader, lines), Lines(partial(os.read, 0))
    if isinstance(order, Calendar):
        if lateness and source.columns.time is None:
            raise InvalidValue("--lateness needs --time: without it no record is late")
        return by_clock(feed, steps, order, lateness=lateness, now=now)
    return by_empty_lines(feed, steps, most=order.steps)


@dataclass(frozen=True)
class Promise:
    """What is said of the privacy of a run: who is protected, and what holds it."""

    guarantee: Guarantee
    person: bool  # a column says whose records they are
    unsafe: bool  # the noise has a known seed

    @property
    def sentence(self) -> str:
        """The guarantee, for what is really protected."""
        found = self.guarantee.sentence()
        if self.person:
            adding = self.guarantee.neighbours == "add_remove"
            # a record more may displace others of that person: the promise is for all of them
            who = "one person with all their records" if adding else "what one person's records say"
            found = self.guarantee.sentence(who)
        return f"NOT PRIVATE, since the seed is known. Else: {found}" if self.unsafe else found

    @property
    def unit(self) -> str:
        """What it is about."""
        return "person" if self.person else "record"

    @property
    def limits(self) -> str | None:
        """How the participation is kept."""
        said = self.guarantee
        many = (
            f"at most {said.records_per_step} in a step, in {said.participations} steps at most, "
            f"these at least {said.separation} apart"
        )
        if self.person:
            return f"Of each person's records those that came first were counted: {many}."
        if said.participations > 1 or said.records_per_step > 1:
            return f"It is promised, not enforced, that nobody has more records: {many}."
        return None


def noise_of(key: Path | None, stream: str | None, seed: int | None, *, live: bool) -> Noise:
    """Where the noise comes from."""
    if seed is not None and key is not None:
        raise InvalidValue("--unsafe-seed and --noise-key exclude each other")
    if (key is None) != (stream is None):
        raise InvalidValue("--noise-key and --stream go together")
    if key is not None and live:
        raise InvalidValue(
            "--noise-key and --live exclude each other: a second run would repeat the noise of "
            "the first for other lines"
        )
    found = Noise(key, stream, seed)
    found.source(b"")  # what is wrong with the key is told at once
    return found


@dataclass(frozen=True)
class Noise:
    """Where the noise comes from: the operating system, a secret key, or a known seed."""

    key: Path | None
    stream: str | None
    seed: int | None

    def source(self, job: bytes) -> NoiseSource | None:
        """The source for a job, known by the digest of all that goes in.

        Keyed noise is a function of the job's digest too: the same job gives the same bytes, and
        any other job, with other records or other options, has other noise.
        """
        from hushfade.crossing.noise_sources import KeyedNoise, UnsafeSeededNoise

        if self.seed is not None:
            return UnsafeSeededNoise(self.seed)
        if self.key is None or self.stream is None:
            return None
        return KeyedNoise.from_file(self.key, stream=f"{self.stream} {job.hex()}")

    def claimed(self, plan: Plan, job: bytes) -> NoiseSource | None:
        """The source for a job, after the key's record has the job under its stream's name.

        The record keeps the job's digest under the key: a digest of totals would confirm a guess.
        """
        from hushfade.crossing.key_file import KeyFile
        from hushfade.crossing.noise_sources import KeyedNoise

        source = self.source(job)
        if isinstance(source, KeyedNoise) and self.key is not None and self.stream is not None:
            KeyFile(self.key, stream=self.stream).claim(plan.digest, source.sealed(job))
        return source

    @property
    def told(self) -> str:
        """In words."""
        if self.seed is not None:
            return "NOT PRIVATE: a known seed, for tests and examples"
        if self.key is None:
            return "fresh, from the operating system"
        return "from a secret key: the same if the same job is run again"


def digest(source: Source, order: Order, totals: Signed) -> bytes:
    """SHA-256 of what a run sums and how: columns, steps, totals."""
    words = (source.columns, source.time_unit, source.skip_empty, order, totals.shape)
    return hashlib.sha256(repr(words).encode() + totals.tobytes()).digest()


def steps_told(order: Order, steps: int | None) -> dict[str, Any]:
    """The steps, for the companion of the releases."""
    import numpy as np

    if isinstance(order, RowOrder):
        return {"rows": order.rows, "count": steps}
    if isinstance(order, Arrival):
        return {"closed": "at an empty line", "count": steps}
    start = np.array([order.start]).astype("datetime64[ns]")
    return {
        "every": duration.shown(order.every),
        "start": str(times_written(start, order.zoned)[0]),
        "clock": "UTC" if order.zoned else "local",
        "count": steps,
    }
