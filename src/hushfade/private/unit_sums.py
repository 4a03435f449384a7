"""Sums of units in int64, with the only check that they cannot overflow.

Every record adds at most `largest` units to its cell, so n records cannot change any sum by more
than n · largest.  If a sum could reach 2^62, the records are rejected.
"""

from __future__ import annotations

import numpy as np

from hushfade.check import Signed
from hushfade.errors import InvalidValue

_LIMIT = 1 << 62


def overflow() -> InvalidValue:
    """The error for records whose sum could overflow."""
    return InvalidValue(
        "too many records: their sum could exceed 62 bits",
        remedy="use shorter steps, or a coarser resolution",
    )


def summed(units: Signed, *, largest: int) -> Signed:
    """The sum over the first axis, of units that are at most `largest` in magnitude.

    >>> summed(np.array([[1, 2], [3, 4]]), largest=4)
    array([4, 6])
    """
    _check(len(units) * largest)
    return np.asarray(units.sum(axis=0, dtype=np.int64))


def merged(totals: Signed, others: Signed) -> Signed:
    """The totals plus the others, cell by cell."""
    _check(_magnitude(totals) + _magnitude(others))
    return totals + others


class UnitSums:
    """One sum per cell, to which records are added batch by batch.

    >>> sums = UnitSums(3, largest=5)
    >>> sums.add(np.array([0, 2, 0]), np.array([5, 1, -2]))
    >>> sums.totals
    array([3, 0, 1])
    """

    def __init__(self, cells: int, *, largest: int) -> None:
        self.totals: Signed = np.zeros(cells, dtype=np.int64)
        self._largest = largest
        self._reached = 0  # a bound on the magnitude of all totals

    def grow(self, cells: int) -> None:
        """Extend the sums to this many cells."""
        if cells > len(self.totals):
            grown = np.zeros(cells, dtype=np.int64)
            grown[: len(self.totals)] = self.totals
            self.totals = grown

    def add(self, cells: Signed, units: Signed, times: Signed | None = None) -> None:
        """Add each record's units to its cell; change nothing if a sum could overflow.

        With `times` an entry stands for this many equal records.
        """
        change = (len(units) if times is None else int(times.sum())) * self._largest
        if self._reached + change >= _LIMIT:
            self._reached = _magnitude(self.totals)  # usually far below the bound
            _check(self._reached + change)
        np.add.at(self.totals, cells, units if times is None else units * times)
        self._reached += change


def _check(bound: int) -> None:
    if not bound < _LIMIT:
        raise overflow()


def _magnitude(totals: Signed) -> int:
    return max(int(totals.max(initial=0)), -int(totals.min(initial=0)))
