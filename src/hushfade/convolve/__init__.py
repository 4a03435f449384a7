"""Streaming kernels: a series times a stream, one step after another.

    stepped     piecewise constant integer taps: one multiply-add per jump, exact; and its inverse
    recursive   sums of exponentials, windows, short lists: the decays
    online      any other taps, by products of doubling length: O(log² t) a step; and its inverse

All have one protocol, `Convolver`.  How steps are grouped into calls changes no bit of the results.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hushfade import check
from hushfade.errors import InvalidType, InvalidValue

BLOCK = 32  # steps of one lane taken at once: its rings have this many rows to spare
PERIOD = 1 << 12  # the least number of steps from one renewal of running sums to the next

State = tuple[int, tuple[NDArray[Any], ...]]
"""The number of steps taken, and copies of the arrays that they left."""


class Convolver(Protocol):
    """A series times a stream of some lanes: columns that have nothing to do with each other."""

    lanes: int

    def push(self, x: Any) -> Any:
        """One step: a number in and a number out, or a row of lanes each way."""

    def push_many(self, x: Any) -> NDArray[Any]:
        """Many steps: (n,) or (n, lanes) in, the same shape out."""

    def state(self) -> State:
        """What it remembers; `restore` takes it up, in another of its kind too."""

    def restore(self, state: State) -> None:
        """Go on from a state."""


class Remembering(ABC):
    """The part of a convolver that is the same for all: shapes, and states in and out.

    A kernel sets `_arrays`, what it remembers, and defines `_advance(step, x, out)`, which takes
    the steps of x, (n, lanes), from `step` on.
    """

    kind: type[np.generic] = np.float64  # of x and of the results
    largest: float = float(np.finfo(np.float64).max)  # of |x|

    def __init__(self, lanes: int, *arrays: NDArray[Any]) -> None:
        self.lanes = check.count(lanes=lanes)
        self.steps = 0
        self._arrays = arrays

    def push(self, x: Any) -> Any:
        """One step: a number in and a number out, or a row of lanes each way."""
        found = self.push_many(np.asarray(x)[None, ...])[0]
        return found.item() if np.ndim(x) == 0 else found

    def push_many(self, x: Any) -> NDArray[Any]:
        """Many steps: (n,) or (n, lanes) in, the same shape out."""
        given = np.asarray(x)
        if given.dtype.kind not in ("iu" if self.kind is np.int64 else "iuf"):
            raise InvalidType(f"x must be of {self.kind.__name__}", got=given.dtype)
        block = given[:, None] if given.ndim == 1 and self.lanes == 1 else given
        if block.ndim != 2 or block.shape[1] != self.lanes:
            raise InvalidValue(f"x must have shape (n, {self.lanes})", got=given.shape)
        if block.size and not float(np.max(np.abs(block.astype(np.float64)))) <= self.largest:
            raise InvalidValue(f"x must be finite and at most {self.largest:.6g}")
        out = np.empty(block.shape, dtype=self.kind)
        self._advance(self.steps, np.ascontiguousarray(block, dtype=self.kind), out)
        self.steps += len(block)
        return out.reshape(given.shape)

    def state(self) -> State:
        """What it remembers."""
        return self.steps, tuple(part.copy() for part in self._arrays)

    def restore(self, state: State) -> None:
        """Go on from a state of a kernel of the same kind."""
        steps, arrays = state
        shapes = [part.shape for part in self._arrays]
        if [np.shape(part) for part in arrays] != shapes:
            raise InvalidValue(f"state must have arrays of shapes {shapes}")
        for part, saved in zip(self._arrays, arrays, strict=True):
            part[...] = saved
        self.steps = check.count(steps=steps, least=0)

    @abstractmethod
    def _advance(self, step: int, x: NDArray[Any], out: NDArray[Any]) -> None:
        """Take the steps of x from `step` on."""


def period_of(reach: int) -> int:
    """The steps from one renewal to the next: a power of two, no shorter than what is summed."""
    return max(PERIOD, 1 << (max(reach, 1) - 1).bit_length())
