"""How steps are grouped: blocks of one lane, chunks of noise, periods of running sums."""

from __future__ import annotations

BLOCK = 32  # steps of one lane computed together: ring buffers have this many rows to spare
LONG_BLOCK = 1 << 8  # the same for a single tap, which looks back at nothing in its block
AHEAD = 1 << 10  # draws prepared together for live steps
CHUNK = 1 << 15  # draws prepared together for many steps: they stay in the cache until used
PERIOD = 1 << 12  # the least number of steps from one renewal of running sums to the next


def period_of(reach: int) -> int:
    """The steps from one renewal to the next: a power of two, no shorter than what is summed."""
    return max(PERIOD, 1 << (max(reach, 1) - 1).bit_length())
