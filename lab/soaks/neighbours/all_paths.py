"""All input paths except Spark's, by name."""

from __future__ import annotations

from pathlib import Path

from hushfade.serve.batches import JSON, LINES
from lab.soaks.neighbours import typed_paths
from lab.soaks.neighbours.input_path import AnyPath
from lab.soaks.neighbours.request_paths import RequestBody
from lab.soaks.neighbours.request_statistics import StatisticBody
from lab.soaks.neighbours.store_paths import DailyFiles, StoredRecords
from lab.soaks.neighbours.stream_path import StepRecords
from lab.soaks.neighbours.text_paths import CsvFile, CsvRows, JsonFile, LiveLines

# a case runs whole commands, or opens a store
_SLOW = {DailyFiles.name: 6} | {StoredRecords(kind).name: 2 for kind in (JSON, LINES)}


def cases_of(name: str, cases: int) -> int:
    """The number of cases of a path, if a fast path has `cases`."""
    return -(-cases // _SLOW.get(name, 1))


def all_paths(directory: Path) -> dict[str, AnyPath]:
    """The paths, which write their files to the directory."""
    found: list[AnyPath] = [
        CsvFile("CSV", ",;|", directory),
        CsvFile("TSV", "\t", directory),
        CsvRows("CSV, rows as steps", ",", directory),
        JsonFile(directory),
        LiveLines("csv"),
        LiveLines("jsonl"),
        RequestBody(JSON),
        RequestBody(LINES),
        StatisticBody(JSON),
        StatisticBody(LINES),
        StoredRecords(JSON),
        StoredRecords(LINES),
        DailyFiles(),
        StepRecords(),
        typed_paths.ParquetFile(directory),
        *typed_paths.PATHS,
    ]
    return {path.name: path for path in found}
