"""hushfade audit: test whether the implementation keeps the guarantee of a plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hushfade.cli import console
from hushfade.cli.explain import described_in, plan_file
from hushfade.cli.options import Force, ReportOptions
from hushfade.cli.options.parameters import OptionGroup, count, flag, option, option_group
from hushfade.errors import InvalidValue

if TYPE_CHECKING:
    from rich.table import Table

    from hushfade.audit import Audit
    from hushfade.planning.plan import Plan


@option_group("Audit")
class AuditOptions(OptionGroup):
    """The plans to audit, and the number of samples."""

    plan: Annotated[
        tuple[Path, ...],
        option(
            "Audit this plan file (from hushfade plan -o), or the plan of a file of releases. May "
            "be repeated. Without it the audit covers six plans of all kinds.",
            "FILE",
            default=False,
        ),
    ] = ()
    full: Annotated[
        bool,
        flag(
            "Draw twelve to forty times as many samples, which takes a minute per plan. The "
            "default, --quick, takes seconds per plan.",
            negative="--quick",
        ),
    ] = False
    seed: Annotated[
        int | None,
        count("Repeat the run with this seed. By default every run draws new samples.", "NUMBER"),
    ] = None


@option_group("Output")
class AuditOutputOptions(ReportOptions):
    """The form of the report."""

    html: Annotated[Path | None, option("Write the complete report to this HTML file.", "FILE")] = (
        None
    )
    force: Force = False


def audit(
    *,
    what: AuditOptions = AuditOptions(),
    output: AuditOutputOptions = AuditOutputOptions(),
) -> None:
    """Test whether hushfade keeps its privacy guarantee, on this machine and for your plan.

    The audit tests the exact sensitivity by streaming neighbouring inputs, the law and the
    independence of the noise, the best test between neighbouring streams, replay, forks, and the
    plan's claims. It reports each claim, the measurement and the confidence. The exit code is 6 if
    a check fails. A correct implementation fails in fewer than one run in a million. The exit code
    is 1 if a check could not be completed and no other check failed.

    `hushfade audit --plan plan.json`
    """
    from hushfade.audit import FULL, QUICK
    from hushfade.audit import audit as audited

    html = output.html
    console.writable(html, force=output.force, option="--html")
    for path in what.plan:
        with console.reading(path):
            path.stat()
    files = [plan_file(path) for path in what.plan]
    if html is not None and html.resolve() in {path.resolve() for path in files}:
        raise InvalidValue("--html must not be one of the plans: the report would replace the plan")
    plans = {name: described_in(path).plan for name, path in _named(files).items()} or None
    with console.progress("auditing", _STEPS) as advance:
        shown = 0

        def watch(done: int, of: int, doing: str) -> None:
            nonlocal shown
            place = _STEPS * done // max(of, 1)
            advance(place - shown, f"{done} of {of}; {doing}")
            shown = place

        found = audited(plans, size=FULL if what.full else QUICK, seed=what.seed, watch=watch)
    if html is not None:
        with console.written(html) as part:
            part.write_text(_page(found), encoding="utf-8")
    if output.json:
        console.document(_document(found))
    else:
        _show(found, html)
    if found.failed:
        raise SystemExit(int(console.Exit.INTERNAL if found.broken else console.Exit.AUDIT))


_STEPS = 1000  # steps of the progress bar
_PAGE = 160  # columns of the HTML page
_WIDE = 70  # terminals with fewer columns have no room for examples


def _named(files: list[Path]) -> dict[str, Path]:
    """The files by name, or by path if two have the same name."""
    if len({path.resolve() for path in files}) < len(files):
        raise InvalidValue("--plan must name each file only once")
    names = [path.name for path in files]
    return {str(path) if names.count(path.name) > 1 else path.name: path for path in files}


def _show(found: Audit, html: Path | None) -> None:
    out = console.out()
    out.print(_title(found))
    out.print(_table(found, wide=out.width >= _WIDE))
    for one in found.failed:
        out.print(f"FAILED  {one.check}: {one.plan}, {one.subject}")
        out.print(f"        claim: {one.claim}")
        out.print(f"        measured: {one.measurement} ({one.confidence})")
    if found.failed:
        out.print()
    for text in _words(found):
        out.print(text)
    if html is not None:
        out.print(f"Wrote the report with every check to {html}.")


def _title(found: Audit) -> str:
    plans = f"{len(found.plans)} plans" if len(found.plans) > 1 else next(iter(found.plans))
    return f"Audit of {plans} ({found.size.name}): {found.seconds:.0f} s, seed {found.seed}."


def _table(found: Audit, *, wide: bool) -> Table:
    """One line per check, with a finding that failed or has the smallest p-value."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("check", no_wrap=wide)
    table.add_column("passed", justify="right", no_wrap=True)
    table.add_column("smallest p", justify="right", no_wrap=True)
    if wide:
        table.add_column("the worst case, or the first")
    for check in dict.fromkeys(one.check for one in found.findings):
        some = [one for one in found.findings if one.check == check]
        verdicts = [one.passed for one in some]
        info, failed = verdicts.count(None), verdicts.count(False)
        passed = f"{verdicts.count(True)} of {len(some) - info}"
        worst = min(some, key=lambda f: (f.passed is not False, 1.0 if f.p is None else f.p))
        ps = [f"{one.p:.2g}" for one in [worst] if one.p is not None]
        row = [check, passed + (f", {info} info" if info else ""), *(ps or [""])]
        if wide:
            row.append(f"{worst.plan}, {worst.subject}: {worst.measurement}")
        table.add_row(*row, style="bold red" if failed else None)
    return table


def _words(found: Audit) -> list[str]:
    """How many checks passed, the false-alarm rate, and what the run has shown."""
    verdicts = [one.passed for one in found.findings]
    info = verdicts.count(None)
    smallest = f"{found.smallest:.2g}" if found.smallest >= 1e-300 else "below 1e-300"
    return [
        f"{len(verdicts)} checks: {verdicts.count(True)} passed, {verdicts.count(False)} failed"
        + (f", {info} without a verdict." if info else "."),
        f"The smallest p-value was {smallest}. Checks without a p-value are exact, or look for "
        "repeated draws. A correct implementation fails this run with a probability of about "
        f"{found.false_alarm:.1g}.",
        _statement(found),
    ]


def _statement(found: Audit) -> str:
    """What this run has shown, and what no audit can show."""
    repeats = f"Seed {found.seed} repeats the run."
    if found.broken:
        broken = ", ".join(f"{one.plan}: {one.subject}" for one in found.failed)
        return (
            f"Some checks did not complete and show nothing: {broken}. The other checks passed. "
            f"{repeats}"
        )
    if found.failed:
        names = ", ".join(dict.fromkeys(one.check for one in found.failed))
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


def _document(found: Audit) -> dict[str, Any]:
    """The complete audit as plain data."""
    from dataclasses import asdict
    from platform import machine, python_version, system

    from hushfade import __version__
    from hushfade.audit.findings import LEVEL

    summary, _, statement = _words(found)
    return {
        "size": asdict(found.size),
        "began": found.began.isoformat(timespec="seconds"),
        "seed": found.seed,
        "plans": [{"plan": name} | _facts(plan) for name, plan in found.plans.items()],
        "seconds": round(found.seconds, 3),
        "passed": not found.failed,
        "summary": summary,
        "false_alarm": found.false_alarm,
        "level": LEVEL,
        "smallest_p": found.smallest,
        "statement": statement,
        "machine": f"hushfade {__version__}, Python {python_version()}, {system()} {machine()}",
        "findings": [
            asdict(one) | {"verdict": one.verdict, "confidence": one.confidence}
            for one in found.findings
        ],
    }


def _facts(plan: Plan) -> dict[str, str]:
    """The facts of the plan, its guarantee, and the digest that identifies it."""
    from hushfade.planning.summary import facts

    sentence = plan.guarantee.sentence(every=plan.every)
    return dict(facts(plan)) | {"guarantee": sentence, "digest": plan.digest.hex()}


def _page(found: Audit) -> str:
    """The report with every finding as an HTML page."""
    import io

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    page = Console(record=True, width=_PAGE, file=io.StringIO())
    for text in (_title(found), *_words(found)):
        page.print(Text(text))
    for name, plan in found.plans.items():
        lines = [f"\n{name}", *(f"{what}: {text}" for what, text in _facts(plan).items())]
        page.print(Text("\n".join(lines)))
    table = Table("verdict", "check", "claim", "measurement", "confidence")
    for one in found.findings:
        cells = one.verdict, f"{one.check}: {one.plan}, {one.subject}", one.claim, one.measurement
        style = "bold red" if one.passed is False else None
        table.add_row(*map(Text, (*cells, one.confidence)), style=style)
    page.print(table)
    return page.export_html()
