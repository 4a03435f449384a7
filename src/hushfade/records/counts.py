"""How many records counted, and why others did not."""

from __future__ import annotations

from dataclasses import dataclass

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

    def sentence(self) -> str:
        """The counts in words; for the operator, not for publication.

        >>> Counts(records=7, outside=2, empty=1).sentence()
        '4 of 7 records counted; dropped: 2 outside the steps, 1 without value'
        """
        reasons = [f"{getattr(self, why)} {words}" for why, words in _REASONS.items()
                   if getattr(self, why)]  # fmt: skip
        dropped = "; dropped: " + ", ".join(reasons) if reasons else ""
        return f"{self.counted} of {self.records} records counted{dropped}"
