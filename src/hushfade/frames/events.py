"""A frame of events, many records a step: `frame.hushfade.release_events(...)`.

What `hushfade run` does with a file, for a frame: each record goes to the step of its time, in any
order.  Start and end are declared, like keys and bounds: if they came from the data, the first and
the last record would show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import date
from typing import Any, cast

import numpy as np

from hushfade.crossing import key_file
from hushfade.errors import InvalidType
from hushfade.frames.request import declared
from hushfade.frames.settings import TotalsArguments, planned
from hushfade.records import Columns, Reader, tables, tally
from hushfade.records.arrow import Table, Values, pa
from hushfade.records.calendar import calendar, written
from hushfade.records.duration import step_length
from hushfade.releases.files import Meaning
from hushfade.releases.rows import released

_RANGE = (
    "start, and end or steps, must be given: if they came from the data, the first and the last "
    "record would show in what is released"
)


class EventsArguments(TotalsArguments, total=False):
    """What `release_events` takes, by keyword, besides the column of times.

    `value` names the column that is summed, with `low` and `high`; without it each record counts
    1.  `user` names the column of persons: their records beyond participations, separation and
    records_per_step are left out, first come first counted.  `skip_empty` leaves out records
    without a value.  Records of other keys and times outside start and end are left out.  `start`
    and `end` are text, dates or datetimes, with the zone that the times have.
    """

    value: str | None
    key: str | None
    keys: Iterable[str] | None
    user: str | None
    start: str | date | None
    end: str | date | None
    steps: int | None
    time_unit: str | None
    skip_empty: bool
    confidence: float


def released_events(
    frame: Iterable[tuple[object, Any]],
    to_arrow: Callable[[Any], Values],
    time: str,
    arguments: EventsArguments,
) -> dict[str, Any]:
    """Columns step, time, key, value, stddev, lower, upper: a row for each step and key.

    `frame` has a name and a series for each column, and `to_arrow` reads a series that is needed.

    Guarantee: under add_remove, adding or removing one record; with `user`, one person with all
    their records, since one record more may displace others of that person.  Under replace a record
    has another value or key, and its time stays.
    """
    given: dict[str, Any] = dict(arguments)
    own = {name: given.pop(name, None) for name in _OWN}
    if given.get("every") is None:
        raise InvalidType("every must be given: a step's length, such as '1h'")
    every = step_length(given["every"])
    if given.get("plan") is not None:
        del given["every"]  # the plan counts in steps
    elif own["value"] is None:  # counts
        given = {"low": 0.0, "high": 1.0, "resolution": 1.0} | given
    if own["start"] is None or (own["end"] is None and own["steps"] is None):
        raise InvalidType(_RANGE)
    end = None if own["end"] is None else written(own["end"], "end")
    hours = calendar(written(own["start"], "start"), every, end=end, steps=own["steps"])
    columns = Columns(own["value"], time, own["key"], own["user"])
    _check_names(columns)
    made = planned(cast(TotalsArguments, given), declared(own["key"], own["keys"]))
    skip_empty = False if own["skip_empty"] is None else own["skip_empty"]
    if not isinstance(skip_empty, bool):
        raise InvalidType("must be a bool", argument="skip_empty", got=type(skip_empty).__name__)
    reader = Reader(made, columns, hours, time_unit=own["time_unit"], skip_empty=skip_empty)
    confidence = 0.95 if own["confidence"] is None else own["confidence"]
    meaning = Meaning(made.keys, hours.zoned, confidence)
    totals = tally(tables(_table(frame, to_arrow, columns), columns, "frame"), reader).totals
    stream = made.start(key_file.for_totals(given.get("noise"), made.digest, totals))
    pieces = [rows.table(meaning) for rows in released(stream, totals, hours)]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in meaning.columns}


def _table(
    frame: Iterable[tuple[object, Any]], to_arrow: Callable[[Any], Values], columns: Columns
) -> Table:
    """An Arrow table of the columns that are asked for, as far as they are there."""
    wanted = set(columns.roles().values())
    named = ((str(label), series) for label, series in frame)
    found = [(name, _arrow(series, to_arrow, name)) for name, series in named if name in wanted]
    return pa.Table.from_arrays([values for _, values in found], [name for name, _ in found])


def _arrow(series: Any, to_arrow: Callable[[Any], Values], name: str) -> Values:
    found = None
    with suppress(Exception):  # its message, also as the context of another, may carry a record
        found = to_arrow(series)
    if found is None:
        raise InvalidType(
            f"column {name!r} must have values of one kind: numbers, text or times; cast it"
        )
    return found


def _check_names(columns: Columns) -> None:
    if columns.time is None:  # all records would be in one step
        raise InvalidType("time must be the name of a column", got="None")
    for role, name in columns.roles().items():
        if not isinstance(name, str):
            raise InvalidType(
                "must be the name of a column", argument=role, got=type(name).__name__
            )


_OWN = (
    "value", "key", "keys", "user", "start", "end", "steps", "time_unit", "skip_empty",
    "confidence",
)  # fmt: skip
