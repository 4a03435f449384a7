"""A write-ahead log, cut and flipped everywhere: what SQLite makes of it is a committed prefix."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import hushfade as hf
from hushfade import ledger
from hushfade.errors import HushfadeError
from hushfade.ledger import Entry
from hushfade.store import Store
from hushfade.store.book import Book
from hushfade.store.sqlite import SQLite

PLAN = hf.plan(hf.SlidingWindow(length=2), hf.Guarantee(epsilon=1, delta=1e-6))


@dataclass(frozen=True)
class Damage:
    """How many damaged logs were opened, and what was found in them."""

    tried: int
    prefixes: int  # a committed prefix, as it must be
    refused: int  # SQLite or the store refused to read it
    wrong: int  # anything else
    lengths: int  # how many different prefixes there were


def damaged(steps: int, *, stride: int = 1) -> dict[str, Damage]:
    """The log of so many steps cut, and with a bit flipped, at every offset or every stride-th."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "releases.db"
        store = Store.open(path)
        store.add_dataset("clinics", PLAN.guarantee)
        store.add_stream("late", PLAN, dataset="clinics")
        for step in range(1, steps + 1):
            store.close_step("late", step, closed=0)
        entries = list(store.entries())
        base, log = path.read_bytes(), path.with_name("releases.db-wal").read_bytes()
        store.close()
        return {
            "cut": _tried(base, entries, (log[:at] for at in range(0, len(log) + 1, stride))),
            "flipped": _tried(
                base,
                entries,
                (log[:at] + bytes([log[at] ^ 1 << at % 8]) + log[at + 1 :]
                 for at in range(0, len(log), stride)),
            ),
        }  # fmt: skip


def _tried(base: bytes, entries: list[Entry], logs: Iterable[bytes]) -> Damage:
    found: Counter[str] = Counter()
    lengths: set[int] = set()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "releases.db"
        for log in logs:
            for old in Path(directory).iterdir():
                old.unlink()
            path.write_bytes(base)
            path.with_name("releases.db-wal").write_bytes(log)
            found[_read(path, entries, lengths)] += 1
    return Damage(found.total(), found["prefix"], found["refused"], found["wrong"], len(lengths))


def _read(path: Path, entries: list[Entry], lengths: set[int]) -> str:
    """'prefix', 'refused' or 'wrong'."""
    try:
        database = SQLite(path)
    except HushfadeError:
        return "refused"
    try:
        tables = database.read("SELECT name FROM sqlite_master WHERE name = 'ledger'")
        kept = list(Book(database).entries()) if tables else []
        ledger.verified(kept)
        steps = database.read("SELECT COUNT(*) FROM releases")[0][0] if tables else 0
    except HushfadeError:
        return "refused"
    finally:
        database.close()
    lengths.add(len(kept))
    whole = steps == sum(entry.kind == "step" for entry in kept)
    return "prefix" if whole and kept == entries[: len(kept)] else "wrong"
