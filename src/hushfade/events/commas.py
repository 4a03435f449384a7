"""CSV as batches of columns: strict, in blocks, with the line of every record.

A record with a field too few or too many is refused.  Messages name the line, never the content;
the header's own names are not shown either, since a file without header begins with a record.
"""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from functools import partial
from typing import NoReturn

from hushfade.errors import Malformed
from hushfade.events.arrow import pa, part
from hushfade.events.batch import Batch, Columns
from hushfade.events.blocks import Block, first_end


class Commas:
    """Reads blocks of one CSV file: the header first, then records."""

    def __init__(self, name: str, columns: Columns, delimiter: str = ",") -> None:
        self._name, self._columns, self._delimiter = name, columns, delimiter
        self._header: list[str] = []

    def batch(self, block: Block) -> Batch | None:
        """The block's records; None where there are none."""
        if not self._header:
            block = self._headed(block)
        return self._records(block) if block.data.strip(b"\r\n") else None

    def _headed(self, block: Block) -> Block:
        """Takes the header off the block."""
        name, end = self._name, first_end(block.data)
        text = _decoded(block.data[:end], name, block.line).removeprefix("\ufeff")
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter, strict=True)
        try:
            header = next(rows, [])
        except csv.Error:
            raise Malformed(f"{name}, line 1: the header cannot be read as CSV") from None
        for role, column in self._columns.roles().items():
            times = header.count(column)
            if times != 1:
                # the header is not shown: in a file without one, it is the first record
                what = "no column" if times == 0 else f"{times} columns"
                raise Malformed(
                    f"{name}, line 1: {what} {column!r} for the {role} among its {len(header)} "
                    "columns; the first line must be a header with column names"
                )
        self._header = header
        return Block(block.data[end:], block.line + block.data.count(b"\n", 0, end))

    def _records(self, block: Block) -> Batch:
        arrow_csv = part("csv")
        # any names will do for the columns that are not read: a header may have double ones
        names = [f"{place} {column}" for place, column in enumerate(self._header)]
        roles = {
            role: names[self._header.index(column)]
            for role, column in self._columns.roles().items()
        }
        wanted = sorted(set(roles.values()))
        table = None
        with suppress(pa.ArrowInvalid):  # its message shows the record
            table = arrow_csv.read_csv(
                pa.BufferReader(block.data),
                read_options=arrow_csv.ReadOptions(column_names=names),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self._delimiter, newlines_in_values=b'"' in block.data
                ),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=wanted,
                    column_types=dict.fromkeys(wanted, pa.string()),
                    strings_can_be_null=False,
                ),
            )
        if table is None:
            _refuse_csv(block, self._name, len(self._header), self._delimiter)
        found = {role: table.column(column) for role, column in roles.items()}
        place = partial(_csv_place, block, self._name, self._delimiter)
        return Batch(found, table.num_rows, place)

    def check_end(self) -> None:
        """Refuse a file that had no header."""
        if not self._header:
            raise Malformed(f"{self._name}: empty, where a header with column names is needed")


def _refuse_csv(block: Block, name: str, width: int, delimiter: str) -> NoReturn:
    """The first record of the block that is not as it must be, by the slow way."""
    text = _decoded(block.data, name, block.line)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = block.line
    try:
        for row in rows:
            if row and len(row) != width:
                raise Malformed(f"{name}, line {line}: {len(row)} fields, the header has {width}")
            line = block.line + rows.line_num
    except csv.Error:
        pass
    raise Malformed(f"{name}, line {line}: cannot be read as CSV")


def _csv_place(block: Block, name: str, delimiter: str, row: int) -> str:
    text = block.data.decode(errors="replace")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    line = block.line
    for cells in rows:
        if cells:
            if row == 0:
                break
            row -= 1
        line = block.line + rows.line_num
    return f"{name}, line {line}"


def _decoded(data: bytes, name: str, line: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
    raise Malformed(f"{name}, line {line}: not UTF-8")
