"""The unit of privacy in plain words: who is protected, and under which limits."""

from __future__ import annotations

from hushfade import duration
from hushfade.privacy.unit import Relation

_TWELVE = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
)  # fmt: skip
_ONE = {"1s": "second", "1min": "minute", "1h": "hour", "1d": "day", "1w": "week"}


def person_words(relation: Relation) -> str:
    """The records of a person that the relation covers, without the limits.

    >>> person_words(Relation("replace", 7, 1, 2, "1d", "within 7"))
    "any one person's records from any seven consecutive days"
    >>> person_words(Relation("replace", 3, 1, 1, "day Europe/Vienna", "week Europe/Vienna"))
    "any one person's records from any calendar week (Europe/Vienna)"
    >>> person_words(Relation("replace", 3, 1, 1, "1h", "week UTC"))
    "any one person's records from the steps that begin in any calendar week (UTC)"
    """
    if relation.lifelong or relation.renewed is None:
        return "one person with all their records"
    if duration.is_calendar(relation.renewed):
        unit, _, zone = relation.renewed.partition(" ")
        # other steps may begin in one period and end in the next
        begin = "" if _divides(relation.step, relation.renewed) else "the steps that begin in "
        return f"any one person's records from {begin}any calendar {unit} ({zone})"
    return f"any one person's records from any {_consecutive(relation.steps, relation.step)}"


def one_stretch(relation: Relation) -> str:
    """The stretch of time that a renewed unit covers.

    >>> one_stretch(Relation("replace", 7, 1, 2, "1d", "within 7"))
    'one stretch of seven consecutive days'
    >>> one_stretch(Relation("replace", 1, 1, 2, "1d", "within 1"))
    'one day'
    >>> one_stretch(Relation("replace", 3, 1, 1, "day Europe/Vienna", "week Europe/Vienna"))
    'one calendar week (Europe/Vienna)'
    """
    assert relation.renewed is not None
    if duration.is_calendar(relation.renewed):
        unit, _, zone = relation.renewed.partition(" ")
        begin = "" if _divides(relation.step, relation.renewed) else "the steps that begin in "
        return f"{begin}one calendar {unit} ({zone})"
    several = "" if relation.steps == 1 else "one stretch of "
    return several + _consecutive(relation.steps, relation.step)


def _divides(step: str | None, period: str) -> bool:
    """Whether each period begins with a step, whenever the stream starts.

    >>> _divides("day UTC", "month UTC"), _divides("week UTC", "month UTC")
    (True, False)
    >>> _divides("1d", "day UTC")
    False
    """
    if step is None or not duration.is_calendar(step):
        return False
    (unit, _, zone), (longer, _, same) = step.partition(" "), period.partition(" ")
    return zone == same and unit in ("day", longer)


def _consecutive(count: int, step: str | None) -> str:
    """Consecutive steps in words.

    >>> _consecutive(7, "1d"), _consecutive(24, "90min"), _consecutive(1, None)
    ('seven consecutive days', '24 consecutive steps of 90min', 'one step')
    >>> _consecutive(2, "month Europe/Vienna"), _consecutive(1, "day UTC")
    ('two consecutive calendar months (Europe/Vienna)', 'one calendar day (UTC)')
    """
    number = _TWELVE[count] if count < len(_TWELVE) else str(count)
    several = "" if count == 1 else "s"
    consecutive = "one" if count == 1 else f"{number} consecutive"
    if step is not None and duration.is_calendar(step):
        unit, _, zone = step.partition(" ")
        return f"{consecutive} calendar {unit}{several} ({zone})"
    if step in _ONE:
        return f"{consecutive} {_ONE[step]}{several}"
    length = "" if step in (None, duration.ROWS) else f" of {step}"
    return f"{consecutive} step{several}{length}"


def limit_words(relation: Relation) -> str:
    """The limits per person.

    >>> limit_words(Relation("replace", 3, 24, 2, "1h"))
    'at most 2 records per step, in at most 3 steps of 1h that are at least 24 steps apart'
    >>> limit_words(Relation("replace", 7, 1, 1, "1d", "within 7"))
    'at most 1 record per step'
    >>> limit_words(Relation("replace", 3, 1, 2, None, "week UTC"))
    'at most 2 records per step, in at most 3 steps of each calendar week (UTC)'
    """
    most = relation.records_per_step
    words = f"at most {'1 record' if most == 1 else f'{most} records'} per step"
    calendar = relation.renewed is not None and duration.is_calendar(relation.renewed)
    if not relation.lifelong and not calendar:
        return words
    words += f", in at most {'1 step' if relation.steps == 1 else f'{relation.steps} steps'}"
    if relation.renewed is not None and calendar:
        unit, _, zone = relation.renewed.partition(" ")
        words += f" of each calendar {unit} ({zone})"
    elif relation.step is not None and relation.step != duration.ROWS:
        words += f" of {duration.in_words(relation.step)}"
    if relation.steps > 1 and relation.apart > 1:
        words += f" that are at least {relation.apart} steps apart"
    return words


def limits(relation: Relation) -> str:
    """The limits per person that a guarantee assumes if nobody enforces them.

    >>> limits(Relation("replace", 3, 24, 2, "1h"))
    'hushfade assumes, and does not check, that no person has more records: at most 2 records per
    step, in at most 3 steps of 1h that are at least 24 steps apart.'
    """
    if relation.single:
        return (
            "The guarantee covers one record. hushfade does not check how many records one person "
            "has."
        )
    return (
        "hushfade assumes, and does not check, that no person has more records: "
        f"{limit_words(relation)}."
    )


def words(relation: Relation | None) -> str:
    """The relation in plain words.

    >>> words(Relation("add_remove", 1, 1, 1))
    'one record, added or removed'
    >>> words(Relation("replace", 3, 24, 2, "1h"))
    'the records of one person in 3 steps of 1h, at least 24 steps apart, 2 per step, replaced'
    >>> words(Relation("add_remove", 7, 1, 2, "1d", "within 7"))
    "any one person's records from any seven consecutive days, 2 per step, added or removed"
    """
    assert relation is not None
    changed = "replaced" if relation.neighbours == "replace" else "added or removed"
    if relation.single:
        return f"one record, {changed}"
    steps = "1 step" if relation.steps == 1 else f"{relation.steps} steps"
    of = "" if relation.step is None else f" of {duration.in_words(relation.step)}"
    if relation.lifelong or relation.renewed is None:
        parts = [f"the records of one person in {steps}{of}"]
    else:
        parts = [person_words(relation)]
        if duration.is_calendar(relation.renewed):
            parts.append(f"in {steps}{of}")
    if relation.steps > 1 and relation.apart > 1:
        parts.append(f"at least {relation.apart} steps apart")
    if relation.records_per_step > 1:
        parts.append(f"{relation.records_per_step} per step")
    return ", ".join([*parts, changed])
