"""Full disks, failed syncs and losses of power, at every write and sync of a batch and a step.

The store must stop, must not have acknowledged or published data that are not on the disk, and must
continue after a restart.  The client then sends the batch and closes the step again, and each
release must be the same, bit for bit, as without a fault.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np

import hushfade as hf
from hushfade.errors import Failed, HushfadeError
from hushfade.store import Batch, Published, Store
from hushfade.store.high_water_mark import MarkFile
from hushfade.store.sqlite import SQLite
from lab.paths import IN_MEMORY
from lab.soaks.failing_disk import Disk, failing, mounted
from lab.soaks.store_kills import SEED, noise_by_step

PLAN = hf.plan(hf.Exponential(half_life=3), hf.Guarantee(epsilon=1, delta=1e-6))
UNIT = round(1 / PLAN.grid.resolution)
TOTALS = (2, 3, 5)  # of the steps: one before the fault, one at it, one after it


@dataclass(frozen=True)
class Faults:
    """Counts of faults, and of the store's reactions."""

    tried: int
    stopped: int  # the store stopped; otherwise the fault did not matter, and it continued
    wrong: int  # lost data, a premature answer, a second draw, or a store that cannot continue


def everywhere(
    kind: str, *, kept: float = 0.0, checkpoint: bool = False, synchronous: str = "FULL"
) -> Faults:
    """The outcomes of one kind of fault at every write, or every sync, of a batch and a step.

    With `checkpoint` SQLite copies its log back at every commit, and the disk fails there too.
    """
    setting = f"wal_autocheckpoint={1 if checkpoint else 1000}; PRAGMA synchronous={synchronous}"
    found: Counter[str] = Counter()
    place = IN_MEMORY if IN_MEMORY.is_dir() else None
    with noise_by_step(seeded=True), tempfile.TemporaryDirectory(dir=place) as directory:
        template = Path(directory) / "template"
        template.mkdir()
        _prepare(template / "releases.db")
        whole = Disk()
        _trial(template, whole, "", 1, setting)
        last = whole.counts[failing(kind)] + 1  # one more: after the last answer
        for at in range(1, last + kind.startswith("power")):
            found[_trial(template, Disk(kept=kept), kind, at, setting)] += 1
    return Faults(found.total(), found["stopped"], found["wrong"])


def _prepare(path: Path) -> None:
    store = Store.open(path)
    store.add_dataset("clinics", PLAN.guarantee)
    store.add_stream("late", PLAN, dataset="clinics")
    _send(store, 1)
    store.close_step("late", 1, closed=0)
    store.close()


def _trial(template: Path, disk: Disk, kind: str, at: int, setting: str) -> str:
    """'stopped', 'continued' or 'wrong'."""
    place = template.with_name("trial")
    shutil.copytree(template, place)
    try:
        for path in list(place.iterdir()):
            shutil.copyfile(path, f"{path}.durable")
        path = place / "releases.db"
        with mounted(disk) as name, _new_process():
            store = Store(SQLite(path, vfs=name), MarkFile(path.with_name("releases.db.mark")))
            store._database.read(f"PRAGMA {setting}")
            disk.arm(kind, at, disk.kept)
            answers = _answered(store)
            stopped = answers.release is None and _stays_stopped(store)
            counts = disk.counts.copy()  # without the writes of closing
            disk.broken |= kind.startswith("power")
            store.close()
        disk.counts = counts
        disk.settle(random.Random(at))
        with _new_process():
            right = _restarted(path, answers)
        if not right or (answers.release is None and not stopped):
            return "wrong"
        return "stopped" if stopped else "continued"
    finally:
        shutil.rmtree(place)


def _new_process() -> AbstractContextManager[object]:
    """A context in which this process, like a new one, does not know the steps it has drawn."""
    return patch("hushfade.stream.ownership._turns", {})


@dataclass
class Answers:
    """The answers that the store gave its clients before it stopped."""

    accepted: bool = False
    release: Published | None = None


def _answered(store: Store) -> Answers:
    """The store's answers to the second batch and step."""
    answers = Answers()
    try:
        answers.accepted = _send(store, 2) == "accepted"
        answers.release = store.close_step("late", 2, closed=0)
    except Failed:
        pass
    return answers


def _stays_stopped(store: Store) -> bool:
    """True if the store refuses a request after a failure."""
    try:
        store.close_step("late", 2, closed=9)
    except Failed:
        return True
    return False


def _restarted(path: Path, answers: Answers) -> bool:
    """True if the next process continues as if there had been no fault."""
    try:
        store = Store.open(path)
    except HushfadeError:
        return False
    try:
        kept = _send(store, 2) == "repeated" or not answers.accepted
        again = store.close_step("late", 2, closed=100)
        _send(store, 3)
        store.close_step("late", 3, closed=0)
        found = np.array([release.values[0] for release in store.releases("late")])
        store.check()
        whole = store.verify() == 5
    except HushfadeError:
        return False
    finally:
        store.close()
    before = answers.release
    same = before is None or (before.digest, before.closed) == (again.digest, again.closed)
    expected = PLAN.start(hf.UnsafeSeededNoise(SEED)).run(np.array(TOTALS, dtype=np.float64))
    return kept and same and whole and np.array_equal(found, expected)


def _send(store: Store, step: int) -> str:
    """The store's answer to the step's batch, which it may already have."""
    units = np.array([TOTALS[step - 1] * UNIT])
    return store.accept([Batch("late", "a", step, 1, np.array([0]), units)])[0]
