"""Limits on the records of one person: which records count.

A person counts in at most `steps` steps, any two of them at least `apart` apart, and with at most
`records_per_step` records in each step.  These limits hold in each stretch of time by itself.  A
stretch is the whole stream, a calendar period, or a single step (for units within a window, whose
steps may all have records).

The first records count, in the order of arrival.  Which records of a person count in a stretch
depends only on the times of that person's records in the same stretch.  So removing a person, or
all records of a person in one stretch, does not affect any other record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushfade import check
from hushfade.check import Signed
from hushfade.compiled import compiled
from hushfade.privacy.unit import Unit

Stretch: TypeAlias = Literal["stream", "period", "step"]

_NONE = -1  # no place in the list
_FEW = 1024


@dataclass(frozen=True)
class Limits:
    """The limits per person in each stretch of time."""

    records_per_step: int = 1
    steps: int = 1
    apart: int = 1
    stretch: Stretch = "stream"

    def __post_init__(self) -> None:
        check.count(records_per_step=self.records_per_step, most=2**31 - 1)
        check.count(steps=self.steps)
        check.count(apart=self.apart)

    @classmethod
    def of(cls, unit: Unit) -> Limits:
        """The limits that a unit of privacy needs.

        >>> from hushfade.privacy.unit import Person
        >>> Limits.of(Person(within=7, records_per_step=2))
        Limits(records_per_step=2, steps=1, apart=1, stretch='step')
        """
        if unit.within is not None:
            return cls(unit.records_per_step, stretch="step")
        stretch: Stretch = "stream" if unit.period is None else "period"
        return cls(unit.records_per_step, unit.steps, unit.apart, stretch)


class Bounding:
    """The steps in which each person counts so far, in a list per person and stretch.

    Work: constant if a person's records come in the order of time or in reverse, else linear in the
    number of steps in between.  Memory: 28 bytes per person, stretch and counted step, 16 per
    person and stretch, and 48 more unless the stretch is the whole stream.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._ends = np.full((_FEW, 2), _NONE, dtype=np.int64)  # of each group's list
        self._sizes = np.zeros(_FEW, dtype=np.int64)
        self._steps, self._counts = np.zeros(_FEW, dtype=np.int64), np.zeros(_FEW, dtype=np.int32)
        self._links = np.full((_FEW, 2), _NONE, dtype=np.int64)  # the step before, and after
        self._used = 0
        self._groups = _Groups()  # each person and stretch is a group

    def __len__(self) -> int:
        """The number of persons and stretches in memory; 0 if the stretch is the whole stream."""
        return len(self._groups)

    def kept(
        self, users: Signed, steps: Signed, stretches: Signed | None = None
    ) -> NDArray[np.bool_]:
        """Which of these records count: person and step of each, in the order of arrival.

        `stretches` has the stretch of each record, unless it is the whole stream.

        >>> used = Bounding(Limits(records_per_step=1, steps=2, apart=3))
        >>> person, step = np.array([0, 0, 0, 1, 0, 0]), np.array([5, 5, 6, 6, 8, 20])
        >>> used.kept(person, step).tolist()
        [True, False, False, True, True, False]
        """
        if (stretches is None) != (self._limits.stretch == "stream"):
            raise AssertionError("stretches belong to limits that are renewed")
        groups = users if stretches is None else self._groups.numbers(users, stretches)
        count = int(groups.max(initial=-1)) + 1
        self._ends = _grown(self._ends, count, _NONE)
        self._sizes = _grown(self._sizes, count, 0)
        self._links = _grown(self._links, self._used + len(groups))
        self._steps = _grown(self._steps, self._used + len(groups))
        self._counts = _grown(self._counts, self._used + len(groups))
        limits, found = self._limits, np.zeros(len(groups), dtype=np.bool_)
        self._used = _keep(
            groups, steps, self._ends, self._sizes, self._steps, self._counts, self._links,
            self._used, limits.records_per_step, limits.steps, limits.apart, found,
        )  # fmt: skip
        return found

    def resume(
        self, users: Signed, stretches: Signed, sizes: Signed, lasts: Signed, records: Signed
    ) -> None:
        """Continue with earlier steps: the columns that `counted` returned.

        No record of these persons has counted here yet in these stretches, and no later record is
        before the last step.  So of the steps before the last one, only their number matters.
        """
        groups = users
        if self._limits.stretch != "stream":
            groups = self._groups.numbers(users, stretches)
        count, end = int(groups.max(initial=-1)) + 1, self._used + len(groups)
        self._ends = _grown(self._ends, count, _NONE)
        self._sizes = _grown(self._sizes, count, 0)
        self._links = _grown(self._links, end, _NONE)
        self._steps = _grown(self._steps, end, 0)
        self._counts = _grown(self._counts, end, 0)
        places = np.arange(self._used, end, dtype=np.int64)
        self._steps[places], self._counts[places], self._links[places] = lasts, records, _NONE
        self._ends[groups, 0] = self._ends[groups, 1] = places
        self._sizes[groups] = sizes
        self._used = end

    def counted(self) -> tuple[Signed, Signed, Signed, Signed, Signed]:
        """Columns with, for each person and stretch: steps that count, the last, its records."""
        chosen = np.flatnonzero(self._sizes)
        users, stretches = chosen, np.zeros(len(chosen), dtype=np.int64)
        if self._limits.stretch != "stream":
            users, stretches = self._groups.users[chosen], self._groups.stretches[chosen]
        last = self._ends[chosen, 1]
        records = self._counts[last].astype(np.int64)
        return users, stretches, self._sizes[chosen], self._steps[last], records

    def forget(self, before: int) -> Signed:
        """Forget all earlier stretches; return the persons who are still known, in order.

        Afterwards, person i is the i-th person of the result.
        """
        chosen = np.flatnonzero(self._groups.stretches >= before)
        persons, users = np.unique(self._groups.users[chosen], return_inverse=True)
        stretches = self._groups.stretches[chosen]
        entries = _entries(chosen, self._ends, self._links, self._used)
        places = np.full(self._used + 1, _NONE, dtype=np.int64)  # the last place: none
        places[entries] = np.arange(len(entries))
        self._ends, self._sizes = places[self._ends[chosen]], self._sizes[chosen]
        self._links = places[self._links[entries]]
        self._steps, self._counts = self._steps[entries], self._counts[entries]
        self._used = len(entries)
        self._groups = _Groups()
        self._groups.numbers(users.astype(np.int64), stretches)
        return persons


class _Groups:
    """Numbers pairs of a person and a stretch, in the order of their first record."""

    def __init__(self) -> None:
        self._slots = np.full(2 * _FEW, _NONE, dtype=np.int64)  # a hash table of numbers
        self._pairs = np.zeros((_FEW, 2), dtype=np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def users(self) -> Signed:
        return self._pairs[: self._count, 0]

    @property
    def stretches(self) -> Signed:
        return self._pairs[: self._count, 1]

    def numbers(self, users: Signed, stretches: Signed) -> Signed:
        """The number of each pair; new pairs get the next numbers."""
        most = self._count + len(users)
        if 2 * most > len(self._slots):
            self._slots = np.full(1 << (4 * most - 1).bit_length(), _NONE, dtype=np.int64)
            _number(self.users, self.stretches, self._slots, self._pairs, 0,
                    np.zeros(self._count, dtype=np.int64))  # fmt: skip
        self._pairs = _grown(self._pairs, most, 0)
        found = np.zeros(len(users), dtype=np.int64)
        self._count = _number(users, stretches, self._slots, self._pairs, self._count, found)
        return found


def _grown(array: NDArray[Any], length: int, fill: int | None = None) -> NDArray[Any]:
    """The array with room for this many rows, at least doubled.

    Without `fill` the new rows are undefined, and the loops write them before they read them.
    """
    if length <= len(array):
        return array
    grown = np.empty((max(length, 2 * len(array)), *array.shape[1:]), dtype=array.dtype)
    if fill is not None:
        grown[len(array) :] = fill
    grown[: len(array)] = array
    return grown


@compiled
def _number(
    users: Signed, stretches: Signed, slots: Signed, pairs: Signed, count: int, found: Signed
) -> int:
    """Write the number of each pair to `found`; return the number of pairs."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(users)):
        user, stretch = users[i], stretches[i]
        mixed = np.uint64(user) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(stretch)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        slot = (mixed ^ (mixed >> np.uint64(32))) & mask
        while slots[slot] != _NONE and (
            pairs[slots[slot], 0] != user or pairs[slots[slot], 1] != stretch
        ):
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] == _NONE:
            slots[slot] = count
            pairs[count, 0], pairs[count, 1] = user, stretch
            count += 1
        found[i] = slots[slot]
    return count


@compiled
def _entries(groups: Signed, ends: Signed, links: Signed, used: int) -> Signed:
    """The places of the lists of these groups, one list after another."""
    found = np.empty(used, dtype=np.int64)
    count = 0
    for i in range(len(groups)):
        place = ends[groups[i], 0]
        while place != _NONE:
            found[count] = place
            count += 1
            place = links[place, 1]
    return found[:count]


@compiled
def _keep(
    groups: Signed,
    steps: Signed,
    ends: Signed,
    sizes: Signed,
    listed: Signed,
    counts: NDArray[np.int32],
    links: Signed,
    used: int,
    records: int,
    most: int,
    apart: int,
    found: NDArray[np.bool_],
) -> int:
    """Mark the records that count; return the number of used places."""
    for i in range(len(groups)):
        group, step = groups[i], steps[i]
        # the neighbours of this step in the group's list, looked for from its nearer end
        before, after = ends[group, 1], _NONE
        if before != _NONE and step - listed[ends[group, 0]] < listed[before] - step:
            before, after = _NONE, ends[group, 0]
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
        fits = (before == _NONE or step - listed[before] >= apart) and (
            after == _NONE or listed[after] - step >= apart
        )
        if not fits or sizes[group] >= most:
            continue
        listed[used], counts[used] = step, 1
        links[used, 0], links[used, 1] = before, after
        if before == _NONE:
            ends[group, 0] = used
        else:
            links[before, 1] = used
        if after == _NONE:
            ends[group, 1] = used
        else:
            links[after, 0] = used
        sizes[group] += 1
        used += 1
        found[i] = True
    return used
