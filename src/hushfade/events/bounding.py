"""At most so many records of one person: which of them count, in constant work a record.

A person counts in at most `steps` steps, any two of them at least `separation` apart, and with at
most `records_per_step` records in each.  Who comes first counts: records are taken in the order of
the file.  What is kept of a person depends on that person's records alone, so whoever is taken out
takes nobody else's records along.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushfade import check
from hushfade.check import Signed
from hushfade.compiled import compiled

_FREE = -(1 << 62)  # no step


@dataclass(frozen=True)
class Limits:
    """What one person may contribute: the guarantee's participation."""

    records_per_step: int = 1
    steps: int = 1
    separation: int = 1

    def __post_init__(self) -> None:
        check.count(records_per_step=self.records_per_step, most=2**31 - 1)
        check.count(steps=self.steps)
        check.count(separation=self.separation)


class Bounding:
    """What each person has used up.  Memory: 12 bytes a person and step counted."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._steps = np.full((1024, 1), _FREE, dtype=np.int64)
        self._counts = np.zeros((1024, 1), dtype=np.int32)

    def kept(self, users: Signed, steps: Signed) -> NDArray[np.bool_]:
        """Which of these records count: person and step of each, in the order of the file.

        >>> taken = Bounding(Limits(records_per_step=1, steps=2, separation=3))
        >>> person, step = np.array([0, 0, 0, 1, 0, 0]), np.array([5, 5, 6, 6, 8, 20])
        >>> taken.kept(person, step).tolist()
        [True, False, False, True, True, False]
        """
        most = int(users.max(initial=-1)) + 1
        found = np.zeros(len(users), dtype=np.bool_)
        self._room(most, self._steps.shape[1])
        done = 0
        while done < len(users):  # stops when a person needs a wider row
            done = _keep(
                done, users, steps, self._steps, self._counts,
                self._limits.records_per_step, self._limits.steps, self._limits.separation, found,
            )  # fmt: skip
            if done < len(users):
                self._room(most, min(2 * self._steps.shape[1], self._limits.steps))
        return found

    def _room(self, people: int, width: int) -> None:
        rows, columns = self._steps.shape
        if people <= rows and width <= columns:
            return
        shape = max(people, 2 * rows if people > rows else rows), max(width, columns)
        steps, counts = np.full(shape, _FREE, dtype=np.int64), np.zeros(shape, dtype=np.int32)
        steps[:rows, :columns], counts[:rows, :columns] = self._steps, self._counts
        self._steps, self._counts = steps, counts


@compiled
def _keep(
    start: int,
    users: Signed,
    steps: Signed,
    used: Signed,
    counts: NDArray[np.int32],
    records: int,
    most: int,
    separation: int,
    found: NDArray[np.bool_],
) -> int:
    """The records from `start` on; the first that needs a wider row, or their number."""
    width = used.shape[1]
    for i in range(start, len(users)):
        user, step = users[i], steps[i]
        at, apart = 0, True
        while at < width and used[user, at] != _FREE and used[user, at] != step:
            apart = apart and abs(used[user, at] - step) >= separation
            at += 1
        if at == width:
            if apart and width < most:
                return i
            continue
        if used[user, at] == step:
            if counts[user, at] < records:
                counts[user, at] += 1
                found[i] = True
        elif apart:
            used[user, at] = step
            counts[user, at] = 1
            found[i] = True
    return len(users)
