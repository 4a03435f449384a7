"""The privacy ledger: what was spent and what was published, in a chain that shows any change.

    digest_n = SHA-256(digest_{n-1}, n, kind, body)        body: canonical JSON

Kinds of entries:

    dataset   a dataset and its whole budget, mu at a delta
    charge    a stream of a plan, or a new epoch of it, and the mu that it costs
    step      a step of a stream was closed, and the digest of what was released
    end       a stream takes no more steps

Gaussian budgets add up by squares, exactly: mu_total² = Σ mu_i².  Nothing in a ledger is private.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hushfade.errors import Malformed, Refused

Kind = Literal["dataset", "charge", "step", "end"]
ORIGIN = "0" * 64  # the digest before the first entry

_ROUNDING = 1e-12  # of the budget: two halves of it, rounded, may still be spent


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
            raise Malformed(f"the ledger must have an entry {number}, got {entry.number}")
        if entry.digest != _digest(before, entry.number, entry.kind, entry.body):
            raise Malformed(f"entry {number} of the ledger must follow from the one before it")
        last = entry
    return last


def _digest(before: str, number: int, kind: str, body: str) -> str:
    text = f"hushfade ledger 1\n{before}\n{number}\n{kind}\n{body}"
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Account:
    """A dataset's budget and what was spent of it, in mu."""

    name: str
    mu: float
    delta: float
    spent: float = 0.0

    @property
    def left(self) -> float:
        """The largest mu that may still be charged."""
        return math.sqrt(max(0.0, self.mu**2 - self.spent**2))

    def charged(self, mu: float) -> Account:
        """The account after a charge; Refused if it would overspend.

        >>> Account("clinics", mu=5.0, delta=1e-6).charged(3.0).charged(4.0).left
        0.0
        """
        spent = math.hypot(self.spent, mu)
        if not spent <= self.mu * (1.0 + _ROUNDING):
            raise Refused(
                f"the budget of dataset {self.name!r} must not be overspent: mu = {self.left:.6g} "
                f"is left, {mu:.6g} is needed"
            )
        return Account(self.name, self.mu, self.delta, spent)


def accounts(entries: Iterable[Entry]) -> Mapping[str, Account]:
    """All datasets' accounts, from entries of the kinds 'dataset' and 'charge' alone or all."""
    found: dict[str, Account] = {}
    for entry in entries:
        match entry.kind:
            case "dataset":
                content = entry.content
                name = content["dataset"]
                found[name] = Account(name, content["mu"], content["delta"])
            case "charge":
                content = entry.content
                name = content["dataset"]
                found[name] = found[name].charged(content["mu"])
    return found
