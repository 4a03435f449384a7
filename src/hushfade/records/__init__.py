"""Reading events: records with a time, a key and a person, from files, lines and data frames.

    line_blocks     a file of lines in blocks of whole records, with line numbers
    csv_lines, json_lines, files    CSV, JSON lines, Parquet and Arrow tables, as batches of columns
    csv_scan, json_scan, json_grammar   their compiled scanners
    parse_columns   parses text to numbers, times, keys and persons; errors name the place
    decimal_texts, time_columns, time_texts, texts, kinds, blank_names   parts of it
    calendar        the step of a time
    local_calendar  days, weeks and months of a time zone, as steps or as periods of limits
    limits          decides which records of a person count
    people          gives each name a number
    persons         applies the limits to batches of names, and forgets people who are not needed
    declared_columns    whether a plan, the columns and the steps fit together
    batch, faults   some rows of a file; what is wrong with a row
    step_totals, counts     the totals of all steps; how many records counted
    stamped_lines, stamping_process     lines, each with the time at which it arrived
    live_lines      lines as they arrive, with a release when a step closes

All data here are private until a stream has released them, including counts of dropped records.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hushfade.records.batch import Batch, Columns
    from hushfade.records.calendar import Arrival, Calendar, RowOrder, Timed
    from hushfade.records.counts import Counts
    from hushfade.records.files import batches, tables
    from hushfade.records.step_totals import Reader, Tally, tally

__all__ = [
    "Arrival",
    "Batch",
    "Calendar",
    "Columns",
    "Counts",
    "Reader",
    "RowOrder",
    "Tally",
    "Timed",
    "batches",
    "tables",
    "tally",
]

_MODULES = {  # imported on first use: `limits` alone needs neither Arrow nor compiled loops
    "batch": ("Batch", "Columns"),
    "calendar": ("Arrival", "Calendar", "RowOrder", "Timed"),
    "counts": ("Counts",),
    "files": ("batches", "tables"),
    "step_totals": ("Reader", "Tally", "tally"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"hushfade.records.{module}"), name)
    raise AttributeError(f"module 'hushfade.records' has no attribute {name!r}")
