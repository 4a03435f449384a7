"""A frame of events, many records per step: `frame.hushfade.release_events(...)`.

It does for a frame what `hushfade run` does for a file: each record goes to the step of its time,
in any order.  Start and end are declared, like keys and bounds: if they came from the data, the
first and the last record would show.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import date
from typing import Any, cast

import numpy as np

from hushfade.crossing import key_file
from hushfade.duration import ROWS, step_length
from hushfade.errors import DroppedRecords, InvalidType, InvalidValue
from hushfade.frames.request import declared
from hushfade.frames.settings import TotalsArguments, planned
from hushfade.planning.plan import Plan
from hushfade.records import Batch, Columns, Reader, tally
from hushfade.records.arrow import Values
from hushfade.records.calendar import calendar, written
from hushfade.records.faults import Codes
from hushfade.records.files import check_names, place_of_row
from hushfade.releases.files import Meaning
from hushfade.releases.rows import released

_ROWS = 1 << 17  # read at a time
_RANGE = (
    "start, and end or steps, must be given: if they came from the data, the first and the last "
    "record would show in what is released"
)


class EventsArguments(TotalsArguments, total=False):
    """What `release_events` takes, by keyword, besides the column of times.

    `value` names the column that is summed, with `low` and `high`; without it each record counts
    1.  `user` names the column of persons and needs `participations`: a person's records beyond
    participations, separation and records_per_step are dropped, and the first rows count.
    `skip_empty` drops records without a value.  Records of other keys and times outside start and
    end are dropped.  `start` and `end` are text, dates or datetimes, with the zone that the times
    have.  `time_unit` is the unit of times in numbers.
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


ToArrow = Callable[[Any, str, str | None], tuple[Values, Codes | None]]
"""Reads a series for a role, with the unit of times: an Arrow column, and codes of faults."""


def released_events(
    frame: Iterable[tuple[object, Any]], to_arrow: ToArrow, time: str, arguments: EventsArguments
) -> dict[str, Any]:
    """Columns step, time, key, value, stddev, lower, upper: a row for each step and key.

    `frame` has a name and a series for each column, and `to_arrow` reads a series that is needed.
    Warns with DroppedRecords if records entered no total.

    Guarantee: under add_remove, adding or removing one record; with `user`, one person with all
    their records, since one record more may displace others of that person.  Under replace a record
    has another value or key, and its time stays.
    """
    given: dict[str, Any] = dict(arguments)
    own = {name: given.pop(name, None) for name in _OWN}
    every = _every(given)
    if given.get("plan") is not None:
        given.pop("every", None)
    else:
        _check_declared(own, given)
        if own["value"] is None and given.get("statistic") is None:  # counts
            given = {"low": 0.0, "high": 1.0, "resolution": 1.0} | given
    if own["start"] is None or (own["end"] is None and own["steps"] is None):
        raise InvalidType(_RANGE)
    end = None if own["end"] is None else written(own["end"], "end")
    hours = calendar(written(own["start"], "start"), every, end=end, steps=own["steps"])
    columns = Columns(own["value"], time, own["key"], own["user"])
    _check_names(columns)
    keys = declared(own["key"], own["keys"], given.get("plan"))
    made = planned(cast(TotalsArguments, given), keys)
    skip_empty = False if own["skip_empty"] is None else own["skip_empty"]
    if not isinstance(skip_empty, bool):
        raise InvalidType("must be a bool", argument="skip_empty", got=type(skip_empty).__name__)
    reader = Reader(made, columns, hours, time_unit=own["time_unit"], skip_empty=skip_empty)
    confidence = 0.95 if own["confidence"] is None else own["confidence"]
    meaning = Meaning(made.keys, hours.zoned, confidence)
    totals = tally(_batches(frame, to_arrow, columns, own["time_unit"]), reader).totals
    if reader.counts.dropped:
        # from here through the accessor's method to its caller
        warnings.warn(
            f"{reader.counts.sentence()} (not for publication)", DroppedRecords, stacklevel=3
        )
    stream = made.start(key_file.for_totals(given.get("noise"), made.digest, totals))
    pieces = [rows.table(meaning) for rows in released(stream, totals, hours)]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in meaning.columns}


def _every(given: dict[str, Any]) -> int:
    """The length of a step in nanoseconds, from `every` or from the plan."""
    every = None if given.get("every") is None else step_length(given["every"])
    if isinstance(given.get("plan"), Plan):
        plan: Plan = given["plan"]
        if plan.every == ROWS:
            raise InvalidValue("the plan's steps are rows, not times: use release")
        every = plan.step_length(every)
    if every is None:
        raise InvalidType("every must be given: a step's length, such as '1h'")
    return every


def _check_declared(own: dict[str, Any], given: dict[str, Any]) -> None:
    """Raise unless a limit is declared for persons."""
    if own["user"] is not None and given.get("participations") is None:
        raise InvalidType(
            "must be given with user",
            argument="participations",
            remedy="it is the number of steps in which one person may count",
        )


def _batches(
    frame: Iterable[tuple[object, Any]], to_arrow: ToArrow, columns: Columns, unit: str | None
) -> Iterator[Batch]:
    """The columns that are asked for, each read by its own type, some rows at a time."""
    named = [(str(label), series) for label, series in frame]
    check_names([name for name, _ in named], "frame", columns)
    by_name = {name: series for name, series in named if name in columns.roles().values()}
    rows = len(next(iter(by_name.values())))
    for start in range(0, max(rows, 1), _ROWS):
        found: dict[str, Values] = {}
        faults: list[tuple[str | None, Codes]] = []
        for role, name in columns.roles().items():
            series = by_name[name]
            piece = getattr(series, "iloc", series)[start : start + _ROWS]
            found[role], codes = _arrow(piece, to_arrow, role, name, unit)
            if codes is not None:
                faults.append((name, codes))
        count = min(_ROWS, rows - start)
        yield Batch(found, count, place_of_row("frame", start + 1), tuple(faults))


def _arrow(
    series: Any, to_arrow: ToArrow, role: str, name: str, unit: str | None
) -> tuple[Values, Codes | None]:
    found = None
    with suppress(Exception):  # its message, also as the context of another, may carry a record
        found = to_arrow(series, role, unit)
    if found is None:
        raise InvalidType(f"column {name!r} must have numbers, text or times", remedy="cast it")
    return found


def _check_names(columns: Columns) -> None:
    if columns.time is None:  # all records would be in one step
        raise InvalidType("time must be the name of a column", got="None")
    columns.check_names()


_OWN = (
    "value", "key", "keys", "user", "start", "end", "steps", "time_unit", "skip_empty",
    "confidence",
)  # fmt: skip
