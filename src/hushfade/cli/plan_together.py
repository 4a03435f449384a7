"""hushfade plan --together: several series about the same people under one guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushfade.cli import console, series_file
from hushfade.cli.options import PersonOptions, PlanFileOptions
from hushfade.cli.plan import numbers
from hushfade.errors import InvalidValue
from hushfade.planning.joint_plans import JointPlan, plan_together
from hushfade.planning.mechanism_names import mechanism_name
from hushfade.planning.summary import sentences
from hushfade.privacy.rounding import rounded_up
from hushfade.privacy.unit import unit_document

if TYPE_CHECKING:
    from rich.table import Table

    from hushfade.duration import Length

TOGETHER = "This guarantee holds for all series together, if each plan is used once."
ONCE = (
    "Use each plan once. A second run of a plan on the same records is a further release, which "
    "the guarantee above does not cover."
)


def report(path: Path, guarantee: PersonOptions, output: PlanFileOptions) -> None:
    """Print the joint plan of the series in the file, and write the plan files."""
    for option in output.given("plot", "force"):
        raise InvalidValue(
            f"--together and {option} cannot be combined: --together only writes plans, to a new "
            "directory"
        )
    console.new_directory(output.output, option="--output with --together")
    listed = series_file.read(path)
    promised = guarantee.guarantee(_common_step([one.series.every for one in listed]))
    weights = [one.weight for one in listed]
    with console.progress("planning"), console.reading(path):
        joint = plan_together([one.series for one in listed], promised, weights=weights)
    files = [
        None if output.output is None else output.output / f"{name}.json" for name in _names(joint)
    ]
    if output.output is not None:
        with console.written_directory(output.output) as part:
            for name, made in zip(_names(joint), joint.plans, strict=True):
                (part / f"{name}.json").write_text(made.to_json() + "\n", encoding="utf-8")
    if output.json:
        console.document(_document(joint, weights, files))
        return
    page = console.out()
    statistics = any(made.statistic is not None for made in joint.plans)
    for sentence in (joint.sentence, TOGETHER):
        page.print(sentence)
    page.print()
    page.print(_table(joint))
    for name, made in zip(_names(joint), joint.plans, strict=True):
        if made.statistic is not None:
            page.print(f"{name}: {sentences(made)[1]}")
    page.print(
        "Each plan has its own epsilon and delta, which determine its noise. This delta can be "
        "larger than the delta above. The guarantee above holds nevertheless. Alone: the standard "
        "deviation if the series had the whole guarantee for itself."
        + statistics
        * " Standard deviations of a statistic are for each noisy sum behind it."
    )
    page.print(ONCE)
    if output.output is not None:
        page.print(f"Wrote {', '.join(map(str, files))}.")


def _names(joint: JointPlan) -> list[str]:
    return [str(one.name) for one in joint.series]


def _common_step(several: list[object]) -> Length:
    """The length of a step, if all series have the same."""
    from hushfade import duration

    steps = {duration.length(every) for every in several}
    return steps.pop() if len(steps) == 1 else None


def _document(joint: JointPlan, weights: list[float], files: list[Path | None]) -> dict[str, Any]:
    """The properties of the joint plan, as plain data."""
    guarantee = joint.guarantee
    each = zip(_names(joint), weights, joint.errors, joint.alone, files, joint.plans, strict=True)
    return {
        "sentences": [joint.sentence, TOGETHER, ONCE],
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "mu": guarantee.mu if guarantee.gaussian_only else None,
        "rho": guarantee.rho if guarantee.gaussian_only else None,
        "neighbours": guarantee.neighbours,
        "protects": unit_document(guarantee.protects),
        "series": [
            {
                "name": name,
                "weight": weight,
                "max_stddev": error,
                "max_stddev_alone": alone,
                "ratio": error / alone,
                "file": None if file is None else str(file),
                "plan": numbers(made),
            }
            for name, weight, error, alone, file, made in each
        ],
    }


def _table(joint: JointPlan) -> Table:
    from rich.table import Table

    table = Table(title="Series", title_justify="left", title_style="bold")
    table.add_column("series")
    table.add_column("mechanism")
    for head in ("epsilon", "delta", "standard deviation", "alone", "ratio"):
        table.add_column(head, justify="right")
    for name, made, error, alone in zip(
        _names(joint), joint.plans, joint.errors, joint.alone, strict=True
    ):
        table.add_row(
            name,
            mechanism_name(made.method, made.law.name),
            rounded_up(made.guarantee.epsilon, 3),
            rounded_up(made.guarantee.delta, 3),
            f"{error:.4g}",
            f"{alone:.4g}",
            f"{error / alone:.2f}",
        )
    return table
