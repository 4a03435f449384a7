"""CSV as batches of columns: strict, in blocks, with the line of every record.

A record with a field too few or too many is refused.  Messages name the line, never the content;
the header's own names are not shown either, since a file without header begins with a record.
Empty lines are no records, but in a file of one column they are empty values.
"""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from functools import partial
from typing import NoReturn

import numpy as np

from hushfade.errors import Malformed
from hushfade.records.arrow import pa, part
from hushfade.records.batch import Batch, Columns
from hushfade.records.line_blocks import Block, closed, scan

_SMALL = 1 << 20  # bytes that one thread reads


class Commas:
    """Reads blocks of one CSV file: the header first, then records."""

    def __init__(self, name: str, columns: Columns, delimiter: str = ",") -> None:
        self._name, self._columns, self._delimiter = name, columns, delimiter
        self._header: list[str] = []

    @property
    def width(self) -> int:
        """How many columns there are; 0 before the header was read."""
        return len(self._header)

    def batch(self, block: Block) -> Batch | None:
        """The block's records; None where there are none."""
        if not self._header:
            block = self._headed(block)
        filled = block.data if self.width == 1 else block.data.strip(b"\r\n")
        return self._records(block) if filled else None

    def _headed(self, block: Block) -> Block:
        """Takes the header off the block."""
        name, data = self._name, block.data
        starts = scan(data, self._delimiter, records=2).starts
        end = int(starts[1]) if len(starts) > 1 else len(data)
        text = _decoded(data[:end], name, block.line).removeprefix("\ufeff")
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter, strict=True)
        try:
            header = next(rows, [])
        except csv.Error:
            raise Malformed(f"{name}, line 1: the header cannot be read as CSV") from None
        for role, column in self._columns.roles().items():
            times = header.count(column)
            # the header is not shown: in a file without one, it is the first record
            if times > 1:
                raise Malformed(f"{name}, line 1: {times} columns {column!r} for the {role}")
            if times == 0:
                raise Malformed(
                    f"{name}, line 1: no column {column!r} for the {role} among its {len(header)} "
                    f"columns with {self._delimiter!r} between them; the first line must be a "
                    "header with column names"
                )
        self._header = header
        return Block(data[end:], block.line + data.count(b"\n", 0, end))

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
                read_options=arrow_csv.ReadOptions(
                    column_names=names, use_threads=len(block.data) > _SMALL
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self._delimiter,
                    newlines_in_values=b'"' in block.data,
                    ignore_empty_lines=self.width > 1,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=wanted,
                    column_types=dict.fromkeys(wanted, pa.string()),
                    strings_can_be_null=False,
                ),
            )
        if table is None:
            self._refuse(block)
        found = {role: table.column(column) for role, column in roles.items()}
        return Batch(found, table.num_rows, partial(self._place, block))

    def _refuse(self, block: Block) -> NoReturn:
        """The first record of the block that is not as it must be."""
        _decoded(block.data, self._name, block.line)
        for line, fields in self._lines(block):
            if fields != self.width:
                what = f"{fields} fields, the header has {self.width}"
                raise Malformed(f"{self._name}, line {line}: {what}")
        raise Malformed(f"{self._name}, line {block.line}: cannot be read as CSV from here")

    def _place(self, block: Block, row: int) -> str:
        line, _ = self._lines(block)[row]
        return f"{self._name}, line {line}"

    def _lines(self, block: Block) -> list[tuple[int, int]]:
        """The first line and the number of fields of each record, by the slow way."""
        data = block.data
        found = scan(data, self._delimiter, records=data.count(b"\n") + 1)
        starts, fields = found.starts, found.fields
        if self.width > 1:  # empty lines are no records
            first = np.frombuffer(data, dtype=np.uint8)[starts]
            kept = (first != ord("\n")) & (first != ord("\r"))
            starts, fields = starts[kept], fields[kept]
        breaks = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))
        lines = block.line + np.searchsorted(breaks, starts)
        return list(zip(lines.tolist(), fields.tolist(), strict=True))

    def check_lines(self, block: Block) -> None:
        """Refuse a record of several lines, where lines come live: none waits for another."""
        closed(block.data, self._name, block.line, self._delimiter)
        starts = scan(block.data, self._delimiter, records=block.data.count(b"\n") + 1).starts
        breaks = np.flatnonzero(np.frombuffer(block.data, dtype=np.uint8) == ord("\n"))
        lines = np.searchsorted(breaks, starts)
        several = np.flatnonzero(lines != np.arange(len(starts)))
        if len(several) or len(starts) < len(breaks):
            line = block.line + int(several[0] if len(several) else len(starts)) - 1
            what = "a field must not contain a line break where lines come live"
            raise Malformed(f"{self._name}, line {line}: {what}")

    def check_end(self) -> None:
        """Refuse a file that had no header."""
        if not self._header:
            raise Malformed(f"{self._name}: empty, where a header with column names is needed")


def _decoded(data: bytes, name: str, line: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
    raise Malformed(f"{name}, line {line}: not UTF-8")
