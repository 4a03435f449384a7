"""How a statistic spreads one record over several totals, its lanes.

A record becomes one integer, its code: units of the grid, or the number of its bin.  The code
decides how many units the record adds to each lane.  These are whole numbers, none negative, and
their sum over the lanes of a level is at most `whole(span)`, whatever the record is.  So a record
changes the lanes of a level by no more, in total, than it changes a plain count.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hushfade.check import Signed
from hushfade.errors import InvalidType, InvalidValue
from hushfade.private import real_numbers

Kind = Literal["numbers", "grid", "truths", "texts", "pairs"]


class Spread(Protocol):
    """What the private half needs of a statistic."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the lanes."""

    @property
    def levels(self) -> int:
        """To how many groups of lanes a record adds `whole(span)` units each."""

    @property
    def kind(self) -> Kind:
        """What a record is: a number with a code of its own, or on the grid; a truth; a text."""

    def whole(self, span: int) -> int:
        """The most units that a record adds to a level; `span` is high - low in units."""

    def lanes(self, codes: Signed, span: int) -> tuple[Signed, Signed]:
        """The lanes that each record changes, and the units that it adds to them, both (n, k)."""


@runtime_checkable
class CodedSpread(Spread, Protocol):
    """A statistic whose records have codes of their own.  Other records are units of the grid."""

    def codes(self, records: Any) -> Signed:
        """The code of each record, which `readable` has checked."""


def readable(records: Any, kind: Kind) -> NDArray[Any]:
    """The records as an array of the kind that a statistic reads; raises if they are not."""
    match kind:
        case "truths":
            return truths(records)
        case "texts":
            return texts(records)
    return real_numbers.finite(records)


def truths(records: Any) -> Signed:
    """1 for each true record, 0 for each false one; the numbers 0 and 1 are truths too."""
    if type(records) is np.ndarray and records.dtype.kind == "b":  # and no mask
        return records.astype(np.int64)
    if isinstance(records, bool | np.bool_):
        return np.array(int(records), dtype=np.int64)
    if isinstance(records, list | tuple):  # both kinds may occur: each record is read by itself
        if set(map(type, records)) == {bool}:
            return np.array(records, dtype=np.int64)
        records = [int(one) if isinstance(one, bool | np.bool_) else one for one in records]
    numbers = real_numbers.finite(records)
    if not bool(np.all((numbers == 0.0) | (numbers == 1.0))):
        raise InvalidValue("must be true or false, or 1 or 0", argument="records")
    return numbers.astype(np.int64)


def texts(records: Any) -> NDArray[Any]:
    """The records as an array of texts."""
    if isinstance(records, str):
        records = [records]
    if isinstance(records, np.ndarray) and records.ndim == 0:
        records = [records.item()]
    if not isinstance(records, list | tuple | np.ndarray):
        raise InvalidType("must be text", argument="records")
    array = np.empty(len(records), dtype=object)
    for place, record in enumerate(records):
        if not isinstance(record, str):
            raise InvalidType("must be text", argument="records")
        array[place] = str(record)
    return array
