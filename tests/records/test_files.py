"""Files of every format give the same batches, or a refusal with the line, and never a value."""

import bz2
import csv
import gzip
import io
import json
import traceback

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushfade as hf
from hushfade.errors import InvalidType, InvalidValue, Malformed
from hushfade.records import Reader, RowOrder, line_blocks, tally
from hushfade.records.arrow import pa, part
from hushfade.records.batch import Columns
from hushfade.records.faults import Faults
from hushfade.records.files import batches, form_of, tables

SWAP = hf.Guarantee(epsilon=1, delta=1e-6, neighbours="replace")
PLAN = hf.plan(hf.SlidingWindow(1), SWAP, keys=["a"])
ROLES = Columns(value="v", key="k")
ROWS = [{"k": "a", "v": 1.5, "other": "x"}, {"k": "b\nc", "v": -2.0, "other": 'q"q'}]
SECRET = "73571"


def written(path, rows):
    """The rows in the format that the path's name says, by other libraries."""
    form = form_of(path)
    if form == "parquet":
        part("parquet").write_table(pa.Table.from_pylist(rows), path)
        return path
    if form == "jsonl":
        text = "".join(json.dumps(row) + "\n" for row in rows)
    else:
        file = io.StringIO(newline="")
        out = csv.DictWriter(file, list(rows[0]), delimiter="\t" if form == "tsv" else ",")
        out.writeheader()
        out.writerows(rows)
        text = file.getvalue()
    pack = {".gz": gzip.compress, ".bz2": bz2.compress}.get(path.suffix, bytes)
    path.write_bytes(pack(text.encode()))
    return path


def read(path, columns=ROLES, **options):
    found = list(batches(path, columns, **options))
    for batch in found:
        Faults(batch.rows, batch.faults).check(batch.place)
    roles = columns.roles()
    return [
        [value for batch in found for value in batch.columns[role].to_pylist()] for role in roles
    ]


@pytest.mark.parametrize(
    "name", ["f.csv", "f.tsv", "f.jsonl", "f.ndjson", "f.parquet", "f.csv.gz", "f.jsonl.bz2"]
)
def test_every_format_gives_the_same_rows(tmp_path, name):
    values, keys = read(written(tmp_path / name, ROWS))
    assert [float(value) for value in values] == [1.5, -2.0]
    assert keys == ["a", "b\nc"]


@settings(deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), min_size=1, max_size=30))
def test_csv_is_read_as_the_standard_library_writes_it(tmp_path_factory, rows):
    rows = [(a.replace("\0", ""), b.replace("\0", "")) for a, b in rows]
    path = tmp_path_factory.mktemp("csv") / "f.csv"
    with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
        out = csv.writer(file, quoting=csv.QUOTE_ALL)
        out.writerows([("k", "v"), *rows])
    with path.open(encoding="utf-8", newline="") as file:
        expected = list(csv.reader(file))[1:]
    values, keys = read(path)
    assert [list(pair) for pair in zip(keys, values, strict=True)] == expected


def test_small_blocks_give_the_same_and_the_same_places(tmp_path, monkeypatch):
    rows = [{"k": f"key\n{i}", "v": i, "o": '"'} for i in range(50)]
    for name in ("f.csv", "f.jsonl"):
        path = written(tmp_path / name, rows)
        whole, place = read(path), next(iter(batches(path, ROLES))).place(7)
        with monkeypatch.context() as patch:
            patch.setattr(line_blocks.blocks, "__kwdefaults__", {"size": 64, "delimiter": ","})
            found = list(batches(path, ROLES))
        assert len(found) > 5
        assert [v for b in found for v in b.columns["value"].to_pylist()] == whole[0]
        places = [batch.place(row) for batch in found for row in range(batch.rows)]
        assert places[7] == place
        assert places[7] == f"{name}, line {1 + 1 + 2 * 7 if name == 'f.csv' else 8}"


def test_a_byte_order_mark_and_windows_lines_are_read(tmp_path):
    path = tmp_path / "f.csv"
    path.write_bytes("\ufeffk,v\r\na,1\r\n\r\nb,2\r\n".encode())
    assert read(path) == [["1", "2"], ["a", "b"]]
    assert next(iter(batches(path, ROLES))).place(1) == "f.csv, line 4"
    lines = tmp_path / "f.jsonl"
    lines.write_bytes('\ufeff{"k": "a", "v": 1}\r\n{"k": "b", "v": 2}\r\n'.encode())
    assert read(lines) == [["1", "2"], ["a", "b"]]


def test_a_header_may_have_odd_names_and_line_breaks(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text('k,"two\nlines",v,\u2028\x0b\na,x,1,y\n', encoding="utf-8")
    assert read(path) == [["1"], ["a"]]
    assert next(iter(batches(path, ROLES))).place(0) == "f.csv, line 3"


def test_in_one_column_an_empty_line_is_an_empty_value(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("v\n1\n\n2\n")
    assert read(path, Columns(value="v")) == [["1", "", "2"]]
    assert next(iter(batches(path, Columns(value="v")))).place(2) == "f.csv, line 4"


def test_a_field_that_no_record_has_is_refused(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text('{"v": 1}\n{"v": 2}\n')
    refused(path, "no record has a field 'k'")


def test_only_tables_with_types_are_read():
    """pyarrow would infer the types of lists, and of objects in pandas, from their content."""
    for source in ({"v": [1, SECRET]}, pd.DataFrame({"v": [1, 2.5]}), object()):
        with pytest.raises(InvalidType, match="table must be an Arrow table, got") as caught:
            list(tables(source, ROLES))
        assert SECRET not in str(caught.value)
    table = pa.table({"v": [1, 2], "k": ["a", "b"]})
    (batch,) = tables(table, ROLES)
    assert batch.columns["key"].to_pylist() == ["a", "b"]
    assert batch.place(1) == "table, row 2"


def test_long_tables_are_read_in_pieces_and_rows_keep_their_numbers():
    rows = (1 << 17) + 3
    found = list(tables(pa.table({"v": np.ones(rows), "k": ["a"] * rows}), ROLES))
    assert [batch.rows for batch in found] == [1 << 17, 3]
    assert found[1].place(2) == f"table, row {rows}"


CSV = {
    "too few fields": (f"k,v\na,1\n{SECRET}\n", "line 3: must have as many fields"),
    "too many fields": (f"k,v\na,1\nb,2,{SECRET}\n", "line 3: must have as many fields"),
    "after a quoted line break": (f'k,v\n"a\nb",1\n{SECRET}\n', "line 4: must have as many fields"),
    "a quote that is not closed": (
        f'k,v\na,1\n"{SECRET},2\nb,3\n',
        "line 3: has a quote that is never closed",
    ),
    "a quote in a field": (f'k,v\na,1\n5"{SECRET},2\nb,3\n', "line 3: has a quote in the middle"),
    "old line ends": ("k,v\ra,1\rb,2\r", "line 1: the header cannot be read as CSV"),
    "an old line end": (f"k,v\na,1\r{SECRET},2\nb,3\n", "line 2: has a carriage return"),
    "no header": (f"a,{SECRET}\nb,2\n", "line 1: no column 'v' for the value among its 2 columns"),
    "no header, a name by chance": (
        f"v,{SECRET}\n",
        "line 1: no column 'k' .* among its 2 columns",
    ),
    "a column twice": ("k,v,v\n", "line 1: 2 columns 'v' for the value"),
    "another name": ("k,w\n", "line 1: no column 'v' for the value; the columns are 'k', 'w'"),
    "semicolons": (
        "k;v;other\na;1;x\n",
        "no column 'v' for the value, if ',' separates .* ';' gives the columns 'k', 'v', 'other': "
        "set the delimiter to ';'",
    ),
    "semicolons without header": (f"a;{SECRET}\n", "no column 'v' .* among its 1 columns"),
    "a header that is not UTF-8": (b"k,v,\xff\n", "line 1: the header must be UTF-8"),
    "empty": ("", "the file is empty, but must start with a header"),
    "only a line break": ("\n", "line 1: no column 'v' .* among its 0 columns"),
}


@pytest.mark.parametrize(("text", "message"), CSV.values(), ids=CSV)
def test_malformed_csv_is_refused_with_its_line(tmp_path, text, message):
    path = tmp_path / "f.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    refused(path, message)


def test_a_delimiter_may_be_declared(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("k;v\na,b;1\n")
    assert read(path, delimiter=";") == [["1"], ["a,b"]]
    for bad in ("", ";;", '"', "\n", "é"):
        with pytest.raises(InvalidValue, match="delimiter must be one ASCII character"):
            read(path, delimiter=bad)
    with pytest.raises(InvalidValue, match="delimiter must be given for CSV or TSV only"):
        read(tmp_path / "f.jsonl", delimiter=";")


JSON = {
    "half an object": (f'{{"v": 1}}\n{{"v": {SECRET}', "line 2: must be one JSON object"),
    "no object": (f"[{SECRET}]\n", "line 1: must be one JSON object"),
    "two on a line": ('{"v": 1} {"v": 2}\n', "line 1: must be one JSON object"),
    "two on a line, one on two": (
        '{"v": 1}{"v": 2}\n{"v":\n3}\n',
        "line 1: must be one JSON object",
    ),
    "a field twice": (
        f'{{"v": 1}}\n{{"v": 1, "v": {SECRET}}}\n',
        "line 2: has the same field twice",
    ),
    "a field twice, in escapes": ('{"v": 1, "\\u0076": 2}\n', "line 1: has the same field twice"),
    "text for a number": (
        f'{{"v": 1}}\n{{"v": "{SECRET}"}}\n',
        "line 2, column 'v': must be a num",
    ),
    "a boolean": ('{"v": 1}\n\n{"v": true}\n', "line 3, column 'v': must be a number"),
    "a list": ('{"v": [1]}\n', "line 1, column 'v': must be a number"),
    "a fraction for a text": (
        f'{{"k": {SECRET}.5}}\n',
        "line 1, column 'k': must be text or a whole",
    ),
    "underscores": ('{"v": 1_000}\n', "line 1: must be one JSON object"),
    "no UTF-8": (
        b'{"k": "a", "v": 1}\n{"k": "\xff", "v": 1}\n',
        "line 2, column 'k': must be UTF-8",
    ),
    "half a character": ('{"k": "\\ud800"}\n', "line 1: must be one JSON object"),
}


@pytest.mark.parametrize(("text", "message"), JSON.values(), ids=JSON)
def test_malformed_json_is_refused_with_its_line(tmp_path, text, message):
    path = tmp_path / "f.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    refused(path, message)


def refused(path, message):
    with pytest.raises(Malformed, match=message) as caught:
        tally(batches(path, ROLES), Reader(PLAN, ROLES, RowOrder()))
    shown = "".join(traceback.format_exception(caught.value, chain=True))
    assert SECRET not in str(caught.value)
    assert SECRET not in shown


def test_deep_nesting_is_refused(tmp_path):
    path = tmp_path / "f.jsonl"
    for depth in (1000, 1001, 10**5):
        deep = '[{"a":' * (depth // 2) + "[" * (depth % 2) + "1"
        deep += "]" * (depth % 2) + "}]" * (depth // 2)
        path.write_text('{"k": "a", "v": 1}\n{"k": "a", "v": 2, "z": ' + deep + "}\n")
        if depth == 1000:
            assert read(path)[0] == ["1", "2"]
        else:
            refused(path, "line 2: must not be nested so deeply")


def test_text_that_is_not_utf_8_is_refused(tmp_path):
    path = tmp_path / "f.csv"
    path.write_bytes(b"k,v\na,1\n\xff,2\n")
    with pytest.raises(Malformed, match="line 3, column 'k': must be UTF-8"):
        tally(batches(path, ROLES), Reader(PLAN, ROLES, RowOrder()))


def test_files_that_are_not_what_they_are_called_are_refused(tmp_path):
    for name, message in (
        ("f.parquet", "cannot be read as Parquet"),
        ("f.csv.gz", "damaged or incomplete"),
    ):
        path = tmp_path / name
        path.write_bytes(b"k,v\n" + SECRET.encode())
        refused(path, message)
    cut = written(tmp_path / "g.csv.gz", ROWS * 1000).read_bytes()[:-20]
    (tmp_path / "g.csv.gz").write_bytes(cut)
    refused(tmp_path / "g.csv.gz", "damaged or incomplete")


def test_a_parquet_file_with_a_damaged_page_is_refused(tmp_path):
    path = written(tmp_path / "f.parquet", [{"k": SECRET * 9 + str(i), "v": i} for i in range(500)])
    data = bytearray(path.read_bytes())
    data[60:600] = bytes(540)
    path.write_bytes(data)
    with pytest.raises(Malformed, match="cannot be read as Parquet") as caught:
        read(path)
    assert caught.value.__context__ is None


def test_a_parquet_file_without_the_column_is_refused(tmp_path):
    path = written(tmp_path / "f.parquet", [{"v": 1}])
    refused(path, "no column 'k' for the key")


def test_names_of_columns_that_are_not_utf_8_are_refused(tmp_path):
    path = written(tmp_path / "f.parquet", [{"v": 1, "k": "a", "zqzq": 1}])
    path.write_bytes(path.read_bytes().replace(b"zqzq", b"\xff\xfe\xff\xfe"))
    refused(path, "cannot be read as Parquet")
    sink = pa.BufferOutputStream()
    table = pa.table({"v": [1], "k": ["a"], "zqzq": [1]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = sink.getvalue().to_pybytes().replace(b"zqzq", b"\xff\xfe\xff\xfe")
    with pytest.raises(Malformed, match="must be UTF-8"):
        list(tables(pa.ipc.open_stream(data).read_all(), ROLES))


def test_formats_that_nobody_said_are_refused(tmp_path):
    with pytest.raises(InvalidValue, match=r"the format of f\.txt must be given"):
        read(tmp_path / "f.txt")
    with pytest.raises(InvalidValue, match="one of csv"):
        read(tmp_path / "f.csv", form="xml")
    with pytest.raises(InvalidValue, match="on standard input"):
        read(None, form="parquet")
