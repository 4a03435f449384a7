"""What every input path has: random settings, random rows with their meaning, and a reader."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Protocol, TypeVar

import numpy as np

from dev.soaks.neighbours.meaning import Meaning, Rules, Totals
from dev.soaks.neighbours.settings import Setting
from hushfade.records import Reader
from hushfade.records.calendar import Order

Made = TypeVar("Made")
Content = TypeVar("Content")


class InputPath(Protocol[Made, Content]):
    """A way into hushfade.

    `stops`: a malformed record stops the whole job.  Otherwise it is left out.
    `by_position`: the place of a row is its time, so rows are replaced and never added or removed.
    `infers`: the library in front of hushfade chooses types by the data, so that hushfade may have
    to stop the job although every record is fine.
    """

    name: str
    stops: bool
    by_position: bool
    infers: bool

    def setting(self, random: Random) -> Made:
        """What is declared, and what the input looks like apart from its records."""

    def rules(self, made: Made) -> Rules:
        """How records are to be read."""

    def row(self, random: Random, made: Made, bad: float) -> tuple[Content, Meaning]:
        """A random record and what it means; each part is wrong with the probability `bad`."""

    def read(self, made: Made, rows: Sequence[Content]) -> Totals:
        """The units that hushfade finds; raises if it rejects the input."""


AnyPath = InputPath[Any, Any]


def units_of(totals: Any, lanes: int) -> Totals:
    """The totals that are not 0, by step and lane."""
    array = np.asarray(totals, dtype=np.int64).reshape(-1, lanes)
    steps, places = np.nonzero(array)
    return {
        (step, lane): int(array[step, lane])
        for step, lane in zip(steps.tolist(), places.tolist(), strict=True)
    }


def reader_of(setting: Setting, order: Order) -> Reader:
    """The reader of the setting."""
    return Reader(
        setting.rules.plan,
        setting.columns,
        order,
        time_unit=setting.time_unit,
        skip_empty=setting.rules.skip_empty,
    )


def meaning_of(setting: Setting, found: dict[str, Any], *, broken: bool = False) -> Meaning:
    """The meaning of a record, from the meanings of the fields that are read."""
    return Meaning(**{role: found[role] for role in setting.columns.roles()}, broken=broken)
