"""The interface of an input path: random settings, random rows with their meaning, a reader."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Protocol, TypeVar

import numpy as np

from hushfade.records import Reader
from hushfade.records.calendar import Order
from lab.soaks.neighbours.meaning import Meaning, Rules, Totals
from lab.soaks.neighbours.settings import Setting

Made = TypeVar("Made")
Content = TypeVar("Content")


class InputPath(Protocol[Made, Content]):
    """A way into hushfade.

    `stops`: a malformed record stops the job.  Otherwise hushfade drops the record.
    `by_position`: the position of a row is its time, so a neighbour has one row replaced.
    `infers`: the library in front of hushfade chooses types by the data, so hushfade may have to
    stop the job although every record is well-formed.
    """

    name: str
    stops: bool
    by_position: bool
    infers: bool

    def setting(self, random: Random) -> Made:
        """Random declarations, and the layout of the input apart from its records."""

    def rules(self, made: Made) -> Rules:
        """The rules for reading the records."""

    def row(self, random: Random, made: Made, bad: float) -> tuple[Content, Meaning]:
        """A random record and its meaning; each part is malformed with probability `bad`."""

    def read(self, made: Made, rows: Sequence[Content]) -> Totals:
        """The units that hushfade computes; raises if it rejects the input."""


AnyPath = InputPath[Any, Any]


def units_of(totals: Any, lanes: int) -> Totals:
    """The nonzero totals by step and lane."""
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
    """The meaning of a record, from the meanings of the declared fields."""
    return Meaning(**{role: found[role] for role in setting.columns.roles()}, broken=broken)
