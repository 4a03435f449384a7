"""audit(...) runs every check on every plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from traceback import extract_tb
from typing import TypeAlias

from hushfade.audit.exact_checks import claims, private_half, sensitivity
from hushfade.audit.findings import BROKEN, QUICK, Audit, Chance, Finding, Size
from hushfade.audit.records import records
from hushfade.audit.replay_checks import replay
from hushfade.audit.sampled_checks import releases, sampler
from hushfade.audit.subject import Case, Subject
from hushfade.decays import Exponential, NoDecay, PowerLaw, SlidingWindow
from hushfade.errors import InvalidValue
from hushfade.planning.plan import Plan
from hushfade.planning.planner import plan as planned
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.unit import Person
from hushfade.public.statistics import Mean

Watch: TypeAlias = Callable[[int, int, str], None]
"""A callback for progress: the jobs done, the number of jobs, and the name of the next job."""

CHECKS: dict[str, Callable[[Case], Iterator[Finding]]] = {
    "claims": claims,
    "records": records,
    "private half": private_half,
    "sensitivity": sensitivity,
    "replay": replay,
    "sampler": sampler,
    "releases": releases,
}
MOST = 100  # plans per run: the levels of the checks of one plan add up to at most 1e-8


def usual_plans() -> dict[str, Plan]:
    """Six plans that differ in as many ways as possible: every law, relation, unit and method."""
    one, swap = Guarantee(1, 1e-6), Guarantee(2, 1e-8, neighbours="replace")
    often = Guarantee(1, 1e-6, protects=Person(steps=3, apart=2, records_per_step=2))
    day, week, keys = Exponential(half_life=8), SlidingWindow(length=7), ["a", "b", "c"]
    return {
        "Gaussian, 3 keys": planned(day, one, keys=keys, method="square_root"),
        "Gaussian, vectors of a person": planned(day, often, width=3, norm=1.0),
        "Laplace, replaced": planned(PowerLaw(power=1), swap, low=-1, high=2, law="laplace"),
        "Laplace, block sums": planned(NoDecay(), Guarantee(1, 0), horizon=64),
        "Huber, replaced in 3 keys": planned(day, swap, keys=keys, method="blend"),
        "Huber, mean": planned(week, one, statistic=Mean(low=0, high=60), law="huber"),
    }


def audit(
    plans: Mapping[str, Plan] | None = None,
    *,
    size: Size = QUICK,
    seed: int | None = None,
    subject: Subject | None = None,
    watch: Watch = lambda done, of, doing: None,
) -> Audit:
    """The findings of every check on every plan; without `plans`, on six plans of all kinds."""
    began, before, chance = datetime.now(UTC), perf_counter(), Chance(seed)
    chosen = usual_plans() if plans is None else dict(plans)
    if not 0 < len(chosen) <= MOST:
        remedy = "audit more plans in several runs, so that the false-alarm rate is below 1e-6"
        raise InvalidValue(f"must be 1 to {MOST}", argument="plans", got=len(chosen), remedy=remedy)
    found = list(checked(subject or Subject(), chosen, size, chance, watch))
    return Audit(size, chance.seed, chosen, found, perf_counter() - before, began)


def checked(
    subject: Subject, plans: Mapping[str, Plan], size: Size, chance: Chance, watch: Watch
) -> Iterator[Finding]:
    """The findings, one at a time.  A check that raises an error fails.

    The finding omits the error's message, because the message might contain noise.
    """
    done, of = 0, len(plans) * len(CHECKS)
    for name, plan in plans.items():
        case = Case(subject, plan, size, chance, first=not done)
        for check, work in CHECKS.items():
            watch(done, of, f"{name}: {check}")
            try:
                for found in work(case):
                    yield replace(found, check=check, plan=name)
            except Exception as error:
                last = extract_tb(error.__traceback__)[-1]
                where = f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
                yield Finding(check, "completes", where, passed=False, check=BROKEN, plan=name)
            done += 1
    watch(of, of, "done")
