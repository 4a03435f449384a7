"""The seeded bugs: each function makes a wrong function from the right one."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from hushfade.planning import shifts
from hushfade.private.grid import Grid
from hushfade.records.faults import NOT_A_TIME, NOT_FINITE
from hushfade.records.people import Names
from hushfade.records.texts import of_list, parts


def first_time_decides(right: Any) -> Any:
    """If the first time of JSON lines is a float, all times are read as floats."""

    def batch(self: Any, block: Any) -> Any:
        found = right(self, block)
        if found is None or "time" not in found.columns:
            return found
        texts = found.columns["time"].to_pylist()
        if set("eE.") & set(texts[0] or "") and (texts[0] or "x")[-1].isdecimal():
            column = of_list([_as_float(text or "") for text in texts])
            return replace(found, columns=found.columns | {"time": column})
        return found

    return batch


def _as_float(text: str) -> str:
    try:
        return f"{float(text):.0f}"
    except (ValueError, OverflowError):
        return text


def floats_win(right: Any) -> Any:
    """One float among the times of a column of objects converts all times to floats."""

    def text_column(objects: Any, role: str, unit: str | None) -> Any:
        objects = list(objects)
        if role == "time" and unit is not None and any(type(one) is float for one in objects):
            objects = [str(int(float(one))) if _numeric(one) else one for one in objects]
        return right(objects, role, unit)

    return text_column


def _numeric(one: Any) -> bool:
    return isinstance(one, int | float) and not isinstance(one, bool) and abs(one) < 1e300


def far_years_coarsen(right: Any) -> Any:
    """With one year beyond the range of nanoseconds, all times are read in microseconds."""

    def times(*arguments: Any, **more: Any) -> Any:
        found, codes = right(*arguments, **more)
        if more["unit"] is None and (np.abs(found.astype(float)) > 9.2e18).any():
            codes[(found % 1000 != 0) & (np.abs(found.astype(float)) < 9.2e18)] = NOT_A_TIME
        return found, codes

    return times


def objects_are_counted(right: Any) -> Any:
    """Objects may share a line if their number equals the number of lines."""

    def scan(data: bytes, names: list[str]) -> Any:
        text, at, objects = data.decode("utf-8", "surrogateescape"), 0, []
        decoder = json.JSONDecoder()
        try:
            while text[at:].strip():
                at += len(text[at:]) - len(text[at:].lstrip())
                _, end = decoder.raw_decode(text, at)
                objects.append(" ".join(text[at:end].split("\n")))
                at = end
        except ValueError:
            return right(data, names)
        lines = sum(bool(line.strip()) for line in data.split(b"\n"))
        if len(objects) != lines:
            return right(data, names)
        return right("\n".join(objects).encode("utf-8", "surrogateescape"), names)

    return scan


def only_empty_names_are_blank(right: Any) -> Any:
    """A blank name is a person."""
    return lambda column: np.array([text == "" for text in column.to_pylist()], dtype=np.bool_)


def large_integers_are_rejected(right: Any) -> Any:
    """An integer beyond 64 bits is rejected."""

    def numbers(batch: Any, name: str, role: str = "value") -> Any:
        values, codes = right(batch, name, role)
        texts = batch.columns[role].to_pylist()
        for row, text in enumerate(texts):
            large = str(text).lstrip("-").isdecimal() and abs(values[row]) >= 2.0**63
            codes[row] = NOT_FINITE if large else codes[row]
        return values, codes

    return numbers


def marks_are_dropped(right: Any) -> Any:
    """A byte order mark is dropped at the start of every block."""

    def scan(data: bytes, *arguments: Any, **more: Any) -> Any:
        return right(data.removeprefix(b"\xef\xbb\xbf"), *arguments, **more)

    return scan


def first_line_may_have_a_mark(right: Any) -> Any:
    """A byte order mark is dropped if the record comes first, and malformed elsewhere."""

    def batch(self: Any, block: Any) -> Any:
        if block.line == 1:
            block = replace(block, data=block.data.removeprefix(b"\xef\xbb\xbf"))
        return right(self, block)

    return batch


def one_spoils_all(right: Any) -> Any:
    """A malformed live line removes all lines of its block."""

    def read_live(self: Any, batch: Any) -> Any:
        _, faults = self._rows_of(batch)
        none = np.zeros(0, dtype=np.int64)
        return (none, none) if faults else right(self, batch)

    return read_live


def malformed_values_use_up_no_limit(right: Any) -> Any:
    """A malformed live line is dropped before the limits per person."""

    def read_live(self: Any, batch: Any) -> Any:
        rows, faults = self._rows_of(batch)
        good = faults.codes == 0
        self.reject(int(np.sum(~good)), "malformed")
        return self.counted(rows[good])

    return read_live


def zones_are_ignored(right: Any) -> Any:
    """A time without a zone is read as UTC if any other time has a zone."""

    def times(batch: Any, name: str, *, unit: Any, zoned: bool) -> Any:
        found, codes = right(batch, name, unit=unit, zoned=zoned)
        if unit is None:
            other, others = right(batch, name, unit=unit, zoned=not zoned)
            if (codes == 0).any():
                found, codes = np.where(codes == 0, found, other), np.minimum(codes, others)
        return found, codes

    return times


def quotes_are_lenient(right: Any) -> Any:
    """Stray quotes are text, as in many readers."""

    def scan(data: bytes, delimiter: str, *arguments: Any, **more: Any) -> Any:
        text = data.decode("utf-8", "surrogateescape")
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        file = io.StringIO(newline="")
        out = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
        out.writerows(row for row in rows if row)
        again = file.getvalue().encode("utf-8", "surrogateescape")
        return right(again, delimiter, *arguments, **more)

    return scan


def short_records_are_filled(right: Any) -> Any:
    """Missing fields at the end of a record are empty."""

    def scan(data: bytes, delimiter: str, wanted: list[int], width: int, **more: Any) -> Any:
        comma, lines = delimiter.encode(), []
        for line in data.split(b"\n"):
            end = b"\r" * line.endswith(b"\r")
            missing = width - 1 - line.count(comma)
            plain = b'"' not in line and line.strip()
            lines.append(line.removesuffix(end) + comma * missing + end if plain else line)
        return right(b"\n".join(lines), delimiter, wanted, width, **more)

    return scan


def last_field_wins(right: Any) -> Any:
    """A repeated field has the last of its values."""

    def scan(data: bytes, names: list[str]) -> Any:
        lines = [_without_repeats(line, names) for line in data.split(b"\n")]
        return right(b"\n".join(lines), names)

    return scan


def _without_repeats(line: bytes, names: list[str]) -> bytes:
    repeats: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        given = [name for name, _ in found if name in names]
        repeats.extend(name for name in set(given) if given.count(name) > 1)
        return dict(found)

    try:
        found = json.loads(line, object_pairs_hook=pairs)
    except ValueError:
        return line
    return json.dumps(found).encode() if repeats else line


def quotes_span_lines(right: Any) -> Any:
    """In live input, an open quote swallows the following lines of its block."""

    def scan(*arguments: Any, **more: Any) -> Any:
        return right(*arguments, **more | {"live": False})

    return scan


def first_letters_name_people(right: Any) -> Any:
    """People whose names start with the same letter are one person."""

    def numbers(self: Any, found: Any) -> Any:
        ends = pairwise(found.offsets.tolist())
        letters = [found.data[a:b].tobytes().decode("utf-8", "replace")[:1] for a, b in ends]
        return right(self, Names(*parts(of_list(letters)), found.places))

    return numbers


def limits_are_not_renewed(right: Any) -> Any:
    """The limits hold for the life of the stream."""

    def of(unit: Any) -> Any:
        return replace(right(unit), stretch="stream")

    return of


def periods_are_utc(right: Any) -> Any:
    """Periods are in UTC, whatever zone is declared."""

    def made(cls: Any, period: str, order: Any) -> Any:
        return right(period.partition(" ")[0] + " UTC", order)

    return classmethod(made)


def steps_belong_to_the_period_of_their_end(right: Any) -> Any:
    """The limits of a period apply to the steps that end in it."""

    def of_steps(self: Any, places: Any) -> Any:
        return right(self, places + 1)

    return of_steps


def nothing_is_clipped(right: Any) -> Any:
    """Values beyond the bounds are not clipped."""

    def quantised(self: Grid, numbers: Any) -> Any:
        return np.floor(np.clip(numbers, -1e12, 1e12) / self.resolution + 0.5).astype(np.int64)

    return quantised


def units_are_guessed(right: Any) -> Any:
    """Times that are too large for the declared unit are read in a smaller unit."""

    def multiplied(numbers: Any, factor: int) -> Any:
        while factor > 1 and np.abs(numbers.astype(float)).max(initial=0) * factor > 1e19:
            factor //= 1000
        return right(numbers, factor)

    return multiplied


def nulls_are_zero(right: Any) -> Any:
    """A missing number is 0."""
    return lambda column: np.zeros(len(column), dtype=np.bool_)


def half_floats(right: Any) -> Any:
    """A float among the numbers of a request converts all to half precision."""

    def units(grid: Grid, values: list[Any]) -> Any:
        if {*map(type, values)} == {int, float}:
            values = [float(np.float16(one)) if abs(one) < 6e4 else one for one in values]
        return right(grid, values)

    return units


def mixed_truths_are_false(right: Any) -> Any:
    """If truth values and numbers are mixed, the truth values count as false."""

    def units(grid: Grid, values: list[Any]) -> Any:
        kinds = {*map(type, values)}
        if bool in kinds and len(kinds) > 1:
            values = [0 if one is True else one for one in values]
        return right(grid, values)

    return units


def missing_values_are_one(right: Any) -> Any:
    """A record without a value is 1, as for counts."""

    def taken_apart(grid: Grid, records: list[Any], *, persons: bool) -> Any:
        filled = [
            {"value": 1, **one} if type(one) is dict and "key" in one else one for one in records
        ]
        return right(grid, filled, persons=persons)

    return taken_apart


def steps_do_not_overlap(right: Any) -> Any:
    """k steps have √k times the sensitivity of one, as if their columns were orthogonal."""

    def squared_sensitivity(guarantee: Any, grid: Any, pair: Any) -> int:
        steps = guarantee.protects.steps
        return int(shifts.squared_change(guarantee, grid) * steps * pair.squared_sensitivity())

    return squared_sensitivity
