"""A frame of events, many records a step: `frame.hushfade.release_events(...)`.

What `hushfade run` does with a file, for a frame: each record goes to the step of its time, in any
order.  Start and end are declared, like keys and bounds: if they came from the data, the first and
the last record would show.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from hushfade import duration
from hushfade.errors import InvalidType
from hushfade.events import Columns, Limits, Reader, tables, tally
from hushfade.events.calendar import calendar
from hushfade.frames.request import declared
from hushfade.frames.settings import TotalsArguments, planned
from hushfade.published import Meaning
from hushfade.runs import released

_RANGE = (
    "start, and end or steps, must be given: if they came from the data, the first and the last "
    "record would show in what is released"
)


class EventsArguments(TotalsArguments, total=False):
    """What `release_events` takes, by keyword, besides the column of times.

    `value` names the column that is summed, with `low` and `high`; without it each record counts
    1.  `user` names the column of persons: their records beyond participations, separation and
    records_per_step are left out, first come first counted.  `skip_empty` leaves out records
    without a value.  Records of other keys and times outside start and end are left out.
    """

    value: str | None
    key: str | None
    keys: Iterable[str] | None
    user: str | None
    start: str | None
    end: str | None
    steps: int | None
    time_unit: str | None
    skip_empty: bool
    confidence: float


def released_events(frame: Any, time: str, arguments: EventsArguments) -> dict[str, Any]:
    """Columns step, time, key, value, stddev, lower, upper: a row for each step and key.

    Guarantee: for frames that differ in one record, or with `user` in one person's records.
    """
    given: dict[str, Any] = dict(arguments)
    own = {name: given.pop(name, None) for name in _OWN}
    if given.get("every") is None:
        raise InvalidType("every must be given: a step's length, such as '1h'")
    every = duration.nanoseconds(given["every"], name="every")
    if given.get("plan") is not None:
        del given["every"]  # the plan counts in steps
    elif own["value"] is None:  # counts
        given = {"low": 0.0, "high": 1.0, "resolution": 1.0} | given
    if own["start"] is None or (own["end"] is None and own["steps"] is None):
        raise InvalidType(_RANGE)
    hours = calendar(own["start"], every, end=own["end"], steps=own["steps"])
    columns = Columns(own["value"], time, own["key"], own["user"])
    made = planned(cast(TotalsArguments, given), declared(own["key"], own["keys"]))
    promised = made.guarantee
    limits = Limits(promised.records_per_step, promised.participations, promised.separation)
    reader = Reader(
        made.intake,
        columns,
        hours,
        limits=None if own["user"] is None else limits,
        time_unit=own["time_unit"],
        skip_empty=bool(own["skip_empty"]),
    )
    totals = tally(tables(frame, columns, "frame"), reader).totals
    meaning = Meaning(made.keys, hours.zoned, own["confidence"] or 0.95)
    stream = made.start(given.get("noise"))
    pieces = [rows.table(meaning) for rows in released(stream, totals, hours)]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in meaning.columns}


_OWN = (
    "value", "key", "keys", "user", "start", "end", "steps", "time_unit", "skip_empty",
    "confidence",
)  # fmt: skip
