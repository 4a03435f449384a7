"""CSV, JSON lines, Parquet and Arrow tables as batches of the requested columns.

A batch knows the place of its rows, so that errors can name file and line.  Files are read once,
forwards.  `.gz`, `.bz2`, `.zst` and `.lz4` files are decompressed on the fly.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Protocol

from hushfade.errors import InvalidType, InvalidValue, Malformed
from hushfade.records.arrow import Schema, Table, pa, part
from hushfade.records.batch import Batch, Columns
from hushfade.records.csv_lines import CsvLines, shown
from hushfade.records.json_lines import JsonLines
from hushfade.records.line_blocks import Block, blocks

_ROWS = 1 << 17  # rows per Parquet batch
FORMATS = ("csv", "tsv", "jsonl", "parquet")
_ENDINGS = {
    ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}

Progress = Callable[[int], object]
"""Called with the number of bytes of the file read so far."""


class LineReader(Protocol):
    """A reader that turns blocks of lines into batches."""

    def batch(self, block: Block) -> Batch | None: ...

    def check_end(self) -> None: ...


def batches(
    path: Path | None,
    columns: Columns,
    *,
    form: str | None = None,
    delimiter: str | None = None,
    progress: Progress | None = None,
) -> Iterator[Batch]:
    """The batches of a file, or of standard input if the path is None.

    `delimiter` separates the columns of CSV, in place of the comma, or the tab of TSV.
    """
    name = "standard input" if path is None else path.name
    form = form_of(path) if form is None else form
    if form not in FORMATS:
        raise InvalidValue(f"format must be one of {', '.join(FORMATS)}", got=repr(form))
    comma = delimiter_of(form, delimiter)
    if form == "parquet":
        if path is None:
            raise InvalidValue("format must be csv, tsv or jsonl on standard input")
        yield from _parquet(path, name, columns, progress)
        return
    with _opened(path, name, progress) as file:
        lines = line_reader(form, name, columns, delimiter=delimiter)
        for block in blocks(file, name, delimiter=comma):
            batch = lines.batch(block)
            if batch is not None:
                yield batch
        lines.check_end()


def tables(table: Table, columns: Columns, name: str = "table") -> Iterator[Batch]:
    """The batches of an Arrow table.  Its columns have types, so nothing is inferred from rows."""
    if not isinstance(table, pa.Table):
        raise InvalidType("must be an Arrow table", argument=name, got=type(table).__name__)
    pieces = (table.slice(start, _ROWS) for start in range(0, max(table.num_rows, 1), _ROWS))
    yield from _rowwise(pieces, name, columns)


def line_reader(
    form: str, name: str, columns: Columns, *, delimiter: str | None = None, live: bool = False
) -> LineReader:
    """The reader for the lines of a format; `live`: every line is a whole record."""
    comma = delimiter_of(form, delimiter)
    if comma is None:
        return JsonLines(name, columns, live=live)
    return CsvLines(name, columns, comma, live=live)


def delimiter_of(form: str, delimiter: str | None) -> str | None:
    """The delimiter of a format, or None if the format has no delimiter."""
    if delimiter is None:
        return _DELIMITERS.get(form)
    if form not in _DELIMITERS:
        raise InvalidValue("must be given for CSV or TSV only", argument="delimiter", got=form)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise InvalidValue(
            "must be one ASCII character, and no quote or line break",
            argument="delimiter",
            got=repr(delimiter),
        )
    return delimiter


def form_of(path: Path | None) -> str:
    """The format of a file, from its name."""
    if path is None:
        return "csv"
    ending = path.suffixes[-2:-1] if path.suffix in _PACKED else path.suffixes[-1:]
    found = _ENDINGS.get(ending[0].lower()) if ending else None
    if found is None:
        known = " ".join(_ENDINGS)
        raise InvalidValue(
            f"the format of {path.name} must be given (--input-format): its name does not end in "
            f"{known}"
        )
    return found


def _parquet(path: Path, name: str, columns: Columns, progress: Progress | None) -> Iterator[Batch]:
    parquet, readable = part("parquet"), True
    wanted = sorted(set(columns.roles().values()))
    try:
        with path.open("rb") as raw, parquet.ParquetFile(raw) as file:
            _check_schema(file.schema_arrow, name, columns)
            size, whole, seen = path.stat().st_size, max(file.metadata.num_rows, 1), 0
            read = (
                pa.Table.from_batches([rows])
                for rows in file.iter_batches(batch_size=_ROWS, columns=wanted)
            )
            for batch in _rowwise(read, name, columns):
                yield batch
                seen += batch.rows
                if progress is not None:
                    progress(size * seen // whole)
    except (FileNotFoundError, PermissionError):
        raise
    # a damaged page is one of the first two, a name the last; the message may show content
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        readable = False
    if not readable:
        raise Malformed(f"{name}: cannot be read as Parquet")


def _rowwise(parts: Iterable[Table], name: str, columns: Columns) -> Iterator[Batch]:
    start = 1
    for table in parts:
        _check_schema(table.schema, name, columns)
        found = {role: table.column(column) for role, column in columns.roles().items()}
        yield Batch(found, table.num_rows, place_of_row(name, start))
        start += table.num_rows


def place_of_row(name: str, first: int = 1) -> Callable[[int], str]:
    """The place of each row in words; `first` is the number of the first."""
    return lambda row: f"{name}, row {first + row}"


def _check_schema(schema: Schema, name: str, columns: Columns) -> None:
    names = None
    with suppress(UnicodeDecodeError):  # it would carry the name
        names = schema.names
    if names is None:
        raise Malformed(f"{name}: the names of its columns must be UTF-8")
    check_names(names, name, columns)


def check_names(names: list[str], name: str, columns: Columns) -> None:
    """Raise unless each wanted column is among the names, once."""
    for role, column in columns.roles().items():
        times = names.count(column)
        if times != 1:
            what = "no column" if times == 0 else f"{times} columns"
            raise Malformed(
                f"{name}: {what} {column!r} for the {role}; the columns are {shown(names)}"
            )


# Files ------------------------------------------------------------------------------------------


def _opened(path: Path | None, name: str, progress: Progress | None) -> Any:
    if path is None:
        return _Told(sys.stdin.buffer, name, progress)
    raw = path.open("rb")
    packed = _PACKED.get(path.suffix)
    if packed is None:
        return _Told(raw, name, progress)
    return _Told(raw, name, progress, pa.CompressedInputStream(pa.PythonFile(raw, "r"), packed))


class _Told:
    """A file that reports how many bytes were read."""

    def __init__(
        self, raw: IO[bytes], name: str, progress: Progress | None, unpacked: Any = None
    ) -> None:
        self._raw, self._name, self._progress, self._unpacked = raw, name, progress, unpacked
        self._read = 0

    def read(self, size: int) -> bytes:
        source = self._raw if self._unpacked is None else self._unpacked
        try:
            found: bytes = source.read(size)
        except OSError:
            if self._unpacked is None:
                raise
            raise Malformed(f"{self._name}: the compressed file is damaged or incomplete") from None
        self._read += len(found)
        if self._progress is not None:
            self._progress(self._read if self._unpacked is None else self._raw.tell())
        return found

    def __enter__(self) -> _Told:
        return self

    def __exit__(self, *_: object) -> None:
        if self._raw is not sys.stdin.buffer:
            self._raw.close()
