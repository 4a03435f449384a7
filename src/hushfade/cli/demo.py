"""hushfade demo: the complete workflow on public data, from events to releases and figures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hushfade.cli import console
from hushfade.cli.demo_delays import delay_files, delay_numbers, show_delays, total_epsilon
from hushfade.cli.options import ReportOptions
from hushfade.cli.options.parameters import flag, option, option_group
from hushfade.planning.mechanism_names import choice, mechanism_name

if TYPE_CHECKING:
    from rich.table import Table

    from hushfade.demo import Delays, Series

HOURS = (1, 24, 24 * 7, 24 * 40, 24 * 100, 24 * 191, 24 * 300, 8760)  # steps in the table
FORTNIGHT = slice(24 * 32, 24 * 46)


@option_group("Output")
class DemoOutputOptions(ReportOptions):
    """The directory of the files, and the form of the report."""

    output: Annotated[
        Path,
        option(
            "Write the files to this directory, which hushfade creates if needed.",
            "DIRECTORY",
            alias="-o",
        ),
    ] = Path("demo-output")
    data_only: Annotated[bool, flag("Write only the events, flights.csv, and release nothing.")] = (
        False
    )


def demo(*, output: DemoOutputOptions = DemoOutputOptions()) -> None:
    """Release a year of flight delays with differential privacy, and compare them with the truth.

    The demo uses public data that comes with hushfade: all 336,776 departures from New York in
    2013. It releases the number of late departures by hour and airport, with a half-life of 24
    hours, and the number of cancelled departures in the last 7 days. Under one more guarantee it
    releases the mean delay and its 90th percentile by airport, both in the last 7 days. It writes
    the events, the releases with their guarantee, and figures.

    `hushfade demo`
    """
    from hushfade import demo as flights

    directory = output.output
    directory.mkdir(parents=True, exist_ok=True)
    events = _events(directory)
    if output.data_only:
        if output.json:
            console.document({"files": [str(events)]})
        else:
            console.out().print(f"Written: {events}, 336,776 departures with hour, origin, delay.")
        return
    with console.progress("releasing late and cancelled departures"):
        late, cancelled = flights.late(), flights.cancelled()
    with console.progress("releasing mean delay and 90th percentile"):
        delays = flights.delays()
    with console.progress("writing"):
        series = [*_files(directory, late, cancelled), *delay_files(directory, delays)]
        files = [events, *series]
    report = {
        "guarantee": late.plan.guarantee.sentence(every=late.plan.every),
        "mechanism": choice(late.plan),
        "optimum": late.plan.certificate(len(late.truth)).sentence(),
        "late": _numbers(late),
        "cancelled": _numbers(cancelled),
        "delays": delay_numbers(delays),
        "epsilon_of_all": total_epsilon(late, delays),
        "files": [str(path) for path in files],
    }
    if output.json:
        console.document(report)
    else:
        _show(late, cancelled, delays)
        console.out().print("\nWritten: " + ", ".join(str(path) for path in files))


def _numbers(series: Series) -> dict[str, Any]:
    certificate = series.plan.certificate(len(series.truth))
    return {
        "decay": repr(series.plan.decay),
        "mechanism": mechanism_name(series.plan.method, series.plan.law.name),
        "law": series.plan.law.name,
        "share_of_the_paper": series.share_of_the_paper,
        "steps": len(series.truth),
        "keys": series.truth.shape[1],
        "max_stddev": series.plan.max_stddev(len(series.truth)),
        "inside_95": series.inside,
        "error_factor": certificate.error_factor,
        "proven_least": certificate.lower,
    }


def _events(output: Path) -> Path:
    """Write the events."""
    from hushfade import demo
    from hushfade.atomic_files import whole

    with whole(output / "flights.csv") as file:
        file.write_bytes(demo.events())
    return output / "flights.csv"


def _files(output: Path, late: Series, cancelled: Series) -> Iterator[Path]:
    from hushfade import plots as report
    from hushfade.cli.run_steps import steps_document
    from hushfade.releases.files import Meaning, document, whole_file

    for name, series in (("late", late), ("cancelled", cancelled)):
        meaning = Meaning(series.plan.keys, series.calendar.zoned)
        steps = steps_document(series.calendar, len(series.truth))
        noise = "fresh, from the operating system"
        description = document(series.plan, meaning, steps=steps, noise=noise)
        path = output / f"{name}.csv"
        with whole_file(path, meaning, "csv", description) as writer:
            writer.write(series.rows)
        yield path
    pictures = (
        ("late", late, slice(23, None, 24), "late departures, at midnight"),
        ("fortnight", late, FORTNIGHT, "late departures"),
        ("cancelled", cancelled, slice(None), "cancelled departures"),
    )
    for name, series, which, label in pictures:
        ends, values = series.rows.ends, series.rows.values[which]
        margin = series.rows.margins(0.95)[which][:, None]
        assert ends is not None
        figure = report.series(
            ends[which].astype("datetime64[ns]").astype("datetime64[s]").tolist(),
            values,
            lower=values - margin,
            upper=values + margin,
            keys=series.plan.keys,
            decay=series.plan.decay,
            guarantee=series.plan.guarantee,
            label=label,
            truth=series.truth[which],
            time_label="2013, local time",
        )
        report.write(figure, output / f"{name}.png")
        yield output / f"{name}.png"


def _show(late: Series, cancelled: Series, delays: Delays) -> None:
    from hushfade.planning.summary import sentences
    from hushfade.privacy.rounding import rounded_up

    page = console.out()
    page.print("Departures from New York that were more than 15 minutes late, by hour, in 2013.")
    page.print("The half-life is 24 hours. One record is one departure.", end="\n\n")
    for sentence in sentences(late.plan)[:2]:
        page.print(sentence)
    page.print(_compared(late), end="\n\n")
    page.print(_table(late))
    page.print(
        f"Measured: {100 * late.inside:.1f} % of the {late.truth.size:,} intervals contain the "
        "true value (95 % expected).",
        end="\n\n",
    )
    deviation = cancelled.plan.max_stddev(len(cancelled.truth))
    page.print("Cancelled departures in the last 7 days, by day, for all airports together.")
    page.print(
        f"The standard deviation of the error is {deviation:.2f}. Measured: "
        f"{100 * cancelled.inside:.1f} % of the {cancelled.truth.size} intervals contain the true "
        "value (95 % expected). Windows overlap, so this share varies from run to run."
    )
    page.print(_compared(cancelled), end="\n\n")
    show_delays(delays)
    page.print(
        "No departure is both late and cancelled, so epsilon = 1 holds for late and cancelled "
        "departures together. The delays are about the same departures. All four series together "
        f"have epsilon = {rounded_up(total_epsilon(late, delays), 3)} at delta = "
        f"{rounded_up(late.plan.guarantee.delta, 3)}."
    )


def _compared(series: Series) -> str:
    """The mechanism, and its error compared with the paper's mechanism."""
    name = mechanism_name(series.plan.method, series.plan.law.name)
    percent = math.ceil(100.0 * series.share_of_the_paper)
    share = f"half ({percent} %)" if 45 <= percent <= 52 else f"{percent} % of"
    return (
        f"{name} has {share} the error of Gaussian noise on the square root, the mechanism of the "
        "paper."
    )


def _table(late: Series) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        title="Eight of the 8760 hours. The true values are shown only because the data is public.",
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("until", no_wrap=True)
    table.add_column("95 %", justify="right")
    for key in late.plan.keys or ():
        table.add_column(f"{key}\ntrue", justify="right")
        table.add_column(f"{key}\nreleased", justify="right", style="bold")
    margins = late.rows.margins(0.95)
    for step in HOURS:
        margin = float(margins[step - 1])
        pairs = zip(late.truth[step - 1], late.rows.values[step - 1], strict=True)
        cells = [f"{number:.1f}" for pair in pairs for number in pair]
        table.add_row(
            f"{late.calendar.end(step):%d %b %H:%M}", f"± {math.ceil(10 * margin) / 10:.1f}", *cells
        )
    return table
