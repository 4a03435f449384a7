"""The scan of JSON lines agrees with Python's own reader, and keeps what is written."""

import json
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushfade.records import faults
from hushfade.records.json_scan import DEEPEST, scan
from hushfade.records.kinds import INTEGER, MISSING, NULL, NUMBER, OTHER, TEXT

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
VALUES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = st.sampled_from(["v", "k", 'a"b', "é", "\\n", "w"])
WANTED = ["v", "k", 'a"b', "é", "\\n"]
ALPHABET = '{}[]",:\\ \t\r-+.eE0123456789abtrufalsn\x01é'


def rows(data, names=WANTED):
    """The text and the kind of each wanted field, or the fault, of each line."""
    found = scan(data, list(names))
    fields = range(len(names))
    return [
        {
            names[slot]: (
                int(found.kinds[slot, row]),
                bytes(
                    found.texts[slot][found.offsets[slot][row] : found.offsets[slot][row + 1]]
                ).decode(),
            )
            for slot in fields
        }
        if found.codes[row] == 0
        else int(found.codes[row])
        for row in range(len(found.codes))
    ]


def kind_of(value):
    if value is None:
        return NULL
    if isinstance(value, bool | list | dict):
        return OTHER
    return {str: TEXT, int: INTEGER, float: NUMBER}[type(value)]


def strictly_read(line):
    """The object of a line by Python's reader, or None; with a field that comes twice, 'twice'."""

    def no_constant(_):
        raise ValueError

    def once(pairs):
        wanted = [name for name, _ in pairs if name in WANTED]
        return dict(pairs) | ({"": "twice"} if len(wanted) > len(set(wanted)) else {})

    try:
        found = json.loads(line, object_pairs_hook=once, parse_constant=no_constant)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


@settings(deadline=None, derandomize=True, max_examples=500)
@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=5), max_size=5), st.booleans())
def test_what_python_writes_is_read(objects, ascii_only):
    def finite(value):
        if isinstance(value, float):
            return math.isfinite(value)
        inner = value.values() if isinstance(value, dict) else value
        return not isinstance(value, list | dict) or all(map(finite, inner))

    def encodable(text):
        return not any("\ud800" <= letter <= "\udfff" for letter in text)

    objects = [
        one for one in objects if finite(one) and encodable(json.dumps(one, ensure_ascii=False))
    ]
    data = "".join(json.dumps(one, ensure_ascii=ascii_only) + "\n" for one in objects).encode()
    for one, row in zip(objects, rows(data), strict=True):
        for name in WANTED:
            kind, text = row[name]
            assert kind == (kind_of(one[name]) if name in one else MISSING)
            if kind == TEXT:
                assert text == one[name]
            elif kind in (INTEGER, NUMBER):
                assert text == json.dumps(one[name])
            else:
                assert text == ""


@settings(deadline=None, derandomize=True, max_examples=3000)
@given(st.text(alphabet=ALPHABET, max_size=14), st.sampled_from(["", '{"v":', '{"v":1,']))
@example('"a":1}', "{")
@example('"\\u00e9":1}', '{"é":2,')
@example('"\\ud83d\\ude00"}', '{"v":')
def test_a_line_is_an_object_where_python_says_so(rest, start):
    line = start + rest
    (found,) = rows(line.encode()) or [None]
    read = strictly_read(line)
    if not line.strip(" \t\r"):
        assert found is None
    elif read is None:
        assert found == faults.NOT_AN_OBJECT
    elif read.get("") == "twice":
        assert found == faults.REPEATED_FIELD
    elif found == faults.NOT_AN_OBJECT:  # Python lets halves of characters pass
        assert any("\ud800" <= letter <= "\udfff" for letter in str(read))
    else:
        for name in WANTED:
            assert (found[name][0] == MISSING) == (name not in read)
            if found[name][0] == TEXT:
                assert found[name][1] == read[name]


@pytest.mark.parametrize(
    "text",
    ["0", "-1", "123456789012345678901234567890", "1767229199999999999", "1767225600000000000.0",
     "1.50", "1E+2", "1e999", "0.1e-7"],
)  # fmt: skip
def test_a_number_is_the_text_that_is_written(text):
    ((_, found),) = rows(f'{{"v":{text}}}'.encode(), ["v"])[0].values()
    assert found == text


def test_minus_zero_is_zero_and_ten_is_ten():
    data = b'{"k":-0}\n{"k":10}\n{"k":-10}\n{"k":"-0"}\n'
    assert [row["k"][1] for row in rows(data, ["k"])] == ["0", "10", "-10", "-0"]


@pytest.mark.parametrize(
    "text",
    ["01", "-", "1.", ".5", "+1", "1e", "NaN", "Infinity", "1_000", "0x1", "nul", "'a'", "1 2", "",
     "[1,]", '{"a":1,}', "[", "}", '"\\x"', '"\\u12g4"', '"a', '"\x01"', "\u00a01"],
)  # fmt: skip
def test_what_is_no_value_is_a_fault(text):
    assert rows(f'{{"v":{text}}}'.encode(), ["v"]) == [faults.NOT_AN_OBJECT]
    assert rows(f'{{"x":{text}}}'.encode(), ["v"]) == [faults.NOT_AN_OBJECT]
    assert rows(f'{{"x":[{{"y":{text}}}]}}'.encode(), ["v"]) == [faults.NOT_AN_OBJECT]


def test_objects_that_share_a_line_or_span_two_are_faults_whatever_the_others_do():
    wrong = faults.NOT_AN_OBJECT
    assert rows(b'{"v":1}{"v":2}\n{"v":\n3}\n', ["v"]) == [wrong, wrong, wrong]
    assert rows(b'{"v":1}\n{"v":2} {"v":3}\n', ["v"])[1] == wrong


def test_nesting_has_a_limit():
    for depth in (1, 2, DEEPEST):
        line = '{"x":' + "[" * depth + "]" * depth + "}"
        assert rows(line.encode(), ["v"]) == [{"v": (MISSING, "")}]
    line = '{"x":' + "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1) + "}"
    assert rows(line.encode(), ["v"]) == [faults.TOO_DEEP]


def test_a_name_in_escapes_is_the_same_name():
    assert rows(b'{"\\u0076": 1}', ["v"]) == [{"v": (INTEGER, "1")}]
    assert rows(b'{"v": 1, "\\u0076": 1}', ["v"]) == [faults.REPEATED_FIELD]
    assert rows(b'{"\\n": 1}', ["\\n"]) == [{"\\n": (MISSING, "")}]  # a line feed, not \ and n
    assert rows(b'{"\\\\n": 1}', ["\\n"]) == [{"\\n": (INTEGER, "1")}]


def test_lines_are_counted_and_blank_ones_skipped():
    found = scan(b'\n{"v":1}\n \t\r\n{"v":2}', ["v"])
    assert found.lines.tolist() == [1, 3]
