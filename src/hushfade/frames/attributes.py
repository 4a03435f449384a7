"""What a released frame states about itself: its guarantee, its plan, and counts of records.

pandas copies `frame.attrs` to most frames that it derives from a frame, and writes it to Parquet
files.  The counts of records are private, so their text contains no number.
"""

from __future__ import annotations

from typing import Any, TypeVar

from hushfade.planning import promise
from hushfade.planning.plan import Plan
from hushfade.records.counts import Counts

Frame = TypeVar("Frame")


class NotForPublication(str):
    """Counts of records, for the operator: `.counts`.  As text, and in files, it has no number.

    >>> kept = NotForPublication.of(Counts(records=7, outside=2))
    >>> kept, kept.counts.counted
    ('not for publication: see .counts', 5)
    """

    counts: Counts

    @classmethod
    def of(cls, counts: Counts) -> NotForPublication:
        """The counts as an attribute of a frame."""
        found = cls("not for publication: see .counts")
        found.counts = counts
        return found


def attributes(
    plan: Plan, *, persons: bool = False, counts: Counts | None = None
) -> dict[str, Any]:
    """The attributes of a released frame; `persons`: hushfade enforced the limits per person."""
    found: dict[str, Any] = {
        "guarantee": promise.sentence(plan, enforced=persons),
        "unit": "person" if persons else "record",
        "limits": promise.limits(plan, enforced=persons),
        "plan": plan.to_json(),
    }
    if counts is not None:
        found["not_for_publication"] = NotForPublication.of(counts)
    return found


def with_attributes(frame: Frame, attributes: dict[str, Any]) -> Frame:
    """The frame with these attributes in `frame.attrs`, which Polars forgets with any change."""
    anything: Any = frame  # Polars has no attribute of this name
    anything.attrs = attributes
    return frame
