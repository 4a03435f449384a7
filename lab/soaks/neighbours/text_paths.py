"""CSV, TSV, JSON lines and live lines: rows are bytes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TypeAlias

from hushfade.records import Arrival, Columns, RowOrder, batches, line_blocks, tally
from hushfade.records.calendar import Order
from hushfade.records.files import line_reader
from hushfade.records.live_lines import OpenSteps
from lab.soaks.neighbours.csv_rows import Dressing, csv_row, dressing_of, header_of
from lab.soaks.neighbours.input_path import reader_of, units_of
from lab.soaks.neighbours.json_rows import json_row
from lab.soaks.neighbours.meaning import Meaning, Rules, Steps, Totals
from lab.soaks.neighbours.settings import Setting, plan_of, setting_of

Made: TypeAlias = tuple[Setting, Dressing]


class _TextPath:
    """The common part of text paths."""

    stops, by_position, infers = True, False, False

    def rules(self, made: Made) -> Rules:
        """The rules for reading the records."""
        return made[0].rules


class CsvFile(_TextPath):
    """CSV or TSV in files."""

    def __init__(self, name: str, delimiters: str, directory: Path) -> None:
        self.name, self._delimiters, self._directory = name, delimiters, directory

    def setting(self, random: Random) -> Made:
        """Random declarations, and the layout of the file."""
        setting = setting_of(random)
        return setting, dressing_of(random, setting, self._delimiters)

    def row(self, random: Random, made: Made, bad: float) -> tuple[bytes, Meaning]:
        """A random record."""
        return csv_row(random, *made, bad)

    def read(self, made: Made, rows: Sequence[bytes]) -> Totals:
        """The units that hushfade computes."""
        calendar = made[0].calendar
        assert calendar is not None
        return self._read(made, rows, calendar)

    def _read(self, made: Made, rows: Sequence[bytes], order: Order) -> Totals:
        setting, dressing = made
        ending = "tsv" if dressing.delimiter == "\t" else "csv"
        path = _written(self._directory, ending, header_of(dressing) + b"".join(rows), dressing)
        given = None if dressing.delimiter in ",\t" else dressing.delimiter
        reader = reader_of(setting, order)
        with _block_size(dressing.block):
            found = tally(batches(path, setting.columns, delimiter=given), reader)
        return units_of(found.totals, reader.lanes)


class CsvRows(CsvFile):
    """CSV whose rows, in their order, are the steps."""

    by_position = True

    def setting(self, random: Random) -> Made:
        """Random declarations, and the layout of the file."""
        keyed, rows = random.random() < 0.5, random.randint(1, 3)
        plan = plan_of(random.randrange(4), keyed, 0, "replace")
        rules = Rules(plan, Steps(0, rows, 1 << 20))
        setting = Setting(rules, Columns(value="v", key="k" if keyed else None), None, None)
        return setting, dressing_of(random, setting, self._delimiters)

    def read(self, made: Made, rows: Sequence[bytes]) -> Totals:
        """The units that hushfade computes."""
        return self._read(made, rows, RowOrder(made[0].rules.steps.every))


class JsonFile(_TextPath):
    """JSON lines in files."""

    name = "JSON lines"

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def setting(self, random: Random) -> Made:
        """Random declarations, and the layout of the file."""
        setting = setting_of(random)
        return setting, dressing_of(random, setting, ",")

    def row(self, random: Random, made: Made, bad: float) -> tuple[bytes, Meaning]:
        """A random record."""
        setting, dressing = made
        return json_row(random, setting, dressing.end, bad)

    def read(self, made: Made, rows: Sequence[bytes]) -> Totals:
        """The units that hushfade computes."""
        setting, dressing = made
        assert setting.calendar is not None
        # a record outside the steps with every field: a file must have each field at least once
        early = str(-(10**30)) if setting.time_unit else "0001-01-01" + "Z" * setting.zoned
        fields = {"time": early, "value": 0, "key": "filler", "user": "filler"}
        filler = {name: fields[role] for role, name in setting.columns.roles().items()}
        data = dressing.mark + json.dumps(filler).encode() + b"\n" + b"".join(rows)
        path = _written(self._directory, "jsonl", data, dressing)
        reader = reader_of(setting, setting.calendar)
        with _block_size(dressing.block):
            found = tally(batches(path, setting.columns), reader)
        return units_of(found.totals, reader.lanes)


class LiveLines(_TextPath):
    """Live lines, CSV or JSON, a few at a time."""

    stops = False

    def __init__(self, form: str) -> None:
        self.name, self._form = f"live lines, {form}", form

    def setting(self, random: Random) -> Made:
        """Random declarations, and the layout of the lines."""
        setting = setting_of(random, timed=random.random() < 0.6, zones=(True,))
        dressing = dressing_of(random, setting, ",;")
        return setting, replace(dressing, mark=b"") if self._form == "jsonl" else dressing

    def row(self, random: Random, made: Made, bad: float) -> tuple[bytes, Meaning]:
        """A random record."""
        setting, dressing = made
        if self._form == "jsonl":
            return json_row(random, setting, dressing.end, bad)
        return csv_row(random, setting, dressing, bad, live=True)

    def read(self, made: Made, rows: Sequence[bytes]) -> Totals:
        """The units that hushfade computes."""
        setting, dressing = made
        csv = self._form == "csv"
        reader = reader_of(setting, setting.calendar or Arrival(1))
        lines = line_reader(
            self._form,
            "standard input",
            setting.columns,
            delimiter=dressing.delimiter if csv else None,
            live=True,
        )
        steps = OpenSteps(reader, lines)
        if csv:
            steps.add([header_of(dressing)])
        arrived = [line + b"\n" for line in b"".join(rows).split(b"\n")[:-1]]
        at_once = 1 + dressing.block % 5
        for start in range(0, len(arrived), at_once):
            steps.add(arrived[start : start + at_once])
        found = [steps.close() for _ in range(setting.rules.steps.count)]
        return units_of(found, reader.lanes)


def _written(directory: Path, ending: str, data: bytes, dressing: Dressing) -> Path:
    path = directory / f"events.{ending}{'.gz' if dressing.packed else ''}"
    path.write_bytes(gzip.compress(data, 1) if dressing.packed else data)
    return path


@contextmanager
def _block_size(size: int) -> Iterator[None]:
    """A context in which hushfade reads files in blocks of this many bytes."""
    defaults = line_blocks.blocks.__kwdefaults__
    assert defaults is not None
    before = defaults["size"]
    defaults["size"] = size
    try:
        yield
    finally:
        defaults["size"] = before
