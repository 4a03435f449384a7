"""The persons of a run: their names, and which of their records count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hushfade.check import Signed
from hushfade.records.limits import Bounding, Limits
from hushfade.records.local_calendar import Periods
from hushfade.records.parse_columns import Mask
from hushfade.records.people import Names, People

if TYPE_CHECKING:
    from hushfade.privacy.unit import Unit
    from hushfade.records.calendar import Order

Earlier: TypeAlias = Callable[[str, int], tuple[int, int, int] | None]
"""For a person and a stretch: the number of steps that count, the last one, and its records.

Steps are counted from the first open step, which is 0.  So the last step, which is closed, is
negative.
"""

_FEW = 1 << 12  # persons and stretches that are not worth forgetting


@dataclass(frozen=True, repr=False)
class Counted:
    """The steps in which a person counts in one stretch.  Private."""

    person: str
    stretch: int
    steps: int
    last: int  # counted from 0
    records: int  # in the last step


class Persons:
    """Enforces the limits of a unit of privacy, batch by batch.

    Memory: the names and counts of all persons of the stream; if the unit is renewed, only of
    persons with records in open steps or in the current period.
    """

    def __init__(self, unit: Unit, order: Order) -> None:
        limits = Limits.of(unit)
        self._stretch = limits.stretch
        self._bounding = Bounding(limits)
        self._people = People()
        self._periods: Periods | None = None
        self._room = _FEW
        self._earlier: Earlier | None = None
        self._recalled: set[tuple[int, int]] = set()
        if unit.period is not None:
            self._periods = Periods.of(unit.period, order)

    def __len__(self) -> int:
        """The number of persons in memory."""
        return len(self._people)

    def kept(self, names: Names, places: Signed) -> Mask:
        """Which of these records count: the person and the step of each, in order of arrival."""
        users, stretches = self._people.numbers(names), self._stretches(places)
        if self._earlier is not None:
            spans = np.zeros_like(users) if stretches is None else stretches
            self._recall(users, spans, self._earlier)
        return self._bounding.kept(users, places, stretches)

    def continue_from(self, earlier: Earlier) -> None:
        """Continue with the steps that earlier files have closed."""
        if self._stretch != "step":  # a closed step has no effect on later steps
            self._earlier = earlier

    def counted(self, next_step: int) -> list[Counted]:
        """Each person who counts in a stretch that lasts until `next_step`, counted from 0."""
        if self._stretch == "step":
            return []
        users, *numbers = self._bounding.counted()
        lasting = numbers[0] >= self.stretch_of(next_step)
        rows = zip(*(column[lasting].tolist() for column in numbers), strict=True)
        names = self._people.names(users[lasting])
        return [Counted(name, *row) for name, row in zip(names, rows, strict=True)]

    def stretch_of(self, step: int) -> int:
        """The stretch of a step, counted from 0; 0 if the stretch is the whole stream."""
        found = self._stretches(np.array([step], dtype=np.int64))
        return 0 if found is None else int(found[0])

    def _recall(self, users: Signed, stretches: Signed, earlier: Earlier) -> None:
        pairs = np.unique(np.stack([users, stretches], axis=1), axis=0).tolist()
        new = [(user, stretch) for user, stretch in pairs if (user, stretch) not in self._recalled]
        self._recalled.update(new)
        names = self._people.names(np.array([user for user, _ in new], dtype=np.int64))
        rows = [
            (user, stretch, *row)
            for name, (user, stretch) in zip(names, new, strict=True)
            if (row := earlier(name, stretch)) is not None
        ]
        if rows:
            self._bounding.resume(*np.array(rows, dtype=np.int64).T)

    def close(self, step: int) -> None:
        """Forget everything that later steps do not need, from `step` on, counted from 0.

        Cost: constant per record, because hushfade forgets only when half of the memory is old.
        """
        if self._stretch == "stream" or len(self._bounding) <= self._room:
            return
        stretches = self._stretches(np.array([step], dtype=np.int64))
        assert stretches is not None
        self._people.keep(self._bounding.forget(int(stretches[0])))
        self._room = max(_FEW, 2 * len(self._bounding))

    def _stretches(self, places: Signed) -> Signed | None:
        if self._stretch == "stream":
            return None
        return places if self._periods is None else self._periods.of_steps(places)
