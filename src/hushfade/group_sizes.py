"""The sizes of groups of steps: blocks of one lane, chunks of noise, periods of running sums."""

from __future__ import annotations

BLOCK = 32  # steps of one lane computed together; ring buffers have this many extra rows
LONG_BLOCK = 1 << 8  # the same for a single tap, which does not look back
AHEAD = 1 << 10  # draws prepared together for live steps
CHUNK = 1 << 15  # draws prepared together for many steps, so that they stay in the cache
PERIOD = 1 << 12  # the least number of steps between two renewals of running sums


def period_of(reach: int) -> int:
    """The number of steps between two renewals: a power of two, at least `reach`."""
    return max(PERIOD, 1 << (max(reach, 1) - 1).bit_length())
