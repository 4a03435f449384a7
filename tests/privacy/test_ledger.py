import hashlib
import math
from dataclasses import replace

import pytest

from hushfade.errors import Malformed, Refused
from hushfade.privacy import ledger
from hushfade.privacy.ledger import Account, Entry, following, verified
from hushfade.privacy.unit import Relation
from hushfade.privacy.unit_words import words
from tests.loops import for_each

ADD, REPLACE = Relation("add_remove", 1, 1, 1), Relation("replace", 1, 1, 1)
UNIT = ADD.listed()


def chain(n):
    last, found = None, []
    for k in range(n):
        last = following(last, "step", stream="late", step=k + 1, release="ab")
        found.append(last)
    return found


def test_a_chain_verifies_and_its_end_is_found():
    entries = chain(5)
    assert verified(entries) == entries[-1]
    assert verified([]) is None
    assert verified(entries[3:], after=entries[2]) == entries[-1]


def test_a_digest_is_known_by_hand():
    entry = following(None, "dataset", mu=0.5, dataset="clinics")
    text = f'hushfade ledger 1\n{"0" * 64}\n1\ndataset\n{{"dataset":"clinics","mu":0.5}}'
    assert entry == Entry(
        1,
        "dataset",
        '{"dataset":"clinics","mu":0.5}',
        hashlib.sha256(text.encode()).hexdigest(),
    )


@for_each("at", range(5))
@for_each("field", ["number", "kind", "body", "digest"])
def test_a_change_of_any_entry_shows(at, field):
    entries = chain(5)
    value = getattr(entries[at], field)
    other = value + 1 if field == "number" else value.replace(value[-2], "x")
    entries[at] = replace(entries[at], **{field: other})
    with pytest.raises(Malformed, match="the ledger"):
        verified(entries)


def test_an_entry_that_is_left_out_repeated_or_moved_shows():
    entries = chain(5)
    for wrong in (entries[1:], [*entries[:2], *entries[3:]], [entries[0], *entries], entries[::-1]):
        with pytest.raises(Malformed):
            verified(wrong)


def test_a_chain_that_is_written_anew_from_some_entry_on_has_another_end():
    entries = chain(5)
    forged = following(entries[2], "step", stream="late", step=4, release="cd")
    forged = [*entries[:3], forged, following(forged, "step", stream="late", step=5, release="ab")]
    assert verified(forged).digest != entries[-1].digest  # which the mark knows


def test_budgets_add_up_by_squares():
    account = Account("clinics", mu=5.0, delta=1e-6, relation=ADD).charged(3.0)
    assert account.spent == 3.0
    assert account.left == 4.0
    assert account.charged(4.0).left == 0.0


def test_halves_of_a_budget_may_be_spent_although_they_are_rounded():
    for mu in (0.1, 0.2367, 1.0, 3.7):
        account = Account("clinics", mu=mu, delta=1e-6, relation=ADD)
        half = mu / math.sqrt(2.0)
        assert account.charged(half).charged(half).left == pytest.approx(0.0, abs=1e-7 * mu)


@pytest.mark.parametrize("mu", [3.0001, 5.0, math.inf, math.nan])
def test_overspending_is_refused(mu):
    account = Account("clinics", mu=5.0, delta=1e-6, relation=ADD).charged(4.0)
    with pytest.raises(Refused, match="must not be overspent: mu = 3 is left"):
        account.charged(mu)


def test_accounts_come_from_the_entries():
    first = following(None, "dataset", dataset="a", mu=5.0, delta=1e-6, relation=UNIT)
    second = following(
        first, "charge", stream="s", dataset="a", epoch=0, plan="", mu=3.0, relation=UNIT
    )
    third = following(second, "step", stream="s", epoch=0, step=1, release="")
    assert ledger.accounts([first, second, third]) == {"a": Account("a", 5.0, 1e-6, ADD, 3.0)}


def test_a_number_that_json_cannot_say_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        following(None, "dataset", mu=math.nan)


@pytest.mark.parametrize(
    "other",
    [REPLACE, ADD._replace(steps=3, apart=24), ADD._replace(records_per_step=2)],
)
def test_a_dataset_whose_streams_promise_to_different_neighbours_is_refused(other):
    account = Account("clinics", mu=5.0, delta=1e-6, relation=ADD).charged(3.0, ADD)
    with pytest.raises(Refused, match="must protect the same unit") as found:
        account.charged(1.0, other)
    assert words(other) in str(found.value)
    assert account.charged(4.0, ADD).relation == ADD


def test_what_a_mark_knows_to_be_spent_is_lacking_by_squares():
    known = Account("clinics", mu=5.0, delta=1e-6, relation=ADD, spent=5.0)
    assert Account("clinics", mu=5.0, delta=1e-6, relation=ADD, spent=3.0).lacking(known) == 4.0
    assert known.lacking(Account("clinics", mu=5.0, delta=1e-6, relation=ADD, spent=3.0)) is None


def test_a_budget_lends_nothing_but_the_rounding_of_sums():
    whole = Account("clinics", mu=0.3, delta=1e-6, relation=ADD)
    assert whole.affords(0.3)
    assert not whole.affords(0.3 * (1 + 2e-12))
    for parts in (2, 3, 7, 1000):
        account = whole
        for _ in range(parts):
            account = account.charged(0.3 / math.sqrt(parts))
        assert not account.affords(1e-6)
    entries = [following(None, "dataset", dataset="clinics", mu=0.3, delta=1e-6, relation=UNIT)]
    assert ledger.accounts(entries)["clinics"] == whole


def test_a_charge_of_nothing_is_refused():
    first = following(None, "dataset", dataset="clinics", mu=0.3, delta=1e-6, relation=UNIT)
    for mu in (0.0, -0.1, "0.1", None, True):
        forged = [first, following(first, "charge", dataset="clinics", stream="late", mu=mu)]
        assert verified(forged) == forged[1]
        with pytest.raises(Malformed, match="entry 2 of the ledger must charge a mu > 0"):
            ledger.accounts(forged)
