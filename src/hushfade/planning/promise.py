"""The guarantee of a release in words, depending on who enforces the limits per person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushfade.privacy.unit_words import limit_words, person_words
from hushfade.privacy.unit_words import limits as assumed_limits

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan
    from hushfade.privacy.guarantee import Guarantee

UNSAFE = "NOT PRIVATE"  # how the description of noise from a known seed begins


def sentence(
    plan: Plan,
    *,
    enforced: bool,
    guarantee: Guarantee | None = None,
    unsafe: bool = False,
) -> str:
    """The guarantee in words.  `enforced`: hushfade knows the persons and enforces their limits.

    A further record may displace other records of its person.  So the guarantee covers all records
    of the person, or all records of the person in one stretch of time.  `guarantee` replaces the
    plan's, if the stream has several epochs.  `unsafe`: the noise has a known seed.
    If hushfade does not enforce the limits, the sentence says so, because it is published alone.

    >>> from hushfade import Guarantee, Person, SlidingWindow, plan as planned
    >>> day = planned(SlidingWindow(length=7), Guarantee(1, 0, protects=Person(within=7)),
    ...               every="1d")
    >>> sentence(day, enforced=True)[:78]
    "Adding or removing any one person's records from any seven consecutive days ch"
    """
    if unsafe:
        secret = sentence(plan, enforced=enforced, guarantee=guarantee)
        return f"{UNSAFE}, because the seed is known. With secret noise: {secret}"
    guarantee, relation = guarantee or plan.guarantee, plan.relation
    if not enforced:
        stated = guarantee.sentence(every=plan.every)
        if relation.single:
            return stated
        return (
            f"{stated} This assumes that each person has {limit_words(relation)}: hushfade did "
            "not enforce this limit."
        )
    who = person_words(relation)
    if guarantee.neighbours == "replace":
        who = "what one person's records say" if relation.lifelong else f"what {who} say"
    return guarantee.sentence(who)


def limits(plan: Plan, *, enforced: bool) -> str | None:
    """The limits per person, and whether hushfade enforces them; None if there are none."""
    words = limit_words(plan.relation)
    if enforced:
        return f"hushfade counts the first records of each person: {words}."
    if not plan.relation.single:
        return f"hushfade assumes, and does not enforce, these limits per person: {words}."
    return None


def stated_limits(plan: Plan, *, enforced: bool) -> str:
    """The limits per person of a stream, enforced or assumed, or that it protects one record."""
    return (enforced and limits(plan, enforced=True)) or assumed_limits(plan.relation)
