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
from hushfade.compiled import compiled, inlined
from hushfade.privacy.unit import Unit

Stretch: TypeAlias = Literal["stream", "period", "step"]

_NONE = -1  # no place in the list
_FEW = 1024
_AT_ONCE = 128  # groups whose columns are read together, in advance
# The columns of a group: where its list begins and ends, its length, its first and its last step.
# Records in the order of time need nothing else, so they read memory at one place.
_FIRST, _LAST, _SIZE, _FIRST_STEP, _LAST_STEP = range(5)
_NEW = np.array([_NONE, _NONE, 0, 0, 0], dtype=np.int64)


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
    number of steps in between.  Memory: 28 bytes per person, stretch and counted step, 40 per
    person and stretch, and 48 more unless the stretch is the whole stream.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._heads = np.tile(_NEW, (_FEW, 1))  # of each group
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
        self._heads = _grown(self._heads, count, _NEW)
        self._links = _grown(self._links, self._used + len(groups))
        self._steps = _grown(self._steps, self._used + len(groups))
        self._counts = _grown(self._counts, self._used + len(groups))
        limits, found = self._limits, np.zeros(len(groups), dtype=np.bool_)
        self._used = _keep(
            groups, steps, self._heads, self._steps, self._counts, self._links, self._used,
            limits.records_per_step, limits.steps, limits.apart, found,
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
        self._heads = _grown(self._heads, count, _NEW)
        self._links = _grown(self._links, end, _NONE)
        self._steps = _grown(self._steps, end, 0)
        self._counts = _grown(self._counts, end, 0)
        places = np.arange(self._used, end, dtype=np.int64)
        self._steps[places], self._counts[places], self._links[places] = lasts, records, _NONE
        self._heads[groups] = np.stack([places, places, sizes, lasts, lasts], axis=1)
        self._used = end

    def counted(self) -> tuple[Signed, Signed, Signed, Signed, Signed]:
        """Columns with, for each person and stretch: steps that count, the last, its records."""
        chosen = np.flatnonzero(self._heads[:, _SIZE])
        users, stretches = chosen, np.zeros(len(chosen), dtype=np.int64)
        if self._limits.stretch != "stream":
            users, stretches = self._groups.users[chosen], self._groups.stretches[chosen]
        heads = self._heads[chosen]
        records = self._counts[heads[:, _LAST]].astype(np.int64)
        return users, stretches, heads[:, _SIZE], heads[:, _LAST_STEP], records

    def forget(self, before: int) -> Signed:
        """Forget all earlier stretches; return the persons who are still known, in order.

        Afterwards, person i is the i-th person of the result.
        """
        chosen = np.flatnonzero(self._groups.stretches >= before)
        persons, users = np.unique(self._groups.users[chosen], return_inverse=True)
        stretches = self._groups.stretches[chosen]
        entries = _entries(chosen, self._heads, self._links, self._used)
        places = np.full(self._used + 1, _NONE, dtype=np.int64)  # the last place: none
        places[entries] = np.arange(len(entries))
        self._heads = self._heads[chosen]
        self._heads[:, :_SIZE] = places[self._heads[:, :_SIZE]]
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


def _grown(array: NDArray[Any], length: int, fill: int | Signed | None = None) -> NDArray[Any]:
    """The array with room for this many rows, at least twice as many as before.

    Without `fill` the new rows are undefined, and the loops write them before they read them.
    Until then they use no memory, so there are four times as many, and few copies.
    """
    if length <= len(array):
        return array
    times = 4 if fill is None else 2
    grown = np.empty((max(length, times * len(array)), *array.shape[1:]), dtype=array.dtype)
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
def _entries(groups: Signed, heads: Signed, links: Signed, used: int) -> Signed:
    """The places of the lists of these groups, one list after another."""
    found = np.empty(used, dtype=np.int64)
    count = 0
    for i in range(len(groups)):
        place = heads[groups[i], _FIRST]
        while place != _NONE:
            found[count] = place
            count += 1
            place = links[place, 1]
    return found[:count]


@compiled
def _keep(
    groups: Signed,
    steps: Signed,
    heads: Signed,
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
    seen = np.zeros(1, dtype=np.int64)  # an array, so that the compiler keeps the reads
    for i in range(len(groups)):
        if i % _AT_ONCE == 0:
            for j in range(i, min(i + _AT_ONCE, len(groups))):
                seen[0] ^= heads[groups[j], _SIZE] ^ heads[groups[j], _LAST_STEP]
        step = steps[i]
        head = heads[groups[i]]
        size, last = head[_SIZE], head[_LAST_STEP]
        if size == 0 or step > last:  # at the end of the list
            if size >= most or (size > 0 and step - last < apart):
                continue
            before, after = head[_LAST], _NONE
        else:
            before, after = _neighbours(step, head, listed, links)
            if before != _NONE and listed[before] == step:
                if counts[before] < records:
                    counts[before] += 1
                    found[i] = True
                continue
            fits = (before == _NONE or step - listed[before] >= apart) and (
                listed[after] - step >= apart
            )
            if not fits or size >= most:
                continue
        listed[used], counts[used] = step, 1
        links[used, 0], links[used, 1] = before, after
        if before == _NONE:
            head[_FIRST], head[_FIRST_STEP] = used, step
        else:
            links[before, 1] = used
        if after == _NONE:
            head[_LAST], head[_LAST_STEP] = used, step
        else:
            links[after, 0] = used
        head[_SIZE] = size + 1
        used += 1
        found[i] = True
    return used


@inlined
def _neighbours(step: int, head: Signed, listed: Signed, links: Signed) -> tuple[Any, Any]:
    """The last place up to a step and the place after it, looked for from the nearer end.

    The step is at most the last one of the list, which is not empty.
    """
    before, after = head[_LAST], np.int64(_NONE)
    if step - head[_FIRST_STEP] < head[_LAST_STEP] - step:
        before, after = np.int64(_NONE), head[_FIRST]
        while after != _NONE and listed[after] <= step:
            before, after = after, links[after, 1]
    else:
        while before != _NONE and listed[before] > step:
            before, after = links[before, 0], before
    return before, after
