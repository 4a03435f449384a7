"""The scan of CSV finds what the standard library reads, and rejects what it cannot tell."""

import csv
import io
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushfade.records import csv_scan, faults
from hushfade.records.csv_scan import record_end, scan

WRONG = faults.WRONG_FIELDS
CELL = st.text(alphabet='ab,"\n é', max_size=6)
ROWS = st.lists(st.lists(CELL, min_size=2, max_size=2), min_size=1, max_size=20)


def texts(found):
    """The texts of the wanted fields, row by row."""
    columns = [
        [bytes(text[a:b]).decode() for a, b in pairwise(offsets)]
        for text, offsets in zip(found.texts, found.offsets, strict=True)
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def strict(data):
    """Whether quotes and carriage returns stand only where they belong."""
    text = data.decode()
    for row in re.split(
        r"\r?\n", re.sub(r'(^|(?<=[,\n]))"(?:[^"]|"")*"(?=[,\n]|\r\n|$)', "", text)
    ):
        if '"' in row or "\r" in row:
            return False
    return True


@settings(deadline=None, derandomize=True)
@given(ROWS, st.sampled_from(["\n", "\r\n"]), st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
def test_the_scan_finds_what_the_standard_library_wrote(rows, end, quoting):
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator=end, quoting=quoting).writerows(rows)
    data = file.getvalue().encode()
    found = scan(data, ",", [0, 1], 2, live=False)
    assert not found.codes.any()
    assert texts(found) == rows
    assert record_end(data, ",") == len(data)
    for row, line in enumerate(found.lines.tolist()):
        before = io.StringIO(newline="")
        csv.writer(before, lineterminator=end, quoting=quoting).writerows(rows[:row])
        assert line == before.getvalue().count("\n")


@settings(deadline=None, derandomize=True)
@given(ROWS, st.permutations([0, 1, 2]), st.integers(1, 3))
def test_only_the_wanted_fields_are_kept(rows, order, count):
    file = io.StringIO(newline="")
    wide = [[*row, "x"] for row in rows]
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows(wide)
    wanted = order[:count]
    found = scan(file.getvalue().encode(), ",", wanted, 3, live=False)
    assert texts(found) == [[row[place] for place in wanted] for row in wide]


@settings(deadline=None, derandomize=True, max_examples=500)
@given(st.text(alphabet='a,"\n\r', max_size=12))
def test_a_quote_or_return_out_of_place_is_a_fault(text):
    """One person's stray quote must neither swallow nor cut the records of others."""
    data = text.encode()
    if data.endswith(b"\r"):  # as good as a line's end
        data += b"\n"
    found = scan(data, ",", [0], 1, live=False)
    wrong = (found.codes != 0) & (found.codes != faults.WRONG_FIELDS)
    assert bool(wrong.any()) == (not strict(data))


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.lists(st.text(alphabet='a,"\r', max_size=6), min_size=1, max_size=6))
def test_live_each_line_is_read_for_itself(lines):
    """By comparison with a scan of each line alone."""
    data = "".join(line + "\n" for line in lines).encode()
    found = scan(data, ",", [0], 2, live=True)
    alone = [scan((line + "\n").encode(), ",", [0], 2, live=True) for line in lines]
    assert found.codes.tolist() == [code for one in alone for code in one.codes.tolist()]
    assert texts(found) == [row for one in alone for row in texts(one)]


@pytest.mark.parametrize(
    ("data", "codes", "lines"),
    [
        (b'a,1\nb"c,2\nd,3\n', [0, faults.STRAY_QUOTE, 0], [0, 1, 2]),
        (b'a,1\n"b"c,2\nd,3\n', [0, faults.TEXT_AFTER_QUOTE, 0], [0, 1, 2]),
        (b'a,1\n"b\nc,3\n', [0, faults.OPEN_QUOTE], [0, 1]),
        (b"a,1\nb\r,2\nd,3\n", [0, faults.LONE_RETURN, 0], [0, 1, 2]),
        (b"a,1\nb\nc,2,3\n\n\r\nd,4", [0, WRONG, WRONG, 0], [0, 1, 2, 5]),
        (b'"a\n\n",1\nb,2\n', [0, 0], [0, 3]),
        (b"\xef\xbb\xbfa,1\n", [0], [0]),  # a byte order mark is part of the text
        (b"", [], []),
        (b"\n\r\n\r", [], []),
    ],
)  # fmt: skip
def test_faults_and_lines_by_hand(data, codes, lines):
    found = scan(data, ",", [0], 2, live=False)
    assert found.codes.tolist() == codes
    assert found.lines.tolist() == lines


def test_a_byte_order_mark_is_part_of_a_field_wherever_it_stands():
    """pyarrow's reader drops it at the start of what it is given, so that a record in front of
    another one would change that one's key."""
    mark = "\ufeffat".encode()
    alone = scan(mark + b",1\n", ",", [0], 2, live=False)
    second = scan(b"ch,1\n" + mark + b",1\n", ",", [0], 2, live=False)
    assert texts(alone) == [["\ufeffat"]]
    assert texts(second) == [["ch"], ["\ufeffat"]]


def test_in_one_column_an_empty_line_is_an_empty_text():
    assert texts(scan(b"1\n\n\r\n2", ",", [0], 1, live=False)) == [["1"], [""], [""], ["2"]]


def test_the_end_of_the_first_record():
    assert record_end(b'"a\nb",c\nd,e\n', ",", first=True) == 8
    assert record_end(b"a,b", ",", first=True) == 0


def test_a_huge_field_is_read_whole():
    """pyarrow's reader has blocks of a megabyte, and a record must not exceed two of them."""
    huge = b"x" * (5 << 20)
    found = scan(b"a,1\n" + huge + b",2\n", ",", [0, 1], 2, live=False)
    assert [len(row[0]) for row in texts(found)] == [1, len(huge)]
    assert np.array_equal(found.codes, [0, 0])
    assert csv_scan.record_end(huge + b'"\n', ",") == len(huge) + 2
