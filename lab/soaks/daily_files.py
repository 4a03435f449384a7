"""A year of daily files through `hushfade run --store`, killed at random: equal to one run.

The soak repeats each day's command until it succeeds, as a cron job does.  If hushfade refuses a
repeated command because its steps are released, the soak writes the releases with `hushfade store
releases`, as the guide says.  Afterwards it compares the series with one run over all files and
with an independent count of the records, bit for bit, under the same keyed noise.

`python -m lab.soaks.daily_files [--quick]` writes docs/results/daily-files.md and the picture of
the stored people.  A quick run does less and prints the page.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import hushfade as hf
from hushfade.store import Reader, Store
from lab.soaks import daily_data
from lab.soaks.daily_data import Count, Day, Unit
from lab.soaks.daily_process import ALL_POINTS, SYNC, Build, Ended, Kill, as_it_is, ended, load

STREAM, STORE, SERIES = "visits", "releases.db", "series.csv"
KEY = bytes(range(100, 132))
KILLED = 0.4  # of the days
AGAIN = 0.3  # of the commands that follow a kill
NO_RELEASE, RELEASED, WRITTEN = "before the commit", "after the commit", "after the output"

_REFUSED = 4
_MALFORMED = 3


@dataclass
class Seen:
    """What the job and its operator have seen, day by day."""

    people: list[int] = field(default_factory=list)  # stored
    sizes: list[int] = field(default_factory=list)  # in bytes, of all files of the store
    counts: dict[int, tuple[int, int, int]] = field(default_factory=dict)  # of reported days
    stages: Counter[str] = field(default_factory=Counter)  # of the kills
    at_points: int = 0
    refused: int = 0  # files with a blank name
    secrets: set[bytes] = field(default_factory=set)
    kept_secrets: int = 0  # secrets that were still in a file after they were erased
    seconds: list[float] = field(default_factory=list)  # of commands that were not killed


@dataclass(frozen=True)
class Outcome:
    """The state of the job after its last day."""

    unit: Unit
    days: int
    records: int
    counted: int
    kills: int
    at_points: int
    stages: Counter[str]
    refused: int
    reported: int  # days whose report survived
    wrong_steps: int  # that differ from the independent count, bit for bit
    wrong_counts: int  # days whose report differs from the independent count
    wrong_people: int  # days after which other people were stored than the limits need
    kept_secrets: int
    same_output: bool  # as one run over all files writes it
    same_totals: bool  # of counted and dropped records, as one run reports them
    charges: int
    verified: bool
    people: list[int]
    sizes: list[int]
    seconds: float

    @property
    def flawless(self) -> bool:
        """True if the daily files are equal to one run, and nothing else is stored or charged."""
        wrong = self.wrong_steps + self.wrong_counts + self.wrong_people + self.kept_secrets
        same = self.same_output and self.same_totals
        return wrong == 0 and same and self.charges == 1 and self.verified


def soak(
    files: Sequence[Day],
    unit: Unit,
    *,
    build: Build | None = None,
    points: Sequence[str] = ALL_POINTS,
    killed: float = KILLED,
    at_points: float = 0.5,
    seed: int = 7,
) -> Outcome:
    """The outcome of a job that reads one file per day.

    `killed` is the share of days with a kill, and `at_points` the share of kills at points.
    With a build, each command is a copy of this process; without one, it is a new process.
    """
    began, rng, seen = time.monotonic(), random.Random(seed), Seen()
    with tempfile.TemporaryDirectory() as name:
        if build is not None:
            ends = [["--stream", STREAM, "--end", daily_data.end_of(day)] for day in (0, 1)]
            load([ends[0] + plan_words(unit), ends[1]])
        job = _Job(Path(name), unit, build, seen)
        for day, visits in enumerate(files):
            job.run_day(day, visits, _kills(rng, seen, points, killed, at_points))
        return _judged(job, files, began)


def _kills(
    rng: random.Random, seen: Seen, points: Sequence[str], killed: float, at_points: float
) -> Callable[[], Kill]:
    """The kills of one day's commands, at points and at random moments."""
    chance = killed

    def next_kill() -> Kill:
        nonlocal chance
        if rng.random() >= chance:
            chance = 0.0  # a day has no kill after a command that was left alone
            return Kill()
        chance = AGAIN
        if rng.random() < at_points:
            point = rng.choice(points)
            most = 6 if point == SYNC else 2 if point.endswith("commit") else 1
            return Kill(point=point, count=rng.randint(1, most))
        usual = statistics.median(seen.seconds[-9:]) if seen.seconds else 1.0
        return Kill(seconds=rng.uniform(0.0, 1.05 * usual))

    return next_kill


@dataclass(frozen=True)
class _Job:
    """A directory with a store, a key and a series, as the operator of the job has it."""

    directory: Path
    unit: Unit
    build: Build | None
    seen: Seen

    def __post_init__(self) -> None:
        _write_key(self.directory / "key")

    def run_day(self, day: int, visits: Day, next_kill: Callable[[], Kill]) -> None:
        """Release the file of the day, and measure the store."""
        name = f"{day + 1:03}.csv"
        words = ["run", name, "--store", STORE, "--stream", STREAM, "--noise-key", "key"]
        words += ["--end", daily_data.end_of(day), "-o", SERIES, "--append", "--json"]
        words += plan_words(self.unit) if day == 0 else []
        if day % 50 == 7:
            blank = daily_data.Visit(" ", day, 0, 1)
            daily_data.write(self.directory / name, [*visits, blank])
            refusal = self._ended(words, Kill())
            _expect(refusal, _MALFORMED, "must name the person")
            self.seen.refused += 1
        daily_data.write(self.directory / name, visits)
        self._until_released(day, words, next_kill)
        (self.directory / name).unlink()
        self._measure()

    def _until_released(self, day: int, words: list[str], next_kill: Callable[[], Kill]) -> None:
        first = True
        while True:
            kill = next_kill()
            command = self._ended(words, kill)
            if command.code is None:
                stage = WRITTEN if self._written() == day + 1 else None
                self.seen.at_points += kill.point is not None
            elif command.code == 0:
                self.seen.seconds.append(command.seconds)
                told = json.loads(command.output)["not_for_publication"]
                self.seen.counts[day] = told["counted"], told["over_limit"], told["late"]
                return
            else:
                _expect(command, None if first else _REFUSED, "released already")
                self._write_again(day)
                return
            self.seen.stages[stage or self._stage(day)] += 1
            first = False

    def _stage(self, day: int) -> str:
        if not (self.directory / STORE).exists():
            return NO_RELEASE
        with closing(Reader.beside(self.directory / STORE)) as reader:
            steps = reader.steps(STREAM) if STREAM in reader.streams() else 0
        return RELEASED if steps == day + 1 else NO_RELEASE

    def _write_again(self, day: int) -> None:
        """Write the committed releases, which must be the ones that a killed run had written."""
        series = self.directory / SERIES
        before = series.read_bytes() if self._written() == day + 1 else None
        words = ["store", "releases", STORE, "--stream", STREAM, "-o", "again.csv"]
        _expect(self._ended(words, Kill()), 0, "")
        for ending in ("", ".plan.json"):
            (self.directory / f"again.csv{ending}").replace(f"{series}{ending}")
        if self._written() != day + 1 or before not in (None, series.read_bytes()):
            raise AssertionError(f"day {day + 1}: the releases were not written again")

    def _written(self) -> int:
        """The number of steps in the output."""
        series = self.directory / SERIES
        return len(series.read_text("utf-8").splitlines()) - 1 if series.exists() else 0

    def _ended(self, words: list[str], kill: Kill) -> Ended:
        return ended(words, self.directory, kill, build=self.build)

    def _measure(self) -> None:
        paths = list(self.directory.glob(f"{STORE}*"))
        self.seen.sizes.append(sum(path.stat().st_size for path in paths))
        content = b"".join(path.read_bytes() for path in paths)
        with closing(Reader.beside(self.directory / STORE)) as reader:
            read = reader._database.read
            self.seen.people.append(read("SELECT count(*) FROM persons")[0][0])
            secrets = {bytes(row[0]) for row in read("SELECT secret FROM person_secrets")}
        erased = self.seen.secrets - secrets
        self.seen.kept_secrets += sum(secret in content for secret in erased)
        self.seen.secrets = secrets


def plan_words(unit: Unit) -> list[str]:
    """The options of the first day, and of one run over all days."""
    return [
        *("--time", "at", "--every", "1d", "--start", daily_data.START.isoformat()),
        *("--user", "who", "--value", "value", "--resolution", "1"),
        *("--low", str(daily_data.LOW), "--high", str(daily_data.HIGH)),
        *("--half-life", "7", "--epsilon", "1", "--delta", "1e-6", "--law", "gaussian"),
        *unit.options,
    ]


def _judged(job: _Job, files: Sequence[Day], began: float) -> Outcome:
    expected, seen, days = daily_data.count(files, job.unit), job.seen, len(files)
    store = Store.open(job.directory / STORE)
    try:
        plan, releases = store.plan(STREAM), store.releases(STREAM)
        charges = sum(entry.kind == "charge" for entry in store.entries())
        verified = store.verify() == 2 + days
        store.check()
    finally:
        store.close()
    noise = hf.KeyedNoise(KEY, stream=STREAM)
    values = plan.start(noise).run(np.array(expected.totals, dtype=np.float64))
    wrong = days - len(releases)
    wrong += sum(
        (release.step, release.values.tobytes()) != (step, values[step - 1 : step].tobytes())
        for step, release in enumerate(releases, 1)
    )
    counts = list(zip(expected.counted, expected.over_limit, expected.late, strict=True))
    same_output, same_totals = _as_one_run(job, files, expected)
    return Outcome(
        unit=job.unit,
        days=days,
        records=sum(map(len, files)),
        counted=sum(expected.counted),
        kills=sum(seen.stages.values()),
        at_points=seen.at_points,
        stages=seen.stages,
        refused=seen.refused,
        reported=len(seen.counts),
        wrong_steps=wrong,
        wrong_counts=sum(told != counts[day] for day, told in seen.counts.items()),
        wrong_people=sum(
            stored != needed for stored, needed in zip(seen.people, expected.people, strict=True)
        ),
        kept_secrets=seen.kept_secrets,
        same_output=same_output,
        same_totals=same_totals,
        charges=charges,
        verified=verified,
        people=seen.people,
        sizes=seen.sizes,
        seconds=time.monotonic() - began,
    )


def _as_one_run(job: _Job, files: Sequence[Day], expected: Count) -> tuple[bool, bool]:
    """Whether one run over all files has the same output and the same counts.

    It has its own store.  Its file has no late visits.
    """
    (job.directory / "one").mkdir()
    _write_key(job.directory / "one" / "key")
    daily_data.write(job.directory / "one" / "all.csv", daily_data.punctual(files))
    words = ["run", "all.csv", "--store", STORE, "--stream", STREAM, "--noise-key", "key"]
    words += ["--end", daily_data.end_of(len(files) - 1), "-o", SERIES, "--json"]
    words += plan_words(job.unit)
    one = ended(words, job.directory / "one", Kill(), build=job.build and as_it_is)
    _expect(one, 0, "")
    told = json.loads(one.output)["not_for_publication"]
    same = (job.directory / SERIES).read_bytes() == (job.directory / "one" / SERIES).read_bytes()
    totals = sum(expected.counted), sum(expected.over_limit)
    return same, (told["counted"], told["over_limit"]) == totals


def _write_key(path: Path) -> None:
    path.write_bytes(KEY)
    os.chmod(path, 0o600)


def _expect(command: Ended, code: int | None, words: str) -> None:
    if command.code != code or words not in " ".join(command.errors.split()):
        raise AssertionError(f"unexpected exit code {command.code}: {command.errors}")


if __name__ == "__main__":
    from lab.soaks.daily_report import main

    sys.exit(main())
