"""A write-ahead log, truncated or with a flipped bit at every offset: a committed prefix remains.

The store is as small as possible: its log holds a batch, two steps and another batch, each in its
own commit.  A damaged log is opened twice: by the store, which may refuse it, and by SQLite alone,
whose tables must equal those after one of the commits, row by row.  The store must refuse the log
if its mark has recorded more, because otherwise it would draw a published step again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import hushfade as hf
from hushfade.errors import HushfadeError, Refused
from hushfade.store import Batch, Store
from hushfade.store.sqlite import SQLite
from lab.paths import IN_MEMORY

PLAN = hf.plan(hf.SlidingWindow(length=2), hf.Guarantee(epsilon=1, delta=1e-6))
CORES = 2
PIECES = 64  # tasks that the offsets are split into

Tables = dict[str, list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Damage:
    """Counts of damaged logs and of their outcomes."""

    tried: int = 0
    prefixes: int = 0  # logs whose tables equal the tables after a commit
    lengths: frozenset[int] = frozenset()  # the numbers of these commits
    opened: int = 0  # by the store, with everything that its mark records
    refused: int = 0  # by the store, because its mark records more
    wrong: int = 0  # all other outcomes

    def __add__(self, other: Damage) -> Damage:
        return Damage(
            self.tried + other.tried,
            self.prefixes + other.prefixes,
            self.lengths | other.lengths,
            self.opened + other.opened,
            self.refused + other.refused,
            self.wrong + other.wrong,
        )


@dataclass(frozen=True)
class Sample:
    """A small store: its files, and its tables after each commit of its log."""

    base: bytes
    log: bytes
    mark: bytes
    commits: list[Tables]
    marked: int  # the number of commits that contain everything that the mark records


def sample() -> Sample:
    """The store whose log the soak damages."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "releases.db"
        store = Store.open(path)
        store.add_dataset("clinics", PLAN.guarantee)
        store.add_stream("late", PLAN, dataset="clinics")
        store.close()  # starts a new log
        store = Store.open(path)
        base, commits = path.read_bytes(), [_tables(path)]
        for change in (
            lambda: store.accept([_batch(0)]),
            lambda: store.close_step("late", 1, closed=0),
            lambda: store.close_step("late", 2, closed=0),
            lambda: store.accept([_batch(1)]),
        ):
            change()
            commits.append(_tables(path))
        log, mark = _beside(path, "-wal").read_bytes(), _beside(path, ".mark").read_bytes()
        store.close()
        return Sample(base, log, mark, commits, marked=3)


def damaged(stride: int = 1) -> dict[str, Damage]:
    """The outcomes for the log, truncated or with a flipped bit at every stride-th offset."""
    found = sample()
    ends = {"cut": len(found.log) + 1, "flipped": len(found.log)}
    with ProcessPoolExecutor(CORES, mp_context=get_context("fork")) as pool:
        return {how: _dealt(pool, found, how, range(0, end, stride)) for how, end in ends.items()}


def _dealt(pool: Executor, sample: Sample, how: str, offsets: range) -> Damage:
    pieces = [offsets[start::PIECES] for start in range(PIECES)]
    return sum(pool.map(partial(_tried, sample, how), pieces), Damage())


def _tried(sample: Sample, how: str, offsets: Iterable[int]) -> Damage:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as directory:
        path = Path(directory) / "releases.db"
        total = Damage()
        for at in offsets:
            log = sample.log[:at]
            if how == "flipped":
                log += bytes([sample.log[at] ^ 1 << at % 8]) + sample.log[at + 1 :]
            for old in Path(directory).iterdir():
                old.unlink()
            path.write_bytes(sample.base)
            _beside(path, "-wal").write_bytes(log)
            _beside(path, ".mark").write_bytes(sample.mark)
            total += judged(sample, path)
        return total


def judged(sample: Sample, path: Path) -> Damage:
    """The outcome of opening one damaged log with the store and with SQLite."""
    opened = refused = False
    try:
        Store.open(path).close()
        opened = True
    except Refused:
        refused = True
    except HushfadeError:
        pass
    tables: Tables = {}
    with suppress(HushfadeError):
        tables = _tables(path)
    if tables not in sample.commits:
        return Damage(tried=1, wrong=1)
    length = sample.commits.index(tables)
    right = opened if length >= sample.marked else refused
    return Damage(1, 1, frozenset({length}), opened, refused, not right)


def _tables(path: Path) -> Tables:
    return dict(_read(SQLite(path, only_read=True)))


def _read(database: SQLite) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    try:
        names = database.read("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        for (name,) in names:
            yield name, database.read(f"SELECT * FROM {name}")
    finally:
        database.close()


def _batch(sequence: int) -> Batch:
    return Batch("late", "a", sequence, 1, np.array([0]), np.array([1]))


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
