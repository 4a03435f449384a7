"""hushfade explain: what a plan or a release promises, in words for somebody without the theory."""

from __future__ import annotations

import json as json_format
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from hushfade.cli import console, options, plain_words
from hushfade.errors import InvalidValue, Refused
from hushfade.planning.plan import Plan
from hushfade.privacy.guarantee import composed_mu, epsilon_of

_LIMIT = 1 << 27  # bytes

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="Plans (hushfade plan -o), or files of releases (hushfade run -o).",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Described:
    """A plan, and what a release says of itself besides: lines for its reader."""

    plan: Plan
    about: tuple[str, ...] = ()
    person: bool = False  # the promise is for a person with all their records


def explain(
    files: Files = None,
    plot: options.Plot = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Explain in plain words what a plan or a release promises, and what it does not.

    Who is protected, how accurate the numbers are, what epsilon means in odds, what must not be
    done. Several files: what they promise together. Without a file: how the mechanism works.

    [cyan]hushfade explain plan.json[/]

    [cyan]hushfade explain counts.csv rates.csv --plot both.png[/]
    """
    console.writable(plot, force=force, option="--plot")
    if not files:
        if plot is not None:
            raise InvalidValue("--plot needs a file to draw")
        _tell({"drawing": plain_words.DRAWING, "explanation": plain_words.MECHANISM}, json)
        return
    described = {str(path): described_in(path) for path in files}
    if len(described) < len(files):
        raise InvalidValue("files must differ from each other: the same one was given twice")
    plans = {name: each.plan for name, each in described.items()}
    about = [line for each in described.values() for line in each.about]
    found: dict[str, Any]
    if len(plans) == 1:
        ((name, plan),) = plans.items()
        person = described[name].person
        found = {
            "file": name,
            **_numbers(plan),
            "explanation": plain_words.explanation(plan, person),
        }
    else:
        if len({each.person for each in described.values()}) > 1:
            raise Refused(
                "some files promise for a person, some for a record: there is no one promise of "
                "all of them together"
            )
        found = _together(plans)
    if about:
        found["explanation"] = {"About these releases": about, **found["explanation"]}
    if plot is not None:
        from hushfade import plots

        drawn = plots.overview(plan) if len(plans) == 1 else plots.plans(plans)
        plots.write(drawn, plot)
    _tell(found, json)


def plan_file(path: Path) -> Path:
    """The file itself, or the one beside it that has the plan of its releases."""
    from hushfade.releases import files as published

    if path.is_dir():
        raise console.Failure(f"cannot read {path}: it is a directory", console.Exit.FILE)
    beside = published.companion(path)
    return beside if beside.exists() else path


def described_in(path: Path) -> Described:
    """The plan in a plan's file, in what stands beside a file of releases, or in that itself."""
    from hushfade.releases import files as published

    source = plan_file(path)
    with console.reading(source):
        with source.open("rb") as file:
            text = file.read(_LIMIT)
        try:
            document = json_format.loads(text)
        except (ValueError, RecursionError):
            beside = published.companion(path).name
            raise InvalidValue(
                f"the file must be a plan, or have one beside it, named {beside}"
            ) from None
        if not (isinstance(document, dict) and document.get("format") == published.FORMAT):
            return Described(Plan.from_json(text))
        plan = Plan.from_json(json_format.dumps(document.get("plan")))
    return Described(plan, tuple(_about(path.name, document)), document.get("unit") == "person")


def _about(name: str, document: Mapping[str, Any]) -> Iterator[str]:
    """What the companion of releases says besides the plan; text that is none is left out."""
    noise, limits, changed = (document.get(field) for field in ("noise", "limits", "changed"))
    if isinstance(noise, str):
        void = " Nothing that is said of its privacy holds." * noise.startswith("NOT PRIVATE")
        yield f"{name}: the noise is {_printable(noise)}.{void}"
    if isinstance(limits, str):
        yield f"{name}: {_printable(limits)}"
    if isinstance(changed, list) and changed:
        ways = " and ".join(_printable(str(way)).replace("_", "-") for way in changed)
        yield (
            f"{name}: values were made {ways} after the noise. That costs no privacy, but they "
            "are no longer right on average."
        )


def _printable(text: str) -> str:
    """The text without what a terminal would obey."""
    return "".join(letter for letter in text if letter.isprintable())


def _together(plans: Mapping[str, Plan]) -> dict[str, Any]:
    """What several releases promise about people whose records all of them read."""
    try:
        mu = composed_mu(plan.guarantee for plan in plans.values())
    except InvalidValue:
        raise Refused(
            "the files promise to different neighbours, participations, separations or records a "
            "step: there is no one promise of all of them together"
        ) from None
    delta = max(plan.guarantee.delta for plan in plans.values())
    neighbours = next(iter(plans.values())).guarantee.neighbours
    epsilon = epsilon_of(mu, delta)
    return {
        "files": [{"file": name, **_numbers(plan)} for name, plan in plans.items()],
        "composition": {"mu": mu, "rho": mu * mu / 2, "epsilon": epsilon, "delta": delta},
        "explanation": {
            "Together": [
                f"If all {len(plans)} files tell of the same people, their privacy costs add up: "
                f"mu = {mu:.4g}, the root of the sum of squares, which is epsilon = {epsilon:.4g} "
                f"at delta = {delta:.3g}.",
                *plain_words.odds(mu, epsilon, neighbours),
                "This is exact, also if one release was planned after seeing another. If no person "
                "has records in two of them, each promise stands for itself.",
            ]
        },
    }


def _numbers(plan: Plan) -> dict[str, Any]:
    n = plain_words.steps_told(plan)
    guarantee = plan.guarantee
    return {
        "decay": repr(plan.decay),
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "mu": guarantee.mu,
        "neighbours": guarantee.neighbours,
        "participations": guarantee.participations,
        "separation": guarantee.separation,
        "records_per_step": guarantee.records_per_step,
        "steps": n,
        "stddev": plan.stddev(n),
        "max_stddev": plan.max_stddev(n),
        "ratio": plan.certificate(n).ratio,
        "posterior": plain_words.posterior(guarantee.epsilon),
        "digest": plan.digest.hex(),
    }


def _tell(found: dict[str, Any], json: bool) -> None:
    if json:
        console.document(found)
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    page = console.out()
    if "file" in found:
        page.print(Text.assemble((found["file"], "bold"), f": {found['decay']}"))
    if "files" in found:
        table = Table(box=box.SIMPLE_HEAD)
        for head in ("file", "decay", "epsilon", "delta", "mu", "error", "ratio"):
            table.add_column(head, justify="left" if head in ("file", "decay") else "right")
        for row in found["files"]:
            numbers = (row[name] for name in ("epsilon", "delta", "mu", "max_stddev", "ratio"))
            table.add_row(row["file"], row["decay"], *(f"{number:.4g}" for number in numbers))
        page.print(table)
        page.print(
            "Error: the largest standard deviation. Ratio: to the least possible, at most.\n"
        )
    if "drawing" in found:
        page.print(found["drawing"])
    for title, lines in found["explanation"].items():
        page.print(title, style="bold cyan")
        for line in lines:
            bullet = Table.grid(padding=(0, 1))
            bullet.add_row(" -", line)
            page.print(bullet)
        page.print()
