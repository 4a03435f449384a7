"""The demonstration: the late departures of a year, released every hour, on public data.

`hushfade demo` runs it.  Because the records are public, it may do what nobody may do with
sensitive data: show the truth next to the release.
"""

from __future__ import annotations

from hushfade.demo.flights import Series, cancelled, events, late

__all__ = ["Series", "cancelled", "events", "late"]
