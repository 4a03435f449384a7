"""The unit of privacy: the records in which two neighbouring streams differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hushfade import duration
from hushfade.errors import Malformed


class Relation(NamedTuple):
    """The unit of privacy: one record, or the records of one person.

    Privacy losses add up only if they are for the same unit.  `step` is the length of a step.  It
    matters if a person may have several records: 24 steps of an hour are a day, and 24 steps of a
    day are more than three weeks.
    """

    neighbours: str
    participations: int
    separation: int
    records_per_step: int
    step: str | None = None

    @property
    def single(self) -> bool:
        """Whether the unit is one record."""
        return self.participations == self.records_per_step == 1

    def listed(self) -> list[str | int]:
        """The fields as a ledger stores them, without the step if none is declared.

        >>> Relation("replace", 3, 24, 1).listed()
        ['replace', 3, 24, 1]
        """
        return [part for part in self if part is not None]

    @classmethod
    def of_list(cls, parts: Sequence[str | int]) -> Relation:
        """The relation that a list describes, with or without a step; raises Malformed if none."""
        match list(parts):
            case ["add_remove" | "replace" as neighbours, int(k), int(b), int(m), *step]:
                counts = all(type(one) is int and one >= 1 for one in (k, b, m))
                if counts and step in ([], [None]):
                    return cls(str(neighbours), k, b, m)
                if counts and len(step) == 1 and isinstance(step[0], str):
                    return cls(str(neighbours), k, b, m, step[0])
        raise Malformed(
            "a unit of privacy must be the neighbours, three counts, and optionally a step"
        )


def limits(relation: Relation) -> str:
    """The limits per person that a guarantee assumes if nobody enforces them.

    >>> limits(Relation("replace", 3, 24, 2, "1h"))
    'hushfade assumes, and does not check, that no person has more records: at most 2 per step, in
    at most 3 steps of 1h, at least 24 steps apart.'
    """
    if relation.single:
        return (
            "The guarantee covers one record. hushfade does not check how many records one person "
            "has."
        )
    steps = "1 step" if relation.participations == 1 else f"{relation.participations} steps"
    parts = [f"at most {relation.records_per_step} per step, in at most {steps}"]
    if relation.step is not None:
        parts[0] += f" of {duration.in_words(relation.step)}"
    if relation.participations > 1 and relation.separation > 1:
        parts.append(f"at least {relation.separation} steps apart")
    return (
        "hushfade assumes, and does not check, that no person has more records: "
        f"{', '.join(parts)}."
    )


def words(relation: Relation | None) -> str:
    """The relation in plain words.

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
        parts[0] += f" of {duration.in_words(relation.step)}"
    if relation.participations > 1 and relation.separation > 1:
        parts.append(f"at least {relation.separation} steps apart")
    if relation.records_per_step > 1:
        parts.append(f"{relation.records_per_step} per step")
    return ", ".join([*parts, changed])
