import datetime

import numpy as np
import pytest

from hushfade.errors import InvalidValue, Malformed
from hushfade.records import parse_columns
from hushfade.records.arrow import pa
from hushfade.records.batch import Batch

SECRET = "4711"  # what no message may show


def batch(values, kind=None, role="value"):
    column = pa.chunked_array([pa.array(values, kind)])
    return Batch({role: column}, len(column), lambda row: f"f, line {row + 2}")


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.string(),
             pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
)  # fmt: skip
def test_numbers_are_read_from_every_kind_of_column(kind):
    given = pa.array(["1", "0", "25"]).cast(kind)
    found, there = parse_columns.numbers(batch(given), "v", skip_empty=False)
    assert found.tolist() == [1.0, 0.0, 25.0]
    assert there.all()


@pytest.mark.parametrize(
    ("text", "number"), [("-1.5", -1.5), ("+2", 2), (".5", 0.5), ("1e3", 1000), ("-0", 0)]
)
def test_numbers_in_writing(text, number):
    assert parse_columns.numbers(batch([text]), "v", skip_empty=False)[0][0] == number


@pytest.mark.parametrize(
    "text",
    ["nan", "inf", "-inf", "infinity", "1e999", "1_000", " 1", "1 ", "１２", "0x10", "1,5", "1.2.3",
     "one", "1f", "--1", "1e", "true", "\u00bd", "1\x00"],
)  # fmt: skip
def test_what_is_no_finite_number_is_refused_with_its_place_and_unseen(text):
    rows = [SECRET] * 5 + [text] + [SECRET] * 3
    with pytest.raises(Malformed, match=r"^f, line 7, column 'v': must be a (finite )?number$"):
        parse_columns.numbers(batch(rows), "v", skip_empty=False)


def test_float_columns_with_nan_and_infinity_are_refused():
    for bad in (np.nan, np.inf):
        with pytest.raises(Malformed, match=r"line 3, .* must be a finite number"):
            parse_columns.numbers(batch([1.0, bad]), "v", skip_empty=False)


@pytest.mark.parametrize("kind", [pa.bool_(), pa.binary(), pa.list_(pa.int64()), pa.date32()])
def test_columns_that_hold_no_numbers_are_refused(kind):
    with pytest.raises(Malformed, match="must be numbers"):
        parse_columns.numbers(batch([None], kind), "v", skip_empty=True)


@pytest.mark.parametrize("rows", [["1", "", "3"], ["1", None, "3"], [1.0, None, 3.0]])
def test_empty_values_are_skipped_only_on_request(rows):
    found, there = parse_columns.numbers(batch(rows), "v", skip_empty=True)
    assert there.tolist() == [True, False, True]
    assert found[there].tolist() == [1.0, 3.0]
    with pytest.raises(Malformed, match="line 3, column 'v': is empty"):
        parse_columns.numbers(batch(rows), "v", skip_empty=False)


def nanoseconds(text):
    return int(np.datetime64(text, "ns").astype(np.int64))


@pytest.mark.parametrize(
    ("rows", "zoned"),
    [(["2026-01-31T12:00", "1969-12-31 23:00:00.5"], False),
     (["2026-01-31T12:00Z", "1970-01-01T01:00:00.5+02:00"], True)],
)  # fmt: skip
def test_written_times_are_read(rows, zoned):
    found = parse_columns.times(batch(rows, role="time"), "t", unit=None)
    assert found[0].tolist() == [nanoseconds("2026-01-31T12"), nanoseconds("1969-12-31T23:00:00.5")]
    assert found[1] == zoned


def test_typed_times_are_read():
    when = datetime.datetime(2026, 1, 31, 12)
    for kind in (pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("ns")):
        found, zoned = parse_columns.times(batch([when], kind, "time"), "t", unit=None)
        assert (found.tolist(), zoned) == ([nanoseconds("2026-01-31T12")], False)
    zone = pa.timestamp("us", "Europe/Vienna")
    found, zoned = parse_columns.times(batch([when], zone, "time"), "t", unit=None)
    assert (found.tolist(), zoned) == ([nanoseconds("2026-01-31T12")], True)  # the instant, in UTC
    found, _ = parse_columns.times(batch([when.date()], pa.date32(), "time"), "t", unit=None)
    assert found.tolist() == [nanoseconds("2026-01-31")]


def test_a_zone_whose_name_is_no_text_is_a_zone():
    sink = pa.BufferOutputStream()
    table = pa.table({"t": pa.array([7], pa.timestamp("ns", "Zq/zq"))})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = sink.getvalue().to_pybytes().replace(b"Zq/zq", b"\xff\xfe\xff\xfe\xff")
    column = pa.ipc.open_stream(data).read_all().column("t")
    found, zoned = parse_columns.times(Batch({"time": column}, 1, str), "t", unit=None)
    assert (found.tolist(), zoned) == ([7], True)


@pytest.mark.parametrize("rows", [["1700000000.25", "-1"], [1700000000.25, -1.0]])
def test_times_in_numbers_need_their_unit(rows):
    found, zoned = parse_columns.times(batch(rows, role="time"), "t", unit="s")
    assert (found.tolist(), zoned) == ([1_700_000_000_250_000_000, -(10**9)], True)
    found, _ = parse_columns.times(batch([7], role="time"), "t", unit="ms")
    assert found.tolist() == [7_000_000]
    with pytest.raises(InvalidValue, match="need a unit"):
        parse_columns.times(batch([7], role="time"), "t", unit=None)


@pytest.mark.parametrize(
    ("rows", "message"),
    [(["2026-01-01", "2026-13-01"], "line 3, column 't': must be a time"),
     (["2026-01-01T00:00Z", "yesterday"], "line 3, column 't': must be a time"),
     (["2026-01-01", "2026-01-01T00:00Z"], "line 3, column 't': must have a zone where others"),
     (["2026-01-01T00:00Z", "2026-01-01"], "line 3, column 't': must have a zone where others"),
     (["2026-01-01", ""], "line 3, column 't': is empty")],
)  # fmt: skip
def test_what_is_no_time_is_refused_with_its_place(rows, message):
    with pytest.raises(Malformed, match=message):
        parse_columns.times(batch(rows, role="time"), "t", unit=None)


def test_times_beyond_the_nanoseconds_are_the_farthest_there_are():
    rows = ["0001-01-01", "2026-01-01", "9999-12-31T23:59"]
    typed = [datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)]
    for values, kind in ((rows, pa.string()), (typed, pa.timestamp("us"))):
        found, _ = parse_columns.times(batch(values, kind, "time"), "t", unit=None)
        assert found[0] < nanoseconds("1678-01-01")
        assert found[-1] > nanoseconds("2262-04-01")


def test_numbers_that_are_no_time_are_refused():
    for bad in ("x", "1e400", "nan", "99999999999999999999"):
        with pytest.raises(Malformed, match="line 3, column 't': must be a number of s"):
            parse_columns.times(batch(["1", bad], role="time"), "t", unit="s")


def test_keys_are_told_by_their_place():
    found = parse_columns.keys(batch(["b", "x", None, "a", "A", "a "], role="key"), "k", ("a", "b"))
    assert found.tolist() == [1, -1, -1, 0, -1, -1]
    assert parse_columns.keys(batch([7, 8], role="key"), "k", ("8",)).tolist() == [-1, 0]
    for kind in (pa.bool_(), pa.float64(), pa.list_(pa.string())):
        with pytest.raises(Malformed, match="must be text or whole numbers"):
            parse_columns.keys(batch([None], kind, "key"), "k", ("a",))


def test_people_keep_their_number_from_batch_to_batch():
    people = parse_columns.People()
    first = people.numbers(batch(["ann", "bob", "ann"], role="user"), "u")
    second = people.numbers(batch(["cy", "bob"], role="user"), "u")
    assert (first.tolist(), second.tolist()) == ([0, 1, 0], [2, 1])
    assert people.numbers(batch([], pa.string(), "user"), "u").tolist() == []
    assert len(people) == 3


def test_a_person_is_the_same_in_text_and_in_numbers():
    people = parse_columns.People()
    text = people.numbers(batch(["7", "8", "07"], role="user"), "u")
    assert text.tolist() == [0, 1, 2]
    for kind in (pa.int64(), pa.uint8(), pa.dictionary(pa.int8(), pa.string())):
        values = pa.array([8, 7]).cast(pa.string()).cast(kind)
        assert people.numbers(batch(values, role="user"), "u").tolist() == [1, 0]


def test_records_of_nobody_are_refused():
    for nobody in (["ann", ""], ["ann", None], [1, None]):
        with pytest.raises(Malformed, match="line 3, column 'u': is empty"):
            parse_columns.People().numbers(batch(nobody, role="user"), "u")
    for kind in (pa.float64(), pa.bool_(), pa.binary()):
        with pytest.raises(Malformed, match="must be text or whole numbers"):
            parse_columns.People().numbers(batch([None], kind, "user"), "u")


def test_people_whose_text_is_not_utf_8_are_refused_with_their_place_and_unseen():
    offsets = np.array([0, 2, 4, 4 + len(SECRET)], dtype=np.int32)
    bad = pa.StringArray.from_buffers(
        3, pa.py_buffer(offsets), pa.py_buffer(b"ab\xff\xfe" + SECRET.encode())
    )
    people = parse_columns.People()
    for values in (bad, pa.DictionaryArray.from_arrays([0, 1, 2], bad)):
        with pytest.raises(Malformed, match=r"^f, line 3, column 'u': must be UTF-8$") as error:
            people.numbers(batch(values, role="user"), "u")
        assert error.value.__context__ is None  # it would carry the text
    assert len(people) == 0


def test_kinds_that_arrow_cannot_convert_are_refused():
    lists = pa.DictionaryArray.from_arrays([0, 1], pa.array([[4711], [2]]))
    with pytest.raises(Malformed, match="must be numbers"):
        parse_columns.numbers(batch(lists), "v", skip_empty=False)
    with pytest.raises(Malformed, match="must be times"):
        parse_columns.times(batch(lists, role="time"), "t", unit=None)
    with pytest.raises(Malformed, match="must be text"):
        parse_columns.keys(batch(lists, role="key"), "k", ("a",))
    half = pa.array([1.0, 2.0], pa.float32()).cast(pa.float16())
    with pytest.raises(Malformed, match="line 2, column 't': must be a number of s since 1970"):
        parse_columns.times(batch(half, role="time"), "t", unit="s")
