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

from hushfade.events.batch import Batch, Columns
from hushfade.events.calendar import Arrival, Calendar, RowOrder
from hushfade.events.readers import batches, tables
from hushfade.events.totals import Counts, Reader, Tally, tally

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
