"""The statements of `hushfade run`: the guarantee before the run, and a summary after it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hushfade.cli import console
from hushfade.planning import promise
from hushfade.planning.epochs import Epochs
from hushfade.privacy.rounding import rounded_up
from hushfade.releases.files import companion

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan
    from hushfade.records import Reader
    from hushfade.store import Reader as StoreReader


@dataclass(frozen=True)
class Promise:
    """The guarantee of a run: whom it protects, and under which limits."""

    plan: Plan
    person: bool  # hushfade knows the person behind each record
    unsafe: bool = False  # the noise has a known seed
    epochs: Epochs | None = None  # of a stored stream; None: the plan's own guarantee

    @classmethod
    def of_stream(cls, reader: StoreReader, name: str) -> Promise:
        """The guarantee of all releases of a stream in a store."""
        plan = reader.plan(name)
        epochs = Epochs(plan, reader.guarantee(name), reader.epoch(name) + 1)
        return cls(plan, reader.enforces(name), epochs=epochs)

    @property
    def sentence(self) -> str:
        """The guarantee in words, for the unit that this run protects."""
        guarantee = None if self.epochs is None else self.epochs.guarantee
        return promise.sentence(
            self.plan, enforced=self.person, guarantee=guarantee, unsafe=self.unsafe
        )

    @property
    def unit(self) -> str:
        """The unit of privacy: 'person' or 'record'."""
        return "person" if self.person else "record"

    @property
    def limits(self) -> str | None:
        """The limits per person, and whether hushfade enforces them."""
        return promise.limits(self.plan, enforced=self.person)

    def show(self, plan: Plan, steps: int | None, confidence: float) -> None:
        """Print how private and how accurate the releases will be, before any release."""
        console.note(self.sentence)
        if self.person and self.limits is not None:  # else the sentence has them
            console.note(self.limits)
        if plan.statistic is not None:
            name = plan.statistic.name
            name = {"quantiles": "quantile", "histogram": "count"}.get(name, name)
            clipped = "" if name in ("share", "count") else "clipped "
            console.note(
                f"The interval of each released {name} contains the true {name} of the "
                f"{clipped}records with a probability of at least {100 * confidence:g} %."
            )
            return
        margin = float(plan.margins(steps or plan.horizon or 1000, confidence).max())
        within = f"within {rounded_up(margin)} of the true decayed sum"
        console.note(f"{100 * confidence:g} % of the released values are {within}.")


@dataclass(frozen=True)
class Outcome:
    """The summary of a run.  The counts of records are for the operator only."""

    plan: Plan
    promise: Promise
    reader: Reader
    output: Path | None
    plot: Path | None

    @property
    def files(self) -> list[str]:
        """The files that the run wrote."""
        return [str(path) for path in (self.output, self.plot) if path is not None]

    def show(self, steps: int, *, as_json: bool) -> None:
        """Print the summary after the last of `steps` steps."""
        counts = self.reader.counts
        if as_json:
            console.document(self._document(steps))
        else:
            if self.files:
                count = "1 step" if steps == 1 else f"{steps} steps"
                console.note(f"Wrote {count} to {', '.join(self.files)}.")
            if self.output is not None:
                console.note(f"{companion(self.output)} contains the guarantee and the plan.")
            console.note(f"Not for publication: {counts.sentence()}.")
            if self.reader.first_fault is not None:
                console.note(f"The first malformed line: {self.reader.first_fault}.")
            if self.reader.stopped:
                console.note(
                    f"Not for publication: hushfade cut {self.reader.stopped} totals to the "
                    "plan's largest total. Use shorter steps, or a coarser resolution."
                )
        if not counts.counted:
            console.note("Warning: hushfade counted no record. The releases contain only noise.")

    def _document(self, steps: int) -> dict[str, object]:
        plan, said, counts = self.plan, self.promise, self.reader.counts
        assert self.output is not None  # --json needs --output
        return {
            "releases": str(self.output),
            "companion": str(companion(self.output)),
            "files": self.files,
            "steps": steps,
            "keys": None if plan.keys is None else len(plan.keys),
            "guarantee": said.sentence,
            "unit": said.unit,
            "limits": said.limits,
            "max_stddev": plan.max_stddev(steps) if steps else None,
            "plan": plan.digest.hex(),
            "not_for_publication": {
                **asdict(counts),
                "counted": counts.counted,
                "first_malformed": self.reader.first_fault,
                "stopped": self.reader.stopped,
            },
        }
