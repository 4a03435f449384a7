import csv
import io
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushfade.errors import Malformed
from hushfade.records import line_blocks as module
from hushfade.records.line_blocks import blocks, scan

CELL = st.text(alphabet='ab,"\n é', max_size=6)
ROWS = st.lists(st.lists(CELL, min_size=2, max_size=2), min_size=1, max_size=20)
LINES = st.lists(st.sampled_from([b"", b"a", b"bcd", b'"e,f"', b'g,""']), max_size=30)


def strict(data):
    """Whether the standard library reads the data, with quotes only where they belong."""
    text = data.decode()
    for row in re.split(
        r"\r?\n", re.sub(r'(^|(?<=[,\n]))"(?:[^"]|"")*"(?=[,\n]|\r\n|$)', "", text)
    ):
        if '"' in row or "\r" in row:
            return False
    return True


@settings(deadline=None, derandomize=True)
@given(st.binary(max_size=200), st.integers(1, 40))
def test_blocks_of_lines_are_the_file(data, size):
    found = list(blocks(io.BytesIO(data), "x", delimiter=None, size=size))
    assert b"".join(block.data for block in found) == data


@settings(deadline=None, derandomize=True)
@given(ROWS, st.integers(1, 40), st.sampled_from(["\n", "\r\n"]))
def test_no_record_is_cut_even_at_a_quoted_line_break(rows, size, end):
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator=end).writerows(rows)
    data = text.getvalue().encode()
    found = list(blocks(io.BytesIO(data), "x", delimiter=",", size=size))
    assert b"".join(block.data for block in found) == data
    read = [
        row
        for block in found
        for row in csv.reader(io.StringIO(block.data.decode(), newline=""), strict=True)
    ]
    assert read == rows


@settings(deadline=None, derandomize=True)
@given(ROWS)
def test_the_scan_finds_every_record_and_its_fields(rows):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    data = text.getvalue().encode()
    found = scan(data, ",", records=100)
    assert found.fields.tolist() == [2] * len(rows)
    assert found.end == len(data)
    pieces = [data[a:b] for a, b in pairwise([*found.starts.tolist(), len(data)])]
    assert [next(csv.reader(io.StringIO(p.decode(), newline=""))) for p in pieces] == rows


@settings(deadline=None, derandomize=True)
@given(LINES, st.integers(1, 12))
def test_the_line_of_a_block_is_counted_from_the_start(lines, size):
    data, before = b"".join(line + b"\n" for line in lines), 0
    for block in blocks(io.BytesIO(data), "x", delimiter=",", size=size):
        assert block.line == 1 + data.count(b"\n", 0, before)
        before += len(block.data)


@settings(deadline=None, derandomize=True)
@given(st.text(alphabet='a,"\n\r', max_size=12), st.integers(1, 12))
def test_a_file_is_refused_exactly_where_a_quote_or_return_is_out_of_place(text, size):
    """One person's stray quote must neither swallow nor cut the records of others."""
    data = text.encode()
    if data.endswith(b"\r"):  # as good as a line's end
        data += b"\n"

    def read():
        return list(blocks(io.BytesIO(data), "x", delimiter=",", size=size))

    if strict(data):
        assert b"".join(block.data for block in read()) == data
    else:
        with pytest.raises(Malformed):
            read()


@pytest.mark.parametrize(
    ("data", "message"),
    [(b'a\nb"c\n', "line 2: a quote in the middle"), (b'a\n"b"c\n', "line 2: text after a closing"),
     (b'a\n"b\nc\n', "line 2: a quote that is never"), (b"a\rb\n", "line 1: a carriage return")],
)  # fmt: skip
def test_what_is_out_of_place_is_named_with_its_line(data, message):
    with pytest.raises(Malformed, match=f"^f.csv, {message}"):
        list(blocks(io.BytesIO(data), "f.csv", delimiter=","))


def test_memory_stays_small_when_a_quote_is_never_closed(monkeypatch):
    monkeypatch.setattr(module, "LONGEST", 1000)
    data = b"a\n" + b'"' + b"x\n" * 5000
    with pytest.raises(Malformed, match=r"f.csv, line 2: a record is longer than .* never closed"):
        list(blocks(io.BytesIO(data), "f.csv", delimiter=",", size=100))
