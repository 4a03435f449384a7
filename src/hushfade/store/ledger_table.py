"""The ledger as a table of the store.  Each entry is part of the transaction that it records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hushfade.errors import Failed, Refused
from hushfade.planning.charge import charge_of
from hushfade.privacy import ledger
from hushfade.privacy.account import Account, Charge, Loss, Spending
from hushfade.privacy.ledger import COUNTED, Entry, Kind, Totals
from hushfade.privacy.rounding import epsilon_up, rounded_down, rounded_up

if TYPE_CHECKING:
    from hushfade.planning.joint_charge import JointCharge
    from hushfade.planning.plan import Plan
    from hushfade.store.database import Database, Writable

_ROWS = "SELECT number, kind, body, digest FROM ledger"
_KINDS = ", ".join(f"'{kind}'" for kind in COUNTED)
_NOTHING = Entry(0, "", "", "")
_SCANNED = 100_000  # entries that one statement looks at: each statement has a time limit


class Book:
    """The entries in the database; `last` is the end of the chain.

    The totals stay in memory.  Each use reads only the entries since the last use, so its cost does
    not depend on the length of the ledger.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._totals = Totals()
        self._read: Entry = _NOTHING  # the last entry that the totals include
        self.charged: set[str] = set()  # datasets with entries since this was last emptied
        self.last = self._newest()

    def enter(self, kind: Kind, **content: Any) -> None:
        """Append an entry with its date, inside a transaction."""
        content["at"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._append(self._database, kind, content)
        if kind != "end":
            self.charged.add(content["dataset"])

    def enter_step(self, writes: Writable, **content: Any) -> None:
        """Append the entry of a step, without a date: its release has one.

        It changes no totals, so totals that include the entry before it include this one.
        """
        before = self.last
        self._append(writes, "step", content)
        if before is not None and self.last is not None and self._read.digest == before.digest:
            self._read = self.last

    def _append(self, writes: Writable, kind: Kind, content: dict[str, Any]) -> None:
        self.last = ledger.following(self.last, kind, **content)
        writes.write(
            "INSERT INTO ledger (number, kind, body, digest) VALUES (?, ?, ?, ?)",
            self.last.number, self.last.kind, self.last.body, self.last.digest,
        )  # fmt: skip

    def add(self, account: Account) -> None:
        """Enter a dataset with its total budget."""
        self.enter("dataset", **ledger.budget_fields(account))

    def create(self, stream: str, dataset: str, plan: Plan) -> None:
        """Charge a new stream, unless a joint charge has paid for it.

        Raise Refused if a joint charge names the stream with another plan or dataset.
        """
        reserved = self.totals().reserved.get(stream)
        if reserved is None:
            self.charge(stream, dataset, plan, epoch=0)
            return
        if (reserved.dataset, reserved.plan) != (dataset, plan.digest.hex()):
            raise Refused(
                f"stream {stream!r} must have the plan and the dataset that joint charge "
                f"{reserved.joint} names for it, or another name"
            )
        self.enter(
            "member", stream=stream, dataset=dataset, plan=reserved.plan, joint=reserved.joint
        )

    def charge(self, stream: str, dataset: str, plan: Plan, *, epoch: int) -> None:
        """Charge a stream to its dataset.  Raise Refused if this overspends, or cannot compose."""
        spending = self._afforded(dataset, charge_of(plan))
        self.totals().accounts[dataset].charged(spending, plan.relation)
        self.enter(
            "charge", stream=stream, dataset=dataset, epoch=epoch, plan=plan.digest.hex(),
            relation=plan.relation.listed(), **ledger.fields(spending),
        )  # fmt: skip

    def charge_joint(self, joint: JointCharge, dataset: str) -> None:
        """Charge several plans together.  Raise Refused if this overspends, or cannot compose."""
        spending = self._afforded(dataset, joint.charge)
        self.totals().accounts[dataset].charged(spending, joint.relation)
        streams = [[stream, plan.digest.hex()] for stream, plan in joint.streams]
        self.enter(
            "joint", dataset=dataset, streams=streams, relation=joint.relation.listed(),
            **ledger.fields(spending),
        )  # fmt: skip

    def void(self) -> None:
        """Void the reservations of all joint charges.

        A newer copy of the store may have created these streams and published their steps.
        """
        joint: dict[tuple[int, str], list[str]] = {}
        for stream, reserved in self.totals().reserved.items():
            joint.setdefault((reserved.joint, reserved.dataset), []).append(stream)
        for (number, dataset), streams in joint.items():
            self.enter("void", joint=number, dataset=dataset, streams=streams)

    def _afforded(self, dataset: str, charge: Charge) -> Spending:
        """The amount that the charge spends of the budget.  Raise Refused if this overspends."""
        account = self.totals().accounts[dataset]
        spending = account.spending(charge)
        if not isinstance(spending, Loss) and not account.affords(spending):
            left, whole = rounded_down(account.left_epsilon), rounded_up(account.epsilon)
            needed = epsilon_up(spending, account.delta)
            raise Refused(
                f"the budget of dataset {dataset!r} must not be overspent: epsilon = {left} of "
                f"{whole} is left at delta = {rounded_up(account.delta, 3)}, {needed} is needed. "
                "Plan the stream with a smaller epsilon"
            )
        return spending

    def restore(self, known: Mapping[str, Account]) -> None:
        """Enter the spending that the mark knows and this ledger, of an older copy, lacks."""
        for name, account in known.items():
            if name not in self.accounts():
                self.add(account)
            lost = self.accounts()[name].lacking(account)
            if lost is not None:
                unit = account.relation.listed()
                self.enter("lost", dataset=name, relation=unit, **ledger.fields(lost))

    def published(self, stream: str) -> Spending:
        """The mu, or the privacy loss, of all releases of a stream in all its epochs."""
        last = self._newest()
        entries = self._counted(0, 0 if last is None else last.number)
        return ledger.published(entries, stream)

    def accounts(self) -> Mapping[str, Account]:
        """The budget and the spending of each dataset."""
        return dict(self.totals().accounts)

    def totals(self) -> Totals:
        """The accounts, reservations and charges, from all entries.

        If the last entry that was read has changed, because a transaction was rolled back or the
        database was restored, this reads all entries again.
        """
        if self._read.number and self.digest_of(self._read.number) != self._read.digest:
            self._forget()
        try:
            self._catch_up()
        except BaseException:
            self._forget()  # the entries before the wrong one are already added
            raise
        return self._totals

    def _forget(self) -> None:
        self._totals, self._read = Totals(), _NOTHING

    def _catch_up(self) -> None:
        """Add the entries after the last one that was read."""
        last = self._newest()
        if last is not None and last.number > self._read.number:
            for entry in self._counted(self._read.number, last.number):
                self._totals.add(entry)
            self._read = last

    def _newest(self) -> Entry | None:
        rows = self._database.read(f"{_ROWS} ORDER BY number DESC LIMIT 1")
        return Entry(*rows[0]) if rows else None

    def _counted(self, after: int, last: int) -> Iterator[Entry]:
        """The entries that change totals, from `after` (exclusive) to `last`."""
        for first in range(after, last, _SCANNED):
            for row in self._database.read(
                f"{_ROWS} WHERE number > ? AND number <= ? AND kind IN ({_KINDS}) ORDER BY number",
                first, min(last, first + _SCANNED),
            ):  # fmt: skip
                yield Entry(*row)

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        """The entries after a number, a thousand at a time."""
        while rows := self._database.read(
            f"{_ROWS} WHERE number > ? ORDER BY number LIMIT 1000", after
        ):
            yield from (Entry(*row) for row in rows)
            after = rows[-1][0]

    def digest_of(self, number: int) -> str | None:
        """The digest of the entry, or None."""
        rows = self._database.read("SELECT digest FROM ledger WHERE number = ?", number)
        return rows[0][0] if rows else None

    def check_charged(self, stream: str, epoch: int, plan: Plan) -> None:
        """Raise Failed unless the ledger charged the stream's dataset for exactly this plan."""
        charged = self.totals().charged.get(stream)
        if charged is not None and (charged.epoch, charged.plan) == (epoch, plan.digest.hex()):
            cost = charge_of(plan)
            if charged.spending is None or charged.spending in (cost.loss, cost.mu):
                return
        raise Failed(f"the plan of stream {stream!r} is not the plan that the ledger charged")
