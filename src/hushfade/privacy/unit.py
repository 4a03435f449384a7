"""The unit of privacy: what two neighbouring streams differ in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hushfade.errors import Malformed


class Relation(NamedTuple):
    """One record, or the records of one person: losses add up only where this is the same.

    `step` is the length of a step.  It matters if a person may have several records: in 24 steps of
    an hour they are the records of a day, in 24 steps of a day the records of some weeks.
    """

    neighbours: str
    participations: int
    separation: int
    records_per_step: int
    step: str | None = None

    @property
    def single(self) -> bool:
        """Is it one record?"""
        return self.participations == self.records_per_step == 1

    def listed(self) -> list[str | int]:
        """The parts as a ledger has them: without a step that is not declared.

        >>> Relation("replace", 3, 24, 1).listed()
        ['replace', 3, 24, 1]
        """
        return [part for part in self if part is not None]

    @classmethod
    def of_list(cls, parts: Sequence[str | int]) -> Relation:
        """The relation of a list, with a step or without; Malformed for any other list."""
        match list(parts):
            case ["add_remove" | "replace" as neighbours, int(k), int(b), int(m), *step]:
                counts = all(type(one) is int and one >= 1 for one in (k, b, m))
                if counts and step in ([], [None]):
                    return cls(str(neighbours), k, b, m)
                if counts and len(step) == 1 and isinstance(step[0], str):
                    return cls(str(neighbours), k, b, m, step[0])
        raise Malformed("a unit of privacy must be neighbours, three counts, and perhaps a step")


def words(relation: Relation | None) -> str:
    """The relation as a person reads it.

    >>> words(Relation("add_remove", 1, 1, 1))
    'one record, added or removed'
    >>> words(Relation("replace", 3, 24, 2, "1h"))
    'the records of one person in 3 steps of 1h, at least 24 steps apart, 2 per step, replaced'
    """
    assert relation is not None
    changed = "replaced" if relation.neighbours == "replace" else "added or removed"
    if relation.single:
        return f"one record, {changed}"
    steps = "1 step" if relation.participations == 1 else f"{relation.participations} steps"
    parts = [f"the records of one person in {steps}"]
    if relation.step is not None:
        parts[0] += f" of {relation.step}"
    if relation.participations > 1 and relation.separation > 1:
        parts.append(f"at least {relation.separation} steps apart")
    if relation.records_per_step > 1:
        parts.append(f"{relation.records_per_step} per step")
    return ", ".join([*parts, changed])
