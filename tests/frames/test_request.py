import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hushfade import Guarantee, InvalidType, InvalidValue, KeyedNoise, plan
from hushfade.frames.request import Column, Published, declared, of_records, of_totals
from tests.frames.cases import KEYS, PLAN, RECORDS, SEEDED, expected

KEYED = plan(PLAN.decay, PLAN.guarantee, low=-1, high=2, keys=KEYS)
KEYED_REQUEST = of_totals({"plan": KEYED, "noise": SEEDED}, tuple(KEYS))


def read(values, nulls=()):
    values = np.asarray(values)
    mask = np.zeros(len(values), dtype=bool)
    mask[list(nulls)] = True
    return Column(values, mask)


def test_an_empty_step_has_the_total_zero_even_where_bounds_exclude_it():
    above = plan(PLAN.decay, PLAN.guarantee, low=1, high=2)
    request = of_records({"plan": above, "noise": SEEDED, "empty_steps": True})
    found = request.run(read([1.5, 7.0, 0.0], nulls=[1]))
    assert_array_equal(found.value, above.start(SEEDED).run([1.5, 0.0, 1.0]))


def test_what_stands_under_a_null_does_not_matter():
    request = of_records({"plan": PLAN, "noise": SEEDED, "empty_steps": True})
    values = [request.run(read([1.0, hidden], nulls=[1])).value for hidden in (0.0, np.nan, 9.0)]
    assert_array_equal(values[0], values[1])
    assert_array_equal(values[0], values[2])


def test_a_keys_rows_are_its_steps_in_their_order():
    """By hand: b has three rows, a has two, one key has none."""
    found = KEYED_REQUEST.run_by_key(read([1.0, 2.0, 3.0, 4.0, 5.0]), ["b", "a", "a", "b", "b"])
    totals = np.array([[1.0, 2.0, 0.0], [4.0, 3.0, 0.0], [5.0, 0.0, 0.0]])
    assert_array_equal(found.value, KEYED.start(SEEDED).run(totals))
    columns = found.columns("district")
    assert list(columns) == ["step", "district", "value", "stddev"]
    assert columns["step"].tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert columns["district"].tolist() == KEYS * 3
    assert_array_equal(columns["value"], found.value.ravel())
    assert_array_equal(columns["stddev"], np.repeat(KEYED.stddevs(3), 3))


def test_rows_of_different_keys_may_be_mixed_in_any_way():
    rng = np.random.default_rng(4)
    labels = np.repeat(KEYS, 13)
    values = np.arange(39.0)
    together = KEYED_REQUEST.run_by_key(read(values), labels)
    mixed = labels[rng.permutation(39)]
    order = np.argsort(mixed, kind="stable")
    moved = np.empty(39)
    moved[order] = values[np.argsort(labels, kind="stable")]
    assert_array_equal(KEYED_REQUEST.run_by_key(read(moved), mixed).value, together.value)


def test_one_key_is_the_column():
    alone = plan(PLAN.decay, PLAN.guarantee, low=-1, high=2, keys=["a"])
    request = of_records({"plan": alone, "noise": SEEDED}, ("a",))
    found = request.run_by_key(read(RECORDS), ["a"] * len(RECORDS))
    assert_array_equal(found.value[:, 0], expected(RECORDS))


def test_no_rows_are_no_steps_of_any_key():
    found = KEYED_REQUEST.run_by_key(read(np.empty(0)), [])
    assert found.value.shape == (0, 3)
    assert [len(column) for column in found.columns("a").values()] == [0, 0, 0, 0]


def test_integer_totals_are_not_rounded_to_the_grid():
    coarse = plan(PLAN.decay, PLAN.guarantee, low=0, high=2**20, resolution=2.0**10)
    with pytest.raises(InvalidValue, match="multiples"):
        of_totals({"plan": coarse}).run(read(np.array([2**20 + 1])))
    big = np.array([2**63 + 1024], dtype=np.uint64)
    with pytest.raises(InvalidValue, match="largest_total"):
        of_totals({"plan": coarse}).run(read(big))


def test_rows_of_other_keys_are_refused_without_their_names():
    for other in ("secret-key", None, 1, float("nan")):
        with pytest.raises(InvalidValue, match="got 1 invalid, the first in row 1") as no:
            KEYED_REQUEST.run_by_key(read([1.0, 2.0]), ["a", other])
        assert "secret-key" not in str(no.value)


def test_nulls_are_refused_unless_they_are_said_to_be_empty_steps():
    with pytest.raises(InvalidValue, match=r"got 2 invalid, the first in row 1"):
        of_records({"plan": PLAN}).run(read([1.0, 0.0, 0.0], nulls=[1, 2]))
    with pytest.raises(InvalidValue, match="totals must not be null"):
        of_totals({"plan": PLAN}).run(read([1.0], nulls=[0]))
    with pytest.raises(InvalidType, match="empty_steps is for records"):
        of_totals({"plan": PLAN, "empty_steps": True})
    with pytest.raises(InvalidType, match="empty_steps must be a bool"):
        of_records({"plan": PLAN, "empty_steps": "yes"})


def test_a_null_that_moves_a_total_further_than_another_value_is_refused():
    """By hand: from 100 to 101 is 1, from 101 to nothing is 101."""
    far = {"half_life": 5, "epsilon": 1, "delta": 1e-6, "low": 100, "high": 101}
    replaced = Guarantee(1, 1e-6, neighbours="replace")
    for low, high in ((100, 101), (-2, -1), (0.5, 1)):
        made = plan(PLAN.decay, replaced, low=low, high=high)
        with pytest.raises(InvalidValue, match="empty_steps needs 0 between low and high if"):
            of_records({"plan": made, "empty_steps": True})
        of_records({"plan": made})
    with pytest.raises(InvalidValue, match="empty_steps needs 0 between low and high if"):
        of_records(far | {"neighbours": "replace", "empty_steps": True})
    of_records(far | {"empty_steps": True})  # under add_remove the noise is for 101
    for low, high in ((0, 1), (-1, 0), (-1, 1)):
        made = plan(PLAN.decay, replaced, low=low, high=high)
        found = of_records({"plan": made, "noise": SEEDED, "empty_steps": True})
        assert_array_equal(found.run(read([9.0], nulls=[0])).value, made.start(SEEDED).run([0]))


def test_keys_are_declared_with_their_column():
    assert declared(None, None) is None
    assert declared("k", iter(["a", "b"])) == ("a", "b")
    for key, keys in (("k", None), ("k", "ab"), (None, ["a"])):
        with pytest.raises(InvalidType, match="keys"):
            declared(key, keys)
    for key in ("step", "value", "stddev"):
        with pytest.raises(InvalidValue, match="key must not be named"):
            declared(key, ["a"])


def test_no_repr_shows_a_record_or_a_key():
    key = KeyedNoise.new_key()
    request = of_records({"plan": PLAN, "noise": KeyedNoise(key, stream="s")})
    assert repr(key) not in repr(request)
    assert "0.75" not in repr(read([0.75]))


def test_published_without_a_key_has_two_columns():
    assert list(Published(np.zeros(2), np.ones(2), None).columns()) == ["value", "stddev"]
