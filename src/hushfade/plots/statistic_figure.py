"""Released statistics with their intervals against time, and the histogram of the last step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hushfade import check
from hushfade.check import Column, Matrix
from hushfade.errors import InvalidValue
from hushfade.plots import style, thinning
from hushfade.plots.released_series import _Clock, _clock

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hushfade.decays import Decay
    from hushfade.privacy.guarantee import Guarantee
    from hushfade.public.statistics import LaneStatistic

_MOST = 12  # panels
_HIDDEN = "_nolegend_"  # what has this label is not in the legend
_COLOURS = (style.BLUE, style.ORANGE, style.GREEN, style.BLACK)


def statistic_series(
    times: ArrayLike | Sequence[date],
    values: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    statistic: LaneStatistic,
    keys: Sequence[str] | None = None,
    decay: Decay | None = None,
    guarantee: Guarantee | None = None,
    label: str | None = None,
    confidence: float = 0.95,
    truth: ArrayLike | None = None,
    time_label: str | None = None,
) -> Figure:
    """The released values with their intervals at each time, a panel per key.

    Values, lower and upper ends are (n,), or (n, keys · outputs) with the outputs of a key next to
    each other.  Quantiles are lines of one panel.  A histogram is bars: the counts of the last
    step.  The first 12 keys are drawn.  nan is a missing value, which leaves a gap.  `label` names
    the statistic and its unit, such as "mean delay, minutes".  `truth` has the shape of the values;
    draw it only if the records are public.
    """
    confidence = check.probability(confidence=confidence)
    clock = _clock(times)
    parts = [_table(len(clock.x), values=values)]
    parts += [_table(len(clock.x), lower=lower), _table(len(clock.x), upper=upper)]
    parts += [] if truth is None else [_table(len(clock.x), truth=truth)]
    outputs = 1 if statistic.outputs is None else len(statistic.outputs)
    names = [""] if keys is None else list(keys)
    for name, part in zip(("values", "lower", "upper", "truth"), parts, strict=False):
        if part.shape[1] != outputs * len(names):
            raise InvalidValue(
                f"must have {outputs * len(names)} columns", argument=name, got=part.shape[1]
            )
    shown = min(len(names), _MOST)
    across = 1 if shown <= 3 else 2 if shown <= 8 else 3
    down = math.ceil(shown / across)
    figure = style.figure(9.0 if across < 3 else 12.0, 2.8 + 2.0 * down)
    bars = statistic.name == "histogram"
    panels = figure.subplots(down, across, sharex=True, sharey=not bars, squeeze=False).ravel()
    chance = f"{100 * confidence:.6g} %"
    for place, axes in enumerate(panels[:shown]):
        columns = slice(place * outputs, (place + 1) * outputs)
        own = [part[:, columns] for part in parts]
        if bars:
            _bars(axes, statistic, [part[-1] for part in own], chance)
        else:
            _lines(axes, clock, statistic, own, chance, columns=600 // across)
        lowest = place + across >= shown
        words = statistic.output_name if bars else time_label or clock.label
        title = style.short(names[place], 100 if across == 1 else 46)
        style.tidy(axes, x=words if lowest else "", title=title)
        axes.tick_params(labelbottom=lowest)
    if not bars:
        clock.dress(panels[0])
    for axes in panels[shown:]:
        axes.set_visible(False)
    label = label or ("records in each bin" if bars else statistic.name)
    figure.supylabel(label, fontsize=style.LABEL, parse_math=False)
    style.legend_below(figure, max(panels[:shown], key=_drawn))
    notes = f"The first {shown} of {len(names)} keys." if shown < len(names) else ""
    when = " at the last step" if bars else ""
    title = f"Released {label}{when}, with {chance} intervals"
    style.headline(figure, style.short(title, 100), style.terms(decay, guarantee), notes)
    return figure


def _lines(
    axes: Axes,
    clock: _Clock,
    statistic: LaneStatistic,
    parts: list[Matrix],
    chance: str,
    *,
    columns: int,
) -> None:
    value, low, high, *truth = parts
    for place in range(value.shape[1]):
        colour = _COLOURS[place % len(_COLOURS)]
        crowded = np.count_nonzero(np.isfinite(value[:, place])) > columns
        words = {
            "band": f"{chance} interval, for each step separately" if place == 0 else _HIDDEN,
            "line": _name(statistic, place),
        }
        for run in _runs(value[:, place]):
            x, line = clock.x[run], value[run, place]
            edges = thinning.envelope(x, low[run, place], high[run, place], columns=columns)
            style.band(axes, *edges, colour=colour, label=words["band"])
            at = thinning.kept(x, line, columns=columns)
            axes.plot(
                x[at],
                line[at],
                color=colour,
                linewidth=0.5 if crowded else 1.3,
                marker="o" if len(clock.x) <= 40 or len(x) == 1 else "",
                markersize=3,
                label=words["line"],
            )
            words = dict.fromkeys(words, _HIDDEN)  # one entry in the legend for all runs
        if truth:
            at = thinning.kept(clock.x, truth[0][:, place], columns=columns)
            axes.plot(
                clock.x[at],
                truth[0][at, place],
                color=style.BLACK,
                linewidth=1.0,
                linestyle="--",
                label="truth (public data)" if place == 0 else _HIDDEN,
            )
    if not np.isfinite(value).any():
        axes.text(
            0.5,
            0.5,
            "no values",
            color=style.GREY,
            fontsize=style.LABEL,
            horizontalalignment="center",
            verticalalignment="center",
            transform=axes.transAxes,
        )


def _runs(values: Column) -> list[slice]:
    """The stretches of values without nan.

    >>> _runs(np.array([np.nan, 1.0, 2.0, np.nan, 3.0]))
    [slice(1, 3, None), slice(4, 5, None)]
    """
    there = np.concatenate(([False], np.isfinite(values), [False]))
    starts, ends = np.flatnonzero(np.diff(there.astype(np.int8))).reshape(-1, 2).T
    return [slice(int(start), int(end)) for start, end in zip(starts, ends, strict=True)]


def _drawn(axes: Axes) -> int:
    """The number of entries that the axes have in a legend."""
    return len(axes.get_legend_handles_labels()[1])


def _name(statistic: LaneStatistic, place: int) -> str:
    """A line's name in the legend.

    >>> from hushfade import Quantiles
    >>> [_name(Quantiles([0.5, 0.9, 0.995], 0, 1, bins=4), place) for place in range(3)]
    ['median', '90th percentile', '99.5th percentile']
    """
    if statistic.outputs is None:
        return "released"
    if statistic.name != "quantiles":
        return f"{statistic.output_name} {statistic.outputs[place]}"
    percent = float(f"{100 * float(statistic.outputs[place]):.6g}")
    if percent == 50:
        return "median"
    ending = {1: "st", 2: "nd", 3: "rd"}.get(int(percent) % 10, "th")
    if not percent.is_integer() or int(percent) in (11, 12, 13):
        ending = "th"
    return f"{percent:g}{ending} percentile"


def _bars(axes: Axes, statistic: LaneStatistic, parts: list[Column], chance: str) -> None:
    assert statistic.outputs is not None
    value, low, high, *truth = parts
    x = np.arange(len(value))
    axes.bar(x, value, color=style.BLUE, alpha=0.6, label="released")
    axes.errorbar(
        x,
        value,
        yerr=np.stack([value - low, high - value]),
        fmt="none",
        ecolor=style.BLACK,
        capsize=3,
        label=f"{chance} interval",
    )
    if truth:
        axes.plot(x, truth[0], "x", color=style.VERMILLION, label="truth (public data)")
    axes.set_xticks(x, [style.short(name, 14) for name in statistic.outputs])
    if len(x) > 6:
        axes.tick_params(axis="x", labelrotation=45)
    axes.axhline(0.0, color=style.BLACK, linewidth=0.6)


def _table(rows: int, **argument: ArrayLike) -> Matrix:
    """The single keyword's value as (n, columns); nan is allowed."""
    ((name, value),) = argument.items()
    found = np.asarray(value, dtype=np.float64)
    found = found[:, None] if found.ndim == 1 else found
    if found.ndim != 2 or len(found) != rows:
        raise InvalidValue(f"must have one row per time, {rows}", argument=name, got=found.shape)
    return found
