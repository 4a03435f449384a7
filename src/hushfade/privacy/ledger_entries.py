"""Entries of the ledger: the chain of digests, and the fields of each kind of entry."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from hushfade.errors import Malformed
from hushfade.privacy.account import Account, Loss, Spending
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.unit import Relation

Kind = Literal["dataset", "charge", "joint", "member", "void", "lost", "step", "end"]
ORIGIN = "0" * 64  # the digest before the first entry


@dataclass(frozen=True)
class Entry:
    """One line of the ledger; the first line has number 1."""

    number: int
    kind: str
    body: str
    digest: str

    @property
    def content(self) -> dict[str, Any]:
        """The body, parsed."""
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
    """The last entry, if each entry follows from the one before.

    Otherwise raises Malformed, which names the first wrong entry.  Cost: one SHA-256 per entry.
    """
    last = after
    for entry in entries:
        number, before = (1, ORIGIN) if last is None else (last.number + 1, last.digest)
        if entry.number != number:
            raise Malformed(f"the ledger must have an entry {number}", got=entry.number)
        if entry.digest != _digest(before, entry.number, entry.kind, entry.body):
            raise Malformed(f"entry {number} of the ledger must follow from the entry before it")
        last = entry
    return last


def _digest(before: str, number: int, kind: str, body: str) -> str:
    text = f"hushfade ledger 1\n{before}\n{number}\n{kind}\n{body}"
    return hashlib.sha256(text.encode()).hexdigest()


def fields(spending: Spending) -> dict[str, Any]:
    """The fields of an entry that spends this amount.

    >>> fields(Loss(1.0, 1e-6, "huber"))
    {'loss': {'epsilon': 1.0, 'delta': 1e-06, 'law': 'huber'}}
    """
    return {"loss": spending._asdict()} if isinstance(spending, Loss) else {"mu": spending}


def budget_fields(account: Account) -> dict[str, Any]:
    """The fields of the `dataset` entry that opens the account."""
    amount = {"mu": account.mu} if account.declared is None else {"epsilon": account.declared}
    return {
        "dataset": account.name,
        "delta": account.delta,
        "relation": account.relation.listed(),
        **amount,
    }


def opened(entry: Entry) -> Account:
    """The account that a `dataset` entry opens."""
    content = entry.content
    name, delta, relation = content["dataset"], content["delta"], relation_of(entry)
    if "epsilon" in content:
        return replace(Account.of(name, Guarantee(content["epsilon"], delta)), relation=relation)
    return Account(name, content["mu"], delta, relation)


def relation_of(entry: Entry) -> Relation:
    """The unit of privacy that the entry states."""
    try:
        return Relation.of_list(entry.content["relation"])
    except KeyError:
        raise Malformed(f"entry {entry.number} of the ledger must state a unit") from None


def spending_of(entry: Entry) -> Spending:
    """The mu or the loss that an entry spends.  Raises Malformed unless it is > 0."""
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


def streams_of(entry: Entry) -> list[tuple[str, str]]:
    """The streams of a `joint` entry, with the digests of their plans."""
    match entry.content.get("streams"):
        case [_, *_] as listed:
            pairs = [tuple(one) for one in listed if isinstance(one, list)]
            texts = all(len(pair) == 2 and all(isinstance(x, str) for x in pair) for pair in pairs)
            names = {pair[0] for pair in pairs} if texts else set()
            if len(names) == len(listed):
                return [(name, plan) for name, plan in pairs]
    raise Malformed(
        f"entry {entry.number} of the ledger must list streams with the digests of their plans"
    )
