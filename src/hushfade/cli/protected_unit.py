"""The protected unit in sentences: what an attacker cannot learn, and about whom.

A guarantee says nothing about more than its unit.  So each sentence about an attacker names it: one
record, a person with all their records or with limits, or a person's records from one stretch of
steps or one calendar period.
"""

from __future__ import annotations

from dataclasses import dataclass

from hushfade.privacy.unit import Relation
from hushfade.privacy.unit_words import limit_words, one_stretch


@dataclass(frozen=True)
class ProtectedUnit:
    """The unit of privacy, and whether hushfade enforced its limits per person."""

    relation: Relation
    enforced: bool = False

    @property
    def _record(self) -> bool:
        return self.relation.single and not self.enforced

    @property
    def _limits(self) -> str:
        """The limits per person that a statement assumes; nothing if hushfade enforced them."""
        return "" if self.enforced else limit_words(self.relation)

    @property
    def _records(self) -> str:
        """The records of a renewed unit: 'a person's records from one calendar week (UTC)'."""
        stretch = f"a person's records from {one_stretch(self.relation)}"
        if self.enforced:
            return stretch
        relation = self.relation
        if relation.renewed != f"within {relation.steps}":
            relation = relation._replace(renewed=None, step=None)  # the stretch names the period
        return f"{stretch}, {limit_words(relation)},"

    @property
    def present(self) -> str:
        """That the unit is in the data."""
        if self._record:
            return "one particular record is in the data"
        if not self.relation.lifelong:
            return f"{self._records} are in the data"
        if self._limits:
            return f"one particular person, who has {self._limits}, is in the data"
        return "one particular person, with all their records, is in the data"

    @property
    def versions(self) -> str:
        """Two alternatives that neighbouring streams differ in, if they replace records."""
        if self._record:
            return "which of two values one particular record has"
        if not self.relation.lifelong:
            return f"which of two versions of {self._records} is in the data"
        whose = f"one particular person, who has {self._limits}," if self._limits else "one person"
        return f"which of two versions of all records of {whose} is in the data"

    def fact(self) -> str:
        """What the attacker starts out 50 % sure of."""
        added = self.relation.neighbours == "add_remove"
        return f"that {self.present}" if added else self.versions

    def guess(self) -> str:
        """What the attacker guesses."""
        added = self.relation.neighbours == "add_remove"
        return f"whether {self.present}" if added else self.versions

    def beyond(self) -> str | None:
        """Who is protected less than the numbers about the attacker say; None for nobody."""
        if self._record:
            return (
                "These numbers are for one record. A person with several records is protected less."
            )
        if not self.relation.lifelong:
            return (
                f"These numbers are for a person's records from {one_stretch(self.relation)}. A "
                "person with records from a longer time is protected less, and a guess about all "
                "of these records is right more often."
            )
        if self._limits:
            return "A person with more records than these limits allow is protected less."
        return None

    def hidden(self) -> str:
        """What the guarantee hides, and what it does not hide."""
        added = self.relation.neighbours == "add_remove"
        if self._record and added:
            return (
                "The guarantee hides whether one record is in the data, and with which value. It "
                "does not hide what several records of one person reveal together."
            )
        if self._record:
            return (
                "The guarantee hides the value and the key of one record. It does not hide whether "
                "the record exists, nor its step."
            )
        stretch = "" if self.relation.lifelong else one_stretch(self.relation)
        if stretch and added:
            return (
                f"The guarantee hides whether a person has records from {stretch}, and with which "
                "values. It does not hide whether a person with records from a longer time takes "
                "part."
            )
        if stretch:
            return (
                f"The guarantee hides the values and keys of a person's records from {stretch}. It "
                "does not hide whether the person has records, nor in which steps."
            )
        within = ", if the person keeps these limits" if self._limits else ""
        if added:
            return (
                "The guarantee hides whether the person is in the data, and with which "
                f"values{within}."
            )
        return (
            f"The guarantee hides the person's values and keys{within}. It does not hide whether "
            "the person has records, nor in which steps."
        )

    def two(self) -> str:
        """The two units that have a weaker guarantee together."""
        if self._record:
            return "Two records together have a weaker guarantee than one record"
        if self.relation.lifelong:
            return "Two people together have a weaker guarantee than one person"
        return (
            f"The records from {one_stretch(self.relation)} of two people, or twice from one "
            "person, have a weaker guarantee together"
        )

    def all_files(self, count: int) -> str:
        """The condition under which the losses of several files add up."""
        if self._record:
            return f"If all {count} files use the same records"
        return f"If all {count} files are about the same people"

    def no_two_files(self) -> str:
        """The condition under which they do not add up."""
        if self._record:
            return "If no record is in two files"
        return "If no person has records in two files"
