"""Readers with one bug each.

Each bug lets one record change how another is read, or accepts a malformed record.  The first ten
bugs were found in hushfade; the others are easy mistakes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hushfade.frames import pandas
from hushfade.planning import noise_scale
from hushfade.private import real_numbers
from hushfade.private.grid import Grid
from hushfade.records import (
    csv_scan,
    json_lines,
    json_scan,
    limits,
    line_blocks,
    local_calendar,
    parse_columns,
    people,
    step_totals,
    time_columns,
)
from hushfade.serve import batches as request_batches
from hushfade.spark import record_codes as spark_record_codes
from hushfade.store import persons as store_persons
from lab.soaks.neighbours import wrong_readers as wrong


@dataclass(frozen=True)
class SeededBug:
    """The name of a bug, the path that shows it, and the attribute that the bug replaces."""

    name: str
    path: str
    owner: Any
    attribute: str
    made: Callable[[Any], Any]  # from the right attribute to the wrong one

    @contextmanager
    def planted(self) -> Iterator[None]:
        """A context with the bug."""
        right = getattr(self.owner, self.attribute)
        setattr(self.owner, self.attribute, self.made(right))
        try:
            yield
        finally:
            setattr(self.owner, self.attribute, right)


BUGS = (
    SeededBug("the first time of JSON lines decides the type of all times", "JSON lines",
              json_lines.JsonLines, "batch", wrong.first_time_decides),
    SeededBug("a float in a column of objects converts all to floats", "pandas objects",
              pandas, "text_column", wrong.floats_win),
    SeededBug("a year beyond nanoseconds coarsens all times", "CSV",
              step_totals, "times", wrong.far_years_coarsen),
    SeededBug("objects may share a line if others span two", "JSON lines",
              json_scan, "scan", wrong.objects_are_counted),
    SeededBug("a blank name is a person", "CSV", parse_columns, "_blank",
              wrong.only_empty_names_are_blank),
    SeededBug("an integer beyond 64 bits is rejected", "TSV", parse_columns, "numbers",
              wrong.large_integers_are_rejected),
    SeededBug("a byte order mark is dropped at the start of a block", "CSV", csv_scan, "scan",
              wrong.marks_are_dropped),
    SeededBug("a malformed live line removes other lines", "live lines, jsonl",
              step_totals.Reader, "read_live", wrong.one_spoils_all),
    SeededBug("a missing zone is guessed", "CSV", step_totals, "times", wrong.zones_are_ignored),
    SeededBug("a truth value counts if a number is next to it", "records of Stream.step",
              real_numbers, "_has_truth_value", lambda right: lambda values: False),
    SeededBug("a byte order mark is dropped from the first live line", "live lines, jsonl",
              json_lines.JsonLines, "batch", wrong.first_line_may_have_a_mark),
    SeededBug("stray quotes are text", "CSV", csv_scan, "scan", wrong.quotes_are_lenient),
    SeededBug("short records are filled up", "TSV", csv_scan, "scan",
              wrong.short_records_are_filled),
    SeededBug("a repeated field has its last value", "JSON lines", json_scan, "scan",
              wrong.last_field_wins),
    SeededBug("a quote swallows live lines", "live lines, csv", csv_scan, "scan",
              wrong.quotes_span_lines),
    SeededBug("blocks are cut at every line feed", "CSV", line_blocks, "_end",
              lambda right: lambda data, delimiter: data.rfind(b"\n") + 1),
    SeededBug("people with the same first letter are one person", "Arrow", people.People,
              "numbers", wrong.first_letters_name_people),
    SeededBug("the period of a person is in UTC", "CSV", local_calendar.Periods, "of",
              wrong.periods_are_utc),
    SeededBug("a step belongs to the period of its end", "JSON lines", local_calendar.Periods,
              "of_steps", wrong.steps_belong_to_the_period_of_their_end),
    SeededBug("limits are not renewed", "Parquet", limits.Limits, "of",
              wrong.limits_are_not_renewed),
    SeededBug("a malformed value uses up no limit", "live lines, jsonl", step_totals.Reader,
              "read_live", wrong.malformed_values_use_up_no_limit),
    SeededBug("records are not clipped", "Parquet", Grid, "_quantised", wrong.nothing_is_clipped),
    SeededBug("the unit of times is guessed from the largest", "Polars", time_columns,
              "_multiplied", wrong.units_are_guessed),
    SeededBug("a missing value is 0", "pandas, Arrow types", parse_columns, "nulls",
              wrong.nulls_are_zero),
    SeededBug("a float in a request converts all to half precision", "HTTP JSON", request_batches,
              "_units", wrong.half_floats),
    SeededBug("a truth value next to a number is a number of its own", "HTTP JSON, statistics",
              request_batches, "_units", wrong.mixed_truths_are_false),
    SeededBug("a record of a statistic without a value counts", "HTTP NDJSON, statistics",
              request_batches, "_taken_apart", wrong.missing_values_are_one),
    SeededBug("the store forgets persons between requests", "HTTP JSON, limits in the store",
              store_persons, "rows_of", lambda right: lambda *_: ()),
    SeededBug("the sensitivity counts the steps of a person apart", "CSV", noise_scale,
              "squared_sensitivity", wrong.steps_do_not_overlap),
    SeededBug("Spark clips nothing", "Spark tables", spark_record_codes, "_clipped",
              lambda right: lambda value, low, high: value),
)  # fmt: skip
