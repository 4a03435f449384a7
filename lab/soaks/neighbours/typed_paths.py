"""Parquet, Arrow, pandas and Polars: rows are values by role, and columns have types."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from hushfade import duration
from hushfade.errors import DroppedRecords, InvalidValue
from hushfade.records import batches, tables, tally
from hushfade.records.arrow import pa, part
from lab.soaks.neighbours import fields
from lab.soaks.neighbours.column_types import Kind, kind_of
from lab.soaks.neighbours.input_path import meaning_of, reader_of, units_of
from lab.soaks.neighbours.meaning import Meaning, Rules, Totals
from lab.soaks.neighbours.settings import Setting, setting_of

pd: Any = import_module("pandas")
pl: Any = import_module("polars")
events: Any = import_module("hushfade.frames.events")

Row: TypeAlias = dict[str, Any]
"""The value of each role."""


Made: TypeAlias = tuple[Setting, dict[str, Kind], int]
"""The declarations, the type of each role's column, and the rows per chunk."""


class ArrowTable:
    """Arrow tables."""

    name, stops, by_position, infers = "Arrow", True, False, False

    def setting(self, random: Random) -> Made:
        """Random declarations, and the type of each column."""
        setting = setting_of(random)
        kinds = {role: kind_of(random, role, setting) for role in setting.columns.roles()}
        return setting, kinds, random.randint(1, 4)

    def rules(self, made: Made) -> Rules:
        """The rules for reading the records."""
        return made[0].rules

    def row(self, random: Random, made: Made, bad: float) -> tuple[Row, Meaning]:
        """A random record."""
        setting, kinds, _ = made
        found = {role: kind.value(random, bad) for role, kind in kinds.items()}
        means = {role: meaning for role, (_, meaning) in found.items()}
        return {role: value for role, (value, _) in found.items()}, meaning_of(setting, means)

    def read(self, made: Made, rows: Sequence[Row]) -> Totals:
        """The units that hushfade computes."""
        setting, _, _ = made
        assert setting.calendar is not None
        reader = reader_of(setting, setting.calendar)
        found = tally(tables(table_of(made, rows), setting.columns), reader)
        return units_of(found.totals, reader.lanes)


class ParquetFile(ArrowTable):
    """Parquet files."""

    name = "Parquet"

    def __init__(self, directory: Path) -> None:
        self._path = directory / "events.parquet"

    def setting(self, random: Random) -> Made:
        """The same, without the types that Parquet does not support."""
        while True:
            setting, kinds, chunk = super().setting(random)
            try:
                part("parquet").write_table(table_of((setting, kinds, chunk), []), io.BytesIO())
            except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
                continue
            return setting, kinds, chunk

    def read(self, made: Made, rows: Sequence[Row]) -> Totals:
        """The units that hushfade computes."""
        setting, _, chunk = made
        assert setting.calendar is not None
        part("parquet").write_table(table_of(made, rows), self._path, row_group_size=chunk)
        reader = reader_of(setting, setting.calendar)
        found = tally(batches(self._path, setting.columns), reader)
        return units_of(found.totals, reader.lanes)


class Frame(ArrowTable):
    """Data frames whose columns have the types of an Arrow table.

    numpy has no integers with nulls, so pandas converts them to floats by default.
    """

    def __init__(self, name: str, made_of: Callable[[Any], Any], *, infers: bool = False) -> None:
        self.name, self._made_of, self.infers = name, made_of, infers

    def read(self, made: Made, rows: Sequence[Row]) -> Totals:
        """The units that hushfade computes."""
        return _events(self._made_of(table_of(made, rows)), made[0])


class Objects:
    """Data frames with columns of Python objects."""

    stops, by_position = True, False

    def __init__(self, name: str, frame: Callable[[Row], Any], *, infers: bool = False) -> None:
        self.name, self._frame, self.infers = name, frame, infers

    def setting(self, random: Random) -> Setting:
        """Random declarations."""
        return setting_of(random)

    def rules(self, made: Setting) -> Rules:
        """The rules for reading the records."""
        return made.rules

    def row(self, random: Random, made: Setting, bad: float) -> tuple[Row, Meaning]:
        """A random record."""
        found: dict[str, tuple[Any, Any]] = {}
        for role in made.columns.roles():
            if role == "time":
                found[role] = fields.time_object(random, made, bad)
            elif role == "value":
                found[role] = fields.number_object(random, bad)
            else:
                found[role] = fields.name_object(random, role, bad)
        means = {role: meaning for role, (_, meaning) in found.items()}
        return {role: value for role, (value, _) in found.items()}, meaning_of(made, means)

    def read(self, made: Setting, rows: Sequence[Row]) -> Totals:
        """The units that hushfade computes."""
        roles = made.columns.roles()
        return _events(
            self._frame({name: [row[role] for row in rows] for role, name in roles.items()}), made
        )


def table_of(made: Made, rows: Sequence[Row]) -> Any:
    """The rows as an Arrow table in chunks, with an extra column."""
    setting, kinds, size = made
    columns = {}
    for role, name in setting.columns.roles().items():
        whole = [row[role] for row in rows]
        pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
        chunks = [_array(piece, kinds[role].type) for piece in pieces]
        columns[name] = pa.chunked_array(chunks, kinds[role].type)
    other = pa.array(range(len(rows)), pa.int8())
    return pa.table(columns | {"other": other})


def _array(values: list[Any], kind: Any) -> Any:
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(values, kind)


# Data frames ------------------------------------------------------------------------------------


class _Summed(Exception):
    """The units just before noise is drawn."""

    def __init__(self, totals: Any) -> None:
        super().__init__()
        self.totals = totals


@contextmanager
def _before_noise() -> Iterator[None]:
    """A context in which `release_events` raises _Summed instead of drawing noise."""

    def stop(stream: object, totals: Any, calendar: object) -> Any:
        raise _Summed(totals)

    before = events.released_rows
    events.released_rows = stop
    try:
        yield
    finally:
        events.released_rows = before


def _events(frame: Any, setting: Setting) -> Totals:
    """The units of a frame of events."""
    calendar, columns = setting.calendar, setting.columns
    assert calendar is not None
    start = pd.Timestamp(calendar.start, tz="UTC" if calendar.zoned else None)
    with warnings.catch_warnings(), _before_noise():
        warnings.simplefilter("ignore", DroppedRecords)
        try:
            frame.hushfade.release_events(
                plan=setting.rules.plan,
                time=columns.time,
                value=columns.value,
                key=columns.key,
                user=columns.user,
                every=duration.shown(calendar.every),
                start=start,
                steps=calendar.steps,
                time_unit=setting.time_unit,
                skip_empty=setting.rules.skip_empty,
            )
        except _Summed as found:
            return units_of(found.totals, setting.rules.plan.grid.lanes)
    raise AssertionError("no units came to the noise")


def pandas_objects(columns: Row) -> Any:
    """Columns of objects in pandas."""
    return pd.DataFrame({name: pd.Series(one, dtype=object) for name, one in columns.items()})


def polars_objects(columns: Row) -> Any:
    """Columns of objects in Polars."""
    return pl.DataFrame({name: pl.Series(one, dtype=pl.Object) for name, one in columns.items()})


def pandas_columns(columns: Row) -> Any:
    """Columns whose type pandas infers."""
    try:
        return pd.DataFrame(columns)
    except OverflowError:
        raise InvalidValue("pandas has no type for the column") from None


PATHS: list[ArrowTable | Objects] = [
    ArrowTable(),
    Frame("pandas", lambda table: table.to_pandas(), infers=True),
    Frame("pandas, Arrow types", lambda table: table.to_pandas(types_mapper=pd.ArrowDtype)),
    Frame("Polars", pl.from_arrow),
    Objects("pandas objects", pandas_objects),
    Objects("Polars objects", polars_objects),
    Objects("pandas, types by pandas", pandas_columns, infers=True),
]
