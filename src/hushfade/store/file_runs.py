"""The steps of a daily file, closed in one transaction: all of them or none.

    new stream and its charge → steps drawn → ledger, persons, files → commit → mark → output

A run that dies before the commit has changed nothing, and nobody has seen its draws: they were in
its memory only.  So the next run may draw these steps again, even with keyed noise and different
records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hushfade.check import Signed
from hushfade.errors import Refused
from hushfade.store import fail_points, persons, step_times
from hushfade.store.file_memory import SOURCES, Remembered
from hushfade.store.live_streams import Live
from hushfade.store.open_store import RENEWED
from hushfade.store.reader import Published

if TYPE_CHECKING:
    from hushfade.crossing.key_file import KeyFile
    from hushfade.planning.plan import Plan
    from hushfade.privacy.guarantee import Guarantee
    from hushfade.records.persons import Counted
    from hushfade.store.reader import Reader
    from hushfade.store.store import Store


@dataclass(frozen=True)
class NewStream:
    """A stream that the run adds, and its dataset."""

    plan: Plan
    dataset: str
    settings: Mapping[str, Any]
    budget: Guarantee | None = None  # of a dataset that does not exist yet; None: the plan's


@dataclass(frozen=True, repr=False)
class FileRun:
    """The totals of the next steps, and what to remember of their persons and files.  Private."""

    stream: str
    totals: Signed
    ends: Sequence[int]  # of the steps, in nanoseconds since 1970
    files: Sequence[bytes] = ()  # digests of the contents of files with records
    counted: Sequence[Counted] = ()
    stretch: int = SOURCES + 1  # the stretch of the next open step: earlier ones are over


def remembered(reader: Reader, stream: str) -> Remembered:
    """What the store remembers of the persons and the files of a stream, which may be new."""
    with reader._turn:
        rows = reader._database.read("SELECT stream FROM streams WHERE name = ?", stream)
        if not rows:
            return Remembered()
        return Remembered.of(reader._database, rows[0][0], reader.steps(stream))


def check_new(reader: Reader, new: NewStream) -> None:
    """Raise if the steps of a new stream do not fit the other streams of its dataset."""
    with reader._turn:
        step_times.check_same(reader._database, new.dataset, new.plan, new.settings)


def check_keyed(reader: Reader, stream: str) -> None:
    """Raise if a newer copy of the store may have used the same keyed noise."""
    again = stream in reader.streams() and reader.epoch(stream)
    if again or reader.note(RENEWED):
        raise Refused(
            "this store was opened as a new epoch, and a newer copy of it may have published "
            f"steps of stream {stream!r} with the same keyed noise: begin a new stream without "
            "--noise-key, or a new store"
        )


def released_in(reader: Reader, stream: str, digest: bytes) -> tuple[int, int] | None:
    """The first and the last step of the run that read this file; None for a new file."""
    with reader._turn:
        rows = reader._database.read(
            "SELECT first, last FROM sources WHERE digest = ? AND stream ="
            " (SELECT stream FROM streams WHERE name = ?)",
            digest, stream,
        )  # fmt: skip
    return (int(rows[0][0]), int(rows[0][1])) if rows else None


@dataclass(frozen=True)
class Released:
    """A stream, its dataset, and the first and the last step of a run that read some file."""

    stream: str
    dataset: str
    first: int
    last: int


def released_elsewhere(reader: Reader, dataset: str, content: bytes) -> list[Released]:
    """The runs of streams of all other datasets that read this file; `content` is its digest."""
    found = []
    with reader._turn:
        for name, other, number, secret in reader._database.read(
            "SELECT s.name, s.dataset, s.stream, p.secret FROM streams s"
            " JOIN person_secrets p ON p.stream = s.stream"
            " WHERE p.stretch = ? AND s.dataset <> ? ORDER BY s.stream",
            SOURCES, dataset,
        ):  # fmt: skip
            rows = reader._database.read(
                "SELECT first, last FROM sources WHERE stream = ? AND digest = ?",
                number, persons.digest(bytes(secret), content),
            )  # fmt: skip
            found += [Released(name, other, int(first), int(last)) for first, last in rows]
    return found


def commit(
    store: Store,
    run: FileRun,
    memory: Remembered,
    *,
    new: NewStream | None = None,
    noise: KeyFile | None = None,
) -> list[Published]:
    """The releases of the run, after they are on the disk and the mark is written."""
    with store._turn, store._changing():
        database, book = store._database, store._book
        if new is not None:
            _add(store, run.stream, new, noise)
        # the store is locked and as recent as its mark: steps of a failed run were never published
        live = Live.load(database, book, run.stream, again=True, noise=noise)
        if noise is not None:
            check_keyed(store, run.stream)
        live.admit(len(run.totals))
        releases, first = [], live.steps + 1
        for row, end in zip(run.totals, run.ends, strict=True):
            fail_points.reached("before draw")
            live.totals = row
            step = live.steps + 1
            release = Published(run.stream, step, end, *live.close(database, end))
            fail_points.reached("after draw")
            book.enter_step(
                database, release=release.digest, stream=run.stream, epoch=live.epoch, step=step
            )
            releases.append(release)
        for digest in run.files:
            database.write(
                "INSERT INTO sources (stream, digest, first, last) VALUES (?, ?, ?, ?)",
                live.number, digest, first, live.steps,
            )  # fmt: skip
        memory.record(database, live.number, run.counted, run.stretch)
        if live.steps == live.plan.horizon:
            store._end(live)
        store._live.pop(run.stream, None)
    database.tidy()  # a reader may keep the log open, and the log must not keep erased people
    return releases


def _add(store: Store, name: str, new: NewStream, noise: KeyFile | None) -> None:
    """Add the stream, and its dataset if it is new, with its budget."""
    from hushfade.stream.stream import Stream

    if new.dataset not in store._book.accounts():
        store._insert_dataset(new.dataset, new.budget or new.plan.guarantee, new.plan.every)
    # the same in every attempt, because a key file serves one stream per name
    identity = hashlib.sha256(f"hushfade files 1 {store.settled.name} {name}".encode()).digest()
    fixed = None if noise is None else identity[:16]

    def begin() -> bytes:  # claims the noise key, so it comes after everything that may be refused
        return Stream.begin(new.plan, noise, identity=fixed).save()

    store._insert_stream(name, new.plan, new.dataset, new.settings, begin)
