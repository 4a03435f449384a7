"""The page docs/results/daily-files.md, and the picture of the people that a store remembers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from hushfade.plots import figure_file, style
from lab.findings import Finding, Part
from lab.findings_page import page, write
from lab.paths import IMAGES
from lab.progress import progress
from lab.soaks import daily_data, daily_process
from lab.soaks.daily_data import LIFE, WEEK, WITHIN, Unit
from lab.soaks.daily_files import NO_RELEASE, RELEASED, WRITTEN, Outcome, soak

PICTURE = "stored-people.png"
_BITS = "equal to one run and to the independent count, bit for bit; one charge"


def main() -> int:
    """Write or print the page; return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m lab.soaks.daily_files")
    parser.add_argument("--quick", action="store_true", help="28 days, printed")
    quick = parser.parse_args().quick
    days, units = 28 if quick else 365, (WEEK, WITHIN, LIFE)  # the longest first
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        outcomes = list(pool.map(_soaked, units, [days] * len(units)))
    few = daily_data.year(28)
    forgetful = soak(few, LIFE, build=daily_process.forgetting_people, killed=0.0)
    late = soak(
        few, LIFE, build=daily_process.recording_people_later, points=("after mark",), at_points=1.0
    )
    made = [_series(outcomes, [forgetful, late]), _people(outcomes)]
    text = page(made, title="Daily files", command="python -m lab.soaks.daily_files")
    if quick:
        print(text)
    else:
        write(text, "daily-files")
        draw(outcomes, IMAGES / PICTURE)
    return 0 if all(finding.passed for part in made for finding in part.findings) else 1


def _soaked(unit: Unit, days: int) -> Outcome:
    build = None if unit is WEEK else daily_process.as_it_is
    found = soak(daily_data.year(days), unit, build=build)
    progress(f"daily files, {unit.name}: {found}")
    return found


def _series(outcomes: Sequence[Outcome], bugs: Sequence[Outcome]) -> Part:
    findings = [
        Finding(
            f"{found.unit.name}: {found.days} days, {found.kills} kills, {found.at_points} of "
            "them at points",
            _BITS,
            f"kills: {_stages(found)}; {found.records} records, {found.counted} counted; "
            f"{found.wrong_steps} steps differ, output "
            f"{'equal' if found.same_output else 'DIFFERENT'}; the counts of "
            f"{found.reported} daily reports: {found.wrong_counts} differ; of the one run: "
            f"{'equal' if found.same_totals else 'DIFFERENT'}; {found.charges} charge; "
            f"ledger {'verified' if found.verified else 'BROKEN'}; files with a blank name: "
            f"{found.refused} refused",
            passed=found.flawless and found.kills > 0,
        )
        for found in outcomes
    ]
    names = (
        "a build that forgets people between runs",
        "a build that commits people after the steps",
    )
    findings += [
        Finding(
            f"{name}, {found.days} days, {found.kills} kills",
            "steps differ",
            f"{found.wrong_steps} of {found.days} steps differ",
            passed=found.wrong_steps > 0 and not found.same_output,
            is_bug=True,
        )
        for name, found in zip(names, bugs, strict=True)
    ]
    return Part(
        "A year of daily files",
        "One job per unit of privacy.  `hushfade run --store` reads one file per day, with people "
        "who return, people over their limits, names that look alike, late records, and days "
        "without records.  The soak kills the command at random moments and at points of its "
        "work, and repeats it until it succeeds.  If hushfade refuses a repeated command because "
        "its steps are released, the soak writes the output with `hushfade store releases`.  The "
        f"job of the {WEEK.name} starts a new process per command; the other jobs copy a process "
        "that has loaded everything, so that random kills meet the work.  One run over the whole "
        "year has the same noise key and a store of its own.  The independent count is a "
        "dictionary and a loop.",
        findings,
    )


def _stages(found: Outcome) -> str:
    return ", ".join(f"{found.stages[name]} {name}" for name in (NO_RELEASE, RELEASED, WRITTEN))


def _people(outcomes: Sequence[Outcome]) -> Part:
    return Part(
        "Stored people",
        "After each day the soak counts the people in the store.  The store needs the people who "
        "count in the current stretch of time: in the whole stream, in the calendar week, or "
        "nobody for any 7 days, because no earlier step limits a later one.  An erased secret "
        "must be in no file of the store.\n\n"
        f"![People in the store and the size of its files, by day and unit](../images/{PICTURE})",
        [
            Finding(
                found.unit.name,
                "exactly the people of the current stretch; erased secrets are in no file",
                f"at most {max(found.people)} people, {found.people[-1]} at the end; "
                f"{found.wrong_people} of {found.days} days differ; {found.kept_secrets} erased "
                f"secrets found; files of {max(found.sizes) / 1024:.0f} KiB at most, "
                f"{found.sizes[-1] / 1024:.0f} KiB at the end",
                passed=found.wrong_people == 0 and found.kept_secrets == 0,
            )
            for found in outcomes
        ],
    )


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """Draw the stored people and the size of the store of each job, by day."""
    figure = style.figure(8.0, 3.6)
    people, sizes = figure.subplots(1, 2)
    for rank, found in enumerate(outcomes):
        colour, dashes = style.line(rank)
        days = range(1, found.days + 1)
        options = {"color": colour, "linestyle": dashes, "label": f"unit: {found.unit.name}"}
        people.plot(days, found.people, linewidth=1.2, **options)
        sizes.plot(days, [size / 1024 for size in found.sizes], linewidth=1.2, **options)
    people.set_yscale("symlog", linthresh=10)
    style.plain_numbers(people)
    sizes.set_ylim(bottom=0)
    style.tidy(people, x="day", title="people in the store, as keyed digests")
    style.tidy(sizes, x="day", title="files of the store, in KiB")
    style.headline(figure, "What a daily job keeps about people")
    style.legend_below(figure, people)
    figure_file.write(figure, path)
