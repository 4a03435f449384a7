"""Streaming kernels: a series times a stream, one step after another, in bounded memory.

    stepped     piecewise constant integer taps: one multiply-add per jump, exact; and its inverse
    recursive   sums of exponentials, windows, short lists: the decays
    online      any other taps, by products of doubling length: O(log² t) a step; and its inverse

All have one protocol, `Convolver`.  How the steps are grouped into calls changes no bit.
"""

from __future__ import annotations

from typing import Any, Protocol

BLOCK = 32  # steps of one lane taken at once: its rings have this many rows to spare
PERIOD = 1 << 12  # the least number of steps from one renewal of running sums to the next

State = tuple[int, tuple[Any, ...]]
"""The number of steps taken, and copies of the arrays that they left."""


class Convolver(Protocol):
    """A series times a stream; made for a number of lanes, at step 0."""

    @property
    def state(self) -> State:
        """What it remembers, to be set on another of its kind."""

    @state.setter
    def state(self, state: State) -> None: ...

    def push(self, x: Any) -> Any:
        """One step: a number in, a number out; or a row of lanes each way."""

    def push_many(self, x: Any) -> Any:
        """Many steps: (n,) or (n, lanes) in, the same shape out."""


def period_of(reach: int) -> int:
    """The steps from one renewal to the next: a power of two, no shorter than what is summed."""
    return max(PERIOD, 1 << (max(reach, 1) - 1).bit_length())
