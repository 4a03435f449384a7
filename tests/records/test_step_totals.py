from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushfade as hf
from hushfade.errors import InvalidValue, Malformed
from hushfade.records import Arrival, Batch, Calendar, Columns, Reader, RowOrder, tables, tally
from hushfade.records import step_totals as module
from hushfade.records.arrow import pa
from hushfade.records.limits import Limits

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
SWAP = hf.Guarantee(epsilon=1, delta=1e-6, neighbours="replace")
DAY = hf.SlidingWindow(1)
ALL = Columns(value="v", time="t", key="k", user="u")
RECORD = st.tuples(
    st.floats(-3, 3).map(lambda x: round(x, 3)), st.integers(-30, 130),
    st.sampled_from(["a", "b", "x"]), st.integers(0, 4),
)  # fmt: skip


def frame(records):
    v, t, k, u = zip(*records, strict=True) if records else ((), (), (), ())
    when = pa.array(t, pa.int64()).cast(pa.timestamp("ns"))
    kinds = {"v": pa.float64(), "k": pa.string(), "u": pa.int64()}
    named = {"v": v, "k": k, "u": u}
    return pa.table({"t": when} | {n: pa.array(c, kinds[n]) for n, c in named.items()})


@cache
def limited(limits):
    m, k, b = (limits.records_per_step, limits.steps, limits.apart) if limits else (1, 1, 1)
    said = hf.Guarantee(1, 1e-6, protects=hf.Person(steps=k, apart=b, records_per_step=m))
    return hf.plan(DAY, said, low=-1, high=2, keys=["a", "b"])


def counted(records, limits=None, **options):
    plan = limited(limits)
    columns = ALL if limits else Columns(value="v", time="t", key="k")
    reader = Reader(plan, columns, Calendar(0, 10, False, 10), **options)
    return plan, tally(tables(frame(records), columns), reader)


@settings(deadline=None, derandomize=True)
@given(st.lists(RECORD, max_size=40))
def test_totals_are_the_clipped_records_of_their_step_and_key(records):
    plan, found = counted(records)
    expected = np.zeros((10, 2))
    for value, time, key, _ in records:
        if 0 <= time < 100 and key in "ab":
            expected[time // 10, "ab".index(key)] += plan.quantise(value)
    assert np.array_equal(found.totals * plan.grid.resolution, expected)


@settings(deadline=None, derandomize=True)
@given(st.lists(RECORD, max_size=40), st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(records, random):
    shuffled = random.sample(records, len(records))
    assert np.array_equal(counted(records)[1].totals, counted(shuffled)[1].totals)


@settings(deadline=None, derandomize=True)
@given(st.lists(RECORD, max_size=40))
def test_every_record_is_counted_or_dropped_for_one_reason(records):
    counts = counted(records)[1].counts
    inside = [r for r in records if 0 <= r[1] < 100]
    assert counts.records == len(records)
    assert counts.outside == len(records) - len(inside)
    assert counts.other_keys == sum(r[2] == "x" for r in inside)
    assert counts.counted == sum(r[2] != "x" for r in inside)


@settings(deadline=None, derandomize=True)
@given(
    st.lists(RECORD, min_size=1, max_size=30),
    st.builds(Limits, st.integers(1, 2), st.integers(1, 3), st.integers(1, 3)),
    st.integers(0, 4),
)
def test_one_person_moves_the_totals_by_no_more_than_the_guarantee_says(records, limits, person):
    """Add or remove: the whole person.  By hand: at most m·max(|low|, |high|) in each of k steps,
    b apart."""
    plan, with_them = counted(records, limits)
    without = counted([r for r in records if r[3] != person], limits)[1]
    moved = (with_them.totals - without.totals) * plan.grid.resolution
    steps = np.flatnonzero(np.abs(moved).sum(axis=1))
    assert np.abs(moved).sum(axis=1).max() <= limits.records_per_step * 2 + 1e-9
    assert len(steps) <= limits.steps
    assert np.all(np.diff(steps) >= limits.apart)


@settings(deadline=None, derandomize=True)
@given(
    st.lists(RECORD, min_size=1, max_size=30),
    st.builds(Limits, st.integers(1, 2), st.integers(1, 3), st.integers(1, 3)),
    st.integers(0, 29),
    st.floats(-3, 3),
    st.sampled_from(["a", "b", "x"]),
)
def test_another_value_or_key_lets_no_other_record_in(records, limits, place, value, key):
    """Replace: only the step of the replaced record moves."""
    place %= len(records)
    other = list(records)
    other[place] = (value, records[place][1], key, records[place][3])
    moved = counted(records, limits)[1].totals - counted(other, limits)[1].totals
    assert set(np.flatnonzero(np.abs(moved).sum(axis=1))) <= {records[place][1] // 10}


def test_rows_in_order_are_steps():
    plan = hf.plan(DAY, SWAP, resolution=0.5)
    columns = Columns(value="v")
    for rows, expected in ((1, [1, 0, 1, 0.5, 0]), (2, [1, 1.5, 0]), (9, [2.5])):
        reader = Reader(plan, columns, RowOrder(rows))
        found = tally(tables(pa.table({"v": [1, 0, 7, 0.5, -3]}), columns), reader)
        assert (found.totals[:, 0] * 0.5).tolist() == expected


def test_rows_that_enter_no_total_are_steps_all_the_same():
    plan = hf.plan(DAY, SWAP, resolution=1, keys=["a", "b"])
    columns = Columns(value="v", key="k")
    table = pa.table({"v": [1, 1, 1, 1], "k": ["b", "x", "x", "x"]})
    found = tally(tables(table, columns), Reader(plan, columns, RowOrder()))
    assert found.totals.tolist() == [[0, 1], [0, 0], [0, 0], [0, 0]]


def test_many_rows_in_order_grow_the_table():
    plan = hf.plan(DAY, SWAP, resolution=1)
    reader = Reader(plan, Columns(value="v"), RowOrder())
    pieces = [pa.table({"v": np.ones(700)}) for _ in range(5)]
    found = tally((b for p in pieces for b in tables(p, Columns(value="v"))), reader)
    assert found.totals.shape == (3500, 1)
    assert found.totals.sum() == 3500


def test_without_a_value_each_record_counts_one():
    plan = hf.plan(DAY, ONE, resolution=1)
    reader = Reader(plan, Columns(time="t"), Calendar(0, 10, False, 2))
    records = [(5.0, 3, "a", 1), (5.0, 4, "a", 1), (5.0, 15, "a", 1)]
    assert tally(tables(frame(records), Columns(time="t")), reader).totals.tolist() == [[2], [1]]


def test_records_without_value_are_dropped_after_the_limits():
    plan = hf.plan(DAY, ONE)
    columns = Columns(value="v", time="t", user="u")
    table = pa.table(
        {"v": [None, 1.0], "t": pa.array([1, 2]).cast(pa.timestamp("ns")), "u": [7, 7]}
    )
    order = Calendar(0, 10, False, 1)
    reader = Reader(plan, columns, order, skip_empty=True)
    found = tally(tables(table, columns), reader)
    assert found.totals.tolist() == [[0]]  # the empty one came first and used the place up
    assert (found.counts.empty, found.counts.over_limit) == (1, 1)
    with pytest.raises(Malformed, match=r"column 'v': is empty: correct it, or .* skip_empty"):
        tally(tables(table, columns), Reader(plan, columns, order))


def test_no_records_give_steps_of_zero():
    assert counted([])[1].totals.tolist() == [[0, 0]] * 10


def test_times_and_start_must_agree_about_the_zone():
    plan = hf.plan(DAY, ONE)
    columns = Columns(time="t")
    reader = Reader(plan, columns, Calendar(0, 10, True, 2))
    with pytest.raises(
        Malformed, match=r"column 't': must have a time zone, .* because the start has"
    ):
        tally(tables(frame([(1.0, 1, "a", 0)]), columns), reader)
    with pytest.raises(InvalidValue, match=r"start must have a time zone, .* numeric times"):
        Reader(plan, columns, Calendar(0, 10, False, 2), time_unit="s")
    with pytest.raises(InvalidValue, match="time_unit must be one of s, ms, us, ns, got 'h'"):
        Reader(plan, columns, Calendar(0, 10, True, 2), time_unit="h")


def test_a_malformed_row_changes_nothing_that_is_remembered():
    plan = hf.plan(DAY, ONE)
    columns = Columns(value="v", user="u")
    reader = Reader(plan, columns, Arrival())
    (good,) = tables(pa.table({"v": ["1", "1"], "u": ["ann", "bob"]}), columns)
    for bad in ({"v": ["1", "x"], "u": ["cy", "dee"]}, {"v": ["1", "1"], "u": ["cy", "  "]}):
        (batch,) = tables(pa.table(bad), columns)
        with pytest.raises(Malformed, match="row 2, column"):
            reader.read(batch)
        assert (reader.counts, len(reader._persons)) == (module.Counts(), 0)
    cells, _ = reader.read(good)
    assert cells.tolist() == [0, 0]
    assert reader.counts == module.Counts(records=2)


def test_what_does_not_fit_together_is_refused(monkeypatch):
    single, keyed = hf.plan(DAY, ONE), hf.plan(DAY, ONE, keys=["a"])
    vectors, swapped = hf.plan(DAY, ONE, width=2, norm=1), hf.plan(DAY, SWAP)
    hours = Calendar(0, 10, False, 3)
    for plan, columns, order in (
        (vectors, Columns(time="t"), hours),
        (keyed, Columns(time="t"), hours),
        (single, Columns(time="t", key="k"), hours),
        (swapped, Columns(time="t"), RowOrder()),
        (single, Columns(time="t"), Arrival()),
        (swapped, Columns(), RowOrder()),
        (single, Columns(value="v"), RowOrder()),  # a removed row moves the others
    ):
        with pytest.raises(InvalidValue):
            Reader(plan, columns, order)
    far = hf.plan(DAY, SWAP, low=95, high=100)
    Reader(far, Columns(value="v", time="t"), hours)
    with pytest.raises(InvalidValue, match="counts as 0"):
        Reader(far, Columns(value="v", time="t"), hours, skip_empty=True)
    monkeypatch.setattr(module, "LARGEST", 5)
    with pytest.raises(InvalidValue, match="steps × keys must be at most"):
        counted([])


def test_a_total_that_the_plan_cannot_carry_is_rejected_before_any_noise():
    """Otherwise the releases of the steps before it would be out already."""
    plan = hf.plan(DAY, ONE, resolution=1)
    plan = replace(plan, grid=replace(plan.grid, largest_total=3))
    columns = Columns(time="t")
    for count in (3, 4):
        reader = Reader(plan, columns, Calendar(0, 10, False, 10))
        table = frame([(1, 75, "a", 1)] * count)
        if count == 3:
            assert tally(tables(table, columns), reader).totals[7].tolist() == [3]
        else:
            with pytest.raises(InvalidValue, match="exceeds the plan's largest_total"):
                tally(tables(table, columns), reader)


def test_a_live_record_that_is_no_truth_is_dropped_and_stops_nothing():
    """If it stopped the run, one record would decide about all later steps."""
    plan = hf.plan(hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6), statistic=hf.Share())
    reader = Reader(plan, Columns(value="v", time="t"), Calendar(0, 10**9, True, 3), time_unit="s")
    columns = {"value": pa.chunked_array([["1", "2", "no", "0"]]),
               "time": pa.chunked_array([[0, 0, 1, 1]])}  # fmt: skip
    cells, units = reader.read_live(Batch(columns, 4, "line {}".format))
    assert (cells.tolist(), units.tolist()) == ([0, 3], [1, 1])
    assert reader.counts.rejected == 2
    assert "must be true or false" in reader.first_fault
    with pytest.raises(Malformed, match="must be true or false, or 1 or 0"):
        reader.read(Batch(columns, 4, "line {}".format))
