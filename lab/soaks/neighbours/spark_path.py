"""Spark tables: many cases in one job, with different keys and persons.

All cases of a job share a table, so the test also detects effects of one case on another.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from hushfade.check import Signed
from hushfade.records.calendar import Timed
from hushfade.spark import local_session
from hushfade.spark.cells import Request, cells_of
from hushfade.spark.limits import PersonLimits, of_table
from lab.soaks.neighbours import fields
from lab.soaks.neighbours.cases import LONGEST, Violation, unfair_move
from lab.soaks.neighbours.meaning import Fault, Meaning, Rules, Totals
from lab.soaks.neighbours.settings import Setting, setting_of, with_local_days

NAME = "Spark tables"
VALUES: dict[str, Callable[[float], Any]] = {
    "double": float,
    "float": float,
    "bigint": int,
    "decimal(38,9)": lambda number: Decimal(str(number)),
}

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Job:
    """Cases that share a table: their declarations, and the two inputs of each case."""

    setting: Setting
    calendar: Timed
    value: str  # the type of the column
    inputs: list[tuple[list[Meaning], list[Meaning]]]


@contextmanager
def session() -> Iterator[SparkSession]:
    """A local session, or the current one."""
    there = SparkSession.getActiveSession()
    made = local_session(2, spark_ui_enabled="false", spark_ui_showConsoleProgress="false")
    made.sparkContext.setLogLevel("OFF")
    try:
        yield made
    finally:
        if there is None:
            made.stop()


def check_job(spark: SparkSession, seed: int, cases: int) -> None:
    """Raise Violation unless all cases of the seed's job satisfy the property."""
    random = Random(f"{NAME} {seed}")
    job = _job(random, cases)
    rules = job.setting.rules
    found = _read(spark, job)
    for number, inputs in enumerate(job.inputs):
        totals = []
        for variant, records in enumerate(inputs):
            read = found.get((number, variant), {})
            expected = rules.totals(_in_order(rules, records))
            if read != expected:
                what = f"case {number}: units {read}, expected {expected}"
                raise Violation(NAME, seed, what)
            totals.append(read)
        if not rules.persons:
            changed = len(inputs[0]) == len(inputs[1])
            moved = unfair_move(rules, *totals, changed=changed)
            if moved is not None:
                raise Violation(NAME, seed, f"case {number}: {moved}")


def check_rejections(spark: SparkSession) -> int:
    """The number of malformed records tried; raises Violation unless each stops its job."""
    setting = replace(_setting(Random(1)), columns=replace(_setting(Random(1)).columns, user="u"))
    setting = replace(setting, rules=replace(setting.rules, skip_empty=False))
    assert setting.calendar is not None
    good = (_instant(setting.rules.steps.start // 1000), 1.0, "0/0/a", "ann")
    wrong: list[Row] = [(None, *good[1:])]
    wrong += [(good[0], value, *good[2:]) for value in (None, float("nan"), float("inf"))]
    wrong += [(*good[:3], name) for name in (None, "", "  ", "\u3000")]
    for row in wrong:
        frame = spark.createDataFrame([good, row], "t timestamp, v double, k string, u string")
        try:
            _cells(frame, setting, setting.calendar, ("0/0/a",)).collect()
        except PySparkException:
            continue
        raise Violation(NAME, 0, "a malformed record did not stop the job")
    return len(wrong)


def _setting(random: Random) -> Setting:
    return setting_of(random, units=(None,), zones=(True,), skip_empty=True, shortest=1000)


def _job(random: Random, cases: int) -> Job:
    setting = _setting(random)
    columns = replace(setting.columns, key="k", value="v")
    keyed = setting.rules.plan.keys is not None
    if not keyed or setting.columns.value is None:  # a key identifies the case
        return _job(random, cases)
    setting = replace(setting, columns=columns)
    assert setting.calendar is not None
    calendar: Timed = setting.calendar
    if random.random() < 0.5:
        setting, calendar = with_local_days(random, setting)
    value = random.choice(list(VALUES))
    inputs = []
    for _ in range(cases):
        records = [_record(random, setting, value) for _ in range(random.randint(1, LONGEST))]
        others, place = list(records), random.randrange(len(records))
        how = random.choice(("added", "removed", "changed"))
        if how == "added":
            others.insert(place, _record(random, setting, value))
        elif how == "removed":
            del others[place]
        else:
            others[place] = _record(random, setting, value)
        inputs.append((records, others))
    return Job(setting, calendar, value, inputs)


def _record(random: Random, setting: Setting, value: str) -> Meaning:
    time = fields.moment(random, setting.rules.steps, 1000)
    number = random.choice((0, 1, 7, 0.5, -1.5, 2.0**40, random.uniform(-6, 6), -(10**15)))
    if value == "bigint":
        number = int(number)
    elif value == "float":
        number = random.choice((0.5, -1.5, 3.0, 1e10, 16777216.0))
    elif value.startswith("decimal"):
        number = float(Decimal(str(round(float(number), 9))))
    means: float | Fault = Fault.EMPTY if random.random() < 0.05 else float(number)
    key, user = fields.key_text(random, 0)[1], fields.user_text(random, 0)[1]
    return Meaning(time, means, key, user if setting.rules.persons else None)


def _instant(micros: int) -> datetime.datetime:
    zero = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return zero + datetime.timedelta(microseconds=micros)


def _read(spark: SparkSession, job: Job) -> dict[tuple[int, int], Totals]:
    """The units of each case and input."""
    keys = job.setting.rules.plan.keys
    assert keys is not None
    make, rows, declared = VALUES[job.value], list[Row](), list[str]()
    for number, inputs in enumerate(job.inputs):
        for variant, records in enumerate(inputs):
            declared += [f"{number}/{variant}/{key}" for key in keys]
            for record in records:
                assert isinstance(record.time, int)
                value = None if isinstance(record.value, Fault) else make(record.value)
                place = f"{number}/{variant}/"
                user = None if record.user is None else f"{place}{record.user}"
                rows.append((_instant(record.time // 1000), value, f"{place}{record.key}", user))
    Random(len(rows)).shuffle(rows)
    columns = f"t timestamp, v {job.value}, k string, u string"
    frame = spark.createDataFrame(rows, columns)
    cells = _cells(frame, job.setting, job.calendar, tuple(declared))
    found: dict[tuple[int, int], Totals] = defaultdict(dict)
    for step, lane, units in cells.groupBy("step", "lane").agg(sql.sum("units")).collect():
        number, variant, _ = declared[lane].split("/", 2)
        if units:
            found[int(number), int(variant)][step, lane % len(keys)] = units
    return found


def _cells(frame: DataFrame, setting: Setting, calendar: Timed, keys: tuple[str, ...]) -> DataFrame:
    """The cells of all counted records, as `private_decaying_sums` computes them."""
    rules = setting.rules
    assert calendar.steps is not None
    grid = replace(rules.plan.grid, keys=keys)
    request = Request(grid, setting.columns, calendar, 16, rules.skip_empty, "counts")
    cells = cells_of(frame, request)
    if setting.columns.user is None:
        return cells
    limits = PersonLimits.of(rules.plan.guarantee.protects, calendar)
    return of_table(cells, limits, calendar.steps, Scrambled(len(rules.plan.keys or ""))).where(
        "lane >= 0"
    )


@dataclass(frozen=True)
class Scrambled:
    """An order of records in place of the hash, which the expected units can repeat.

    A lane of a case is one of as many lanes as the plan has keys.
    """

    keys: int

    def places(self, *content: Signed) -> Signed:
        _, _, micros, lane, units = content
        own = np.where(lane < 0, lane, lane % self.keys)
        return np.asarray((micros * 7919 + own * 104_729 + units * 1_299_709) % 1009)


def _in_order(rules: Rules, records: list[Meaning]) -> list[Meaning]:
    """The records in the order in which Spark applies limits per person within a step."""
    keys = rules.plan.keys
    assert keys is not None

    def place(record: Meaning) -> tuple[int, ...]:
        assert isinstance(record.time, int)
        step = rules.steps.of(record.time)
        lane, units = -1, 0
        if record.key in keys and not isinstance(record.value, Fault):
            lane, units = keys.index(record.key), rules.units(record.value)
        content = record.time // 1000, lane, units
        scrambled = (content[0] * 7919 + lane * 104_729 + units * 1_299_709) % 2**64
        if scrambled >= 2**63:  # as integers of 64 bits overflow
            scrambled -= 2**64
        return -1 if step is None else step, scrambled % 1009, *content

    return sorted(records, key=place)
