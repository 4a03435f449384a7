"""The times of a stream's steps, which its settings state.

If the unit of privacy is renewed, the steps of all streams of a dataset begin at the same times.
Otherwise seven consecutive days of one stream would touch eight days of another, and the losses of
the two streams would not add up to the budget.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hushfade import duration
from hushfade.errors import Refused
from hushfade.privacy.unit_words import words
from hushfade.records.calendar import Calendar, Timed, calendar, moment
from hushfade.store import persons

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan
    from hushfade.store.database import Database


def of_settings(settings: Mapping[str, Any], every: str | None) -> Timed | None:
    """The times of the steps of a stream; None if an operator closes them.

    >>> of_settings({"files": {"start": "1970-01-01Z"}}, "1s")
    Calendar(start=0, every=1000000000, zoned=True, steps=None)
    >>> of_settings({"every": 10**9, "start": 5}, "1s")
    Calendar(start=5, every=1000000000, zoned=True, steps=None)
    """
    if "files" in settings:
        length = duration.length(every)
        assert length is not None
        return calendar(settings["files"]["start"], length)
    if "times" in settings:
        return persons.order_in(settings["times"])
    if settings.get("every") is not None and settings.get("start") is not None:
        return Calendar(settings["start"], settings["every"], zoned=True)
    return None


def check_same(database: Database, dataset: str, plan: Plan, settings: Mapping[str, Any]) -> None:
    """Raise unless the steps of a new stream begin when the steps of the other streams begin.

    Calendar steps always do.
    """
    order = of_settings(settings, plan.every)
    if plan.relation.lifelong or not isinstance(order, Calendar):
        return
    for name, text in database.read(
        "SELECT name, settings FROM streams WHERE dataset = ? ORDER BY stream", dataset
    ):
        other = of_settings(json.loads(text), plan.every)
        if not isinstance(other, Calendar) or other.every != order.every:
            continue
        if other.zoned != order.zoned or (order.start - other.start) % order.every:
            raise Refused(
                "the steps of all streams of a dataset must begin at the same times, because it "
                f"protects {words(plan.relation)}: choose the start of a step of stream {name!r}, "
                f"which began at {moment(other.start, zoned=other.zoned).isoformat()}, or another "
                "dataset"
            )
        return
