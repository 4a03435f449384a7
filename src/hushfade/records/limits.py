"""Limits on the records of one person: which records count.

A person counts in at most `steps` steps, any two of them at least `separation` apart, and with at
most `records_per_step` records in each step.  The first records count, in the order of the file.
Which records of a person count depends only on that person's records, so removing a person does not
affect the records of others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushfade import check
from hushfade.check import Signed
from hushfade.compiled import compiled

_NONE = -1  # no place in the list


@dataclass(frozen=True)
class Limits:
    """The limits per person: the participation of the guarantee."""

    records_per_step: int = 1
    steps: int = 1
    separation: int = 1

    def __post_init__(self) -> None:
        check.count(records_per_step=self.records_per_step, most=2**31 - 1)
        check.count(steps=self.steps)
        check.count(separation=self.separation)


class Bounding:
    """The steps in which each person counts so far, in a list ordered by time.

    Work: constant if a person's records come in the order of time or in reverse, else linear in the
    number of steps in between.  Memory: 28 bytes per person and step, 16 per person.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._ends = np.full((1024, 2), _NONE, dtype=np.int64)  # of each person's list
        self._sizes = np.zeros(1024, dtype=np.int64)
        self._steps, self._counts = np.zeros(1024, dtype=np.int64), np.zeros(1024, dtype=np.int32)
        self._links = np.full((1024, 2), _NONE, dtype=np.int64)  # the step before, and after
        self._used = 0

    def kept(self, users: Signed, steps: Signed) -> NDArray[np.bool_]:
        """Which of these records count: person and step of each, in the order of the file.

        >>> used = Bounding(Limits(records_per_step=1, steps=2, separation=3))
        >>> person, step = np.array([0, 0, 0, 1, 0, 0]), np.array([5, 5, 6, 6, 8, 20])
        >>> used.kept(person, step).tolist()
        [True, False, False, True, True, False]
        """
        people = int(users.max(initial=-1)) + 1
        self._ends = _grown(self._ends, people, _NONE)
        self._sizes = _grown(self._sizes, people, 0)
        self._links = _grown(self._links, self._used + len(users), _NONE)
        self._steps = _grown(self._steps, self._used + len(users), 0)
        self._counts = _grown(self._counts, self._used + len(users), 0)
        limits, found = self._limits, np.zeros(len(users), dtype=np.bool_)
        self._used = _keep(
            users, steps, self._ends, self._sizes, self._steps, self._counts, self._links,
            self._used, limits.records_per_step, limits.steps, limits.separation, found,
        )  # fmt: skip
        return found


def _grown(array: NDArray[Any], length: int, fill: int) -> NDArray[Any]:
    """The array with room for this many rows, at least doubled."""
    if length <= len(array):
        return array
    grown = np.full((max(length, 2 * len(array)), *array.shape[1:]), fill, dtype=array.dtype)
    grown[: len(array)] = array
    return grown


@compiled
def _keep(
    users: Signed,
    steps: Signed,
    ends: Signed,
    sizes: Signed,
    listed: Signed,
    counts: NDArray[np.int32],
    links: Signed,
    used: int,
    records: int,
    most: int,
    separation: int,
    found: NDArray[np.bool_],
) -> int:
    """Mark the records that count; return the number of used places."""
    for i in range(len(users)):
        user, step = users[i], steps[i]
        # the neighbours of this step in the person's list, looked for from its nearer end
        before, after = ends[user, 1], _NONE
        if before != _NONE and step - listed[ends[user, 0]] < listed[before] - step:
            before, after = _NONE, ends[user, 0]
            while after != _NONE and listed[after] <= step:
                before, after = after, links[after, 1]
        else:
            while before != _NONE and listed[before] > step:
                before, after = links[before, 0], before
        if before != _NONE and listed[before] == step:
            if counts[before] < records:
                counts[before] += 1
                found[i] = True
            continue
        apart = (before == _NONE or step - listed[before] >= separation) and (
            after == _NONE or listed[after] - step >= separation
        )
        if not apart or sizes[user] >= most:
            continue
        listed[used], counts[used] = step, 1
        links[used, 0], links[used, 1] = before, after
        if before == _NONE:
            ends[user, 0] = used
        else:
            links[before, 1] = used
        if after == _NONE:
            ends[user, 1] = used
        else:
            links[after, 0] = used
        sizes[user] += 1
        used += 1
        found[i] = True
    return used
