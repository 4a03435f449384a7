"""How many records counted, and why others did not."""

from __future__ import annotations

from dataclasses import asdict, dataclass

_REASONS = {  # why a record did not count
    "outside": "outside the steps",
    "late": "too late",
    "over_limit": "beyond a person's limits",
    "other_keys": "of other keys",
    "empty": "without value",
    "rejected": "malformed",
}


@dataclass
class Counts:
    """The number of counted and dropped records.  Private."""

    records: int = 0
    outside: int = 0  # before the first or after the last step
    late: int = 0  # their step had closed
    over_limit: int = 0  # beyond a person's limits
    other_keys: int = 0  # of no declared key
    empty: int = 0  # without a value
    rejected: int = 0  # malformed, where lines arrive live

    @property
    def dropped(self) -> int:
        """The number of records that entered no total."""
        return sum(getattr(self, why) for why in _REASONS)

    @property
    def counted(self) -> int:
        """The number of records that entered a total."""
        return self.records - self.dropped

    @property
    def all_useless(self) -> bool:
        """Whether there are records, and none of them counts or is beyond a person's limits.

        Records beyond limits are a regular part of a file, even if there are no others.

        >>> Counts(records=4, late=3, over_limit=1).all_useless
        False
        >>> Counts(records=4, late=3, other_keys=1).all_useless
        True
        """
        return self.records > 0 and self.counted + self.over_limit == 0

    @property
    def mostly_out_of_range(self) -> bool:
        """Whether more than half of the records are late or outside the steps.

        >>> Counts(records=4, late=1, outside=2).mostly_out_of_range
        True
        """
        return 2 * (self.late + self.outside) > self.records

    def add(self, after: Counts, before: Counts) -> None:
        """Add the records that were counted between two moments.

        >>> total = Counts(records=1)
        >>> total.add(after=Counts(records=7, late=2), before=Counts(records=5))
        >>> total
        Counts(records=3, outside=0, late=2, over_limit=0, other_keys=0, empty=0, rejected=0)
        """
        earlier = asdict(before)
        for name, number in asdict(after).items():
            setattr(self, name, getattr(self, name) + number - earlier[name])

    def sentence(self) -> str:
        """The counts in words; for the operator, not for publication.

        >>> Counts(records=7, outside=2, empty=1).sentence()
        '4 of 7 records counted; dropped: 2 outside the steps, 1 without value'
        """
        reasons = [f"{getattr(self, why)} {words}" for why, words in _REASONS.items()
                   if getattr(self, why)]  # fmt: skip
        dropped = "; dropped: " + ", ".join(reasons) if reasons else ""
        return f"{self.counted} of {self.records} records counted{dropped}"
