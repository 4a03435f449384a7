import numpy as np
import pytest

from hushfade.errors import Malformed
from hushfade.records import parse_columns
from hushfade.records.arrow import pa
from hushfade.records.batch import Batch
from hushfade.records.faults import (
    EMPTY,
    NOBODY,
    NOT_A_NUMBER,
    NOT_A_TRUTH,
    NOT_FINITE,
    NOT_UTF_8,
)

SECRET = "4711"  # what no message may show


def batch(values, kind=None, role="value"):
    column = pa.chunked_array([pa.array(values, kind)])
    return Batch({role: column}, len(column), lambda row: f"f, line {row + 2}")


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.string(),
             pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)  # fmt: skip
def test_numbers_are_read_from_every_kind_of_column(kind):
    given = pa.array(["1", "0", "25"]).cast(kind)
    found, codes = parse_columns.numbers(batch(given), "v")
    assert found.tolist() == [1.0, 0.0, 25.0]
    assert codes.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("text", "number"),
    [("-1.5", -1.5), ("+2", 2), (".5", 0.5), ("1.", 1), ("1e3", 1000), ("-0", 0),
     (str(2**70), 2.0**70), ("1e308", 1e308), ("1e-999", 0), ("9007199254740993", 2.0**53)],
)  # fmt: skip
def test_numbers_in_writing(text, number):
    found, codes = parse_columns.numbers(batch([text]), "v")
    assert (found.tolist(), codes.tolist()) == ([number], [0])


def test_every_float_is_read_back_from_its_text():
    numbers = np.random.default_rng(3).integers(0, 2**64, 5000, dtype=np.uint64).view(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    found, codes = parse_columns.numbers(batch([repr(float(one)) for one in numbers]), "v")
    assert np.array_equal(found.view(np.uint64), numbers.view(np.uint64))
    assert not codes.any()


@pytest.mark.parametrize(
    "text",
    ["nan", "inf", "-inf", "infinity", "1e999", "1_000", " 1", "1 ", "１２", "0x10", "1,5", "1.2.3",
     "one", "1f", "--1", "1e", "true", "\u00bd", "1\x00", "9" * 400],
)  # fmt: skip
def test_what_is_no_finite_number_is_a_fault_of_its_row_alone(text):
    found, codes = parse_columns.numbers(batch([SECRET, text, "1.5"]), "v")
    assert codes[1] in (NOT_A_NUMBER, NOT_FINITE)
    assert (codes[0], codes[2], found[0], found[2]) == (0, 0, 4711.0, 1.5)


def test_float_columns_with_nan_and_infinity_have_faults():
    _, codes = parse_columns.numbers(batch([1.0, np.nan, np.inf, 2.0]), "v")
    assert codes.tolist() == [0, NOT_FINITE, NOT_FINITE, 0]


@pytest.mark.parametrize("kind", [pa.bool_(), pa.binary(), pa.list_(pa.int64()), pa.date32()])
def test_columns_that_hold_no_numbers_are_refused(kind):
    with pytest.raises(Malformed, match="must be numbers"):
        parse_columns.numbers(batch([None], kind), "v")


@pytest.mark.parametrize("rows", [["1", "", "3"], ["1", None, "3"], [1.0, None, 3.0]])
def test_empty_values_are_empty(rows):
    found, codes = parse_columns.numbers(batch(rows), "v")
    assert codes.tolist() == [0, EMPTY, 0]
    assert found[[0, 2]].tolist() == [1.0, 3.0]


def test_slices_and_chunks_are_read_as_they_stand():
    column = pa.chunked_array([["x", "1", "2"], [], ["3", "y"]]).slice(1, 3)
    found, codes = parse_columns.numbers(Batch({"value": column}, 3, str), "v")
    assert (found.tolist(), codes.tolist()) == ([1.0, 2.0, 3.0], [0, 0, 0])
    none = Batch({"value": pa.chunked_array([], pa.string())}, 0, str)
    assert len(parse_columns.numbers(none, "v")[0]) == 0
    numbered = pa.chunked_array([pa.array([9, None, 2, 9]).slice(1, 2)])
    found, codes = parse_columns.numbers(Batch({"value": numbered}, 2, str), "v")
    assert (found.tolist(), codes.tolist()) == ([0.0, 2.0], [EMPTY, 0])


def keyed(values, declared, kind=None):
    found, codes = parse_columns.keys(batch(values, kind, "key"), "k", declared)
    assert not codes.any()
    return found.tolist()


def test_keys_are_told_by_their_place():
    assert keyed(["b", "x", None, "a", "A", "a "], ("a", "b")) == [1, -1, -1, 0, -1, -1]
    assert keyed([7, 8], ("8",)) == [-1, 0]
    for kind in (pa.bool_(), pa.float64(), pa.list_(pa.string())):
        with pytest.raises(Malformed, match="must be text or whole numbers"):
            parse_columns.keys(batch([None], kind, "key"), "k", ("a",))


@pytest.mark.parametrize(
    "nobody", ["", " ", "   ", "\t", "\u00a0", "\u2003\u3000", "\u200b", "\ufeff", None]
)
def test_a_blank_name_is_nobodys(nobody):
    names, codes = parse_columns.names(batch(["ann", nobody, " ann"], role="user"), "u")
    assert codes.tolist() == [0, NOBODY, 0]
    assert names.places[1] == -1
    assert len({names.places[0], names.places[2]}) == 2  # a blank beside letters makes another name


def test_columns_that_name_nobody_are_refused():
    _, codes = parse_columns.names(batch([1, None], role="user"), "u")
    assert codes.tolist() == [0, NOBODY]
    for kind in (pa.float64(), pa.bool_(), pa.binary()):
        with pytest.raises(Malformed, match="must be text or whole numbers"):
            parse_columns.names(batch([None], kind, "user"), "u")


def test_text_that_is_not_utf_8_is_a_fault_of_its_row_alone():
    offsets = np.array([0, 2, 4, 4 + len(SECRET)], dtype=np.int32)
    bad = pa.StringArray.from_buffers(
        3, pa.py_buffer(offsets), pa.py_buffer(b"ab\xff\xfe" + SECRET.encode())
    )
    for values in (bad, pa.DictionaryArray.from_arrays([0, 1, 2], bad)):
        names, codes = parse_columns.names(batch(values, role="user"), "u")
        assert codes.tolist() == [0, NOT_UTF_8, 0]
        assert names.places.tolist() == [0, -1, 2]
        assert names.data.tobytes().startswith(b"ab")
        found, codes = parse_columns.keys(batch(values, role="key"), "k", ("ab", SECRET))
        assert (found.tolist(), codes.tolist()) == ([0, -1, 1], [0, NOT_UTF_8, 0])


def test_kinds_that_arrow_cannot_convert_are_refused():
    lists = pa.DictionaryArray.from_arrays([0, 1], pa.array([[4711], [2]]))
    with pytest.raises(Malformed, match="must be numbers"):
        parse_columns.numbers(batch(lists), "v")
    with pytest.raises(Malformed, match="must be text"):
        parse_columns.keys(batch(lists, role="key"), "k", ("a",))


@pytest.mark.parametrize(
    "values",
    [
        [True, False, None],
        [1, 0, None],
        [1.0, -0.0, None],
        ["true", "false", None],
        ["1", "0.0", None],
    ],
)
def test_truths_are_booleans_zeros_and_ones_and_two_words(values):
    found, codes = parse_columns.truths(batch(values), "v")
    assert found[:2].tolist() == [1.0, 0.0]
    assert codes.tolist() == [0, 0, EMPTY]


@pytest.mark.parametrize("values", [[2, 1], [0.5, 1.0], ["yes", "true"], ["True", "1"], ["", "0"]])
def test_what_is_no_truth_is_a_fault_of_its_own_row(values):
    _, codes = parse_columns.truths(batch(values), "v")
    assert codes[0] in (NOT_A_TRUTH, EMPTY)
    assert codes[1] == 0
