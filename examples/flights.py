"""Late departures from New York, published every hour of 2013.  Run by `make demo`.

The records are public, so this page may do what nobody may do with sensitive data: show the truth
beside the release.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import hushfade as hf

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DATA = Path(__file__).parent / "data" / "flights.csv.gz"
OUTPUT = Path("demo-output")

AIRPORTS = ("EWR", "JFK", "LGA")
NAMES = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "LaGuardia"}
START, DAYS = datetime(2013, 1, 1), 365
HOURS = 24 * DAYS
LATE = 15  # minutes

HOURLY = hf.Exponential(half_life=24)
DAILY = hf.SlidingWindow(length=7)
GUARANTEE = hf.Guarantee(epsilon=1, delta=1e-6, neighbours="add_remove")

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def main() -> None:
    """Two private series, a table, a picture and a file."""
    late, cancelled = counted(DATA)

    plan = hf.plan(HOURLY, GUARANTEE, keys=AIRPORTS)
    print(f"Departures more than {LATE} minutes late, each hour of 2013, half-life 24 hours")
    print("One record is one departure.")
    print()
    print(plan)
    stream = plan.start()
    releases = [stream.step_total(dict(zip(AIRPORTS, row, strict=True))) for row in late.tolist()]
    truth = decayed(HOURLY, late)
    print()
    print_table(releases, truth)
    print()
    print_quality(plan, releases, truth)

    weekly = hf.plan(DAILY, GUARANTEE)
    live = weekly.start()
    week_releases = [live.step_total(total) for total in cancelled.tolist()]
    week_truth = decayed(DAILY, cancelled[:, None])
    print()
    print_week(weekly, week_releases, week_truth)

    OUTPUT.mkdir(exist_ok=True)
    write(OUTPUT / "flights.csv", releases)
    picture(releases, truth, week_releases, week_truth).savefig(OUTPUT / "flights.png", dpi=100)
    print()
    print(f"Written: {OUTPUT / 'flights.csv'} (released values only) and {OUTPUT / 'flights.png'}")


def counted(path: Path) -> tuple[Counts, Counts]:
    """Late departures by hour and airport; cancelled ones by day, all airports together.

    Each departure adds 1 at one place at most, so these are totals of records in [0, 1].
    """
    late = np.zeros((HOURS, len(AIRPORTS)), dtype=np.int64)
    cancelled = np.zeros(DAYS, dtype=np.int64)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        for at, origin, delay in rows:
            time = datetime.fromisoformat(at) - START
            if not delay:
                cancelled[time.days] += 1
            elif int(delay) > LATE:
                late[time.days * 24 + time.seconds // 3600, AIRPORTS.index(origin)] += 1
    return late, cancelled


def decayed(decay: hf.Decay, totals: Counts) -> Floats:
    """The true decayed sums, one column per key."""
    from scipy.signal import fftconvolve

    weights = decay.weights(len(totals))[:, None]
    return np.asarray(fftconvolve(totals.astype(np.float64), weights, axes=0)[: len(totals)])


def print_table(releases: Sequence[hf.Release], truth: Floats) -> None:
    """Some hours: truth and release with its interval."""
    print("Some hours.  The truth is shown only because these data are public.")
    print()
    print(f"{'':18}" + "".join(f"{NAMES[airport]:^30}" for airport in AIRPORTS).rstrip())
    head = f"{'truth':>7}{'release':>9}{'95 %':>11}   " * len(AIRPORTS)
    print(f"{'until':18}{head}".rstrip())
    for step in (1, 24, 24 * 7, 24 * 40, 24 * 100, 24 * 191, 24 * 300, HOURS):
        release = releases[step - 1]
        low, high = columns(release.interval(0.95))
        value = np.asarray(release.value)
        cells = [
            f"{truth[step - 1, i]:7.1f}{value[i]:9.1f}{round(low[i]):6} to{round(high[i]):4} "
            for i in range(len(AIRPORTS))
        ]
        print(f"{START + step * timedelta(hours=1):%Y-%m-%d %H:%M}  " + "".join(cells).rstrip())


def print_quality(plan: hf.Plan, releases: Sequence[hf.Release], truth: Floats) -> None:
    """What was measured, and how far from the optimum the plan is."""
    inside = np.mean([held(release, truth[release.step - 1]) for release in releases])
    certificate = plan.certificate(HOURS)
    print(f"Measured: {inside:.1%} of the {truth.size} intervals of 95 % hold the truth.")
    print(f"The plan's error factor is {certificate.error_factor:.4f}; proven least: ", end="")
    print(f"{certificate.lower:.4f}.")
    print(certificate.sentence())


def print_week(plan: hf.Plan, releases: Sequence[hf.Release], truth: Floats) -> None:
    """The second series, and what both together promise."""
    inside = np.mean([held(release, truth[release.step - 1]) for release in releases])
    both = hf.composed_mu([GUARANTEE, plan.guarantee])
    epsilon = hf.epsilon_of(both, GUARANTEE.delta)
    print("Cancelled departures of the last 7 days, each day, all airports together")
    print()
    print(f"The error's standard deviation is {plan.max_stddev(DAYS):.2f}.")
    print(f"Measured: {inside:.1%} of the {truth.size} intervals of 95 % hold the truth.")
    print(f"Two series of the same records compose to mu = {both:.4f}, epsilon = {epsilon:.3f}.")
    print("Here epsilon = 1 still holds for both together: a departure is late or cancelled,")
    print("never both, so adding or removing one changes only one of the two series.")


def held(release: hf.Release, truth: Floats) -> Any:
    """Does the interval of 95 % hold the truth, for each key?"""
    low, high = release.interval(0.95)
    return (low <= truth) & (truth <= high)


def columns(interval: tuple[float | Floats, float | Floats]) -> tuple[Floats, Floats]:
    """Both ends as columns, one entry per key."""
    return np.atleast_1d(interval[0]), np.atleast_1d(interval[1])


def write(path: Path, releases: Sequence[hf.Release]) -> None:
    """What may be published: no truth, no totals."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["step", "until", "airport", "value", "stddev", "low_95", "high_95"])
        for release in releases:
            until = (START + release.step * timedelta(hours=1)).isoformat(timespec="minutes")
            low, high = columns(release.interval(0.95))
            for i, (airport, value) in enumerate(release.by_key().items()):
                figures = [f"{x:.4f}" for x in (value, release.stddev, low[i], high[i])]
                rows.writerow([release.step, until, airport, *figures])


def picture(
    releases: Sequence[hf.Release],
    truth: Floats,
    week_releases: Sequence[hf.Release],
    week_truth: Floats,
) -> Figure:
    """Three airports, the year and two weeks of it; below them the window of 7 days."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure = Figure(figsize=(13, 12.5), layout="constrained")
    grid = figure.add_gridspec(4, 2, width_ratios=[1.5, 1.0])
    hours = [START + release.step * timedelta(hours=1) for release in releases]
    months = [datetime(2013, month, 1) for month in range(2, 13)]
    days = [datetime(2013, 2, day) for day in range(3, 17, 3)]
    midnights, fortnight = slice(23, None, 24), slice(24 * 32, 24 * 46)
    for i, airport in enumerate(AIRPORTS):
        year, zoom = figure.add_subplot(grid[i, 0]), figure.add_subplot(grid[i, 1])
        draw(year, hours[midnights], releases[midnights], truth[midnights, i], i)
        draw(zoom, hours[fortnight], releases[fortnight], truth[fortnight, i], i)
        name = f"{NAMES[airport]} ({airport})"
        year.set_title(f"{name}: late, the year at midnight", loc="left", fontweight="bold")
        zoom.set_title(f"{airport}: every hour of two weeks", loc="left", fontweight="bold")
        year.set_ylim(bottom=-20)
        zoom.set_ylim(0, 200)
        year.set_ylabel("late departures,\ndecayed sum")
        ticks(year, months, "%b")
        ticks(zoom, days, "%d %b")
    bottom = figure.add_subplot(grid[3, :])
    dates = [START + release.step * timedelta(days=1) for release in week_releases]
    draw(bottom, dates, week_releases, week_truth[:, 0], 0)
    error = f"the error's standard deviation is {week_releases[-1].stddev:.1f}"
    title = f"All airports: cancelled in the last 7 days; {error}"
    bottom.set_title(title, loc="left", fontweight="bold")
    bottom.set_ylabel("cancelled departures")
    bottom.set_xlabel("2013, local time")
    ticks(bottom, months, "%b")
    handles, labels = bottom.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(
        f"Departures from New York more than {LATE} minutes late: a private sum with a half-life "
        f"of 24 hours, ε = {GUARANTEE.epsilon:g}, δ = {GUARANTEE.delta:.0e}",
        fontsize=13,
    )
    return figure


def draw(
    axes: Axes,
    times: Sequence[datetime],
    releases: Sequence[hf.Release],
    truth: Floats,
    key: int,
) -> None:
    """One series: the band of 95 %, the release, the truth."""
    value = np.array([np.atleast_1d(release.value)[key] for release in releases])
    low, high = np.array([[c[key] for c in columns(r.interval(0.95))] for r in releases]).T
    at: Any = times
    axes.fill_between(at, low, high, color="#a6cee3", linewidth=0, label="95 % interval")
    axes.plot(at, value, color="#08519c", linewidth=1.3, label="released")
    axes.plot(at, truth, color="#d95f02", linewidth=1.0, label="truth (public data)")
    axes.set_xlim(at[0], at[-1])
    axes.grid(alpha=0.25)


def ticks(axes: Axes, at: Any, form: str) -> None:
    """A tick at each of the given times."""
    axes.set_xticks(at, [format(time, form) for time in at])


if __name__ == "__main__":
    main()
