"""The demonstration: late departures of a year, published every hour, on data that come along.

`hushfade demo` runs it.  The records are public, so it may do what nobody may do with sensitive
data: show the truth beside the release.
"""

from __future__ import annotations

from hushfade.demo.flights import Series, cancelled, events, late

__all__ = ["Series", "cancelled", "events", "late"]
