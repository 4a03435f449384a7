"""All input paths except Spark's, by name."""

from __future__ import annotations

from pathlib import Path

from dev.soaks.neighbours import typed_paths
from dev.soaks.neighbours.input_path import AnyPath
from dev.soaks.neighbours.request_paths import RequestBody
from dev.soaks.neighbours.request_statistics import StatisticBody
from dev.soaks.neighbours.stream_path import StepRecords
from dev.soaks.neighbours.text_paths import CsvFile, CsvRows, JsonFile, LiveLines
from hushfade.serve.batches import JSON, LINES


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
        StepRecords(),
        typed_paths.ParquetFile(directory),
        *typed_paths.PATHS,
    ]
    return {path.name: path for path in found}
