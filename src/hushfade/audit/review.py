"""audit(...) runs every check on every plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from traceback import extract_tb
from types import MappingProxyType
from typing import TypeAlias

from hushfade.audit.accuracy import accuracy, noise, sources, weights
from hushfade.audit.cases import every_kind, few
from hushfade.audit.distinguish import distinguish
from hushfade.audit.effort import FULL, MANY, QUICK, Size
from hushfade.audit.finding import FALSE_ALARM, Finding, exact
from hushfade.audit.independence import apart, bindings, fork, positions, starts
from hushfade.audit.likelihood_ratio import likelihood_ratio
from hushfade.audit.noise_probabilities import described
from hushfade.audit.plan_claims import promise
from hushfade.audit.precision import last_bits, precision
from hushfade.audit.randomness import Chance
from hushfade.audit.replay import fresh, keyed, traced, twice
from hushfade.audit.sampler import LAWS, sampler
from hushfade.audit.sensitivity import ends, records, sensitivity
from hushfade.audit.subject import Subject
from hushfade.audit.timing import timing
from hushfade.audit.totals import totals
from hushfade.errors import InvalidValue
from hushfade.laws import Gaussian, Law
from hushfade.planning.plan import Plan

Job: TypeAlias = Callable[[], list[Finding]]
Watch: TypeAlias = Callable[[int, int, str], None]
"""A callback for progress: the jobs done, the number of jobs, and the name of the next job."""

BROKEN = "audit"  # the name of the check that fails if another check raises an error
MOST = 80  # plans per run: the levels of the checks of one plan add up to at most 1.25e-8


@dataclass(frozen=True)
class Audit:
    """All findings of one run."""

    size: Size
    seed: int
    plans: Mapping[str, Plan]
    findings: Sequence[Finding]
    seconds: float
    began: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def failed(self) -> list[Finding]:
        """The findings that failed."""
        return [finding for finding in self.findings if finding.passed is False]

    @property
    def broken(self) -> bool:
        """True if checks raised errors and no check failed otherwise."""
        return bool(self.failed) and all(finding.check == BROKEN for finding in self.failed)

    @property
    def false_alarm(self) -> float:
        """The probability that a correct implementation fails this run: the sum of all levels."""
        return sum(finding.level for finding in self.findings)

    @property
    def smallest(self) -> float:
        """The smallest p-value."""
        return min((f.p for f in self.findings if f.p is not None), default=1.0)


def audit(
    plans: Mapping[str, Plan] | None = None,
    *,
    size: Size = QUICK,
    seed: int | None = None,
    subject: Subject | None = None,
    watch: Watch = lambda done, of, doing: None,
) -> Audit:
    """The findings of every check on every plan.

    Without `plans` the quick form audits a few plans, and the full form plans of all kinds.
    """
    began, before = datetime.now(UTC), perf_counter()
    chance = Chance(seed)
    if plans is not None and not plans:
        raise InvalidValue("plans must not be empty")
    chosen = few() if plans is None else plans
    more = every_kind() if plans is None and size == FULL else {}
    sampled = LAWS if plans is None else ()
    all_plans = {**chosen, **more}
    if len(all_plans) > MOST:
        raise InvalidValue(
            f"plans must be at most {MOST} for a false-alarm rate of {FALSE_ALARM:g}",
            got=len(all_plans),
            remedy="audit them in several runs",
        )
    findings = list(
        checked(subject or Subject(), chosen, size, chance, more=more, sampled=sampled, watch=watch)
    )
    return Audit(size, chance.seed, all_plans, findings, perf_counter() - before, began)


def checked(
    subject: Subject,
    plans: Mapping[str, Plan],
    size: Size,
    chance: Chance,
    *,
    more: Mapping[str, Plan] = MappingProxyType({}),
    sampled: Sequence[Law] = (),
    watch: Watch = lambda done, of, doing: None,
) -> Iterator[Finding]:
    """The findings, one at a time.

    The checks of `more` plans draw fewer samples.  `sampled` are the laws that the check of the
    sampler uses; by default it uses the laws of the plans.  A check that raises an error fails.
    The finding omits the error's message, because the message might contain noise.
    """
    jobs = list(_jobs(subject, plans, size, chance, sampled))
    for name, plan in more.items():
        jobs += _of_plan(subject, plan, name, MANY, chance)
    for done, (doing, job) in enumerate(jobs):
        watch(done, len(jobs), doing)
        try:
            findings = job()
        except Exception as error:
            findings = [exact(BROKEN, doing, "the check completes", _where(error), passed=False)]
        yield from findings
    watch(len(jobs), len(jobs), "done")


def _jobs(
    subject: Subject,
    plans: Mapping[str, Plan],
    size: Size,
    chance: Chance,
    sampled: Sequence[Law],
) -> Iterator[tuple[str, Job]]:
    """The jobs in their order, each with a name for the progress bar."""
    for name, plan in plans.items():
        yield from _of_plan(subject, plan, name, size, chance)
    first = next(iter(plans.items()))
    for law in sampled or dict.fromkeys(subject.plan(plan).law for plan in plans.values()):
        yield f"sampler, {described(law)}", partial(sampler, subject, law, size.draws, chance)
    for name, plan in [first] if sampled else plans.items():  # every plan that the user named
        yield f"{name}: precision attack", partial(precision, subject, plan, name, size, chance)
        yield f"{name}: second process", partial(twice, subject, plan, name, chance)
        yield f"{name}: near bindings", partial(bindings, subject, plan, name, chance)
    name, plan = first
    yield "far positions", partial(positions, subject, plan, chance)
    yield "fresh keys", partial(starts, subject, plan, size)
    yield "timing", partial(timing, subject, plan, name, size, chance)


def _of_plan(
    subject: Subject, plan: Plan, name: str, size: Size, chance: Chance
) -> Iterator[tuple[str, Job]]:
    """The jobs of one plan, exact checks first."""
    yield f"{name}: certificates", partial(promise, subject, plan, name)
    yield f"{name}: weights", partial(weights, subject, plan, name, chance)
    yield f"{name}: sensitivity", partial(sensitivity, subject, plan, name, chance)
    yield f"{name}: records", partial(records, subject, plan, name, chance)
    yield f"{name}: totals", partial(totals, subject, plan, name, chance)
    yield f"{name}: horizon", partial(ends, subject, plan, name, chance)
    yield f"{name}: last bits", partial(last_bits, subject, plan, name, chance)
    yield f"{name}: no second draw", partial(fresh, subject, plan, name, chance)
    yield f"{name}: replay", partial(keyed, subject, plan, name, chance)
    yield f"{name}: traces", partial(traced, subject, plan, name, chance)
    yield f"{name}: fork", partial(fork, subject, plan, name)
    yield f"{name}: noise apart", partial(apart, subject, plan, name, chance)
    yield f"{name}: noise in releases", partial(noise, subject, plan, name, size, chance)
    yield f"{name}: noise of every source", partial(sources, subject, plan, name, size, chance)
    yield f"{name}: released error", partial(accuracy, subject, plan, name, size, chance)
    gaussian = isinstance(subject.plan(plan).law, Gaussian)
    test = distinguish if gaussian else likelihood_ratio
    yield f"{name}: neighbouring streams", partial(test, subject, plan, name, size, chance)


def _where(error: Exception) -> str:
    """The type of the error, and the line that raised it."""
    last = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
