"""The privacy ledger: every charge and every release, in a hash chain that reveals any change.

    digest_n = SHA-256(digest_{n-1}, n, kind, body)        body: canonical JSON

Kinds of entries:

    dataset   a dataset, its whole budget (epsilon and delta, or mu at a delta), and its unit
    charge    a new stream or a new epoch of one, the amount it spends, and the unit it protects
    joint     several plans that are fixed together, the names of their streams, and the amount that
              all of them spend together
    member    a new stream that a joint charge has paid for, so it spends nothing more
    void      streams of a joint charge that can no longer be created from it
    lost      an amount that, by the high-water mark, was spent after this copy was made
    step      a closed step of a stream, and the digest of its release
    end       the end of a stream

A `charge`, a `joint` and a `lost` spend either a mu of Gaussian noise, or a loss (epsilon and
delta).  `account` defines how they add up.  A ledger contains no private data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from hushfade.errors import Malformed
from hushfade.privacy.account import Account, Loss, Spending, Total
from hushfade.privacy.ledger_entries import (
    Entry,
    Kind,
    budget_fields,
    fields,
    following,
    opened,
    relation_of,
    spending_of,
    streams_of,
    verified,
)
from hushfade.privacy.rounding import root_up

__all__ = [
    "Account",
    "Entry",
    "Kind",
    "Line",
    "Totals",
    "accounts",
    "budget_fields",
    "fields",
    "following",
    "published",
    "statement",
    "verified",
]

COUNTED: tuple[Kind, ...] = ("dataset", "charge", "joint", "member", "void", "lost")
"""The kinds of entries that change `Totals`."""


class Reservation(NamedTuple):
    """A stream that a joint charge has paid for and that does not exist yet."""

    joint: int  # the number of the entry
    dataset: str
    plan: str  # the digest


class Joint(NamedTuple):
    """A joint charge: its entry, dataset and streams, and the amount that all of them spend."""

    number: int
    dataset: str
    streams: tuple[str, ...]
    spending: Spending


class Charged(NamedTuple):
    """The last charge of a stream."""

    epoch: int
    plan: str  # the digest
    spending: Spending | None  # None: a joint charge has paid for it


class Line(NamedTuple):
    """An entry that concerns an account, the amount it spends, and the account after it."""

    entry: Entry
    spending: Spending | None  # None if the entry spends nothing
    account: Account


class Totals:
    """The accounts, the reservations, and the last charge of each stream, from the entries so far.

    Cost: constant time per entry.  `joint` and `void` take time per stream that they list.
    """

    def __init__(self) -> None:
        self.accounts: dict[str, Account] = {}
        self.reserved: dict[str, Reservation] = {}  # by the name of the stream
        self.charged: dict[str, Charged] = {}
        self.joint: dict[str, Joint] = {}  # of streams without another charge

    def add(self, entry: Entry) -> Line | None:
        """Add an entry, and return its line in a statement, or None if it has none.

        Raise Malformed or Refused if the entry contradicts the earlier ones: if it overspends a
        budget, or names a stream that no joint charge has paid for.
        """
        if entry.kind not in COUNTED:
            return None
        spending = None
        content = entry.content
        account = opened(entry) if entry.kind == "dataset" else self._account(entry)
        if entry.kind in ("charge", "joint", "lost"):
            spending = spending_of(entry)
            add = account.with_lost if entry.kind == "lost" else account.charged
            account = add(spending, relation_of(entry))
        if entry.kind == "charge":
            self.joint.pop(content["stream"], None)
            self.charged[content["stream"]] = Charged(content["epoch"], content["plan"], spending)
        elif entry.kind == "joint":
            self._reserve(entry, spending_of(entry))
        elif entry.kind == "member":
            self._create(entry)
        elif entry.kind == "void":
            for stream in content["streams"]:
                self.joint.pop(stream, None)
                if self.reserved.pop(stream, None) is None:
                    raise _not_reserved(entry)
        self.accounts[account.name] = account
        return Line(entry, spending, account)

    def _account(self, entry: Entry) -> Account:
        try:
            return self.accounts[entry.content["dataset"]]
        except KeyError:
            raise Malformed(f"entry {entry.number} of the ledger must name a dataset") from None

    def _reserve(self, entry: Entry, spending: Spending) -> None:
        dataset, listed = entry.content["dataset"], streams_of(entry)
        joint = Joint(entry.number, dataset, tuple(stream for stream, _ in listed), spending)
        for stream, plan in listed:
            if stream in self.reserved or stream in self.charged:
                raise Malformed(f"entry {entry.number} of the ledger must name new streams")
            self.reserved[stream] = Reservation(entry.number, dataset, plan)
            self.joint[stream] = joint

    def _create(self, entry: Entry) -> None:
        content = entry.content
        named = Reservation(content["joint"], content["dataset"], content["plan"])
        if self.reserved.get(content["stream"]) != named:
            raise _not_reserved(entry)
        del self.reserved[content["stream"]]
        self.charged[content["stream"]] = Charged(0, named.plan, None)


def _not_reserved(entry: Entry) -> Malformed:
    return Malformed(
        f"entry {entry.number} of the ledger must name streams and plans of a joint charge, and "
        "each of them once"
    )


def accounts(entries: Iterable[Entry]) -> Mapping[str, Account]:
    """The accounts of all datasets, from all entries or from those that change accounts."""
    totals = Totals()
    for entry in entries:
        totals.add(entry)
    return totals.accounts


def statement(entries: Iterable[Entry]) -> Iterator[Line]:
    """The entries that concern accounts, in order, like the lines of a bank statement."""
    totals = Totals()
    for entry in entries:
        line = totals.add(entry)
        if line is not None:
            yield line


def published(entries: Iterable[Entry], stream: str) -> Spending:
    """The mu, or the loss, of everything that a stream has published: its charges, composed.

    The result is an upper bound.  It includes amounts that its dataset lost before a new epoch,
    because the stream may have spent them.  For a stream of a joint charge it includes the whole
    joint charge.
    """
    spent: list[Spending] = []
    lost: list[Spending] = []
    joint: dict[int, Spending] = {}
    dataset = None
    for entry in entries:
        content = entry.content
        if entry.kind == "joint":
            joint[entry.number] = spending_of(entry)
        elif entry.kind in ("charge", "member") and content["stream"] == stream:
            own = spending_of(entry) if entry.kind == "charge" else joint[content["joint"]]
            spent += [*lost, own]
            lost, dataset = [], content["dataset"]
        elif entry.kind == "lost" and content["dataset"] == dataset:
            lost.append(spending_of(entry))
    total, square = Total(), Fraction(0)
    for part in spent:
        if isinstance(part, Loss):
            total = total.plus(part)
        else:
            square += Fraction(part) ** 2
    if any(total) and square:
        raise Malformed(f"the charges of stream {stream!r} must be all mu or all losses")
    return total.up() if any(total) else root_up(square)
