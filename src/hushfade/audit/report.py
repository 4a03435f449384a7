"""The report of an audit as a sentence, as plain data, as Markdown, and as one HTML file."""

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
from hushfade.audit.web import web
from hushfade.planning.plan import Plan
from hushfade.planning.summary import facts

LETTERS = """\
- Records lie on a grid, and so do the values y below. A *unit* is the distance between two
  neighbouring grid points.
- x is the series of totals, one per step. y = R̃ x + z *crosses* from the private to the public
  half of the mechanism, in whole units. z is the noise, with standard deviation σ. s = L y is the
  released series.
- Δx is a change of x that one person's records can cause, and R̃ Δx is the resulting shift of y.
  With Gaussian noise the guarantee requires ‖R̃ Δx‖ ≤ σ μ. With Laplace or Huber noise each entry
  of R̃ Δx has a privacy loss, and the guarantee bounds their sum.
- *Info* rows are measurements without a pass/fail verdict. The plan claims nothing about them, or
  there was too little data for a test.
- The page 'The audit' of hushfade's documentation states what each check can and cannot show."""
COLUMNS = ("verdict", "check", "claim", "measurement", "confidence")

# what each check tests, in the order of the report
CHECKS = {
    "certificates": "The audit recomputes the plan's own numbers with integers, fractions and "
    "decimals.",
    "sensitivity": "Two neighbouring inputs run under the same noise. The values that cross "
    "differ by R̃ Δx in whole units. With Gaussian noise the norm of R̃ Δx is at most σ μ; with "
    "other laws the plan accounts for every shift. This check is exact.",
    "records": "Streams receive records of any size. hushfade clips or refuses each one.",
    "horizon": "A plan with a horizon refuses every step after the horizon.",
    "no second draw": "With fresh noise and saved states, hushfade never draws noise twice for a "
    "published step.",
    "fork": "A forked child process cannot continue its parent's stream or draw its noise.",
    "noise apart": "Noise of different streams, epochs, keys, plans and positions is unrelated.",
    "noise in releases": "The audit recovers z = y - R̃ x from the releases in whole units. It "
    "tests the law of z (also at empty steps) and its independence between steps and keys.",
    "released error": "Many copies of the plan run. The audit tests the mean, standard deviation "
    "and covariance of the error.",
    "μ-test": "The most powerful test of two neighbouring streams with Gaussian noise: the shift "
    "of the log-likelihood ratio divided by its standard deviation, ± one standard error.",
    "likelihood ratio": "The most powerful test for other noise laws: the mean and the "
    "distribution of the privacy loss, and δ(ε) at several ε, compared with the plan's claims.",
    "epsilon from below": "A lower confidence bound on epsilon, from how often the likelihood "
    "ratio is large under each stream (Clopper and Pearson).",
    "sampler": "χ² tests of draws against probabilities computed without the sampler's table.",
    "precision attack": "The last bits of a release depend only on the values that crossed, and "
    "low bits have the same distribution for two neighbouring inputs.",
    "replay": "With keyed noise, the same input gives the same bytes by every method.",
    "fresh keys": "No two of many streams with fresh noise have the same noise.",
    "timing": "Measured without a verdict: the guarantee does not cover execution times.",
    "audit": "Checks that raised an error and did not complete.",
}


@dataclass(frozen=True)
class Line:
    """A summary of all findings of one check."""

    check: str
    count: int  # findings with a verdict
    failed: int
    info: int  # findings without a verdict
    smallest: float | None  # p-value
    example: Finding  # the worst finding

    @property
    def passed(self) -> str:
        """The number of findings that passed, of all with a verdict; then those without one."""
        shown = [f"{self.count - self.failed} of {self.count}"] if self.count else []
        info = [f"{self.info} info" if self.count else "info"] if self.info else []
        return ", ".join(shown + info)


def lines(findings: Sequence[Finding]) -> list[Line]:
    """One line per check, with its worst finding: one that failed, or the smallest p-value."""
    summaries = []
    for check, group in _grouped(findings):
        ps = [finding.p for finding in group if finding.p is not None]
        worst = min(group, key=lambda f: (f.passed is not False, 1.0 if f.p is None else f.p))
        failed = sum(finding.passed is False for finding in group)
        info = sum(finding.passed is None for finding in group)
        count = len(group) - info
        summaries.append(Line(check, count, failed, info, min(ps, default=None), worst))
    return summaries


def summary(audit: Audit) -> str:
    """The number of checks, and how many passed, failed or had no verdict.

    >>> from hushfade.audit import QUICK
    >>> from hushfade.audit.finding import exact
    >>> same = exact("replay", "a plan", "the same bytes", "0 differ", passed=True)
    >>> summary(Audit(QUICK, 1, {}, (same,), 0.1))
    '1 check: 1 passed, 0 failed.'
    """
    verdicts = [finding.passed for finding in audit.findings]
    info = verdicts.count(None)
    checks = f"{len(verdicts)} {'check' if len(verdicts) == 1 else 'checks'}"
    return (
        f"{checks}: {verdicts.count(True)} passed, {verdicts.count(False)} failed"
        + (f", {info} without a verdict" if info else "")
        + "."
    )


def confidence(audit: Audit) -> str:
    """Sentences that state the false-alarm rate of the run, and what it consists of."""
    statistical = sum(finding.level > COINCIDENCE for finding in audit.findings)
    draws = sum(finding.level == COINCIDENCE for finding in audit.findings)
    smallest = f"{audit.smallest:.2g}" if audit.smallest >= 1e-300 else "below 1e-300"
    return (
        f"{statistical} of the checks are statistical: each fails if its p-value is below "
        f"{LEVEL:g}, and some test two conditions. The smallest p-value was {smallest}. Another "
        f"{draws} look for repeated draws, which occur by chance with probability at most "
        f"{COINCIDENCE:g} each. The other checks are exact. In total, a correct implementation "
        f"fails this run with a probability of about {audit.false_alarm:.1g}."
    )


def statement(audit: Audit) -> str:
    """Sentences that state what this run has shown, and what no audit can show."""
    if audit.broken:
        broken = ", ".join(finding.subject for finding in audit.failed)
        return (
            f"Some checks did not complete and show nothing: {broken}. The other checks passed. "
            f"Seed {audit.seed} repeats the run."
        )
    if audit.failed:
        names = ", ".join(dict.fromkeys(finding.check for finding in audit.failed))
        return (
            f"This implementation does not keep its promise here. Failed checks: {names}. Do not "
            f"publish its releases. Seed {audit.seed} repeats the run."
        )
    return (
        "On this machine and for these plans, the releases have the noise that the plan states, no "
        "tested change of the input moves them farther than the guarantee allows, and no step is "
        "drawn twice within one process. An audit cannot show that no other fault exists, how "
        "earlier releases were made, or that the operating system's random numbers are "
        "unpredictable. It cannot show what a new process does with an old state: only a store "
        "prevents a second draw there."
    )


def document(audit: Audit) -> dict[str, Any]:
    """The complete audit as plain data, ready for JSON."""
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
    """Versions and platform of the run, without the name of the host."""
    import numpy
    import scipy

    import hushfade

    versions = f"numpy {numpy.__version__}, scipy {scipy.__version__}"
    return (
        f"hushfade {hushfade.__version__}, Python {platform.python_version()}, {versions}, "
        f"{platform.system()} {platform.machine()}"
    )


def markdown(audit: Audit) -> str:
    """The complete audit as a Markdown page."""
    failures = [_failures(audit)] if audit.failed else []
    parts = [
        f"# {plainly(_title(audit))}",
        f"Written by `hushfade audit` (the {audit.size.name} form) on "
        f"{audit.began:%Y-%m-%d %H:%M} UTC in {audit.seconds:.0f} s, with seed {audit.seed}. "
        f"{machine()}.",
        f"**{summary(audit)}**",
        *failures,
        plainly(statement(audit)),
        confidence(audit),
        f"## {'Plan' if len(audit.plans) == 1 else 'Plans'}",
        *(_facts(name, plan) for name, plan in audit.plans.items()),
        f"## Notation\n\n{LETTERS}",
        *sections(audit.findings),
    ]
    return "\n\n".join(parts) + "\n"


def _title(audit: Audit) -> str:
    names = list(audit.plans)
    return f"Audit of {' '.join(names[0].split()) if len(names) == 1 else f'{len(names)} plans'}"


def sections(findings: Sequence[Finding]) -> Iterator[str]:
    """A heading, a description and a table for each check."""
    for check, group in _grouped(findings):
        rows = [(f.verdict, f.subject, f.claim, f.measurement, f.confidence) for f in group]
        heading = check[0].upper() + check[1:] if check[0].isascii() else check
        yield f"## {heading}\n\n{CHECKS[check]}\n\n{_table(COLUMNS, rows)}"


def plainly(text: str) -> str:
    r"""One line of Markdown that shows the text literally: users choose the names of plans.

    >>> print(plainly("<b>a|b</b> [c]"))
    \<b\>a\|b\</b\> \[c\]
    """
    return re.sub(r"([\\`*_\[\]<>&|])", r"\\\1", " ".join(text.split()))


def html(audit: Audit) -> str:
    """The page as one self-contained HTML file, with a light and a dark theme."""
    page = web(_title(audit), markdown(audit), Path())
    contents = re.search(r"<nav .*?</nav>", page, re.DOTALL)
    if contents is not None:  # show the verdict before the contents
        page = page.replace(contents[0], "", 1).replace("<h2", contents[0] + "<h2", 1)
    page = page.replace("</style>", "li { overflow-wrap: anywhere; }\n</style>", 1)
    page = page.replace("<td>passed</td>", '<td class="holds">passed</td>')
    return page.replace("<td>FAILED</td>", '<td class="false">FAILED</td>')


def _grouped(findings: Sequence[Finding]) -> list[tuple[str, list[Finding]]]:
    order = {check: place for place, check in enumerate(CHECKS)}
    placed = sorted(findings, key=lambda finding: order[finding.check])
    return [(check, list(group)) for check, group in groupby(placed, key=lambda f: f.check)]


def _described(plan: Plan) -> dict[str, str]:
    """The facts of the plan, its guarantee, and the digest that identifies it."""
    return {
        **dict(facts(plan)),
        "guarantee": plan.guarantee.sentence(every=plan.every),
        "digest": plan.digest.hex(),
    }


def _facts(name: str, plan: Plan) -> str:
    """The facts of the plan as a Markdown list."""
    items = [f"- {what}: {plainly(text)}" for what, text in _described(plan).items()]
    return "\n".join([f"**{plainly(name)}**", "", *items])


def _failures(audit: Audit) -> str:
    """A list of the checks that failed, for the top of the page."""
    return "\n".join(
        f"- **FAILED**, {f.check}, {plainly(f.subject)}. Claim: {plainly(f.claim)}. Measured: "
        f"{plainly(f.measurement)} ({plainly(f.confidence)})"
        for f in audit.failed
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [[plainly(cell) for cell in row] for row in (columns, *rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([lines[0], "|" + "---|" * len(columns), *lines[1:]])
