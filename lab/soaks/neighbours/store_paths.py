"""Limits per person that a store enforces: records of the service, and daily files.

A case has several steps.  The service reads its records in several batches, some of which are sent
again, and the store is opened again between batches.  The daily job has one file per step.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, TypeAlias
from unittest.mock import patch

import hushfade as hf
from hushfade.check import Signed
from hushfade.cli import main
from hushfade.errors import Refused
from hushfade.planning.plan import Plan
from hushfade.records import Timed
from hushfade.serve.batches import JSON
from hushfade.serve.registry import Facts
from hushfade.store import Store, file_runs
from lab.paths import IN_MEMORY
from lab.soaks.neighbours import csv_rows, request_paths
from lab.soaks.neighbours.input_path import units_of
from lab.soaks.neighbours.meaning import Days, Fault, Meaning, Rules, Totals
from lab.soaks.neighbours.settings import Setting, setting_of, with_local_days

STREAM, DATASET = "visits", "clinic"
_OUTSIDE = -(10**30)  # a time that is in no step


@dataclass(frozen=True)
class Served:
    """The declarations of a stream, the times of its steps, and how records arrive."""

    setting: Setting
    order: Timed
    at_once: int  # records in a batch
    repeats: bool  # each batch is sent twice
    restarts: bool  # the store is opened again before each batch


class StoredRecords:
    """Records of the service with persons: the store decides which of them count."""

    stops, by_position, infers = True, False, False

    def __init__(self, kind: str) -> None:
        form = "JSON" if kind == JSON else "NDJSON"
        self.name, self._kind = f"HTTP {form}, limits in the store", kind
        self._body = request_paths.RequestBody(kind)

    def setting(self, random: Random) -> Served:
        """A random stream that enforces limits per person."""
        setting = setting_of(random, zones=(True,), skip_empty=False, shortest=1000)
        columns = replace(setting.columns, value="value", user="user")
        rules = replace(setting.rules, persons=True, declared_keys_only=True, step_by_step=True)
        setting = replace(setting, columns=columns, rules=rules)
        assert setting.calendar is not None
        order: Timed = setting.calendar
        if random.random() < 0.5:
            setting, order = with_local_days(random, setting)
        return Served(
            setting, order, random.randint(1, 4), random.random() < 0.5, random.random() < 0.2
        )

    def rules(self, made: Served) -> Rules:
        """The rules for reading the records."""
        return made.setting.rules

    def row(self, random: Random, made: Served, bad: float) -> tuple[tuple[int, str], Meaning]:
        """A random record, and the step that is open when it arrives."""
        steps, step = made.setting.rules.steps, -1
        while steps.of(made.order.end_of(step)) != step:  # a date that a zone skipped has no time
            step = random.randrange(steps.count)
        text, means = self._body.row(random, made.setting, bad)
        return (step, text), replace(means, time=made.order.end_of(step))

    def read(self, made: Served, rows: Sequence[tuple[int, str]]) -> Totals:
        """The totals of the steps in the store."""
        plan = made.setting.rules.plan
        facts = Facts(STREAM, DATASET, plan, enforced=True)
        found: list[Signed] = []
        with _place() as directory:
            store = Store.open(directory / "store")
            try:
                store.add_dataset(DATASET, plan.guarantee)
                store.add_stream(STREAM, plan, dataset=DATASET, limits="enforced", order=made.order)
                sequence = 0
                for step in range(made.setting.rules.steps.count):
                    texts = [text for at, text in rows if at == step]
                    for first in range(0, len(texts), made.at_once):
                        sequence += 1
                        batch = request_paths.batch_of(
                            self._kind, facts, texts[first : first + made.at_once],
                            sender=f"s{sequence % 2}", sequence=sequence,
                        )  # fmt: skip
                        if made.restarts:
                            store.close()
                            store = Store.open(directory / "store")
                        for _ in range(1 + made.repeats):
                            store.accept([batch])
                    found.append(store.live(STREAM).totals.copy())
                    store.close_step(STREAM, step + 1, closed=made.order.end_of(step))
            finally:
                store.close()
        return units_of(found, plan.grid.lanes)


Daily: TypeAlias = tuple[Setting, csv_rows.Dressing]
File: TypeAlias = tuple[int, bytes]
"""The day whose file has the record, and its line."""


class DailyFiles:
    """`hushfade run --store` with one file per step."""

    name = "daily files"
    stops, by_position, infers = True, False, False

    def setting(self, random: Random) -> Daily:
        """Random declarations, and the layout of the files."""
        while True:
            setting = setting_of(random, zones=(True,), shortest=86_400 * 10**9)
            if setting.columns.user is not None:
                break
        if random.random() < 0.5:
            setting, _ = with_local_days(random, setting)
        setting = replace(setting, rules=replace(setting.rules, step_by_step=True))
        return setting, replace(csv_rows.dressing_of(random, setting, ",;"), packed=False)

    def rules(self, made: Daily) -> Rules:
        """The rules for reading the records."""
        return made[0].rules

    def row(self, random: Random, made: Daily, bad: float) -> tuple[File, Meaning]:
        """A random record: in the file of its day, in a later file, or in any file."""
        setting, dressing = made
        line, means = csv_rows.csv_row(random, setting, dressing, bad)
        steps = setting.rules.steps
        step = None if isinstance(means.time, Fault) else steps.of(means.time)
        if step is None:
            return (random.randrange(steps.count), line), means
        if step + 1 < steps.count and random.random() < 0.1:  # late: its step is closed
            late = random.randrange(step + 1, steps.count)
            return (late, line), replace(means, time=_OUTSIDE)
        return (step, line), means

    def read(self, made: Daily, rows: Sequence[File]) -> Totals:
        """The totals that the runs commit."""
        setting, dressing = made
        steps, plan = setting.rules.steps, _with_steps(setting)
        found: list[Signed] = []
        with _place() as directory, _committed(found):
            (directory / "plan.json").write_text(plan.to_json(), "utf-8")
            words = ["--store", f"{directory}/store", "--stream", STREAM]
            first = 0
            for step in range(steps.count):
                start, end = (steps.begin(one).isoformat() for one in (first, step + 1))
                if start == end:  # a date that the zone skipped: the next file closes its step too
                    continue
                path = directory / f"{step}.csv"
                lines = [line for at, line in rows if first <= at <= step]
                path.write_bytes(csv_rows.header_of(dressing) + b"".join(lines))
                given = [] if first else _first_options(setting, dressing, directory)
                _run([str(path), *words, "--start", start, "--end", end, *given])
                first = step + 1
        return units_of(found, plan.grid.lanes)


def _first_options(setting: Setting, dressing: csv_rows.Dressing, directory: Path) -> list[str]:
    """The further options of the first run: the plan, and how to read the files."""
    words = ["--plan", f"{directory}/plan.json"]
    for role, name in setting.columns.roles().items():
        words += [f"--{role}", name]
    if setting.time_unit is not None:
        words += ["--time-unit", setting.time_unit]
    if setting.rules.skip_empty:
        words.append("--skip-empty")
    if dressing.delimiter != ",":
        words += ["--delimiter", dressing.delimiter]
    return words


def _with_steps(setting: Setting) -> Plan:
    """The plan of the setting, with the length of a step."""
    steps = setting.rules.steps
    every = f"day {steps.zone}" if isinstance(steps, Days) else "1d"
    return _planned(setting.rules.plan.to_json(), every)


@lru_cache(maxsize=256)
def _planned(text: str, every: str) -> Plan:
    plan = Plan.from_json(text)
    grid = plan.grid
    return hf.plan(
        plan.decay, plan.guarantee, keys=grid.keys, low=grid.low, high=grid.high,
        resolution=grid.resolution, every=every,
    )  # fmt: skip


@contextmanager
def _place() -> Iterator[Path]:
    """A directory for a store, in memory if possible: a case needs no durability."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as made:
        yield Path(made)


@contextmanager
def _committed(found: list[Signed]) -> Iterator[None]:
    """A context in which the totals that runs commit are added to `found`."""
    commit = file_runs.commit

    def noted(store: Store, run: file_runs.FileRun, *others: Any, **options: Any) -> Any:
        releases = commit(store, run, *others, **options)
        found.extend(run.totals)
        return releases

    with patch.object(file_runs, "commit", noted):
        yield


def _run(words: list[str]) -> None:
    """Run `hushfade run`; raise Refused if it fails."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
        try:
            main(["run", *words, "--allow-empty"])  # the records are random
        except SystemExit as ended:
            if ended.code:
                raise Refused(said.getvalue()) from None
