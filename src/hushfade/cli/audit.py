"""hushfade audit: test whether the implementation keeps the guarantee of a plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hushfade.cli import console
from hushfade.cli.explain import described_in, plan_file
from hushfade.cli.options import Force, ReportOptions
from hushfade.cli.options.parameters import OptionGroup, count, flag, option, option_group
from hushfade.errors import InvalidValue

if TYPE_CHECKING:
    from rich.table import Table

    from hushfade.audit import Audit


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
    from hushfade.audit import FULL, QUICK, review
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
        console.document(review.document(found))
    else:
        _show(found, html)
    if found.failed:
        raise SystemExit(int(console.Exit.INTERNAL if found.broken else console.Exit.AUDIT))


_STEPS = 1000  # steps of the progress bar
_PAGE = 160  # columns of the HTML page
_NARROW = 70  # terminals with fewer columns have no room for examples


def _named(files: list[Path]) -> dict[str, Path]:
    """The files by name, or by path if two have the same name."""
    if len({path.resolve() for path in files}) < len(files):
        raise InvalidValue("--plan must name each file only once")
    names = [path.name for path in files]
    return {str(path) if names.count(path.name) > 1 else path.name: path for path in files}


def _show(found: Audit, html: Path | None) -> None:
    from hushfade.audit import review

    out = console.out()
    out.print(_title(found))
    out.print(_table(found))
    for finding in found.failed:
        out.print(f"FAILED  {finding.check}: {finding.subject}")
        out.print(f"        claim: {finding.claim}")
        out.print(f"        measured: {finding.measurement} ({finding.confidence})")
    if found.failed:
        out.print()
    for text in (review.summary(found), review.confidence(found), review.statement(found)):
        out.print(text)
    if html is not None:
        out.print(f"Wrote the report with every check to {html}.")


def _title(found: Audit) -> str:
    plans = f"{len(found.plans)} plans" if len(found.plans) > 1 else next(iter(found.plans))
    return f"Audit of {plans} ({found.size.name}): {found.seconds:.0f} s, seed {found.seed}."


def _table(found: Audit) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from hushfade.audit import review

    narrow = console.out().width < _NARROW
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("check", no_wrap=not narrow)
    table.add_column("passed", justify="right", no_wrap=True)
    table.add_column("smallest p", justify="right", no_wrap=True)
    if not narrow:
        table.add_column("the worst case, or the first")
    for line in review.lines(found.findings):
        p = "" if line.smallest is None else f"{line.smallest:.2g}"
        example = [] if narrow else [f"{line.example.subject}: {line.example.measurement}"]
        style = "bold red" if line.failed else None
        table.add_row(line.check, line.passed, p, *example, style=style)
    return table


def _page(found: Audit) -> str:
    """The report with every finding as an HTML page."""
    import io

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from hushfade.audit import review

    page = Console(record=True, width=_PAGE, file=io.StringIO())
    page.print(Text(_title(found)))
    for text in (review.summary(found), review.statement(found), review.confidence(found)):
        page.print(Text(text))
    for plan in review.document(found)["plans"]:
        page.print(Text("\n" + "\n".join(f"{what}: {text}" for what, text in plan.items())))
    table = Table("verdict", "check", "claim", "measurement", "confidence")
    for one in found.findings:
        cells = (one.verdict, f"{one.check}: {one.subject}", one.claim, one.measurement)
        style = "bold red" if one.passed is False else None
        table.add_row(*map(Text, (*cells, one.confidence)), style=style)
    page.print(table)
    return page.export_html()
