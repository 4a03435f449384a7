"""Fuzz targets for records: rows of files and tables, and lines that arrive one by one."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import hushfade as hf
from hushfade.records import Batch, Calendar, Columns, Reader, RowOrder, batches, tables, tally
from hushfade.records.arrow import pa, part
from hushfade.records.calendar import calendar
from hushfade.records.files import line_reader
from hushfade.records.live_lines import OpenSteps
from lab.audits.fuzzing.invariants import Target, repeats

HOUR = 3600 * 10**9
ONE = hf.Guarantee(epsilon=1, delta=1e-6, protects=hf.Person(steps=2))
SWAP = hf.Guarantee(epsilon=1, delta=1e-6, neighbours="replace")
KEYED = hf.plan(hf.Exponential(half_life=3), ONE, keys=["at", "ch", "73000137"])
PLAIN = hf.plan(hf.Exponential(half_life=3), SWAP, high=1e6)
ALL = Columns(value="amount", time="at", key="country", user="person")
SOME = Columns(value="amount")
DAY = calendar("2026-01-01", HOUR, end="2026-01-02")
UTC = Calendar(DAY.start, HOUR, zoned=True, steps=24)
PEOPLE = 300  # a live reader starts over after this many people

CSV = (
    b"at,amount,country,person\n"
    b"2026-01-01T00:10,0.5,at,zq0001ed\n"
    b'2026-01-01T03:00:00.5,73000137,"ch",zq0002ed\n'
    b'"2026-01-01 23:59",-1e3,zq0003ed,"zq00,""04ed"\n'
)
LINES = (
    b'{"at": "2026-01-01T00:10", "amount": 0.5, "country": "at", "person": "zq0001ed"}\n'
    b'{"at": "2026-01-01T03:00", "amount": 73000137, "country": "ch", "person": "zq0002ed"}\n'
    b'\n{"at": "2026-01-01T04:00", "amount": 1, "country": "zq0003ed", "person": 73, "x": [1]}\n'
)
ZONED = CSV.replace(b":10,", b":10Z,").replace(b".5,", b".5Z,").replace(b":59", b":59+01:00")
SECONDS = b"at,amount,country,person\n1767225700,1,at,7\n1767225701.5,0.25,ch,73000137\n"
NUMBERED = b'{"at": 1767225700, "amount": 1, "country": 73000137, "person": 7}\n'


def _ways() -> tuple[tuple[Reader, Columns], ...]:
    """The ways to read rows."""
    return (
        (Reader(KEYED, ALL, DAY), ALL),
        (Reader(KEYED, ALL, UTC, time_unit="s", skip_empty=True), ALL),
        (Reader(PLAIN, SOME, RowOrder(2)), SOME),
    )


def _tallied(rows: Callable[[Columns], Iterable[Batch]], data: bytes) -> None:
    """The totals of the rows in every way; raises if no way reads them, or an error leaks them."""
    refused: list[hf.HushfadeError] = []
    for reader, columns in _ways():
        try:
            tally(rows(columns), reader)
        except hf.HushfadeError as error:
            if repeats(error, data):
                raise
            refused.append(error)
    if len(refused) == len(_ways()):
        raise refused[-1]


def _in_file(path: Path) -> Callable[[bytes], None]:
    """A function that writes bytes to the file and reads them."""

    def read(data: bytes) -> None:
        path.write_bytes(data)
        _tallied(partial(batches, path), data)

    return read


@contextmanager
def commas(directory: Path) -> Iterator[Target]:
    """CSV rows in a file."""
    read = _in_file(directory / "events.csv")
    yield Target("CSV rows", (CSV, ZONED, SECONDS, b"amount\n1\n\n0.5\n"), read, records=True)


@contextmanager
def tabs(directory: Path) -> Iterator[Target]:
    """Rows with tabs, compressed by gzip."""
    read = _in_file(directory / "events.tsv.gz")
    seeds = [gzip.compress(text.replace(b",", b"\t"), mtime=0) for text in (CSV, ZONED, SECONDS)]
    yield Target("compressed rows", tuple(seeds), read, repair=_repacked, records=True)


def _repacked(data: bytes) -> bytes:
    """The bytes that can still be decompressed, changed slightly and compressed again."""
    try:
        text = gzip.decompress(data)
    except (OSError, EOFError, ValueError):
        return gzip.compress(data, mtime=0)
    except Exception:  # zlib's own
        return data
    return gzip.compress(text, mtime=0)


@contextmanager
def objects(directory: Path) -> Iterator[Target]:
    """JSON lines in a file."""
    read = _in_file(directory / "events.jsonl")
    yield Target(
        "JSON lines", (LINES, LINES.replace(b":10", b":10Z"), NUMBERED), read, records=True
    )


@contextmanager
def pages(directory: Path) -> Iterator[Target]:
    """Parquet files."""
    read = _in_file(directory / "events.parquet")
    seeds = []
    for table in samples():
        file = io.BytesIO()
        part("parquet").write_table(table, file)
        seeds.append(file.getvalue())
    yield Target("Parquet rows", tuple(seeds), read, records=True)


@contextmanager
def arrows(directory: Path) -> Iterator[Target]:
    """Arrow tables in the IPC format."""

    def read(data: bytes) -> None:
        try:
            with pa.ipc.open_stream(data) as stream:
                table = stream.read_all()
            table.validate(full=True)  # hushfade receives tables, not their bytes
        except (pa.ArrowException, OSError, ValueError, KeyError, IndexError, TypeError):
            raise hf.InvalidValue("no Arrow table: pyarrow refuses it") from None
        _tallied(partial(tables, table), data)

    seeds = []
    for table in samples():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        seeds.append(sink.getvalue().to_pybytes())
    yield Target("Arrow tables", tuple(seeds), read, records=True)


def samples() -> list[Any]:
    """Small tables with columns of every type."""
    times = [DAY.start + HOUR, DAY.start + 2 * HOUR]
    kinds: list[tuple[Any, Any, Any, Any]] = [
        (
            pa.array(times, pa.timestamp("ns")),
            pa.array([0.5, 73000137.0]),
            ["at", "ch"],
            ["a", "b"],
        ),
        (
            pa.array([t // 10**9 for t in times], pa.timestamp("s", "Europe/Paris")),
            pa.array([1, 2], pa.decimal128(9, 3)),
            pa.array(["at", "ch"]).dictionary_encode(),
            pa.array([7, 73000137], pa.uint64()),
        ),
        (
            pa.array(["2026-01-01T00:10", "2026-01-01T00:20"], pa.large_string()),
            pa.array(["0.5", "73000137"]),
            pa.array([1, None], pa.int8()),
            pa.array(["zq0001ed", "zq0002ed"], pa.string_view()),
        ),
        (
            pa.array([20454, 20455], pa.date32()),
            pa.array([0.5, None], pa.float32()),
            pa.array([b"at", b"ch"], pa.binary()),
            pa.array([[1], [2]], pa.list_(pa.int8())),
        ),
    ]
    return [
        pa.table({"at": at, "amount": amount, "country": country, "person": person})
        for at, amount, country, person in kinds
    ]


@contextmanager
def lines(directory: Path) -> Iterator[Target]:
    """Live lines, CSV and JSON: a malformed line leaves the open steps unchanged."""
    live = [
        _Live("csv", CSV[: CSV.index(b"\n") + 1]),
        _Live("jsonl", LINES[: LINES.index(b"\n") + 1]),
    ]

    def read(data: bytes) -> None:
        chosen = live[data[:1] == b"{"]
        chosen.add(data.splitlines(keepends=True))

    yield Target(
        "live lines",
        (CSV[CSV.index(b"\n") + 1 :], LINES, LINES.replace(b"\n\n", b"\n")),
        read,
        state=lambda: repr([one.state() for one in live]).encode(),
        records=True,
    )


class _Live:
    """Open steps that start with one good block, and start over when they know many people."""

    def __init__(self, form: str, first: bytes) -> None:
        self._form, self._first = form, first
        self._begin()

    def _begin(self) -> None:
        self._reader = Reader(KEYED, ALL, DAY)
        lines = line_reader(self._form, "standard input", ALL, live=True)
        self._steps = OpenSteps(self._reader, lines)
        self._steps.add([self._first])

    def add(self, given: list[bytes]) -> None:
        """Read lines; raise the error of the first line if every line is malformed."""
        counts = self._reader.counts
        before, self._reader.first_fault = replace(counts), None
        self._steps.add(given)
        wrong = counts.rejected - before.rejected
        if wrong and wrong == counts.records - before.records:
            raise hf.Malformed(str(self._reader.first_fault))
        if self._persons() > PEOPLE:
            self._begin()

    def _persons(self) -> int:
        assert self._reader._persons is not None
        return len(self._reader._persons)

    def state(self) -> tuple[object, ...]:
        """The state after well-formed lines: totals, counts, people and their used limits."""
        reader, steps = self._reader, self._steps
        assert reader._persons is not None
        bounding = reader._persons._bounding
        totals = {step: sums.totals.tolist() for step, sums in steps._sums.items()}
        return (
            totals, replace(reader.counts, records=0, rejected=0), self._persons(),
            bounding._used, bounding._counts[: bounding._used].tobytes(), reader.closed,
        )  # fmt: skip
