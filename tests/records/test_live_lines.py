from dataclasses import replace

import numpy as np
import pytest

import hushfade as hf
from hushfade.errors import InvalidValue, Malformed
from hushfade.records import Arrival, Calendar, Columns, Reader, live_lines, step_totals
from hushfade.records.files import line_reader
from hushfade.records.live_lines import (
    OpenSteps,
    by_clock,
    by_empty_lines,
    check_start,
    current,
)
from tests.records.arrivals import Arrivals, all_at_once

SECOND = 10**9
ONE = hf.Guarantee(epsilon=1, delta=1e-6)
PLAN = hf.plan(hf.SlidingWindow(1), ONE, resolution=1)


def opened(columns, order, form="csv"):
    reader = Reader(PLAN, columns, order)
    return reader, OpenSteps(reader, line_reader(form, "input", columns, live=True))


def seconds(count=None):
    return Calendar(0, SECOND, True, count)


def stamped(at, moment):
    return at, f"{np.datetime64(moment, 'ns')}Z\n".encode()


def test_the_clock_closes_steps_whether_or_not_anybody_came():
    _, steps = opened(Columns(value="v"), seconds(4))
    source = Arrivals(
        (0, b"v\n"), (1, b"1\n"), (2, b"1\n"), (2 * SECOND + 5, b"1\n"), (10**12, b"1\n")
    )
    found = list(by_clock(source, steps, seconds(4), lateness=0))
    assert np.concatenate(found).tolist() == [2, 0, 1, 0]


def test_a_record_with_a_time_goes_to_its_step_until_that_closes():
    columns = Columns(time="t")
    reader, steps = opened(columns, seconds(3))
    half = SECOND // 2
    source = Arrivals(
        (0, b"t\n"),
        stamped(1, half),  # on time
        stamped(2, 2 * SECOND + 1),  # ahead of time
        stamped(SECOND + half // 2, half),  # late, and waited for
        stamped(SECOND + half + 1, half),  # too late
        stamped(SECOND + half + 2, SECOND + half),
        (10**12, b""),
    )
    found = list(by_clock(source, steps, seconds(3), lateness=half))
    assert np.concatenate(found).tolist() == [2, 1, 1]
    assert (reader.counts.late, reader.counts.counted) == (1, 4)


def test_a_line_without_a_time_counts_from_the_start_on():
    """Lines that arrive before the declared start belong to no step."""
    order = Calendar(5 * SECOND, SECOND, True, 2)
    reader, steps = opened(Columns(value="v"), order)
    arrived = (0, b"v\n"), (5 * SECOND - 1, b"1\n"), (5 * SECOND, b"1\n"), (7 * SECOND, b"1\n")
    found = list(by_clock(Arrivals(*arrived), steps, order, lateness=0))
    assert np.concatenate(found).tolist() == [1, 0]
    assert (reader.counts.outside, reader.counts.counted) == (1, 1)


def test_the_end_of_the_input_closes_no_step():
    """Steps that were due before the end of the input close; the step that is open does not."""
    _, steps = opened(Columns(value="v"), seconds())
    source = Arrivals((0, b"v\n"), (1, b"1\n"), (2 * SECOND + 5, b"1\n"))
    found = list(by_clock(source, steps, seconds(), lateness=0))
    assert np.concatenate(found).tolist() == [1, 0]


def test_no_record_closes_a_step():
    """One record from the far future leaves everybody else's step as it was."""
    columns = Columns(time="t")
    for odd in ([], [stamped(1, 10**17)], [stamped(1, -(10**17))]):
        reader, steps = opened(columns, seconds(2))
        source = Arrivals((0, b"t\n"), *odd, stamped(2, 7), stamped(3, 8), (10**12, b""))
        found = list(by_clock(source, steps, seconds(2), lateness=0))
        assert np.concatenate(found).tolist() == [2, 0]
        assert reader.counts.outside == len(odd)


def test_an_empty_line_closes_a_step():
    _, steps = opened(Columns(value="v"), Arrival())
    feed = all_at_once(b"v,w\n1,\n1,\n\n\n1,\n\n1,\n")
    assert np.concatenate(list(by_empty_lines(feed, steps, most=None))).tolist() == [2, 0, 1]


def test_a_number_of_steps_ends_it():
    _, steps = opened(Columns(value="v"), Arrival(2), "jsonl")
    feed = all_at_once(b'{"v": 1}\n\n{"v": 1}\n\n{"v": 1}\n\n')
    assert len(list(by_empty_lines(feed, steps, most=2))) == 2


@pytest.mark.parametrize(
    "lines",
    [b'k,v\nx,1\n"a\nb",1\ny,1\n\n', b'k,v\nx,1\n5"in,1\ny,1\n\n',
     b'k,v\n"5""in",1\nx,1\n7"\n\n', b"k,v\nx,1\ny,1\nz,1_0\nw\n\n"],
)  # fmt: skip
def test_no_line_waits_for_another(lines):
    """A record of several lines, or with a stray quote, would hold back what others sent."""
    reader, steps = opened(Columns(value="v"), Arrival())
    (total,) = by_empty_lines(all_at_once(lines), steps, most=None)
    assert total.tolist() == [2]
    assert reader.counts.counted == 2
    assert reader.counts.rejected == reader.counts.records - 2


def test_only_a_bare_line_break_closes_a_step():
    _, steps = opened(Columns(value="v"), Arrival(), "tsv")
    feed = all_at_once(b"v\tw\r\n1\t\r\n\r\n1\t \r\n\r\n")
    assert np.concatenate(list(by_empty_lines(feed, steps, most=None))).tolist() == [1, 1]
    _, steps = opened(Columns(value="v"), Arrival())
    with pytest.raises(InvalidValue, match="cannot close a step"):
        list(by_empty_lines(all_at_once(b"v\n1\n\n"), steps, most=None))


def test_a_malformed_line_is_dropped_counted_and_named():
    reader, steps = opened(Columns(value="v"), Arrival())
    feed = all_at_once(b"v,w\n1,\n\n1,\nx,\n1,\ny,\n\n")
    assert np.concatenate(list(by_empty_lines(feed, steps, most=None))).tolist() == [1, 2]
    assert reader.counts == step_totals.Counts(records=5, rejected=2)
    assert reader.first_fault == "input, line 5, column 'v': must be a number"


def test_a_byte_order_mark_in_a_line_is_malformed_wherever_it_comes():
    """In a file a mark at the start belongs to the file."""
    marked, good = '\ufeff{"v": 1}\n'.encode(), b'{"v": 1}\n'
    for lines in ([marked, good], [good, marked]):
        reader, steps = opened(Columns(value="v"), Arrival(), "jsonl")
        steps.add(lines)
        assert steps.close().tolist() == [1]
        assert reader.counts.rejected == 1


def test_a_line_that_is_too_long_is_dropped_and_counted(monkeypatch):
    monkeypatch.setattr(live_lines, "LONGEST", 20)
    for form, first, line in (("csv", [b"v,w\n"], "1,{}\n"), ("jsonl", [], '{{"v":1,"w":"{}"}}\n')):
        reader, steps = opened(Columns(value="v"), Arrival(), form)
        good, long = line.format("").encode(), line.format("x" * 20).encode()
        steps.add([*first, good, long, long, good])
        steps.add([b"x\n"])
        assert steps.close().tolist() == [2]
        assert reader.counts == step_totals.Counts(records=5, rejected=3)
        place = f"standard input, line {len(first) + 2}"
        assert reader.first_fault == f"{place}: must have at most 20 bytes"
    _, steps = opened(Columns(value="v"), Arrival())
    with pytest.raises(Malformed, match="line 1: must have at most 20 bytes"):
        steps.add([b"v," + b"w" * 20 + b"\n", b"1,\n"])


def test_a_header_without_the_column_ends_the_stream():
    _, steps = opened(Columns(value="v"), Arrival())
    with pytest.raises(Malformed, match="line 1: no column 'v'"):
        list(by_empty_lines(all_at_once(b"a,b\n1,2\n\n"), steps, most=None))


@pytest.mark.parametrize(
    ("form", "first", "good", "bad"),
    [
        (
            "csv",
            b"v,u,k\n",
            b"1,ann,a\n",
            [b"x,bob,a\n", b"1,,a\n", b"1, ,a\n", b'"1,bob,a\n', b"1\n", b"1,\xff,a\n",
             b"1,bob,\xff\n", b"nan,bob,a\n"],
        ),
        (
            "jsonl",
            b"",
            b'{"v": 1, "u": "ann", "k": "a"}\n',
            [b'{"v": null, "u": "bob"}\n', b'{"v": 1, "u": "bob"} {}\n', b'{"v": 1,\n', b"2}\n",
             b'{"v": 1, "u": " "}\n', b'{"v": 1, "v": 1, "u": "bob"}\n', b'{"v": "1", "u": "b"}\n'],
        ),
    ],
)  # fmt: skip
def test_malformed_lines_change_nothing_for_the_others(form, first, good, bad):
    """With each of them before, between and after good lines, the totals are those without it."""
    plan = hf.plan(hf.SlidingWindow(1), hf.Guarantee(1, 1e-6), resolution=1, keys=["a"])
    columns = Columns(value="v", user="u", key="k")

    def total(lines):
        reader = Reader(plan, columns, Arrival())
        steps = OpenSteps(reader, line_reader(form, "input", columns, live=True))
        steps.add([*filter(None, [first]), *lines])
        return steps.close().tolist(), reader.counts

    other = good.replace(b"ann", b"cy")
    expected, counts = total([good, other])
    for line in bad:
        for lines in ([line, good, other], [good, line, other], [good, other, line]):
            found, also = total(lines)
            assert found == expected == [2]
            assert (also.counted, also.rejected) == (counts.counted, 1), line


def test_steps_far_ahead_are_dropped(monkeypatch):
    monkeypatch.setattr(step_totals, "AHEAD", 3)
    columns = Columns(time="t")
    reader, steps = opened(columns, seconds())
    steps.add([b"t\n", stamped(0, 2 * SECOND)[1], stamped(0, 3 * SECOND)[1]])
    assert (reader.counts.outside, reader.counts.counted) == (1, 1)


def test_only_open_steps_with_records_take_memory():
    columns = Columns(time="t")
    _, steps = opened(columns, seconds())
    steps.add([b"t\n", stamped(0, 2 * SECOND)[1], stamped(0, 900 * SECOND)[1]])
    steps.add([stamped(0, 900 * SECOND)[1]])
    assert len(steps._sums) == 2
    closed = [steps.close().tolist() for _ in range(902)]
    assert {step: total for step, total in enumerate(closed) if total != [0]} == {2: [1], 900: [2]}
    assert not steps._sums


def test_the_clock_starts_at_the_step_that_is_open():
    assert current(10, lambda: 37) == Calendar(30, 10, True)
    check_start(Calendar(30, 10, True), lambda: 39)
    with pytest.raises(InvalidValue, match="more than one step in the past"):
        check_start(Calendar(30, 10, True), lambda: 40)


def test_a_total_stops_at_the_plans_largest_and_ends_no_stream():
    """If it ended the stream, one record would decide about the releases of all later steps."""
    wide = hf.plan(hf.SlidingWindow(1), ONE, low=-1, high=1, resolution=1)
    tight = replace(wide, grid=replace(wide.grid, largest_total=3))
    columns = Columns(value="v")
    for first, totals, stopped in (
        ([1, 1, 1], [3, 1], 0),
        ([1, 1, 1, 1], [3, 1], 1),
        ([1, 1, 1, 1, 1, -1, -1], [3, 1], 0),  # only the total of the step counts
        ([-1, -1, -1, -1, -1], [-3, 1], 1),
    ):
        reader = Reader(tight, columns, Arrival())
        steps = OpenSteps(reader, line_reader("jsonl", "input", columns, live=True))
        lines = b"".join(b'{"v": %d}\n' % value for value in first)
        feed = all_at_once(lines + b'\n{"v": 1}\n\n')
        found = np.concatenate(list(by_empty_lines(feed, steps, most=None))).tolist()
        assert (found, reader.stopped) == (totals, stopped)


def test_where_records_are_replaced_a_malformed_line_counts_within_the_bounds():
    """A malformed line counts as 0: between 5 and 6 it would move a total by 6 instead of 1."""
    columns = Columns(value="v")
    for low, high, fine in ((5, 6, False), (-6, -5, False), (0, 6, True), (-1, 1, True)):
        for neighbours in ("add_remove", "replace"):
            said = hf.Guarantee(epsilon=1, delta=1e-6, neighbours=neighbours)
            plan = hf.plan(hf.SlidingWindow(1), said, low=low, high=high)
            reader = Reader(plan, columns, Arrival())
            lines = line_reader("jsonl", "input", columns, live=True)
            if fine or neighbours == "add_remove":
                OpenSteps(reader, lines)
            else:
                with pytest.raises(InvalidValue, match="need 0 between low and high"):
                    OpenSteps(reader, lines)


def test_a_header_without_columns_ends_the_stream():
    """Otherwise the first line of each batch of lines would be taken for the header."""
    _, steps = opened(Columns(), seconds())
    with pytest.raises(Malformed, match="line 1: the header"):
        steps.add([b"\n", b"x\n", b"y\n"])


def test_the_clock_closes_calendar_days_of_23_hours():
    """2026-03-29 has 23 hours in Vienna.  A person's day is renewed at local midnight."""
    hour, midnight = 3600 * SECOND, 1_774_738_800 * SECOND  # 2026-03-29T00:00+01:00
    order = current("day Europe/Vienna", lambda: midnight + 5 * hour, 2)
    assert order.start == midnight
    unit = hf.Person(period="day Europe/Vienna", steps=1)
    plan = hf.plan(hf.SlidingWindow(1), hf.Guarantee(1, 0, protects=unit), resolution=1)
    reader = Reader(plan, Columns(user="u"), order)
    steps = OpenSteps(reader, line_reader("csv", "input", Columns(user="u"), live=True))
    arrived = ((0, b"u\n"), (1, b"ann\n"), (22 * hour, b"ann\n"), (23 * hour, b"ann\n"))
    source = Arrivals(*((midnight + after, line) for after, line in arrived), (2**62, b""))
    found = list(by_clock(source, steps, order, lateness=0))
    assert np.concatenate(found).tolist() == [1, 1]
    assert (reader.counts.over_limit, reader.counts.counted) == (1, 2)


def test_no_value_and_no_key_decides_which_records_of_a_person_count():
    """A malformed value or key uses up the limits, or another value would admit another record."""
    guarantee = hf.Guarantee(1, 1e-6, "replace", hf.Person(steps=1))
    plan = hf.plan(hf.SlidingWindow(1), guarantee, low=-1, high=1, resolution=1, keys=["a"])
    columns = Columns(value="v", key="k", user="u")
    for form, head, lines in (
        ("csv", [b"v,k,u\n"], [b"1,a,ann\n", b"one,a,ann\n", b",a,ann\n", b"1,\xff,ann\n"]),
        ("jsonl", [], [b'{"v": 1, "k": "a", "u": "ann"}\n', b'{"v": [1], "k": "a", "u": "ann"}\n',
                       b'{"k": "a", "u": "ann"}\n', b'{"v": 1, "k": 1.5, "u": "ann"}\n']),
    ):  # fmt: skip
        for first in lines:
            reader = Reader(plan, columns, Arrival())
            steps = OpenSteps(reader, line_reader(form, "input", columns, live=True))
            bob = lines[0].replace(b"ann", b"bob")
            source = all_at_once(b"".join([*head, first, b"\n", lines[0], bob, b"\n"]))
            found = np.concatenate(list(by_empty_lines(source, steps, most=2))).ravel().tolist()
            assert found == [int(first == lines[0]), 1], first  # the second record of ann: dropped
            counts = reader.counts
            assert (counts.records, counts.counted, counts.over_limit) == (3, sum(found), 1), first
