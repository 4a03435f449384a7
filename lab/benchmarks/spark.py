"""Spark: 10^6 events of 10^4 keys in 48 hours, compared with Spark's own windowed sum, not private.

Both read the same Parquet files with two cores of one machine and write Parquet.  Streams read one
file per batch, eight batches, with a RocksDB checkpoint.  Spark's own sum gives rows for keys that
have records; the private sum gives a row for every declared key at every step.

The last section derives the cost of an event and of a key-step from these times, and extrapolates
to a cluster.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from hushfade import (
    Decay,
    Exponential,
    Guarantee,
    Person,
    Plan,
    PowerLaw,
    SlidingWindow,
    UnsafeSeededNoise,
    plan,
)
from hushfade.records.arrow import pa, part
from hushfade.spark import local_session, private_decaying_sums
from hushfade.stream.partition import Mechanism, Part
from lab.benchmarks.report import Section, ratio_cells, seconds, short
from lab.benchmarks.timing import Job, interleaved, ratio
from lab.progress import progress

EVENTS, KEYS, MANY, PEOPLE, STEPS, FILES, CORES = 10**6, 10**4, 10**5, 10**5, 48, 8, 2
LANES, AFTER = 1000, 1024  # for the memory of a key
START = np.datetime64("2026-01-01", "us")
COLUMNS = "at timestamp, key string, amount double, person bigint"
INSTANT = pa.timestamp("us", "UTC")
PLAIN = "Spark's windowed sum, not private"
FEW, MANY_KEYS = "private, 10^4 keys", "private, 10^5 keys"
GUARANTEE = Guarantee(epsilon=1, delta=1e-6, protects=Person(steps=5, records_per_step=2))
MEASURED, EXTRAPOLATED = "measured", "extrapolated"
HALVED = "half-life 24 steps"
DECAYS: dict[str, Decay] = {
    "window of 7 steps": SlidingWindow(length=7),
    HALVED: Exponential(half_life=24),
    "power 1": PowerLaw(power=1),
    "half-life 168 steps": Exponential(half_life=168),
    "window of 168 steps": SlidingWindow(length=168),
}

Work = Callable[[DataFrame, DataFrame | None], DataFrame]


def sections(rounds: int) -> Iterator[Section]:
    """Tables, streams, the memory of a key, and the arithmetic."""
    session = local_session(
        CORES, spark_ui_enabled="false", spark_ui_showConsoleProgress="false",
        spark_driver_memory="4g",
    )  # fmt: skip
    session.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        progress(f"spark: writing {EVENTS} events")
        write(place)
        table = measured(session, place, min(rounds, 3), tabled)
        yield section("Spark: a table", table)
        stream = measured(session, place, min(rounds, 2), streamed)
        yield section("Spark: a stream", stream)
    session.stop()
    bytes_of = {name: state_bytes(decay) for name, decay in DECAYS.items()}
    yield Section(
        "Spark: the memory of a key",
        f"The state of {LANES} keys after {AFTER} steps, in bytes per key.  It does not grow with "
        "records.  In addition there are 8 bytes for each open step with records in the key's "
        "bucket.",
        ("decay", "bytes per key"),
        [(name, str(found)) for name, found in bytes_of.items()],
    )
    yield arithmetic(table, stream, bytes_of[HALVED])


def measured(
    session: SparkSession, place: Path, rounds: int, make: Callable[..., Job]
) -> dict[str, list[float]]:
    """The seconds of our jobs and of Spark's own sum, in turn."""
    return interleaved(
        {name: make(session, place, work) for name, (_, work) in WORKS.items()}, rounds
    )


def section(title: str, times: dict[str, list[float]]) -> Section:
    """One table of times."""
    rows = []
    for name, taken in times.items():
        best, keys = min(taken), WORKS[name][0]
        released = f"{short(keys * STEPS / best / 1000)} thousand" if keys else "-"
        compared = ratio_cells(ratio(name, taken, times[PLAIN])) if keys else ("-", "-")
        rows.append(
            (name, seconds(best), f"{short(EVENTS / best / 1000)} thousand", released, *compared)
        )
    return Section(
        title,
        f"10^6 events in {STEPS} hours, local[{CORES}], {len(times[PLAIN])} rounds.  Yardstick: "
        f"{PLAIN}, of the same files, per key and window of one hour.",
        ("job", "time", "events/s", "key-steps/s", "best", "spread"),
        rows,
    )


def arithmetic(table: dict[str, list[float]], stream: dict[str, list[float]], size: int) -> Section:
    """The cost of an event and of a key-step in core time, extrapolated to a cluster."""
    few, many = min(table[FEW]), min(table[MANY_KEYS])
    key_step = CORES * (many - few) / ((MANY - KEYS) * STEPS)
    event = (CORES * few - key_step * KEYS * STEPS) / EVENTS
    streamed_event = CORES * min(stream[FEW]) / EVENTS
    micro, written = streamed_event * 1e6, size * 1e9 / 3600 / 1e9
    rows = [
        ("a key-step, table", MEASURED, f"{short(key_step * 1e6)} µs of a core"),
        ("an event, table", MEASURED, f"{short(event * 1e6)} µs of a core"),
        ("an event, stream, including all other costs", MEASURED, f"{short(micro)} µs of a core"),
        ("10^6 events/s, stream", EXTRAPOLATED, f"{short(micro)} cores"),
        ("10^9 keys, hourly, per step", EXTRAPOLATED, f"{short(key_step * 1e9)} core-seconds"),
        ("10^9 keys, hourly", EXTRAPOLATED, f"{short(key_step * 1e9 / 3600)} cores on average"),
        (f"10^9 keys, {HALVED}, state", EXTRAPOLATED, f"{short(size * 1e9 / 1e12)} TB"),
        (f"10^9 keys, {HALVED}, hourly", EXTRAPOLATED, f"{short(written)} GB/s of state written"),
    ]
    return Section(
        "Spark: the arithmetic",
        f"The cost of a key-step is the additional time of {MANY - KEYS} more keys in {STEPS} "
        "steps.  The cost of an event is the rest of the time.  In a stream it includes the cost "
        "of batches.  Extrapolated rows are computed by multiplication; they were not run.",
        ("item", "source", "cost"),
        rows,
    )


def state_bytes(decay: Decay) -> int:
    """The bytes that a part saves per key, without its header."""
    found = plan(decay, GUARANTEE, keys=map(str, range(LANES)))
    running = Part(Mechanism.of(found), 0, LANES).resumed(UnsafeSeededNoise(1))
    running.run(np.zeros((AFTER, LANES), dtype=np.int64))
    return round(len(running.save()) / LANES)


def plain(events: DataFrame, clock: DataFrame | None) -> DataFrame:
    """Spark's own sums per hour and key."""
    late = events.withWatermark("at", "1 hour") if events.isStreaming else events
    return late.groupBy(sql.window("at", "1 hour"), "key").agg(sql.sum("amount"))


def private(keys: int, user: str | None = None) -> Work:
    """Private sums of the same hours, with weights that halve every day."""
    found = planned(keys)

    def work(events: DataFrame, clock: DataFrame | None) -> DataFrame:
        return private_decaying_sums(
            events, found, time="at", key="key", value="amount", user=user, every="1h",
            start="2026-01-01Z", steps=STEPS, noise=UnsafeSeededNoise(1),
            lateness="1h" if events.isStreaming else None, clock=clock,
        )  # fmt: skip

    return work


def planned(keys: int) -> Plan:
    """A plan with a half-life of one day; a person counts in five steps."""
    return plan(DECAYS[HALVED], GUARANTEE, keys=map(str, range(keys)), low=0, high=2)


WORKS: dict[str, tuple[int, Work]] = {
    PLAIN: (0, plain),
    FEW: (KEYS, private(KEYS)),
    f"{FEW}, limits for each of 10^5 people": (KEYS, private(KEYS, user="person")),
    MANY_KEYS: (MANY, private(MANY)),
}


def tabled(session: SparkSession, place: Path, work: Work) -> Job:
    """A job that reads all files at once."""

    def job() -> None:
        events = session.read.parquet(str(place / "events"))
        work(events, None).write.mode("overwrite").parquet(str(place / "table"))

    return job


def streamed(session: SparkSession, place: Path, work: Work) -> Job:
    """A job that reads one file after the other, with a new checkpoint."""

    def job() -> None:
        events, clock = (
            session.readStream.schema(columns)
            .option("maxFilesPerTrigger", 1)
            .parquet(str(place / name))
            for name, columns in (("events", COLUMNS), ("clock", "timestamp timestamp"))
        )
        with tempfile.TemporaryDirectory(dir=place) as made:
            sink = work(events, clock).writeStream
            sink = sink.option("checkpointLocation", f"{made}/kept").trigger(availableNow=True)
            sink.start(f"{made}/released", format="parquet").awaitTermination()

    return job


def write(place: Path) -> None:
    """Write the events in order of time to files of equal size, and a clock for each file."""
    rng = np.random.default_rng(3)
    at = np.sort(rng.integers(0, STEPS * 3600 * 10**6, EVENTS)).astype("timedelta64[us]")
    columns: dict[str, Any] = {
        "at": pa.array(START + at).cast(INSTANT),
        "key": pa.array(rng.integers(0, KEYS, EVENTS)).cast(pa.string()),
        "amount": rng.normal(1, 1, EVENTS),
        "person": rng.integers(0, PEOPLE, EVENTS),
    }
    table, share = pa.table(columns), EVENTS // FILES
    for number in range(FILES + 1):  # after the last events the clock advances and closes the steps
        last = np.timedelta64((STEPS + 2) * 3600, "s") if number == FILES else at[share * number]
        clock = pa.table({"timestamp": pa.array([START + last]).cast(INSTANT)})
        for name, found in (("events", table.slice(number * share, share)), ("clock", clock)):
            path = place / name / f"{number}.parquet"
            path.parent.mkdir(exist_ok=True)
            part("parquet").write_table(found, path)
            os.utime(path, (10**9 + number, 10**9 + number))  # streams read the oldest file first
