"""The unit of privacy: one record, or the records of one person.

    Record()                                  one record
    Person(steps=3, apart=24)                 a person with all records, for the life of the stream
    Person(within=7)                          a person's records from any 7 consecutive steps
    Person(period="week", steps=3)            a person's records from any calendar week

Neighbouring streams differ in one unit.  The last two units are renewed for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeAlias

from hushfade import check, duration
from hushfade.errors import InvalidType, InvalidValue, Malformed

_MOST = 2**31
_NEVER = "never"


@dataclass(frozen=True)
class Record:
    """One record.  A person with several records is protected less, by each of them."""

    steps: ClassVar[int] = 1
    apart: ClassVar[int] = 1
    records_per_step: ClassVar[int] = 1
    within: ClassVar[None] = None
    period: ClassVar[None] = None

    def one_per_step(self) -> Record:
        """The unit with at most one record per step."""
        return self


@dataclass(frozen=True, init=False)
class Person:
    """The records of one person: all of them, or all from a stretch of time that is renewed.

    A person counts in at most `steps` steps, with at most `records_per_step` records in each of
    them, and any two of these steps are at least `apart` steps apart.  These limits hold

    * for the life of the stream, by default (`steps` is 1 unless it is given);
    * in each calendar day, week or month of a time zone, if `period` is "day", "week" or "month",
      with the name of a time zone unless it is UTC: "week Europe/Vienna";
    * in any `within` consecutive steps.  Then every step may have records: `steps` is `within`.

    A step belongs to the period in which it begins.  Weeks begin on Monday.

    >>> Person(steps=3, records_per_step=2, apart=24)
    Person(steps=3, records_per_step=2, apart=24)
    >>> Person(within=7).steps, Person(period="week", steps=3).period
    (7, 'week UTC')
    """

    steps: int
    records_per_step: int
    apart: int
    within: int | None
    period: str | None

    def __init__(
        self,
        *,
        steps: int | None = None,
        records_per_step: int = 1,
        apart: int = 1,
        within: int | None = None,
        period: str | None = None,
    ) -> None:
        if within is not None:
            within = int(check.count(within=within, most=_MOST))
            _check_sliding(within, steps, apart, period)
            steps = within
        if period is not None:
            period = checked_period(period)
            if steps is None:
                raise InvalidType(
                    "must be given with a period", argument="steps",
                    remedy="it is the number of steps of a period in which one person may count",
                )  # fmt: skip
        values = {
            "steps": int(check.count(steps=1 if steps is None else steps, most=_MOST)),
            "records_per_step": int(check.count(records_per_step=records_per_step, most=_MOST)),
            "apart": int(check.count(apart=apart, most=_MOST)),
            "within": within,
            "period": period,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Person({', '.join(f'{name}={value!r}' for name, value in self.given().items())})"

    def one_per_step(self) -> Person:
        """The unit with at most one record per step."""
        return replace(self, records_per_step=1)

    def given(self) -> dict[str, Any]:
        """The arguments that describe the unit, without arguments that have their default."""
        found: dict[str, Any] = {} if self.within is not None else {"steps": self.steps}
        for name, usual in (("records_per_step", 1), ("apart", 1), ("within", None)):
            if getattr(self, name) != usual:
                found[name] = getattr(self, name)
        return found if self.period is None else {**found, "period": self.period}


Unit: TypeAlias = Record | Person
RECORD = Record()  # the default


def _check_sliding(within: int, steps: int | None, apart: int, period: str | None) -> None:
    """Raise if the limits of a sliding window depend on more than one step.

    A rule that counts, say, the first 3 of any 7 steps lets records before a window decide which
    records after it count, and so on without end (docs/decisions/0032-units-of-privacy.md).
    """
    if period is not None:
        raise InvalidType("within and period cannot be combined: each renews the unit")
    if steps is not None and steps != within:
        raise InvalidValue(
            "must be left out with within",
            argument="steps",
            got=steps,
            remedy="a limit on the steps of every window would let one record decide which later "
            "records count, without end. Use period, which can have this limit",
        )
    if apart != 1:
        raise InvalidValue("must be 1 with within", argument="apart", got=apart)


def checked_period(period: object) -> str:
    """The period in the form that a plan stores.

    >>> checked_period("week"), checked_period("day Europe/Vienna")
    ('week UTC', 'day Europe/Vienna')
    """
    if not isinstance(period, str):
        raise InvalidType("must be a str", argument="period", got=type(period).__name__)
    if period.partition(" ")[0] not in duration.CALENDAR:
        raise InvalidValue(
            "must be 'day', 'week' or 'month', and the name of a time zone unless it is UTC, like "
            "'week Europe/Vienna'",
            argument="period",
            got=repr(period[:60]),
        )
    return duration.declared_step(period, name="period")


def checked_unit(unit: object) -> Unit:
    """The unit, if it is one."""
    if not isinstance(unit, Record | Person):
        raise InvalidType(
            "must be hf.Record() or hf.Person(...)", argument="protects", got=type(unit).__name__
        )
    return unit


# Documents ------------------------------------------------------------------------------------

FIELDS = ("steps", "records_per_step", "apart", "within", "period")


def unit_of(document: object) -> Unit:
    """The unit in JSON or TOML data: "record", or an object with the arguments of Person.

    >>> unit_of("record"), unit_of({"within": 7, "records_per_step": 2})
    (Record(), Person(records_per_step=2, within=7))
    """
    if document == "record":
        return Record()
    if not isinstance(document, dict) or not document.keys() <= set(FIELDS):
        raise InvalidType(
            f"must be 'record', or an object with some of {', '.join(FIELDS)}",
            argument="protects",
        )
    return Person(**document)


def unit_document(unit: Unit) -> Any:
    """The unit as JSON or TOML data.

    >>> unit_document(Person(within=7))
    {'within': 7}
    """
    return "record" if isinstance(unit, Record) else unit.given()


# Relations ------------------------------------------------------------------------------------


class Relation(NamedTuple):
    """The unit of privacy, and how neighbouring streams differ in it.

    Privacy losses add up only if they are for the same unit.  `step` is the length of a step.  It
    matters if a person may have several records: 24 steps of an hour are a day, and 24 steps of a
    day are more than three weeks.  `renewed` is "within 7", a calendar period such as "week UTC",
    or None if the unit covers the life of the stream.  It is "never" for a person who counts once:
    this unit is not one record, because the limits choose which of a person's records counts.
    """

    neighbours: str
    steps: int
    apart: int
    records_per_step: int
    step: str | None = None
    renewed: str | None = None

    @classmethod
    def of(cls, neighbours: str, unit: Unit) -> Relation:
        """The relation of this unit, without a step.

        >>> Relation.of("replace", Person(within=7)).renewed
        'within 7'
        """
        renewed = unit.period if unit.within is None else f"within {unit.within}"
        if (
            renewed is None
            and isinstance(unit, Person)
            and unit.steps == unit.records_per_step == 1
        ):
            renewed = _NEVER
        return cls(neighbours, unit.steps, unit.apart, unit.records_per_step, None, renewed)

    @property
    def single(self) -> bool:
        """Whether the unit is one record."""
        return self.steps == self.records_per_step == 1 and self.renewed is None

    @property
    def lifelong(self) -> bool:
        """Whether the unit covers the life of the stream."""
        return self.renewed in (None, _NEVER)

    def listed(self) -> list[str | int | None]:
        """The fields as a ledger stores them, without the last ones if they are None.

        >>> Relation("replace", 3, 24, 1).listed()
        ['replace', 3, 24, 1]
        >>> Relation("replace", 7, 1, 1, None, "within 7").listed()
        ['replace', 7, 1, 1, None, 'within 7']
        """
        parts: list[str | int | None] = list(self)
        while parts[-1] is None:
            parts.pop()
        return parts

    @classmethod
    def of_list(cls, parts: Sequence[str | int | None]) -> Relation:
        """The relation that a list describes, with or without its last fields.

        Raises Malformed if it describes none.
        """
        match list(parts):
            case ["add_remove" | "replace" as neighbours, int(k), int(b), int(m), *rest]:
                counts = all(type(one) is int and one >= 1 for one in (k, b, m))
                texts = [one for one in rest if one is None or isinstance(one, str)]
                if counts and len(texts) == len(rest) <= 2:
                    step, renewed = (*texts, None, None)[:2]
                    found = cls(str(neighbours), k, b, m, step, renewed)
                    if renewed is None or found._renewable():
                        return found
        raise Malformed(
            "a unit of privacy must be the neighbours, three counts, and optionally a step and "
            "how the unit is renewed"
        )

    def _renewable(self) -> bool:
        """Whether `renewed` is a period, a window of all its steps, or 'never' for one record."""
        assert self.renewed is not None
        if self.renewed == _NEVER:
            return self.steps == self.records_per_step == 1
        return duration.is_calendar(self.renewed) or self.renewed == f"within {self.steps}"
