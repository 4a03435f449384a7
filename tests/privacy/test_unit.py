"""The unit of privacy: streams and losses of different units do not add up."""

import pytest

import hushfade as hf
from hushfade.privacy.unit import Relation
from hushfade.privacy.unit_words import words
from hushfade.store import Store

DAY = hf.Exponential(half_life=24)
PERSON = hf.Guarantee(epsilon=1, delta=1e-6, protects=hf.Person(steps=24))
ONE = hf.Guarantee(epsilon=1, delta=1e-6)
WHOLE = hf.Guarantee(epsilon=10, delta=1e-5, protects=hf.Person(steps=24))


def planned(guarantee, every):
    return hf.plan(DAY, guarantee, every=every, law="gaussian", method="square_root")


HOURLY, DAILY, UNDECLARED = (planned(PERSON, every) for every in ("1h", "1d", None))


def test_the_step_belongs_to_the_unit_of_a_person_and_not_to_that_of_a_record():
    assert HOURLY.relation == ("add_remove", 24, 1, 1, "1h", None)
    assert HOURLY.privacy.relation == HOURLY.relation
    assert planned(ONE, "1h").relation == planned(ONE, "1d").relation == ONE.relation
    several = hf.Guarantee(epsilon=1, delta=1e-6, protects=hf.Person(records_per_step=3))
    assert planned(several, "1h").relation.step == "1h"


def test_losses_of_hours_and_of_days_do_not_add_up():
    """24 records in 24 days are not 24 records in 24 hours: nobody is protected by the sum."""
    assert (HOURLY.privacy + HOURLY.privacy).relation == HOURLY.relation
    for other in (DAILY, UNDECLARED):
        with pytest.raises(hf.InvalidValue, match="the same unit of privacy"):
            HOURLY.privacy + other.privacy


def test_the_loss_so_far_has_the_unit_of_the_plan():
    for plan in (HOURLY, DAILY, UNDECLARED, planned(ONE, "1h")):
        for steps in (0, 1, 500):
            assert plan.privacy_after(steps).relation == plan.relation
    with pytest.raises(hf.InvalidValue, match="the same unit of privacy"):
        HOURLY.privacy_after(500) + DAILY.privacy_after(500)


def test_a_dataset_keeps_the_unit_of_its_guarantee(tmp_path):
    store = Store.open(tmp_path / "releases.db")
    store.add_dataset("people", WHOLE, every="1h")
    store.add_dataset("records", hf.Guarantee(epsilon=10, delta=1e-5))
    store.add_dataset("any step", WHOLE)
    store.add_stream("hours", HOURLY, dataset="people")
    store.add_stream("first", DAILY, dataset="any step")  # it decides the length of a step
    for dataset, plan in (
        ("people", DAILY), ("people", UNDECLARED), ("people", planned(ONE, "1h")),
        ("records", HOURLY), ("any step", HOURLY), ("any step", UNDECLARED),
    ):  # fmt: skip
        with pytest.raises(hf.Refused, match="must protect the same unit") as found:
            store.add_stream("other", plan, dataset=dataset)
        assert words(plan.relation) in str(found.value)
    store.add_stream("days", planned(ONE, "1d"), dataset="records")
    store.add_stream("hours of records", planned(ONE, "1h"), dataset="records")
    accounts = store.accounts()
    store.close()
    with_again = Store.open(tmp_path / "releases.db")
    assert with_again.accounts() == accounts
    assert accounts["people"].relation.step == "1h"
    assert accounts["any step"].relation.step == "1d"
    with_again.close()


def test_units_in_words_and_lists():
    assert words(Relation("add_remove", 1, 1, 1)) == "one record, added or removed"
    assert words(Relation("replace", 1, 1, 5, "1d")) == (
        "the records of one person in 1 step of 1d, 5 per step, replaced"
    )
    for relation in (HOURLY.relation, ONE.relation):
        assert Relation.of_list(relation.listed()) == relation
