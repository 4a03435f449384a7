"""The part of hushfade demo about delays: two statistics under one guarantee."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushfade.cli import console
from hushfade.planning.mechanism_names import mechanism_name
from hushfade.privacy.rounding import rounded_up

if TYPE_CHECKING:
    from rich.table import Table

    from hushfade.demo import Delays, DelaySeries, Series

DAYS = (181, 357)  # days of the year in the table: the end of June, and Christmas


def total_epsilon(late: Series, delays: Delays) -> float:
    """Epsilon of a departure that is in the series of late departures and in both of delays."""
    from hushfade.privacy.loss import composed

    losses = [late.plan.privacy, *(plan.privacy for plan in delays.joint.plans)]
    return composed(losses).epsilon(late.plan.guarantee.delta)


def delay_numbers(delays: Delays) -> dict[str, Any]:
    """The report's numbers."""
    guarantee = delays.joint.guarantee
    found: dict[str, Any] = {"epsilon": guarantee.epsilon, "delta": guarantee.delta}
    for name, series in (("mean", delays.mean), ("percentile", delays.percentile)):
        found[name] = {
            "decay": repr(series.plan.decay),
            "mechanism": mechanism_name(series.plan.method, series.plan.law.name),
            "epsilon": series.plan.guarantee.epsilon,
            "steps": len(series.truth),
            "keys": series.truth.shape[1],
            "half_width_95": series.half_width,
            "inside_95": series.inside,
        }
    return found


def delay_files(output: Path, delays: Delays) -> Iterator[Path]:
    """Write releases and figures."""
    from hushfade import plots
    from hushfade.cli.run_steps import steps_document
    from hushfade.releases.files import Meaning, document, whole_file

    for name, series in (("mean-delay", delays.mean), ("delay-90", delays.percentile)):
        plan = series.plan
        meaning = Meaning(plan.keys, series.calendar.zoned, statistic=plan.statistic)
        description = document(
            plan,
            meaning,
            steps=steps_document(series.calendar, len(series.truth)),
            noise="fresh, from the operating system",
        )
        with whole_file(output / f"{name}.csv", meaning, "csv", description) as writer:
            for rows in series.rows:
                writer.write(rows)
        yield output / f"{name}.csv"
        assert plan.statistic is not None
        figure = plots.statistic_series(
            series.ends,
            *series.released,
            statistic=plan.statistic,
            keys=plan.keys,
            decay=plan.decay,
            guarantee=plan.guarantee,
            label=f"{series.name} in the last 7 days, minutes",
            truth=series.truth,
            time_label="2013, local time",
        )
        plots.write(figure, output / f"{name}.png")
        yield output / f"{name}.png"


def show_delays(delays: Delays) -> None:
    """Print the guarantee, some days, and how often the intervals contain the true values."""
    page = console.out()
    mean, percentile = delays.mean, delays.percentile
    page.print(
        "The mean delay and its 90th percentile in the last 7 days, by day and airport. One "
        f"guarantee with epsilon = {rounded_up(delays.joint.guarantee.epsilon, 3)} covers both "
        "together, all days and all airports. Alone the mean has epsilon = "
        f"{rounded_up(mean.plan.guarantee.epsilon, 3)}, and the percentile epsilon = "
        f"{rounded_up(percentile.plan.guarantee.epsilon, 3)}. A delay counts as at least -31.5 and "
        "at most 224.5 minutes.",
        end="\n\n",
    )
    page.print(_table(delays))
    page.print(
        f"A typical 95 % interval is ± {mean.half_width:.1f} minutes for a mean and ± "
        f"{percentile.half_width:.0f} minutes for a percentile. Measured: {100 * mean.inside:.1f} "
        f"% of the {mean.truth.size:,} intervals of means and {100 * percentile.inside:.1f} % of "
        f"the {percentile.truth.size:,} intervals of percentiles contain the true value (at least "
        "95 % expected). Intervals of percentiles are a little too wide, because they end at edges "
        "of bins.",
        end="\n\n",
    )


def _table(delays: Delays) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        title="Two of the days, in minutes. p90 is the 90th percentile.",
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("until", no_wrap=True)
    table.add_column("airport")
    for name in ("mean", "p90"):
        table.add_column(f"{name}\ntrue", justify="right")
        table.add_column(f"{name}\nreleased", justify="right", style="bold")
        table.add_column("95 % interval", justify="right")
    for day in DAYS:
        for place, airport in enumerate(delays.mean.plan.keys or ()):
            until = f"{delays.mean.calendar.end(day):%d %b %H:%M}" if place == 0 else ""
            cells = [*_cells(delays.mean, day, place), *_cells(delays.percentile, day, place)]
            table.add_row(until, airport, *cells)
    return table


def _cells(series: DelaySeries, day: int, place: int) -> tuple[str, str, str]:
    value, lower, upper = (part[day - 1, place] for part in series.released)
    truth = series.truth[day - 1, place]
    return f"{truth:.1f}", f"{value:.1f}", f"{lower:.1f} to {upper:.1f}"
