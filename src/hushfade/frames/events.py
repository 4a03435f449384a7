"""A frame of events, many records per step: `frame.hushfade.release_events(...)`.

This is `hushfade run` for a frame: each record belongs to the step of its time, in any order.  The
caller declares start and end, like keys and bounds: taking them from the data would reveal the
times of the first and the last record.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, cast

import numpy as np

from hushfade.crossing import key_file
from hushfade.duration import ROWS, length
from hushfade.errors import DroppedRecords, InvalidType, InvalidValue
from hushfade.frames.attributes import attributes
from hushfade.frames.request import declared
from hushfade.frames.settings import EventsArguments, TotalsArguments, planned
from hushfade.planning.plan import Plan
from hushfade.privacy.unit import Person
from hushfade.records import Batch, Columns, Reader, tally
from hushfade.records.arrow import Values
from hushfade.records.batch import key_roles
from hushfade.records.calendar import calendar, written
from hushfade.records.faults import Codes
from hushfade.records.files import check_names, place_of_row
from hushfade.releases.files import Meaning
from hushfade.releases.rows import released_rows

_ROWS = 1 << 17  # read at a time
_RANGE = (
    "start, and end or steps, must be given: taking them from the data would reveal the times of "
    "the first and the last record"
)


ToArrow = Callable[[Any, str, str | None], tuple[Values, Codes | None]]
"""A function that reads a series for a role: an Arrow column, and codes of faults."""


def released_events(
    frame: Iterable[tuple[object, Any]], to_arrow: ToArrow, time: str, arguments: EventsArguments
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns step, time, key, value, stddev, lower, upper, with one row per step and key;
    and the attributes of the frame, with the guarantee, the plan and counts of records.

    `frame` has a name and a series for each column, and `to_arrow` reads a series.  Warns with
    DroppedRecords if records entered no total.

    Guarantee: under add_remove, adding or removing one record; with `user`, all records of one
    person, or those in one window or period, because a further record may displace others of that
    person.  Under replace, replacing the value or key of these records, but not their times.
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
    roles = key_roles(own["key"])
    columns = Columns(own["value"], time, user=own["user"], denominator=own["denominator"], **roles)
    _check_names(columns)
    keys = declared(roles.get("key"), own["keys"], given.get("plan"))
    made = planned(cast(TotalsArguments, given), keys)
    skip_empty = False if own["skip_empty"] is None else own["skip_empty"]
    if not isinstance(skip_empty, bool):
        raise InvalidType("must be a bool", argument="skip_empty", got=type(skip_empty).__name__)
    reader = Reader(made, columns, hours, time_unit=own["time_unit"], skip_empty=skip_empty)
    confidence = 0.95 if own["confidence"] is None else own["confidence"]
    meaning = Meaning(made.keys, hours.zoned, confidence, statistic=made.statistic)
    totals = tally(_batches(frame, to_arrow, columns, own["time_unit"]), reader).totals
    if reader.counts.dropped:
        # from here through the accessor's method to its caller
        warnings.warn(
            f"{reader.counts.sentence()} (not for publication)", DroppedRecords, stacklevel=3
        )
    stream = made.start(key_file.for_totals(given.get("noise"), made.digest, totals))
    pieces = [rows.table(meaning) for rows in released_rows(stream, totals, hours)]
    columns_of = {
        name: np.concatenate([piece[name] for piece in pieces]) for name in meaning.columns
    }
    return columns_of, attributes(made, persons=columns.user is not None, counts=reader.counts)


def _every(given: dict[str, Any]) -> int | str:
    """The length of a step in nanoseconds, or a calendar step, from `every` or from the plan."""
    every = length(given.get("every"))
    if isinstance(given.get("plan"), Plan):
        plan: Plan = given["plan"]
        if plan.every == ROWS:
            raise InvalidValue(
                "a step of this plan is a number of rows, not a length of time: use release"
            )
        every = plan.step_length(given.get("every"))
    if every is None:
        raise InvalidType("every must be given: the length of a step, such as '1h'")
    return every


def _check_declared(own: dict[str, Any], given: dict[str, Any]) -> None:
    """Raise if `user` is given without a limit per person."""
    guarantee = given.get("guarantee")
    unit = given.get("protects") if guarantee is None else getattr(guarantee, "protects", None)
    if own["user"] is not None and not isinstance(unit, Person):
        raise InvalidType(
            "must be hf.Person(...) with user",
            argument="protects",
            remedy="it states which records of one person count and are protected together",
        )


def _batches(
    frame: Iterable[tuple[object, Any]], to_arrow: ToArrow, columns: Columns, unit: str | None
) -> Iterator[Batch]:
    """The requested columns in batches, each column read according to its type."""
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
    "value", "denominator", "key", "keys", "user", "start", "end", "steps", "time_unit",
    "skip_empty", "confidence",
)  # fmt: skip
