"""Times of every kind of column, each exactly and for itself."""

import datetime
from decimal import Decimal

import numpy as np
import pytest

from hushfade.errors import InvalidValue, Malformed
from hushfade.records.arrow import pa
from hushfade.records.batch import Batch
from hushfade.records.faults import (
    EMPTY,
    NOT_A_NUMBER,
    NOT_A_TIME,
    WITH_ZONE,
    WITHOUT_ZONE,
)
from hushfade.records.time_columns import check_unit, first_is_zoned, times

NOON = datetime.datetime(2026, 1, 31, 12)
FIRST, LAST = -(2**63), 2**63 - 1


def batch(values, kind=None):
    column = pa.chunked_array([pa.array(values, kind)])
    return Batch({"time": column}, len(column), lambda row: f"f, line {row + 2}")


def read(values, kind=None, *, unit=None, zoned=None):
    zoned = unit is not None if zoned is None else zoned
    found, codes = times(batch(values, kind), "t", unit=unit, zoned=zoned)
    return found.tolist(), codes.tolist()


def nanoseconds(text):
    return int(np.datetime64(text, "ns").astype(np.int64))


def test_written_times_are_read():
    expected = [nanoseconds("2026-01-31T12"), nanoseconds("1969-12-31T23:00:00.5")]
    assert read(["2026-01-31T12:00", "1969-12-31 23:00:00.5"]) == (expected, [0, 0])
    zoned = ["2026-01-31T12:00Z", "1970-01-01T01:00:00.5+02:00"]
    assert read(zoned, zoned=True) == (expected, [0, 0])


def test_typed_times_are_read():
    for unit in ("s", "ms", "us", "ns"):
        noon = [nanoseconds("2026-01-31T12")]
        assert read([NOON], pa.timestamp(unit)) == (noon, [0])
        zone = pa.timestamp(unit, "Europe/Vienna")
        assert read([NOON], zone, zoned=True) == (noon, [0])  # the instant, in UTC
    for kind in (pa.date32(), pa.date64()):
        assert read([NOON.date()], kind) == ([nanoseconds("2026-01-31")], [0])


def test_the_declared_start_decides_whether_times_have_a_zone():
    rows = ["2026-01-01", "2026-01-01T00:00Z"]
    assert read(rows, zoned=False)[1] == [0, WITH_ZONE]
    assert read(rows, zoned=True)[1] == [WITHOUT_ZONE, 0]
    assert read([NOON], pa.timestamp("us"), zoned=True)[1] == [WITHOUT_ZONE]
    assert read([NOON], pa.timestamp("us", "UTC"), zoned=False)[1] == [WITH_ZONE]


def test_a_zone_whose_name_is_no_text_is_a_zone():
    sink = pa.BufferOutputStream()
    table = pa.table({"t": pa.array([7], pa.timestamp("ns", "Zq/zq"))})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = sink.getvalue().to_pybytes().replace(b"Zq/zq", b"\xff\xfe\xff\xfe\xff")
    column = pa.ipc.open_stream(data).read_all().column("t")
    found, codes = times(Batch({"time": column}, 1, str), "t", unit=None, zoned=True)
    assert (found.tolist(), codes.tolist()) == ([7], [0])


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        (["1700000000.25", "-1"], None),
        ([1700000000.25, -1.0], None),
        ([Decimal("1700000000.25"), Decimal(-1)], pa.decimal128(30, 10)),
        (["1700000000.25", "-1"], pa.dictionary(pa.int8(), pa.string())),
    ],
)
def test_times_in_numbers(rows, kind):
    found = [1_700_000_000_250_000_000, -(10**9)]
    assert read(pa.array(rows).cast(kind) if kind else rows, unit="s") == (found, [0, 0])


def test_integers_are_exact_in_every_unit_and_beyond_int64_they_are_its_ends():
    late, early = 2**63 - 1, -(2**63)
    for unit, factor in {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}.items():
        most = LAST // factor
        rows = [7, -7, most, -most, most + (factor > 1), late, early]
        end = most * factor if factor == 1 else LAST
        expected = [7 * factor, -7 * factor, most * factor, -most * factor, end, LAST, FIRST]
        assert read(rows, pa.int64(), unit=unit) == (expected, [0] * 7)
        assert read(list(map(str, rows)), unit=unit) == (expected, [0] * 7)
    assert read([2**64 - 1, 5], pa.uint64(), unit="ns") == ([LAST, 5], [0, 0])
    assert read([5, None], pa.int8(), unit="ns") == ([5, 0], [0, EMPTY])


def test_no_time_changes_another():
    """A float beside integers of nanoseconds; a year 3000 beside nine digits."""
    exact = "1767229199999999999"
    for other in ("1767225600000000000.0", "1e18", "", "x", "1e400", str(2**70)):
        assert read([other, exact], unit="ns")[0][1] == int(exact)
    fine = "2026-01-01T00:00:00.123456789"
    for other in ("3000-01-01", "0001-01-01T00:00:00.5", "x", ""):
        assert read([other, fine])[0][1] == nanoseconds(fine)


def test_a_float_is_its_shortest_text():
    """By hand: 1700000000.1 in binary is a little less."""
    assert read([1700000000.1], unit="s") == ([1_700_000_000_100_000_000], [0])
    assert read([0.3, -0.3], unit="ms") == ([300_000, -300_000], [0, 0])
    assert read([1e300, -1e300, 9.3e9], unit="s") == ([LAST, FIRST, LAST], [0, 0, 0])
    _, codes = read([np.nan, np.inf, 5.0, None], pa.float64(), unit="s")
    assert codes == [NOT_A_NUMBER, NOT_A_NUMBER, 0, EMPTY]


@pytest.mark.parametrize(
    ("kind", "unit"), [(pa.float64(), "ns"), (pa.float32(), "s"), (pa.float16(), "s")]
)
def test_floats_that_cannot_hold_the_times_are_refused_with_a_remedy(kind, unit):
    column = pa.array([1.0, 2.0]).cast(kind)
    words = f"must have integers, got {kind}, which cannot hold times in {unit}: cast it to int64"
    with pytest.raises(InvalidValue, match=words):
        read(column, unit=unit)


def test_years_that_int64_does_not_reach_are_its_ends():
    rows = ["0001-01-01", "2026-01-01", "9999-12-31T23:59"]
    assert read(rows)[0] == [FIRST, nanoseconds("2026-01-01"), LAST]
    typed = [datetime.datetime(1, 1, 1), NOON, datetime.datetime(9999, 12, 31)]
    for unit in ("s", "ms", "us"):
        assert read(typed, pa.timestamp(unit))[0] == [FIRST, nanoseconds("2026-01-31T12"), LAST]
    days = [datetime.date(1, 1, 1), datetime.date(9999, 1, 1)]
    for kind in (pa.date32(), pa.date64()):
        assert read(days, kind) == ([FIRST, LAST], [0, 0])


def test_what_is_no_time_is_a_fault():
    rows = ["2026-01-01", "2026-13-01", "", None]
    assert read(rows)[1] == [0, NOT_A_TIME, EMPTY, EMPTY]
    assert read(["1", "x", "nan", ""], unit="s")[1] == [0, NOT_A_NUMBER, NOT_A_NUMBER, EMPTY]


def test_columns_of_other_kinds_are_refused():
    with pytest.raises(InvalidValue, match="need a unit"):
        read([7])
    for kind in (pa.bool_(), pa.binary(), pa.duration("s"), pa.time64("us")):
        with pytest.raises(Malformed, match="must be times"):
            read([None], kind)
        with pytest.raises(Malformed, match="must be numbers"):
            read([None], kind, unit="s")
    with pytest.raises(InvalidValue, match="time_unit must be one of s, ms, us, ns, got 'min'"):
        check_unit("min")


def test_the_zone_of_the_first_row():
    assert first_is_zoned(batch(["2026-01-01Z", "x"]), None)
    assert not first_is_zoned(batch(["2026-01-01", "x"]), None)
    assert first_is_zoned(batch(["1"]), "s")
    assert first_is_zoned(batch([NOON], pa.timestamp("s", "UTC")), None)
    assert not first_is_zoned(batch([NOON.date()], pa.date32()), None)
