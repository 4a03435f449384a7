"""The demonstration on public data: a year of departures, released by hour or by day.

`hushfade demo` runs it.  Because the records are public, the demo may show the true values next to
the releases.  Never do this with sensitive data.
"""

from __future__ import annotations

from hushfade.demo.delay_series import Delays, DelaySeries, delays
from hushfade.demo.flights import Series, cancelled, events, late

__all__ = ["DelaySeries", "Delays", "Series", "cancelled", "delays", "events", "late"]
