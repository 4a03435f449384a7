"""The privacy ledger: what was spent and what was published, in a chain that shows any change.

    digest_n = SHA-256(digest_{n-1}, n, kind, body)        body: canonical JSON

Kinds of entries:

    dataset   a dataset and its whole budget, mu at a delta
    charge    a stream of a plan, or a new epoch of it, its mu, and to whom it promises
    lost      what was spent, by a mark, after the copy was made from which the ledger goes on
    step      a step of a stream was closed, and the digest of what was released
    end       a stream takes no more steps

Gaussian budgets add up by squares, exactly: mu_total² = Σ mu_i², as long as all promise to the same
neighbours: one relation a dataset, that of its first stream.  Nothing in a ledger is private.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from hushfade.errors import InvalidValue, Malformed, Refused
from hushfade.privacy.calibration import epsilon_of, mu_of
from hushfade.privacy.rounding import epsilon_up, root_down, root_up, rounded_down, rounded_up

Kind = Literal["dataset", "charge", "lost", "step", "end"]
Relation = tuple[str, int, int, int]  # neighbours, participations, separation, records a step
ORIGIN = "0" * 64  # the digest before the first entry

_ROUNDING = 1e-12  # of a budget, by which sums of charges may exceed it: two halves are the whole
_ROUNDING_0_1_0 = 1e-9  # 0.1.0 rounded budgets down by up to 1e-9; plans of today spend them whole


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


@dataclass(frozen=True)
class Account:
    """A dataset's budget and what was spent of it, in mu; and to whom its streams promise."""

    name: str
    mu: float
    delta: float
    spent: float = 0.0
    relation: Relation | None = None  # none before the first charge
    exact: bool = False  # is the budget all that its epsilon allows?  0.1.0 rounded it down

    @property
    def left(self) -> float:
        """The largest mu that may still be charged."""
        return root_down(Fraction(self.mu) ** 2 - Fraction(self.spent) ** 2)

    @property
    def epsilon(self) -> float:
        """The whole budget as an epsilon of nine digits at delta, rounded up."""
        return self._epsilon(self.mu)

    @property
    def spent_epsilon(self) -> float:
        """What was spent as an epsilon of nine digits at delta, rounded up."""
        return self._epsilon(self.spent)

    @property
    def left_epsilon(self) -> float:
        """The largest epsilon of nine digits that one more stream may have.

        >>> whole = Account("clinics", mu_of(2.0, 1e-6), 1e-6)
        >>> whole.left_epsilon, whole.charged(mu_of(1.0, 1e-6)).left_epsilon
        (2.0, 1.67327427)
        """
        whole = epsilon_of(self.left, self.delta) if self.left > 0 else 0.0
        for text in (rounded_up(whole, 9), rounded_down(whole, 9)):
            with suppress(InvalidValue):  # too little for any stream
                if self.affords(mu_of(float(text), self.delta)):
                    return float(text)
        return 0.0

    def _epsilon(self, mu: float) -> float:
        return float(epsilon_up(mu, self.delta, 9)) if mu > 0 else 0.0

    def affords(self, mu: float) -> bool:
        """May this mu be charged?"""
        rounding = _ROUNDING if self.exact else _ROUNDING_0_1_0
        return math.hypot(self.spent, mu) <= self.mu * (1.0 + rounding)

    def charged(self, mu: float, relation: Relation | None = None) -> Account:
        """The account after a charge; Refused if it overspends, or promises to other neighbours.

        >>> Account("clinics", mu=5.0, delta=1e-6).charged(3.0).charged(4.0).left
        0.0
        """
        if not self.affords(mu):
            raise Refused(
                f"the budget of dataset {self.name!r} must not be overspent: mu = "
                f"{rounded_down(self.left, 6)} is left, {rounded_up(mu, 6)} is needed"
            )
        if None not in (relation, self.relation) and relation != self.relation:
            raise Refused(
                f"the streams of dataset {self.name!r} must promise to the same neighbours, else "
                f"they do not add up: {_words(self.relation)}, not {_words(relation)}"
            )
        spent = root_up(Fraction(self.spent) ** 2 + Fraction(mu) ** 2)
        return replace(self, spent=spent, relation=self.relation or relation)

    def lacking(self, known: Account) -> float:
        """The mu that this account lacks of one that is known to have spent more."""
        return root_up(max(Fraction(0), Fraction(known.spent) ** 2 - Fraction(self.spent) ** 2))


def accounts(entries: Iterable[Entry]) -> Mapping[str, Account]:
    """All datasets' accounts, from the entries that change them or from all."""
    found: dict[str, Account] = {}
    for entry in entries:
        match entry.kind:
            case "dataset":
                content = entry.content
                name = content["dataset"]
                exact = content.get("exact") is True
                found[name] = Account(name, content["mu"], content["delta"], exact=exact)
            case "charge" | "lost":
                content = entry.content
                if not (isinstance(content["mu"], float) and content["mu"] > 0):
                    raise Malformed(f"entry {entry.number} of the ledger must charge a mu > 0")
                name, said = content["dataset"], content.get("relation")
                relation = None if said is None else (said[0], said[1], said[2], said[3])
                found[name] = found[name].charged(content["mu"], relation)
    return found


def published_mu(entries: Iterable[Entry], stream: str) -> float:
    """The mu of all that a stream has published: its charges, one for each epoch, composed.

    What was lost of its dataset before a new epoch counts too, since it may have been the stream's.
    So this is an upper bound.
    """
    square, lost, dataset = Fraction(0), Fraction(0), None
    for entry in entries:
        content = entry.content
        if entry.kind == "charge" and content["stream"] == stream:
            square += lost + Fraction(content["mu"]) ** 2
            lost, dataset = Fraction(0), content["dataset"]
        elif entry.kind == "lost" and content["dataset"] == dataset:
            lost += Fraction(content["mu"]) ** 2
    return root_up(square)


def _words(relation: Relation | None) -> str:
    """The relation as a person reads it.

    >>> _words(("replace", 3, 24, 1))
    'replace with participations 3, separation 24, records_per_step 1'
    """
    assert relation is not None
    neighbours, participations, separation, records = relation
    return (
        f"{neighbours} with participations {participations}, separation {separation}, "
        f"records_per_step {records}"
    )
