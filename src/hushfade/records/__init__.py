"""Events: records with a time, a key and a person, from files and frames, become step totals.

    blocks      a file of lines, cut into whole records, with line numbers
    commas, jsonlines, readers      CSV, JSON lines, Parquet and Arrow tables, as batches of columns
    columns     text becomes numbers, times, keys, persons, or is refused with its place
    calendar    which step a time belongs to
    bounding    at most so many records and steps of one person
    totals      the totals of all steps
    live        lines as they come, a release when a step closes

Everything here is private until a stream has released it: counts of dropped records too.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hushfade.records.batch import Batch, Columns
    from hushfade.records.calendar import Arrival, Calendar, RowOrder
    from hushfade.records.files import batches, tables
    from hushfade.records.step_totals import Counts, Reader, Tally, tally

__all__ = [
    "Arrival",
    "Batch",
    "Calendar",
    "Columns",
    "Counts",
    "Reader",
    "RowOrder",
    "Tally",
    "batches",
    "tables",
    "tally",
]

_MODULES = {  # loaded when first used: `duration` alone needs neither Arrow nor compiled loops
    "batch": ("Batch", "Columns"),
    "calendar": ("Arrival", "Calendar", "RowOrder"),
    "files": ("batches", "tables"),
    "step_totals": ("Counts", "Reader", "Tally", "tally"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"hushfade.records.{module}"), name)
    raise AttributeError(f"module 'hushfade.records' has no attribute {name!r}")
