"""The report of an audit: in a sentence, as plain data, as Markdown, as one HTML file."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from hushfade.audit.finding import COINCIDENCE, LEVEL, Finding
from hushfade.audit.review import Audit
from hushfade.paper.web import web
from hushfade.planning.plan import Plan
from hushfade.planning.summary import facts

LETTERS = """\
- A record is put on a grid, and so is what crosses from the private to the public half: a *unit*
  is one step of it.
- x are the totals of the steps. y = R̃ x + z is what crosses, in whole units; z is its noise, with
  standard deviation σ. s = L y is released.
- Δx is how one person's records may change x, and R̃ Δx by how much that moves y. With Gaussian
  noise the guarantee is ‖R̃ Δx‖ ≤ σ μ. With Laplace or Huber noise each shift of R̃ Δx has a privacy
  loss, and the guarantee is about their sum.
- *told*: said without a verdict, because nothing is claimed, or too little could be looked at.
- What each check shows, and what none can show: The audit, in hushfade's documentation."""
COLUMNS = ("verdict", "check", "claim", "measurement", "confidence")

# what is in each check, in the order of the report
CHECKS = {
    "certificates": "The plan's own numbers, computed anew by integers, fractions and decimals.",
    "sensitivity": "Two neighbouring inputs under the same noise: what crosses differs by R̃ Δx in "
    "whole units. For Gaussian noise its norm is at most σ μ; for other laws the plan accounts for "
    "every shift. No chance is in it.",
    "records": "Records of any size, through the door for records: each is clipped, or refused.",
    "horizon": "What a plan for so many steps does after them.",
    "no second draw": "Fresh noise and saved states: no published step is drawn again.",
    "fork": "What a forked child may do with its parent's stream and noise.",
    "noise apart": "Noise that must have nothing in common.",
    "noise in releases": "z = y - R̃ x, recovered from releases in whole units: its law, at empty "
    "steps too, its independence between steps and keys.",
    "released error": "Many copies of the plan: the error's mean, deviation and covariance.",
    "μ-test": "The best test of two neighbouring streams with Gaussian noise: the shift of the "
    "likelihood ratio over its standard deviation, ± one standard error.",
    "likelihood ratio": "The best test for noise of other laws: the mean and the law of the "
    "privacy loss, and δ(ε) at several ε, against what the plan claims.",
    "epsilon from below": "How often the likelihood ratio is large under either stream, with the "
    "limits of Clopper and Pearson.",
    "sampler": "χ² of draws against probabilities that are computed without the sampler's table.",
    "precision attack": "Bits that what crossed does not explain, or that one of two inputs has.",
    "replay": "Keyed noise: the same input has the same bytes, however it is run.",
    "fresh keys": "Many streams with fresh noise: no two alike.",
    "timing": "Told without a verdict: the time of the host is outside the guarantee.",
    "audit": "Checks that broke down.",
}


@dataclass(frozen=True)
class Line:
    """All findings of one check in one line."""

    check: str
    count: int  # with a verdict
    failed: int
    told: int  # without one
    smallest: float | None  # p-value
    example: Finding  # the worst of them

    @property
    def passed(self) -> str:
        """How many passed, of those that have a verdict, and how many are told."""
        shown = [f"{self.count - self.failed} of {self.count}"] if self.count else []
        told = [f"{self.told} told" if self.count else "told"] if self.told else []
        return ", ".join(shown + told)


def lines(findings: Sequence[Finding]) -> list[Line]:
    """The checks, each with its worst finding: one that failed, or that with the smallest p."""
    found = []
    for check, group in _grouped(findings):
        ps = [finding.p for finding in group if finding.p is not None]
        worst = min(group, key=lambda f: (f.passed is not False, 1.0 if f.p is None else f.p))
        failed = sum(finding.passed is False for finding in group)
        told = sum(finding.passed is None for finding in group)
        count = len(group) - told
        found.append(Line(check, count, failed, told, min(ps, default=None), worst))
    return found


def summary(audit: Audit) -> str:
    """How many checks there were, and how they went.

    >>> from hushfade.audit import QUICK
    >>> from hushfade.audit.finding import exact
    >>> same = exact("replay", "a plan", "the same bytes", "0 differ", passed=True)
    >>> summary(Audit(QUICK, 1, {}, (same,), 0.1))
    '1 check: 1 passed, 0 failed.'
    """
    verdicts = [finding.passed for finding in audit.findings]
    told = verdicts.count(None)
    checks = f"{len(verdicts)} {'check' if len(verdicts) == 1 else 'checks'}"
    return (
        f"{checks}: {verdicts.count(True)} passed, {verdicts.count(False)} failed"
        + (f", {told} told without a verdict" if told else "")
        + "."
    )


def confidence(audit: Audit) -> str:
    """The false-alarm rate, said with what it is made of."""
    statistical = sum(finding.level > COINCIDENCE for finding in audit.findings)
    draws = sum(finding.level == COINCIDENCE for finding in audit.findings)
    smallest = f"{audit.smallest:.2g}" if audit.smallest >= 1e-300 else "below 1e-300"
    return (
        f"{statistical} of the checks are statistical. Each fails below p = {LEVEL:g}, some on two "
        "conditions, so that a right implementation fails such a run with a probability of about "
        f"{audit.false_alarm:.1g}; the smallest p was {smallest}. {draws} look for draws that come "
        f"again, by chance in {COINCIDENCE:g} each. The others have no chance in them."
    )


def statement(audit: Audit) -> str:
    """What the run has shown, and what no such run can show."""
    if audit.broken:
        broken = ", ".join(finding.subject for finding in audit.failed)
        return (
            f"Nothing is shown of what broke down ({broken}); the other checks passed. "
            f"Seed {audit.seed} repeats the run."
        )
    if audit.failed:
        names = ", ".join(dict.fromkeys(finding.check for finding in audit.failed))
        return (
            f"This implementation does not keep its promise here: {names}. Do not publish with it. "
            f"Seed {audit.seed} repeats the run."
        )
    return (
        "Shown, on this machine and for these plans: what is released has the noise that the plan "
        "states, no change that was tried moves it farther than the guarantee allows, and no step "
        "is drawn twice within one process. Not shown: that nothing else can go wrong, how values "
        "that were published before were made, that the operating system's random numbers cannot "
        "be guessed, and what a new process does with an old state, which only a store knows."
    )


def document(audit: Audit) -> dict[str, Any]:
    """The whole audit as plain data."""
    return {
        "size": asdict(audit.size),
        "began": audit.began.isoformat(timespec="seconds"),
        "seed": audit.seed,
        "plans": [{"plan": name} | _described(plan) for name, plan in audit.plans.items()],
        "seconds": round(audit.seconds, 3),
        "passed": not audit.failed,
        "summary": summary(audit),
        "false_alarm": audit.false_alarm,
        "level": LEVEL,
        "smallest_p": audit.smallest,
        "statement": statement(audit),
        "machine": machine(),
        "findings": [{**asdict(f), "verdict": f.verdict} for f in audit.findings],
    }


def machine() -> str:
    """What the run was made on, with no name of the host."""
    import numpy
    import scipy

    import hushfade

    versions = f"numpy {numpy.__version__}, scipy {scipy.__version__}"
    return (
        f"hushfade {hushfade.__version__}, Python {platform.python_version()}, {versions}, "
        f"{platform.system()} {platform.machine()}"
    )


def markdown(audit: Audit) -> str:
    """The whole audit as a page."""
    failures = [_failures(audit)] if audit.failed else []
    parts = [
        f"# {plainly(_title(audit))}",
        f"Written by `hushfade audit`, the {audit.size.name} form, {audit.began:%Y-%m-%d %H:%M} "
        f"UTC, seed {audit.seed}, {audit.seconds:.0f} s. {machine()}.",
        f"**{summary(audit)}**",
        *failures,
        plainly(statement(audit)),
        confidence(audit),
        f"## {'Plan' if len(audit.plans) == 1 else 'Plans'}",
        *(_listed(name, plan) for name, plan in audit.plans.items()),
        f"## Letters and words\n\n{LETTERS}",
        *sections(audit.findings),
    ]
    return "\n\n".join(parts) + "\n"


def _title(audit: Audit) -> str:
    names = list(audit.plans)
    return f"Audit of {' '.join(names[0].split()) if len(names) == 1 else f'{len(names)} plans'}"


def sections(findings: Sequence[Finding]) -> Iterator[str]:
    """A heading, a sentence and a table for each check."""
    for check, group in _grouped(findings):
        rows = [(f.verdict, f.subject, f.claim, f.measurement, f.confidence) for f in group]
        heading = check[0].upper() + check[1:] if check[0].isascii() else check
        yield f"## {heading}\n\n{CHECKS[check]}\n\n{_table(COLUMNS, rows)}"


def plainly(text: str) -> str:
    r"""The text in one line of Markdown that shows it as it is: plans are named by others.

    >>> print(plainly("<b>a|b</b> [c]"))
    \<b\>a\|b\</b\> \[c\]
    """
    return re.sub(r"([\\`*_\[\]<>&|])", r"\\\1", " ".join(text.split()))


def html(audit: Audit) -> str:
    """The page as one file that needs no other, light and dark."""
    page = web(_title(audit), markdown(audit), Path())
    contents = re.search(r"<nav .*?</nav>", page, re.DOTALL)
    if contents is not None:  # the verdict first
        page = page.replace(contents[0], "", 1).replace("<h2", contents[0] + "<h2", 1)
    page = page.replace("</style>", "li { overflow-wrap: anywhere; }\n</style>", 1)
    page = page.replace("<td>passed</td>", '<td class="holds">passed</td>')
    return page.replace("<td>FAILED</td>", '<td class="false">FAILED</td>')


def _grouped(findings: Sequence[Finding]) -> list[tuple[str, list[Finding]]]:
    order = {check: place for place, check in enumerate(CHECKS)}
    placed = sorted(findings, key=lambda finding: order[finding.check])
    return [(check, list(group)) for check, group in groupby(placed, key=lambda f: f.check)]


def _described(plan: Plan) -> dict[str, str]:
    """What the plan is, and the digest by which it is known again."""
    return {
        **dict(facts(plan)),
        "guarantee": plan.guarantee.sentence(),
        "digest": plan.digest.hex(),
    }


def _listed(name: str, plan: Plan) -> str:
    """The same as a list."""
    told = [f"- {what}: {plainly(text)}" for what, text in _described(plan).items()]
    return "\n".join([f"**{plainly(name)}**", "", *told])


def _failures(audit: Audit) -> str:
    """What failed, before all that did not."""
    return "\n".join(
        f"- **FAILED**, {f.check}, {plainly(f.subject)}: {plainly(f.claim)}; found: "
        f"{plainly(f.measurement)} ({plainly(f.confidence)})"
        for f in audit.failed
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [[plainly(cell) for cell in row] for row in (columns, *rows)]
    listed = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([listed[0], "|" + "---|" * len(columns), *listed[1:]])
