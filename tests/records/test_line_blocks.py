import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushfade.errors import Malformed
from hushfade.records import line_blocks as module
from hushfade.records.line_blocks import blocks

CELL = st.text(alphabet='ab,"\n é', max_size=6)
ROWS = st.lists(st.lists(CELL, min_size=2, max_size=2), min_size=1, max_size=20)
LINES = st.lists(st.sampled_from([b"", b"a", b"bcd", b'"e,f"', b'g,""']), max_size=30)


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
@given(LINES, st.integers(1, 12))
def test_the_line_of_a_block_is_counted_from_the_start(lines, size):
    data, before = b"".join(line + b"\n" for line in lines), 0
    for block in blocks(io.BytesIO(data), "x", delimiter=",", size=size):
        assert block.line == 1 + data.count(b"\n", 0, before)
        before += len(block.data)


def test_memory_stays_small_when_a_quote_is_never_closed(monkeypatch):
    monkeypatch.setattr(module, "LONGEST", 1000)
    data = b"a\n" + b'"' + b"x\n" * 5000
    with pytest.raises(Malformed, match=r"f.csv, line 2: a record is longer than .* never closed"):
        list(blocks(io.BytesIO(data), "f.csv", delimiter=",", size=100))
