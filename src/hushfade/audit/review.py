"""audit(...) runs every check on every plan, and describes what it found."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from time import perf_counter
from traceback import extract_tb
from typing import Any, NamedTuple, TypeAlias

from hushfade.audit.exact_checks import claims, private_half, records, sensitivity
from hushfade.audit.findings import (
    BROKEN,
    COINCIDENCE,
    FALSE_ALARM,
    LEVEL,
    QUICK,
    Audit,
    Chance,
    Finding,
    Size,
)
from hushfade.audit.replay_checks import fresh_starts, replay, second_draws, unrelated
from hushfade.audit.sampled_checks import releases, sampler
from hushfade.audit.subject import Subject
from hushfade.errors import InvalidValue
from hushfade.planning.plan import Plan
from hushfade.planning.planner import plan as planned
from hushfade.planning.summary import facts
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.unit import Person

Watch: TypeAlias = Callable[[int, int, str], None]
"""A callback for progress: the jobs done, the number of jobs, and the name of the next job."""

MOST = 100  # plans per run: the levels of the checks of one plan add up to at most 1e-8


def usual_plans() -> dict[str, Plan]:
    """Six plans that differ in as many ways as possible: every law, relation, unit and method."""
    from hushfade.decays import Exponential, NoDecay, PowerLaw, SlidingWindow
    from hushfade.public.statistics import Mean

    one, swap = Guarantee(1, 1e-6), Guarantee(2, 1e-8, neighbours="replace")
    person = Guarantee(1, 1e-6, protects=Person(steps=3, apart=2, records_per_step=2))
    return {
        "Gaussian, 3 keys": planned(
            Exponential(half_life=8), one, keys=["a", "b", "c"], method="square_root"
        ),
        "Gaussian, vectors of a person": planned(
            Exponential(half_life=3), person, width=3, norm=1.0
        ),
        "Laplace, replaced": planned(PowerLaw(power=1), swap, low=-1, high=2, law="laplace"),
        "Laplace, block sums": planned(NoDecay(), Guarantee(1, 0), horizon=64),
        "Huber, replaced in 2 keys": planned(
            Exponential(half_life=24), swap, keys=["a", "b"], method="blend"
        ),
        "Huber, mean": planned(
            SlidingWindow(length=5), one, statistic=Mean(low=0, high=60), law="huber"
        ),
    }


def audit(
    plans: Mapping[str, Plan] | None = None,
    *,
    size: Size = QUICK,
    seed: int | None = None,
    subject: Subject | None = None,
    watch: Watch = lambda done, of, doing: None,
) -> Audit:
    """The findings of every check on every plan; without `plans`, on plans of every law."""
    began, before = datetime.now(UTC), perf_counter()
    if plans is not None and not plans:
        raise InvalidValue("plans must not be empty")
    chosen = usual_plans() if plans is None else dict(plans)
    if len(chosen) > MOST:
        raise InvalidValue(
            f"plans must be at most {MOST} for a false-alarm rate of {FALSE_ALARM:g}",
            got=len(chosen),
            remedy="audit them in several runs",
        )
    chance = Chance(seed)
    found = list(_checked(subject or Subject(), chosen, size, chance, watch))
    return Audit(size, chance.seed, chosen, found, perf_counter() - before, began)


def _checked(
    subject: Subject, plans: Mapping[str, Plan], size: Size, chance: Chance, watch: Watch
) -> Iterator[Finding]:
    """The findings, one at a time.  A check that raises an error fails.

    The finding omits the error's message, because the message might contain noise.
    """
    jobs: list[tuple[str, Callable[[], Iterator[Finding]]]] = []
    for name, plan in plans.items():
        alone, given = name == next(iter(plans)), (subject, plan, name)
        jobs += [
            (f"{name}: claims", partial(claims, *given, chance)),
            (f"{name}: records", partial(records, *given, chance)),
            (f"{name}: R̃ x", partial(private_half, *given, chance)),
            (f"{name}: sensitivity", partial(sensitivity, *given, chance)),
            (f"{name}: replay", partial(replay, *given, chance, alone=alone)),
            (f"{name}: older states", partial(second_draws, *given, chance)),
            (f"{name}: similar noise", partial(unrelated, *given, chance)),
            (f"{name}: sampler", partial(sampler, *given, size, chance)),
            (f"{name}: releases", partial(releases, *given, size, chance)),
        ]
        if alone:
            jobs.append((f"{name}: fresh starts", partial(fresh_starts, *given, size)))
    for done, (doing, job) in enumerate(jobs):
        watch(done, len(jobs), doing)
        try:
            yield from list(job())
        except Exception as error:
            last = extract_tb(error.__traceback__)[-1]
            where = f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
            yield Finding(BROKEN, doing, "the check completes", where, passed=False)
    watch(len(jobs), len(jobs), "done")


# Report ---------------------------------------------------------------------------------------


class Line(NamedTuple):
    """A summary of all findings of one check."""

    check: str
    passed: str  # how many of how many, and how many without a verdict
    failed: int
    smallest: float | None  # p-value
    example: Finding  # one that failed, or has the smallest p-value


def lines(findings: Sequence[Finding]) -> list[Line]:
    """One line per check."""
    found = []
    for check, group in groupby(sorted(findings, key=lambda f: f.check), key=lambda f: f.check):
        some = list(group)
        verdicts = [one.passed for one in some]
        info, failed = verdicts.count(None), verdicts.count(False)
        passed = f"{verdicts.count(True)} of {len(some) - info}" + (
            f", {info} info" if info else ""
        )
        worst = min(some, key=lambda f: (f.passed is not False, 1.0 if f.p is None else f.p))
        ps = [one.p for one in some if one.p is not None]
        found.append(Line(check, passed, failed, min(ps, default=None), worst))
    return found


def summary(audit: Audit) -> str:
    """The number of checks, and how many passed, failed or had no verdict."""
    verdicts = [finding.passed for finding in audit.findings]
    info = verdicts.count(None)
    return (
        f"{len(verdicts)} checks: {verdicts.count(True)} passed, {verdicts.count(False)} failed"
        + (f", {info} without a verdict" if info else "")
        + "."
    )


def confidence(audit: Audit) -> str:
    """The false-alarm rate of the run, and what it consists of."""
    statistical = sum(finding.level > COINCIDENCE for finding in audit.findings)
    smallest = f"{audit.smallest:.2g}" if audit.smallest >= 1e-300 else "below 1e-300"
    return (
        f"{statistical} checks are statistical: each fails if its p-value is below {LEVEL:g}. The "
        f"smallest p-value was {smallest}. The others are exact, or look for repeated draws. A "
        f"correct implementation fails this run with a probability of about {audit.false_alarm:.1g}."
    )


def statement(audit: Audit) -> str:
    """What this run has shown, and what no audit can show."""
    repeats = f"Seed {audit.seed} repeats the run."
    if audit.broken:
        broken = ", ".join(finding.subject for finding in audit.failed)
        return (
            f"Some checks did not complete and show nothing: {broken}. The other checks passed. "
            f"{repeats}"
        )
    if audit.failed:
        names = ", ".join(dict.fromkeys(finding.check for finding in audit.failed))
        return (
            f"This implementation does not keep its promise here. Failed checks: {names}. Do not "
            f"publish its releases. {repeats}"
        )
    return (
        "On this machine and for these plans, the releases have the noise that the plan states, no "
        "tested change of the input moves them farther than the guarantee allows, and no step is "
        "drawn twice within one process. An audit cannot show that no other fault exists, how "
        "earlier releases were made, or that the operating system's random numbers are "
        "unpredictable. Only a store prevents that a new process draws again from an old state."
    )


def document(audit: Audit) -> dict[str, Any]:
    """The complete audit as plain data, ready for JSON."""
    from hushfade import __version__

    return {
        "size": asdict(audit.size),
        "began": audit.began.isoformat(timespec="seconds"),
        "seed": audit.seed,
        "plans": [
            {"plan": name, **dict(facts(plan)), "digest": plan.digest.hex()}
            | {"guarantee": plan.guarantee.sentence(every=plan.every)}
            for name, plan in audit.plans.items()
        ],
        "seconds": round(audit.seconds, 3),
        "passed": not audit.failed,
        "summary": summary(audit),
        "false_alarm": audit.false_alarm,
        "level": LEVEL,
        "smallest_p": audit.smallest,
        "statement": statement(audit),
        "machine": f"hushfade {__version__}, Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}",
        "findings": [
            asdict(f) | {"verdict": f.verdict, "confidence": f.confidence} for f in audit.findings
        ],
    }
