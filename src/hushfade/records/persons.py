"""The persons of a run: their names, and which of their records count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hushfade.check import Signed
from hushfade.records.limits import Bounding, Limits
from hushfade.records.local_calendar import Periods
from hushfade.records.parse_columns import Mask
from hushfade.records.people import Names, People

if TYPE_CHECKING:
    from hushfade.privacy.unit import Unit
    from hushfade.records.calendar import Order

_FEW = 1 << 12  # persons and stretches that are not worth forgetting


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
        if unit.period is not None:
            self._periods = Periods.of(unit.period, order)

    def __len__(self) -> int:
        """The number of persons in memory."""
        return len(self._people)

    def kept(self, names: Names, places: Signed) -> Mask:
        """Which of these records count: the person and the step of each, in order of arrival."""
        users = self._people.numbers(names)
        return self._bounding.kept(users, places, self._stretches(places))

    def close(self, step: int) -> None:
        """Forget whatever the steps from `step` on, counted from 0, do not need.

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
