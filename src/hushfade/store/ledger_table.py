"""The ledger as a table of the store: appended to inside the transaction that it tells of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hushfade.errors import Failed, Refused
from hushfade.planning.charge import charge_of
from hushfade.privacy import ledger
from hushfade.privacy.account import Account, Loss, Spending
from hushfade.privacy.ledger import Entry, Kind
from hushfade.privacy.rounding import epsilon_up, rounded_down, rounded_up

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan
    from hushfade.store.database import Database

_ROWS = "SELECT number, kind, body, digest FROM ledger"


class Book:
    """The entries in the database; `last` is the end of the chain."""

    def __init__(self, database: Database) -> None:
        self._database = database
        rows = database.read(f"{_ROWS} ORDER BY number DESC LIMIT 1")
        self.last = Entry(*rows[0]) if rows else None

    def enter(self, kind: Kind, **content: Any) -> None:
        """Append an entry with its date, inside a transaction.  A step's date is its release's."""
        if kind != "step":
            content["at"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.last = ledger.following(self.last, kind, **content)
        self._database.write(
            "INSERT INTO ledger (number, kind, body, digest) VALUES (?, ?, ?, ?)",
            self.last.number, self.last.kind, self.last.body, self.last.digest,
        )  # fmt: skip

    def add(self, account: Account) -> None:
        """Enter a dataset and its whole budget."""
        self.enter("dataset", **ledger.budget_fields(account))

    def charge(self, stream: str, dataset: str, plan: Plan, *, epoch: int) -> None:
        """Charge a stream to its dataset; Refused if that would overspend, or not add up."""
        account = self.accounts()[dataset]
        spending = account.spending(charge_of(plan))
        if not isinstance(spending, Loss) and not account.affords(spending):
            left, whole = rounded_down(account.left_epsilon), rounded_up(account.epsilon)
            needed = epsilon_up(spending, account.delta)
            raise Refused(
                f"the budget of dataset {dataset!r} must not be overspent: epsilon = {left} of "
                f"{whole} is left at delta = {rounded_up(account.delta, 3)}, {needed} is needed"
            )
        account.charged(spending, plan.relation)
        self.enter(
            "charge", stream=stream, dataset=dataset, epoch=epoch, plan=plan.digest.hex(),
            relation=plan.relation.listed(), **ledger.fields(spending),
        )  # fmt: skip

    def restore(self, known: Mapping[str, Account]) -> None:
        """Spend what a mark knows to be spent, and this ledger, of an older copy, does not."""
        for name, account in known.items():
            if name not in self.accounts():
                self.add(account)
            lost = self.accounts()[name].lacking(account)
            if lost is not None:
                unit = None if account.relation is None else account.relation.listed()
                self.enter("lost", dataset=name, relation=unit, **ledger.fields(lost))

    def published(self, stream: str) -> Spending:
        """The mu, or the loss, of all that a stream has published, over all its epochs."""
        rows = self._database.read(f"{_ROWS} WHERE kind IN ('charge', 'lost') ORDER BY number")
        return ledger.published((Entry(*row) for row in rows), stream)

    def accounts(self) -> Mapping[str, Account]:
        """The budget of each dataset, and what was spent of it."""
        rows = self._database.read(
            f"{_ROWS} WHERE kind IN ('dataset', 'charge', 'lost') ORDER BY number"
        )
        return ledger.accounts(Entry(*row) for row in rows)

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        """The entries after a number, a thousand at a time."""
        while rows := self._database.read(
            f"{_ROWS} WHERE number > ? ORDER BY number LIMIT 1000", after
        ):
            yield from (Entry(*row) for row in rows)
            after = rows[-1][0]

    def digest_of(self, number: int) -> str | None:
        """The digest of that entry, if there is one."""
        rows = self._database.read("SELECT digest FROM ledger WHERE number = ?", number)
        return rows[0][0] if rows else None


def check_charged(database: Database, stream: str, epoch: int, plan: Plan) -> None:
    """Raise Failed unless the stream's dataset was charged for this plan, and for all of it."""
    cost = charge_of(plan)
    for (body,) in database.read("SELECT body FROM ledger WHERE kind = 'charge' ORDER BY number"):
        charged = json.loads(body)
        if (charged["stream"], charged["epoch"]) == (stream, epoch):
            if "loss" in charged:
                paid = charged["loss"] == cost.loss._asdict() and "mu" not in charged
            else:
                paid = cost.mu is not None and charged["mu"] == cost.mu
            if paid and charged["plan"] == plan.digest.hex():
                return
            break
    raise Failed(f"the plan of stream {stream!r} must be the one that the ledger charged for it")
