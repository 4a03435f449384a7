"""What `hushfade run` states about a run: who is protected, and what became of the records."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hushfade.cli import console
from hushfade.privacy.rounding import rounded_up
from hushfade.releases.files import companion

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan
    from hushfade.privacy.guarantee import Guarantee
    from hushfade.records import Reader


@dataclass(frozen=True)
class Promise:
    """The privacy of a run: whom the guarantee protects, and what keeps it."""

    guarantee: Guarantee
    person: bool  # a column says whose records they are
    unsafe: bool  # the noise has a known seed

    @property
    def sentence(self) -> str:
        """The guarantee, for what is really protected."""
        sentence = self.guarantee.sentence()
        if self.person:
            adding = self.guarantee.neighbours == "add_remove"
            # one record more may displace others of that person: the promise covers all of them
            who = "one person with all their records" if adding else "what one person's records say"
            sentence = self.guarantee.sentence(who)
        if self.unsafe:
            return f"NOT PRIVATE, because the seed is known. Otherwise: {sentence}"
        return sentence

    @property
    def unit(self) -> str:
        """What the guarantee protects."""
        return "person" if self.person else "record"

    @property
    def limits(self) -> str | None:
        """The limits of one person, and whether hushfade enforced them."""
        guarantee = self.guarantee
        limits = (
            f"at most {guarantee.records_per_step} in a step, in {guarantee.participations} steps "
            f"at most, these at least {guarantee.separation} apart"
        )
        if self.person:
            return f"hushfade counted the first records of each person: {limits}."
        if guarantee.participations > 1 or guarantee.records_per_step > 1:
            return (
                f"hushfade assumes, and does not enforce, that nobody has more records: {limits}."
            )
        return None

    def show(self, plan: Plan, steps: int | None, confidence: float) -> None:
        """Before anything is released: how private and how accurate the releases will be."""
        margin = float(plan.margins(steps or plan.horizon or 1000, confidence).max())
        console.note(self.sentence)
        if self.limits is not None:
            console.note(self.limits)
        within = f"within {rounded_up(margin)} of the true decayed sum"
        console.note(f"{100 * confidence:g} of 100 released values are {within}.")


@dataclass(frozen=True)
class Outcome:
    """What a run did.  The counts of records are for the operator only."""

    plan: Plan
    promise: Promise
    reader: Reader
    output: Path | None
    plot: Path | None

    @property
    def files(self) -> list[str]:
        """The files that were written."""
        return [str(path) for path in (self.output, self.plot) if path is not None]

    def show(self, steps: int, *, as_json: bool) -> None:
        """At the end."""
        counts = self.reader.counts
        if as_json:
            console.document(self._document(steps))
        else:
            if self.files:
                console.note(f"Written, with {steps} steps: {', '.join(self.files)}.")
            if self.output is not None:
                console.note(f"{companion(self.output)} contains the guarantee and the plan.")
            console.note(f"Not for publication: {counts.sentence()}.")
            if self.reader.first_fault is not None:
                console.note(f"The first malformed line: {self.reader.first_fault}.")
            if self.reader.stopped:
                console.note(
                    f"Not for publication: {self.reader.stopped} totals stopped at the plan's "
                    "largest total. Use shorter steps, or a coarser resolution."
                )
        if not counts.counted:
            console.note("Warning: no record was counted. The releases are noise alone.")

    def _document(self, steps: int) -> dict[str, object]:
        plan, promise, counts = self.plan, self.promise, self.reader.counts
        assert self.output is not None  # --json needs --output
        return {
            "releases": str(self.output),
            "companion": str(companion(self.output)),
            "files": self.files,
            "steps": steps,
            "keys": None if plan.keys is None else len(plan.keys),
            "guarantee": promise.sentence,
            "unit": promise.unit,
            "limits": promise.limits,
            "max_stddev": plan.max_stddev(steps) if steps else None,
            "plan": plan.digest.hex(),
            "not_for_publication": {
                **asdict(counts),
                "counted": counts.counted,
                "first_malformed": self.reader.first_fault,
                "stopped": self.reader.stopped,
            },
        }
