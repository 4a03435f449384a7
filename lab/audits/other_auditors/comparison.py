"""Third-party auditors compared with the μ-test: all receive the same scores."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from hushfade import epsilon_of
from hushfade.check import Column
from lab.audits.effort import Size
from lab.audits.other_auditors.auditors import AUDITORS, Answer, Auditor, asked, offered
from lab.audits.other_auditors.scores import BROKEN, GUARANTEE, SOUND, Case, Scores, scored
from lab.environments import Absent
from lab.findings import Finding, Part
from lab.progress import progress

LEVEL = 5e-8  # of each bound; about fifteen bounds concern hushfade
ERRORS = 5.0  # standard errors above the claim at which the μ-test fails
LEAST_RATE = 1e-3  # of false alarms at a threshold, far above delta
SAME = "the same stream twice"  # two samples of one law: every positive bound is wrong

# Known from papers.  pip searches for these names and never installs them.
SOUGHT = ("dp-auditorium", "dp-sniper", "delta-siege", "statdp", "dp-finder", "checkdp")
# Not run, because they do not test mechanisms.
OTHERS = {
    "privacy-meter": "needs a trained model, and gives no epsilon",
    "opendp, diffprivlib, opacus": "have no auditor",
}


@dataclass(frozen=True)
class Claim:
    """A pair that the guarantee implies: its mu has an epsilon for every delta."""

    epsilon: float
    delta: float

    def allowed(self, *, takes_delta: bool) -> float:
        """The largest allowed ln(P / P') at the thresholds in use: ln(e^epsilon + delta / P')."""
        return self.epsilon if takes_delta else self.epsilon + self.delta / LEAST_RATE


# No number of copies shows events of probability 1e-6.  Auditors that count events are most
# powerful at a large delta.
CLAIMS = (
    Claim(GUARANTEE.epsilon, GUARANTEE.delta),
    Claim(epsilon_of(GUARANTEE.mu, delta=0.03), 0.03),
)


@dataclass(frozen=True)
class Asked:
    """One mechanism's scores, as every auditor receives them."""

    scores: Scores
    threshold: float


def part(size: Size) -> Part:
    """The lower bounds of each library for hushfade, and the broken mechanisms that it detects."""
    copies = size.draws // 100
    every = {
        case.name: scored(case, copies, 1 + place) for place, case in enumerate((SOUND, *BROKEN))
    }
    findings = [ours(every)]
    for auditor in AUDITORS:
        try:
            answers = [(claim, _asked(auditor, every, claim)) for claim in _claims(auditor)]
        except Absent as why:
            findings.append(_info(auditor.title, f"not installed, or no result: {why}"))
        else:
            findings += judged(auditor, answers)
    findings += _missing({name: offered(name) for name in SOUGHT})
    findings += [_info(name, why) for name, why in OTHERS.items()]
    for finding in findings:
        progress(f"peers, {finding.subject}: {finding.measurement}, {finding.verdict}")
    return Part("Other auditors", _sentence(copies), findings)


def prepared(scores: Scores, delta: float) -> Asked:
    """The scores for the auditors, with a threshold that a separate fifth of them chose."""
    cut = [len(column) // 5 for column in (scores.present, scores.absent)]
    chosen = _threshold(scores.present[: cut[0]], scores.absent[: cut[1]], delta)
    return Asked(Scores(scores.present[cut[0] :], scores.absent[cut[1] :]), chosen)


def same(sound: Asked) -> Asked:
    """Copies without the record, half of them labelled as copies with it."""
    absent = sound.scores.absent
    return Asked(Scores(absent[0::2], absent[1::2]), sound.threshold)


def packed(given: Mapping[str, Asked], delta: float) -> dict[str, Any]:
    """The arrays of the file that the scripts read."""
    arrays: dict[str, Any] = {"names": np.array(list(given)), "level": LEVEL, "delta": delta}
    for place, one in enumerate(given.values()):
        arrays[f"{place} present"] = one.scores.present
        arrays[f"{place} absent"] = one.scores.absent
        arrays[f"{place} threshold"] = one.threshold
    return arrays


def measured(scores: Scores) -> tuple[float, float]:
    """μ, the shift divided by the standard deviation, and its standard error."""
    a, b = scores.absent, scores.present
    mu = float((b.mean() - a.mean()) / math.sqrt((a.var() + b.var()) / 2.0))
    return mu, math.sqrt((1.0 / len(a) + 1.0 / len(b)) * (1.0 + mu * mu / 4.0))


def ours(every: Mapping[str, Scores]) -> Finding:
    """The finding of the μ-test on the same scores."""
    mu, error = measured(every[SOUND.name])
    caught = [case for case in BROKEN if _above(*measured(every[case.name]))]
    claim = f"μ ≤ {GUARANTEE.mu:.4f}"
    return Finding(
        "μ-test (ours)",
        claim,
        f"μ = {mu:.4f} ± {error:.4f}; {_tally(caught)}",
        not _above(mu, error) and len(caught) == len(BROKEN),
    )


def judged(auditor: Auditor, answers: Sequence[tuple[Claim, Answer]]) -> list[Finding]:
    """One finding per claim and method: a verdict, or the reason why there is none.

    A method that distinguishes two samples of the same stream at one claim gets no verdict at all.
    """
    found = []
    first = answers[0][1]
    for method in first.bounds[SOUND.name]:
        subject = ", ".join([" ".join([auditor.title, *first.versions.values()]), method])
        results = {
            claim: {case: bounds[method] for case, bounds in answer.bounds.items()}
            for claim, answer in answers
        }
        invented = max(_number(bounds[SAME]) for bounds in results.values())
        for claim, bounds in results.items():
            promised = f"epsilon ≤ {claim.epsilon:.4g} at delta = {claim.delta:g}"
            bound, nothing = bounds[SOUND.name], bounds[SAME]
            if isinstance(bound, str) or isinstance(nothing, str):
                why = f"failed: {bound if isinstance(bound, str) else nothing}"
                found.append(_info(subject, why, promised))
            elif invented > 0.0:
                why = (
                    f"not used: it states epsilon ≥ {invented:.3f} for two samples of the same "
                    f"stream, where 0 is true; so its result is no lower bound (here {bound:.3f})"
                )
                found.append(_info(subject, why, promised))
            else:
                allowed = claim.allowed(takes_delta=auditor.takes_delta)
                caught = [case for case in BROKEN if _accused(bounds[case.name], allowed)]
                measurement = f"epsilon ≥ {bound:.3f}; {_tally(caught)}"
                found.append(Finding(subject, promised, measurement, not _accused(bound, allowed)))
    return found


def _claims(auditor: Auditor) -> Sequence[Claim]:
    return CLAIMS if auditor.takes_delta else CLAIMS[:1]


def _number(bound: float | str) -> float:
    return 0.0 if isinstance(bound, str) else bound


def _info(subject: str, why: str, claim: str = "none") -> Finding:
    return Finding(subject, claim, why, None)


def _asked(auditor: Auditor, every: Mapping[str, Scores], claim: Claim) -> Answer:
    given = {name: prepared(scores, claim.delta) for name, scores in every.items()}
    given[SAME] = same(given[SOUND.name])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.npz"
        np.savez(path, **packed(given, claim.delta))
        return asked(auditor, path)


def _accused(bound: float | str, allowed: float) -> bool:
    # a string means that the library failed, or that its bound is infinite
    return bound == "inf" if isinstance(bound, str) else bound > allowed


def _above(mu: float, error: float) -> bool:
    return mu > GUARANTEE.mu + ERRORS * error


def _tally(caught: list[Case]) -> str:
    missed = [case.name for case in BROKEN if case not in caught]
    tail = f", not {', '.join(missed)}" if missed else ""
    return f"bugs caught {len(caught)} of {len(BROKEN)}{tail}"


def _threshold(present: Column, absent: Column, delta: float) -> float:
    """The threshold that maximizes ln((P - delta) / P') minus some of its standard errors."""
    rates = np.geomspace(0.9, LEAST_RATE, 100)
    candidates = np.quantile(absent, 1.0 - rates)
    hits = np.array([np.count_nonzero(present > at) for at in candidates]) / len(present)
    above = np.maximum(hits - delta, 1.0 / len(present))
    spread = hits * (1.0 - hits) / above**2 / len(present) + (1.0 - rates) / rates / len(absent)
    return float(candidates[np.argmax(np.log(above / rates) - ERRORS * np.sqrt(spread / 4.0))])


def _missing(found: Mapping[str, str | None]) -> list[Finding]:
    """One finding for all names that pip does not know, and one for each other name."""
    unknown = ", ".join(name for name, newest in found.items() if newest is None)
    lines = [_info(unknown, "pip finds no packages with these names")] if unknown else []
    for name, newest in found.items():
        if newest is not None:
            why = f"pip finds version {newest} under this name, which has not been reviewed"
            lines.append(_info(name, why))
    return lines


def _sentence(copies: int) -> str:
    return (
        f"About {copies:,} copies of each mechanism run with the record and as many without it, as "
        f"keys of one plan with mu = {GUARANTEE.mu:.4f} and fixed seeds.  Every auditor receives "
        "the same scores, from the most powerful attack, so the table compares their statistics "
        f"alone.  A fifth of the copies chooses the threshold.  Each library's bound is wrong with "
        f"probability {LEVEL:g}; the μ-test fails at {ERRORS:g} standard errors above the claim.  "
        "One mu has an epsilon for every delta, and auditors that count events detect more at a "
        f"large delta.  Each auditor also received {len(BROKEN)} mechanisms with one bug each: "
        f"{', '.join(case.name for case in BROKEN)}.  An auditor may miss some of them, but it "
        "must not report a violation by hushfade.  A method that distinguishes two samples of the "
        f"same stream is not used.  Package names searched on {date.today()}."
    )
