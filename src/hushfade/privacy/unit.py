"""The unit of privacy: what two neighbouring streams differ in."""

from __future__ import annotations

Relation = tuple[str, int, int, int]
"""Neighbours, participations, separation, records per step."""


def words(relation: Relation | None) -> str:
    """The relation as a person reads it.

    >>> words(("replace", 3, 24, 1))
    'replace with participations 3, separation 24, records_per_step 1'
    """
    assert relation is not None
    neighbours, participations, separation, records = relation
    return (
        f"{neighbours} with participations {participations}, separation {separation}, "
        f"records_per_step {records}"
    )
