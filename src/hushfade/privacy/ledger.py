"""The privacy ledger: what was spent and what was published, in a chain that shows any change.

    digest_n = SHA-256(digest_{n-1}, n, kind, body)        body: canonical JSON

Kinds of entries:

    dataset   a dataset, its whole budget (epsilon and delta, or mu at a delta), and its unit
    charge    a stream of a plan, or a new epoch of it, what it spends, and the unit it protects
    lost      what was spent, according to a mark, after the copy was made that the ledger continues
    step      a step of a stream was closed, and the digest of what was released
    end       a stream takes no more steps

A charge and a `lost` spend either a mu of Gaussian noise, or a loss: epsilon and delta.  `account`
defines how they add up.  Nothing in a ledger is private.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from hushfade.errors import Malformed
from hushfade.privacy.account import Account, Loss, Spending, Total
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.rounding import root_up
from hushfade.privacy.unit import Relation

__all__ = [
    "Account",
    "Entry",
    "Kind",
    "accounts",
    "budget_fields",
    "fields",
    "following",
    "published",
    "statement",
    "verified",
]

Kind = Literal["dataset", "charge", "lost", "step", "end"]
ORIGIN = "0" * 64  # the digest before the first entry


@dataclass(frozen=True)
class Entry:
    """One line of the ledger; the first has number 1."""

    number: int
    kind: str
    body: str
    digest: str

    @property
    def content(self) -> dict[str, Any]:
        """The body, read."""
        found: dict[str, Any] = json.loads(self.body)
        return found


def following(last: Entry | None, kind: Kind, **content: Any) -> Entry:
    """The next entry of the chain.

    >>> first = following(None, "dataset", name="clinics", mu=0.5, delta=1e-6)
    >>> first.number, first.digest[:8]
    (1, '66554963')
    """
    number, before = (1, ORIGIN) if last is None else (last.number + 1, last.digest)
    body = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return Entry(number, kind, body, _digest(before, number, kind, body))


def verified(entries: Iterable[Entry], after: Entry | None = None) -> Entry | None:
    """The last entry, if each follows from the one before; Malformed names the first that does not.

    Cost: one SHA-256 an entry.
    """
    last = after
    for entry in entries:
        number, before = (1, ORIGIN) if last is None else (last.number + 1, last.digest)
        if entry.number != number:
            raise Malformed(f"the ledger must have an entry {number}", got=entry.number)
        if entry.digest != _digest(before, entry.number, entry.kind, entry.body):
            raise Malformed(f"entry {number} of the ledger must follow from the one before it")
        last = entry
    return last


def _digest(before: str, number: int, kind: str, body: str) -> str:
    text = f"hushfade ledger 1\n{before}\n{number}\n{kind}\n{body}"
    return hashlib.sha256(text.encode()).hexdigest()


def accounts(entries: Iterable[Entry]) -> Mapping[str, Account]:
    """All datasets' accounts, from the entries that change them or from all."""
    return {line.account.name: line.account for line in statement(entries)}


class Line(NamedTuple):
    """An entry that changes an account, what it spends, and the account after it."""

    entry: Entry
    spending: Spending | None  # None where a dataset is added
    account: Account


def statement(entries: Iterable[Entry]) -> Iterator[Line]:
    """The entries that change accounts, in order, like the lines of a bank statement."""
    found: dict[str, Account] = {}
    for entry in entries:
        spending = None
        if entry.kind == "dataset":
            account = _opened(entry)
        elif entry.kind in ("charge", "lost"):
            spending, account = _spending(entry), found[entry.content["dataset"]]
            add = account.charged if entry.kind == "charge" else account.with_lost
            account = add(spending, _relation(entry))
        else:
            continue
        found[account.name] = account
        yield Line(entry, spending, account)


def published(entries: Iterable[Entry], stream: str) -> Spending:
    """The mu, or the loss, of all that a stream has published: the charges of its epochs, composed.

    What was lost of its dataset before a new epoch counts too, since the stream may have spent it.
    So this is an upper bound.
    """
    spent: list[Spending] = []
    lost: list[Spending] = []
    dataset = None
    for entry in entries:
        content = entry.content
        if entry.kind == "charge" and content["stream"] == stream:
            spent += [*lost, _spending(entry)]
            lost, dataset = [], content["dataset"]
        elif entry.kind == "lost" and content["dataset"] == dataset:
            lost.append(_spending(entry))
    total, square = Total(), Fraction(0)
    for part in spent:
        if isinstance(part, Loss):
            total = total.plus(part)
        else:
            square += Fraction(part) ** 2
    if any(total) and square:
        raise Malformed(f"the charges of stream {stream!r} must all be a mu, or all a loss")
    return total.up() if any(total) else root_up(square)


def fields(spending: Spending) -> dict[str, Any]:
    """The fields of an entry that spends this.

    >>> fields(Loss(1.0, 1e-6, "huber"))
    {'loss': {'epsilon': 1.0, 'delta': 1e-06, 'law': 'huber'}}
    """
    return {"loss": spending._asdict()} if isinstance(spending, Loss) else {"mu": spending}


def budget_fields(account: Account) -> dict[str, Any]:
    """The fields of the entry `dataset` that opens the account."""
    common: dict[str, Any] = {"dataset": account.name, "delta": account.delta}
    if account.relation is not None:
        common["relation"] = account.relation.listed()
    if account.declared is not None:
        return common | {"epsilon": account.declared}
    return common | {"mu": account.mu} | ({"exact": True} if account.exact else {})


def _opened(entry: Entry) -> Account:
    content = entry.content
    name, delta = content["dataset"], content["delta"]
    if "epsilon" in content:
        account = Account.of(name, Guarantee(content["epsilon"], delta))
    else:
        account = Account(name, content["mu"], delta, exact=content.get("exact") is True)
    return replace(account, relation=_relation(entry))


def _relation(entry: Entry) -> Relation | None:
    told = entry.content.get("relation")
    return None if told is None else Relation.of_list(told)


def _spending(entry: Entry) -> Spending:
    """The mu or the loss of a charge or a `lost`; Malformed unless it is one of them, above 0."""
    content = entry.content
    if "loss" not in content:
        mu = content["mu"]
        if not (isinstance(mu, float) and mu > 0):
            raise Malformed(f"entry {entry.number} of the ledger must charge a mu > 0")
        return mu
    match content["loss"]:
        case {"epsilon": float(epsilon), "delta": float(delta), "law": law, **rest}:
            loss = Loss(epsilon, delta, law)
            above = epsilon > 0 or (entry.kind == "lost" and delta > 0)
            if "mu" not in content and not rest and above and 0 <= epsilon < math.inf > delta >= 0:
                return loss
    raise Malformed(
        f"entry {entry.number} of the ledger must charge a loss: epsilon > 0 and delta >= 0"
    )
