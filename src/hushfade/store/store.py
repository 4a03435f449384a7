"""The store: datasets and their budgets, streams, records on the grid, steps, releases.

A method that changes something returns when the change is on disk.  If this fails, the store stops:
nothing was published, and the next process continues from the committed data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hushfade import duration
from hushfade.errors import Failed, InvalidType, InvalidValue, Refused
from hushfade.planning.joint_charge import JointCharge
from hushfade.privacy import ledger
from hushfade.privacy.account import Account
from hushfade.privacy.unit import Person
from hushfade.store import fail_points, group_close, persons, reopening, schema, step_times
from hushfade.store.batch import Batch
from hushfade.store.database import Database
from hushfade.store.group_close import Closing
from hushfade.store.high_water_mark import Mark, MarkFile
from hushfade.store.live_streams import Live
from hushfade.store.open_store import connected, mark_of, settle
from hushfade.store.reader import Published, Reader

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan
    from hushfade.privacy.guarantee import Guarantee
    from hushfade.records.calendar import Timed


class Store(Reader):
    """One writer's view of a store.  Use `Store.open`, and close it.  Threads take turns."""

    def __init__(
        self,
        database: Database,
        mark: MarkFile,
        *,
        new_epoch: bool = False,
        where: str | Path | None = None,
    ) -> None:
        mark.lock()
        self._where = where  # the address, to connect again; None: this is not possible
        self._failures = 0  # after a failure, the streams are loaded again
        self._mark = mark
        self._place = database.place()  # a reopened store must be the same file
        schema.create(database)
        super().__init__(database)
        if database.recovered:  # SQLite may have applied the log of another copy
            database.sound()
            self.verify()
        self._stopped = self._closed = False
        self._live: dict[str, Live] = {}
        self.settled = settle(database, self._book, mark, new_epoch=new_epoch)
        if database.recovered or self.settled.ended:  # the files may contain erased rows
            database.tidy()

    @classmethod
    def open(
        cls, where: str | Path, *, mark: str | Path | None = None, new_epoch: bool = False
    ) -> Store:
        """The store in a SQLite file or a PostgreSQL database, which is created if needed.

        The mark of a SQLite file is FILE.mark.  A database server ('postgresql://...') needs the
        path of a `mark`.  Raise Refused for a second writer, for another format, and for a copy
        that is older than its mark.  As a `new_epoch` an older copy opens: the store charges every
        stream again, or ends a stream if its budget does not suffice.  `settled` lists them.
        """
        file = mark_of(where, mark)
        database = connected(where)
        try:
            return cls(database, file, new_epoch=new_epoch, where=where)
        except BaseException:
            database.close()
            file.release()
            raise

    @property
    def stopped(self) -> bool:
        """Whether a change has failed, so that the store accepts no further changes."""
        return self._stopped

    def close(self) -> None:
        """Close the store, and release its lock."""
        with self._turn:
            self._stopped = self._closed = True
            self._live.clear()
            self._mark.release()
            super().close()

    def verify(self) -> int:
        """The number of ledger entries, if they are intact and match the totals in memory."""
        with self._turn:  # nobody else writes, so both read the same entries
            number = super().verify()
            if ledger.accounts(self._book.entries()) != self._book.accounts():
                raise Failed("the totals in memory differ from the ledger: open the store again")
            return number

    # Datasets and streams -------------------------------------------------------------------

    def add_dataset(
        self, name: str, guarantee: Guarantee, *, every: str | timedelta | None = None
    ) -> Account:
        """Add a dataset with its total budget: the largest joint privacy loss of its streams.

        All streams must protect the unit of the guarantee: one record, or the records of one
        person.  For a person `every` is the length of a step; without it the first stream decides.
        The first stream also decides how losses compose (`hushfade.privacy.account`).  A budget in
        mu or rho accepts Gaussian noise only.
        """
        with self._changing():
            self._insert_dataset(name, guarantee, every)
        return self.accounts()[name]

    def _insert_dataset(
        self, name: str, guarantee: Guarantee, every: str | timedelta | None
    ) -> None:
        """Add a dataset, inside a transaction."""
        _named(dataset=name)
        if name in self._book.accounts():
            raise Refused(
                f"dataset {name!r} already exists, and its budget cannot change: choose another "
                "name"
            )
        step = None if every is None else duration.declared_step(every)
        if step is not None:
            duration.check_zone(step)
        self._book.add(Account.of(name, guarantee, step))

    def add_stream(
        self,
        name: str,
        plan: Plan,
        *,
        dataset: str,
        settings: Mapping[str, Any] | None = None,
        limits: Literal["assumed", "enforced"] = "assumed",
        order: Timed | None = None,
    ) -> None:
        """Add a stream, and charge its privacy loss to the dataset.  Raise if this overspends.

        A stream that a joint charge has paid for costs nothing more.  It must have the plan that
        the joint charge names.

        With limits "enforced", each record names its person (`Batch.of_persons`), and the store
        counts only the records within the limits of the plan's `hushfade.Person`.  `order` has the
        times of the steps, which a unit with a period needs.  If the unit is renewed, the steps of
        all streams of a dataset must begin at the same times.
        """
        from hushfade.stream.stream import Stream

        stored = dict(settings or {}) | _person_settings(plan, limits, order)
        began = Stream.begin(plan).save()
        with self._changing():
            self._insert_stream(name, plan, dataset, stored, lambda: began)

    def _insert_stream(
        self,
        name: str,
        plan: Plan,
        dataset: str,
        settings: Mapping[str, Any],
        begin: Callable[[], bytes],
    ) -> None:
        """Charge and add a stream, inside a transaction; `begin` returns its state at step 0."""
        _named(stream=name)
        self._check_new(name)
        self._check_dataset(dataset)
        step_times.check_same(self._database, dataset, plan, settings)
        self._book.create(name, dataset, plan)
        ((number,),) = self._database.read("SELECT COALESCE(MAX(stream), 0) + 1 FROM streams")
        self._database.write(
            "INSERT INTO streams (stream, name, dataset, plan, settings, epoch, ended)"
            " VALUES (?, ?, ?, ?, ?, 0, 0)",
            number, name, dataset, plan.to_json(), json.dumps(settings),
        )  # fmt: skip
        self._database.write(
            "INSERT INTO states (stream, steps, state) VALUES (?, 0, ?)", number, begin()
        )

    def charge_together(
        self, streams: Mapping[str, Plan], guarantee: Guarantee, *, dataset: str
    ) -> Account:
        """Charge several plans that are fixed together, and return the account.

        `streams` maps the names of streams to their plans, such as the plans of
        `hushfade.plan_together`.  `guarantee` is their joint guarantee.  Afterwards `add_stream`
        can add each of the streams once, and charges nothing more.  After a new epoch, each stream
        is charged alone.

        Guarantee: all streams together have `guarantee`, even if records, or the time at which a
        stream is added, depend on earlier releases.  Each plan has one dominating pair.
        """
        return self.enter_joint(JointCharge.of(streams, guarantee), dataset=dataset)

    def enter_joint(self, joint: JointCharge, *, dataset: str) -> Account:
        """Enter a joint charge, as `charge_together` does.  Raise if this overspends."""
        for name, _ in joint.streams:
            _named(stream=name)
        with self._changing():
            for name, _ in joint.streams:
                self._check_new(name)
                if name in self._book.totals().reserved:
                    raise Refused(
                        f"stream {name!r} is part of another joint charge: choose another name"
                    )
            self._check_dataset(dataset)
            self._book.charge_joint(joint, dataset)
        return self.accounts()[dataset]

    def _check_new(self, stream: str) -> None:
        if self._database.read("SELECT 1 FROM streams WHERE name = ?", stream):
            raise Refused(f"stream {stream!r} already exists: choose another name")

    def _check_dataset(self, dataset: str) -> None:
        if dataset not in self._book.totals().accounts:
            raise InvalidValue(
                "dataset must exist in the store", got=repr(dataset), remedy="add it first"
            )

    def live(self, name: str) -> Live:
        """The current state of the stream: plan, open step, counts."""
        with self._turn:
            if self._stopped:
                raise Failed("the store has stopped: open it in a new process")
            if name not in self._live:
                again = self._failures > 0
                self._live[name] = Live.load(self._database, self._book, name, again=again)
            return self._live[name]

    def reader(self) -> Reader:
        """A second connection, which reads while this one writes or has failed."""
        if self._where is None:
            raise Failed("the store has no address: use Store.open")
        return Reader.beside(self._where)

    def reopen(self) -> None:
        """Connect again after a failure, and continue from the committed data.

        Raise Failed or Refused if this is not possible yet.  A transaction whose commit got no
        answer is settled by then: the connection that ran it held the lock until it ended.
        """
        with self._turn:
            if self._closed:
                raise Failed("the store is closed")
            self._stopped = True
            self._live.clear()
            reopening.reopen(self)

    def keep_note(self, name: str, text: str) -> None:
        """Keep a note for the next process.  It contains no private data."""
        with self._changing():
            self._database.write(
                "INSERT INTO meta (name, value) VALUES (?, ?)"
                " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                f"note {name}", text,
            )  # fmt: skip

    # Records and steps ----------------------------------------------------------------------

    def accept(self, batches: Sequence[Batch]) -> list[str]:
        """For each batch 'accepted', 'repeated', 'late' or 'ahead', all in one transaction.

        * accepted: its records are in the sums of the open step;
        * repeated: its sequence is not above its sender's last one, so it was accepted before;
        * late: the step that it is for has closed; it counts if it was accepted before;
        * ahead: its sequence is more than the window above its sender's last one (-1 for a new
          sender), and nothing is changed.  Otherwise one odd number would make all later batches
          of its sender look repeated.

        The store counts late and repeated records.  If one batch is refused, none is accepted: the
        caller sends them again, one by one.
        """
        with self._turn:
            for stream in {batch.stream for batch in batches}:
                self.live(stream).fits([batch for batch in batches if batch.stream == stream])
            with self._changing(), _beyond_refusal():
                return [self.live(batch.stream).accept(self._database, batch) for batch in batches]

    def close_step(self, name: str, step: int, *, closed: int) -> Published:
        """Close the step and return its release; if it was the last to close, the same release.

        `closed` is the time in nanoseconds since 1970.  It has no effect.
        """
        with self._turn:
            if step == self.live(name).steps and step > 0:
                return self.releases(name, after=step - 1)[0]
            return self.close_steps([Closing(name, step, closed)])[0]

    def close_steps(self, closings: Sequence[Closing]) -> list[Published]:
        """Close a step of each of several streams in one transaction, and return the releases.

        If one step cannot be closed, none is.  If the transaction fails, nobody has seen a release.
        """
        with self._turn:
            lives = [self.live(one.stream) for one in closings]
            if len({one.stream for one in closings}) < len(closings):
                raise InvalidValue("closings must have each stream once")
            for live, one in zip(lives, closings, strict=True):
                if one.step != live.steps + 1:
                    raise Refused(f"step must be {live.steps + 1}, the open step", got=one.step)
                live.check_not_from_files()
                live.admit()
            with self._changing(), _beyond_refusal():
                releases = group_close.closed(self._database, self._book, lives, closings)
                ended = [live for live in lives if live.steps == live.plan.horizon]
                for live in ended:
                    self._end(live)
                over = [live for live in lives if not live.ended and live.forget(self._database)]
            if ended or over or self._database.untidy:
                self._database.tidy()
            return releases

    def end(self, name: str) -> None:
        """End the stream, and erase its private data."""
        with self._turn:
            live = self.live(name)
            if live.ended:
                return
            with self._changing():
                self._end(live)
            self._database.tidy()

    def _end(self, live: Live) -> None:
        live.end(self._database)
        self._book.enter("end", stream=live.name, epoch=live.epoch, steps=live.steps)

    # Order ----------------------------------------------------------------------------------

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """One transaction, and then the mark.  Only after that may anything be published.

        A refused change has no effect.  A failed change stops the store: memory may be ahead of
        the disk.
        """
        with self._turn:
            if self._stopped:
                raise Failed("the store has stopped: open it in a new process")
            last = self._book.last
            try:
                with self._database.transaction():
                    yield
                if self._book.last is not None and self._book.last is not last:
                    fail_points.reached("before mark")
                    entry, accounts = self._book.last, self._book.accounts
                    charged = self._book.charged
                    spent = {name: accounts()[name] for name in charged} if charged else None
                    self._mark.write(Mark(self.settled.name, entry.number, entry.digest), spent)
                    charged.clear()
                    fail_points.reached("after mark")
            except (InvalidValue, Refused):
                self._book.last = last
                self._book.charged.clear()
                raise
            except BaseException as error:
                self._stopped = True
                self._live.clear()
                if isinstance(error, OSError):
                    raise Failed("the mark cannot be written: nothing was published") from None
                raise


@contextmanager
def _beyond_refusal() -> Iterator[None]:
    """A refusal in the block is a failure: memory is ahead of the disk, and must be loaded again.

    Otherwise a batch that was rolled back would look repeated when its sender sends it again.
    """
    try:
        yield
    except (InvalidValue, InvalidType, Refused) as error:
        raise Failed(f"the change was refused too late: {error.rule}") from error


def _person_settings(plan: Plan, limits: str, order: Timed | None) -> dict[str, Any]:
    """The settings of a stream that state its limits per person and the times of its steps."""
    if limits not in ("assumed", "enforced"):
        raise InvalidValue("must be 'assumed' or 'enforced'", argument="limits", got=repr(limits))
    found: dict[str, Any] = {} if order is None else {"times": persons.order_document(order)}
    if limits == "assumed":
        return found
    if not isinstance(plan.guarantee.protects, Person):
        raise InvalidValue(
            "a plan that protects one record has no limits per person",
            remedy="plan with protects=hushfade.Person(...), or leave out limits",
        )
    persons.Enforced.of(plan.guarantee.protects, order)
    return found | {"persons": True}


def _named(**given: str) -> None:
    ((kind, name),) = given.items()
    if not isinstance(name, str) or not (0 < len(name) <= 200) or not name.isprintable():
        raise InvalidValue(f"{kind} must be a name of 1 to 200 printable characters")
