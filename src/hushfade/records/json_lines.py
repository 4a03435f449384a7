"""JSON lines as batches of columns: one object a line, each field once, with the line of each."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from hushfade.errors import Malformed
from hushfade.records.arrow import Schema, pa, part
from hushfade.records.batch import Batch, Columns
from hushfade.records.line_blocks import Block

_SMALL = 1 << 20  # bytes that one thread reads


class JsonLines:
    """Reads blocks of one file of JSON lines.  Empty lines are skipped."""

    def __init__(self, name: str, columns: Columns) -> None:
        self._name, self._columns = name, columns
        self._schema: Schema = None
        self._seen: set[str] = set()

    def batch(self, block: Block) -> Batch | None:
        """The block's records; None where there are none."""
        lines = [at for at, line in enumerate(block.data.split(b"\n")) if line.strip()]
        if not lines:
            return None
        if self._schema is None:
            self._schema = _schema(block, self._name, lines[0], self._columns)
        arrow_json = part("json")
        table = None
        with suppress(pa.ArrowInvalid):  # its message may show the record
            read = arrow_json.read_json(
                pa.BufferReader(block.data),
                read_options=arrow_json.ReadOptions(
                    use_threads=len(block.data) > _SMALL,
                    block_size=max(len(block.data) + 1, _SMALL),
                ),
                parse_options=arrow_json.ParseOptions(
                    explicit_schema=self._schema, unexpected_field_behavior="ignore"
                ),
            )
            read.validate(full=True)
            table = read
        if table is None or table.num_rows != len(lines):  # two objects on one line
            _refuse_json(block, self._name, lines, self._schema)
        filled = {n for n in table.column_names if table[n].null_count < table.num_rows}
        self._seen = self._seen | filled  # another set: a copy of this reader may be let go
        found = {role: table.column(column) for role, column in self._columns.roles().items()}
        return Batch(found, table.num_rows, partial(_json_place, block.line, self._name, lines))

    def check_lines(self, block: Block) -> None:
        """A line is a record here anyway."""

    def check_end(self) -> None:
        """Refuse a field that no record had: it is spelled otherwise."""
        for name in self._schema.names if self._schema is not None else ():
            if name not in self._seen:
                raise Malformed(f"{self._name}: no record has a field {name!r}")


def _json_place(line: int, name: str, lines: list[int], row: int) -> str:
    return f"{name}, line {line + lines[row]}"


def _schema(block: Block, name: str, first: int, columns: Columns) -> Schema:
    """Numbers for values; for the other columns text or numbers, as the first line has them."""
    row = _object(block.data.split(b"\n")[first], f"{name}, line {block.line + first}")
    kinds: dict[str, object] = {}
    for role, column in columns.roles().items():
        value = row.get(column)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if role == "value" or (isinstance(value, float) and role == "time"):
            kinds[column] = pa.float64()
        else:
            kinds[column] = pa.int64() if whole else pa.string()
    return pa.schema(kinds)


def _refuse_json(block: Block, name: str, lines: list[int], schema: Schema) -> NoReturn:
    texts = block.data.split(b"\n")
    for at in lines:
        place = f"{name}, line {block.line + at}"
        row = _object(texts[at], place)
        for field in schema:
            value = row.get(field.name)
            wanted: tuple[type, ...] = (str,) if field.type == pa.string() else (int, float)
            good = isinstance(value, wanted) and not isinstance(value, bool)
            if value is not None and not good:
                kind = "text" if field.type == pa.string() else "a number"
                raise Malformed(f"{place}: {field.name!r} must be {kind}")
            if isinstance(value, float) and not math.isfinite(value):
                raise Malformed(f"{place}: {field.name!r} must be a finite number")
            if field.type == pa.int64() and isinstance(value, int | float):
                fits = isinstance(value, int) and abs(value) < 2**63
                if not fits:
                    raise Malformed(f"{place}: {field.name!r} must be an integer of 64 bits")
    raise Malformed(f"{name}, line {block.line + lines[0]}: the lines from here cannot be read")


def _object(line: bytes, place: str) -> dict[str, Any]:
    try:
        found = json.loads(line, object_pairs_hook=_once)
    except _Twice:
        raise Malformed(f"{place}: a field is there twice") from None
    except (ValueError, RecursionError):
        raise Malformed(f"{place}: not a JSON object") from None
    if not isinstance(found, dict):
        raise Malformed(f"{place}: not a JSON object")
    return found


class _Twice(Exception):
    pass


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Twice
    return found
