"""Stores for the soaks, and the streams in them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import hushfade as hf
from hushfade.store import Store
from lab.paths import IN_MEMORY

BUDGET = hf.Guarantee(epsilon=100, delta=1e-6)
SMALL = hf.Guarantee(epsilon=0.01, delta=1e-6)
DECAY = hf.Exponential(half_life=24)


@cache
def plan(keys: int = 0) -> hf.Plan:
    """A plan with this many keys, or for one sum."""
    names = [f"key {number}" for number in range(keys)] if keys else None
    return hf.plan(DECAY, SMALL, keys=names, method="square_root", law="gaussian")


@contextmanager
def directory(*, in_memory: bool = False) -> Iterator[Path]:
    """A directory for a store, on a disk or in memory."""
    place = IN_MEMORY if in_memory and IN_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="hushfade-load-", dir=place) as made:
        yield Path(made)


def new_store(where: Path | str, mark: Path | None = None) -> Store:
    """A new store with a dataset."""
    store = Store.open(where, mark=mark)
    store.add_dataset("d", BUDGET)
    return store


def every_second(start: int | None = None) -> dict[str, object]:
    """The settings of a stream with steps of one second."""
    now = time.time_ns() if start is None else start
    return {"dataset": "d", "every": 10**9, "start": now}
