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

from dev.audits.effort import Size
from dev.audits.other_auditors.auditors import AUDITORS, Answer, Auditor, asked, offered
from dev.audits.other_auditors.scores import BROKEN, GUARANTEE, SOUND, Case, Scores, scored
from dev.environments import Absent
from dev.findings import Finding, Part
from dev.progress import progress
from hushfade import epsilon_of
from hushfade.check import Column

LEVEL = 5e-8  # of each bound: some fifteen of them speak of hushfade
ERRORS = 5.0  # standard errors above its claim at which the μ-test accuses
LEAST_RATE = 1e-3  # of false alarms at a threshold, far above delta
SAME = "the same stream twice"  # two samples of one law: no bound but 0 is one

# Known from papers; looked for by these names, never installed from them.
SOUGHT = ("dp-auditorium", "dp-sniper", "delta-siege", "statdp", "dp-finder", "checkdp")
# Seen and not run: what they test is no mechanism.
OTHERS = {
    "privacy-meter": "asks for a trained model, and gives no epsilon",
    "opendp, diffprivlib, opacus": "have no auditor",
}


@dataclass(frozen=True)
class Claim:
    """One of the pairs that the guarantee promises: its mu has an epsilon for every delta."""

    epsilon: float
    delta: float

    def allowed(self, *, takes_delta: bool) -> float:
        """What P / P' is allowed, as ln, at the thresholds in use: ln(e^epsilon + delta / P')."""
        return self.epsilon if takes_delta else self.epsilon + self.delta / LEAST_RATE


# Events of probability 1e-6 are beyond any number of copies.  At a large delta an auditor that
# counts events is at its best.
CLAIMS = (
    Claim(GUARANTEE.epsilon, GUARANTEE.delta),
    Claim(epsilon_of(GUARANTEE.mu, delta=0.03), 0.03),
)


@dataclass(frozen=True)
class Asked:
    """One mechanism's scores as they are given to every auditor."""

    scores: Scores
    threshold: float


def part(size: Size) -> Part:
    """The lower bounds of each library for hushfade, and which broken mechanisms it notices."""
    copies = size.draws // 100
    every = {
        case.name: scored(case, copies, 1 + place) for place, case in enumerate((SOUND, *BROKEN))
    }
    findings = [ours(every)]
    for auditor in AUDITORS:
        try:
            answers = [(claim, _asked(auditor, every, claim)) for claim in _claims(auditor)]
        except Absent as why:
            findings.append(_told(auditor.title, f"not installed, or no answer: {why}"))
        else:
            findings += judged(auditor, answers)
    findings += _missing({name: offered(name) for name in SOUGHT})
    findings += [_told(name, why) for name, why in OTHERS.items()]
    for finding in findings:
        progress(f"peers, {finding.subject}: {finding.measurement}, {finding.verdict}")
    return Part("Other auditors", _sentence(copies), findings)


def prepared(scores: Scores, delta: float) -> Asked:
    """A fifth of the scores chooses the threshold; the rest is what auditors are given."""
    cut = [len(column) // 5 for column in (scores.present, scores.absent)]
    chosen = _threshold(scores.present[: cut[0]], scores.absent[: cut[1]], delta)
    return Asked(Scores(scores.present[cut[0] :], scores.absent[cut[1] :]), chosen)


def same(sound: Asked) -> Asked:
    """Copies without the record, one half of them taken for copies with it."""
    absent = sound.scores.absent
    return Asked(Scores(absent[0::2], absent[1::2]), sound.threshold)


def packed(given: Mapping[str, Asked], delta: float) -> dict[str, Any]:
    """The arrays of the file that scripts read."""
    arrays: dict[str, Any] = {"names": np.array(list(given)), "level": LEVEL, "delta": delta}
    for place, one in enumerate(given.values()):
        arrays[f"{place} present"] = one.scores.present
        arrays[f"{place} absent"] = one.scores.absent
        arrays[f"{place} threshold"] = one.threshold
    return arrays


def measured(scores: Scores) -> tuple[float, float]:
    """μ, the shift over the standard deviation, and one standard error."""
    a, b = scores.absent, scores.present
    mu = float((b.mean() - a.mean()) / math.sqrt((a.var() + b.var()) / 2.0))
    return mu, math.sqrt((1.0 / len(a) + 1.0 / len(b)) * (1.0 + mu * mu / 4.0))


def ours(every: Mapping[str, Scores]) -> Finding:
    """The μ-test on the same scores."""
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
    """A finding for each claim and method: a verdict if it bounds anything, else why it does not.

    A method that once tells a stream from itself is not believed at the other claim either.
    """
    found = []
    first = answers[0][1]
    for method in first.bounds[SOUND.name]:
        subject = ", ".join([" ".join([auditor.title, *first.versions.values()]), method])
        said = {
            claim: {case: bounds[method] for case, bounds in answer.bounds.items()}
            for claim, answer in answers
        }
        invented = max(_number(bounds[SAME]) for bounds in said.values())
        for claim, bounds in said.items():
            promised = f"epsilon ≤ {claim.epsilon:.4g} at delta = {claim.delta:g}"
            bound, nothing = bounds[SOUND.name], bounds[SAME]
            if isinstance(bound, str) or isinstance(nothing, str):
                why = f"failed: {bound if isinstance(bound, str) else nothing}"
                found.append(_told(subject, why, promised))
            elif invented > 0.0:
                why = (
                    f"not used: it tells a stream from itself, by epsilon ≥ {invented:.3f} where 0 "
                    f"is true, so that what it says is no lower bound (here {bound:.3f})"
                )
                found.append(_told(subject, why, promised))
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


def _told(subject: str, why: str, claim: str = "none") -> Finding:
    return Finding(subject, claim, why, None)


def _asked(auditor: Auditor, every: Mapping[str, Scores], claim: Claim) -> Answer:
    given = {name: prepared(scores, claim.delta) for name, scores in every.items()}
    given[SAME] = same(given[SOUND.name])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.npz"
        np.savez(path, **packed(given, claim.delta))
        return asked(auditor, path)


def _accused(bound: float | str, allowed: float) -> bool:
    # a word stands for no number: the library failed, or its bound is infinite
    return bound == "inf" if isinstance(bound, str) else bound > allowed


def _above(mu: float, error: float) -> bool:
    return mu > GUARANTEE.mu + ERRORS * error


def _tally(caught: list[Case]) -> str:
    missed = [case.name for case in BROKEN if case not in caught]
    tail = f", not {', '.join(missed)}" if missed else ""
    return f"bugs caught {len(caught)} of {len(BROKEN)}{tail}"


def _threshold(present: Column, absent: Column, delta: float) -> float:
    """Where ln((P - delta) / P') less some of its standard errors in the rest is largest."""
    rates = np.geomspace(0.9, LEAST_RATE, 100)
    candidates = np.quantile(absent, 1.0 - rates)
    hits = np.array([np.count_nonzero(present > at) for at in candidates]) / len(present)
    above = np.maximum(hits - delta, 1.0 / len(present))
    spread = hits * (1.0 - hits) / above**2 / len(present) + (1.0 - rates) / rates / len(absent)
    return float(candidates[np.argmax(np.log(above / rates) - ERRORS * np.sqrt(spread / 4.0))])


def _missing(found: Mapping[str, str | None]) -> list[Finding]:
    """The names that pip does not know in one line, the others one by one."""
    unknown = ", ".join(name for name, newest in found.items() if newest is None)
    lines = [_told(unknown, "pip finds no packages of these names")] if unknown else []
    for name, newest in found.items():
        if newest is not None:
            why = f"pip finds version {newest} under this name, which nobody here has looked at"
            lines.append(_told(name, why))
    return lines


def _sentence(copies: int) -> str:
    return (
        f"Some {copies:,} copies of each mechanism with the record and as many without, as keys of "
        f"one plan, mu = {GUARANTEE.mu:.4f}; seeds are fixed.  Every auditor is given the same "
        "scores, those of the best attack there is, so that statistics alone are compared; a fifth "
        f"of the copies chooses the threshold.  A bound is wrong with probability {LEVEL:g}, as "
        f"each library computes it; the μ-test accuses at {ERRORS:g} standard errors above the "
        "claim.  One mu has an epsilon for every delta: at a large one, auditors that count events "
        f"see more.  Beside hushfade each was given {len(BROKEN)} mechanisms with one thing wrong: "
        f"{', '.join(case.name for case in BROKEN)}.  That an auditor misses some is no failure "
        "here, that it accuses hushfade would be one.  A method that tells a stream from itself is "
        f"not used.  Looked for on {date.today()}."
    )
