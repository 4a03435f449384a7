"""Spark: 10^6 events of 10^4 keys in 48 hours, beside Spark's own windowed sum, not private.

Both read the same Parquet files, by two cores of one machine, and write Parquet.  Streams take the
files one after another, eight batches, through a checkpoint with RocksDB.  Spark's own sum gives
rows for keys that have records; the private one for every declared key at every step.
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

from benchmarks.report import Section, ratio_cells, seconds, short
from benchmarks.timing import Job, interleaved, progress, ratio
from hushfade import Exponential, Guarantee, Plan, UnsafeSeededNoise, plan
from hushfade.connect.spark import local_session, private_decaying_sums
from hushfade.events.arrow import pa, part

EVENTS, KEYS, MANY, PEOPLE, STEPS, FILES = 10**6, 10**4, 10**5, 10**5, 48, 8
START = np.datetime64("2026-01-01", "us")
COLUMNS = "at timestamp, key string, amount double, person bigint"
PLAIN = "Spark's windowed sum, not private"

Work = Callable[[DataFrame], DataFrame]


def sections(rounds: int) -> Iterator[Section]:
    """Tables, then streams."""
    rounds = min(rounds, 3)
    session = local_session(
        2, spark_ui_enabled="false", spark_ui_showConsoleProgress="false", spark_driver_memory="4g"
    )
    session.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        progress(f"spark: writing {EVENTS} events")
        write(place / "events")
        yield section("Spark: a table", session, place, rounds, streaming=False)
        yield section("Spark: a stream", session, place, rounds, streaming=True)
    session.stop()


def section(
    title: str, session: SparkSession, place: Path, rounds: int, *, streaming: bool
) -> Section:
    """One table: our jobs and Spark's own, in turn."""
    works: dict[str, tuple[int, Work]] = {
        PLAIN: (0, plain),
        "private, 10^4 keys": (KEYS, private(KEYS)),
        "private, 10^4 keys, limits for each of 10^5 people": (KEYS, private(KEYS, user="person")),
        "private, 10^5 keys": (MANY, private(MANY)),
    }
    make = streamed if streaming else tabled
    jobs = {name: make(session, place, work) for name, (_, work) in works.items()}
    times = interleaved(jobs, rounds)
    rows = []
    for name, taken in times.items():
        best, keys = min(taken), works[name][0]
        released = f"{short(keys * STEPS / best / 1000)} thousand" if keys else "-"
        compared = ratio_cells(ratio(name, taken, times[PLAIN])) if keys else ("-", "-")
        rows.append(
            (name, seconds(best), f"{short(EVENTS / best / 1000)} thousand", released, *compared)
        )
    return Section(
        title,
        f"10^6 events in {STEPS} hours, local[2]; yardstick: {PLAIN}, of the same files, by a "
        "window of an hour and by key.",
        ("job", "time", "events/s", "key-steps/s", "best", "spread"),
        rows,
    )


def plain(events: DataFrame) -> DataFrame:
    """What Spark itself does: sums by hour and key."""
    late = events.withWatermark("at", "1 hour") if events.isStreaming else events
    return late.groupBy(sql.window("at", "1 hour"), "key").agg(sql.sum("amount"))


def private(keys: int, user: str | None = None) -> Work:
    """The same hours with weights that halve each day, private."""
    found = planned(keys)

    def work(events: DataFrame) -> DataFrame:
        return private_decaying_sums(
            events, found, time="at", key="key", value="amount", user=user, every="1h",
            start="2026-01-01Z", steps=STEPS, noise=UnsafeSeededNoise(1),
            watermark="1h" if events.isStreaming else None,
        )  # fmt: skip

    return work


def planned(keys: int) -> Plan:
    """A day's half-life, for so many keys; a person counts in five steps."""
    guarantee = Guarantee(epsilon=1, delta=1e-6, participations=5, records_per_step=2)
    return plan(Exponential(half_life=24), guarantee, keys=map(str, range(keys)), low=0, high=2)


def tabled(session: SparkSession, place: Path, work: Work) -> Job:
    """All files at once."""

    def job() -> None:
        events = session.read.parquet(str(place / "events"))
        work(events).write.mode("overwrite").parquet(str(place / "table"))

    return job


def streamed(session: SparkSession, place: Path, work: Work) -> Job:
    """One file after another, through a new checkpoint."""

    def job() -> None:
        reader = session.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
        with tempfile.TemporaryDirectory(dir=place) as made:
            sink = work(reader.parquet(str(place / "events"))).writeStream
            sink = sink.option("checkpointLocation", f"{made}/kept").trigger(availableNow=True)
            sink.start(f"{made}/released", format="parquet").awaitTermination()

    return job


def write(place: Path) -> None:
    """The events, in the order of time, in files of the same size."""
    place.mkdir()
    rng = np.random.default_rng(3)
    at = np.sort(rng.integers(0, STEPS * 3600 * 10**6, EVENTS)).astype("timedelta64[us]")
    columns: dict[str, Any] = {
        "at": pa.array(START + at).cast(pa.timestamp("us", "UTC")),
        "key": pa.array(rng.integers(0, KEYS, EVENTS)).cast(pa.string()),
        "amount": rng.normal(1, 1, EVENTS),
        "person": rng.integers(0, PEOPLE, EVENTS),
    }
    table = pa.table(columns)
    for number in range(FILES):
        path = place / f"{number}.parquet"
        share = EVENTS // FILES
        part("parquet").write_table(table.slice(number * share, share), path)
        os.utime(path, (10**9 + number, 10**9 + number))  # streams take the oldest first
