"""The demonstration on public data: the late departures of a year, released every hour.

`hushfade demo` runs it.  Because the records are public, the demo may show the true values next to
the releases.  Never do this with sensitive data.
"""

from __future__ import annotations

from hushfade.demo.flights import Series, cancelled, events, late

__all__ = ["Series", "cancelled", "events", "late"]
