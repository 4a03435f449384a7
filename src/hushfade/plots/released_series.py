"""A released series with its error band, one panel per key."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushfade import check
from hushfade.check import Column, Matrix
from hushfade.errors import InvalidType, InvalidValue
from hushfade.plots import style, thinning
from hushfade.plots.release_columns import release_columns
from hushfade.public.error_distribution import normal_multiple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hushfade.decays import Decay
    from hushfade.privacy.guarantee import Guarantee

MOST_KEYS = 12  # panels in one figure
COLUMNS = 600  # of a figure, shared by panels side by side: fewer than its pixels


def series(
    times: Any,
    values: ArrayLike | None = None,
    stddevs: ArrayLike | None = None,
    *,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    keys: Sequence[str] | None = None,
    decay: Decay | None = None,
    guarantee: Guarantee | None = None,
    label: str = "decayed sum",
    confidence: float = 0.95,
    truth: ArrayLike | None = None,
    time_label: str | None = None,
) -> Figure:
    """A figure of the released values with their intervals, from lower to upper, at each time.

    `times` are n step numbers or n dates and times, not decreasing.  `values`, `lower`, `upper` and
    `truth` have the shape (n,) or (n, keys).  Releases have these ends for every noise law, such as
    values ± `plan.margins(n, confidence)`.  `confidence` is the confidence of the ends.

    A frame of releases from pandas or Polars may replace times, values and ends: `series(frame)`.
    It has the columns of a file of releases.

    `stddevs`, of the shape (n,), may replace the ends.  Then the intervals assume normal errors,
    which is true for Gaussian noise only, and the figure says so.

    Draw `truth` only if the records are public.  Arrays may be from numpy, pandas or Polars.

    The figure shows the first 12 keys.  Panels share the vertical scale, unless the range of a key
    is less than an eighth of the whole range; then the figure says so.  With more than 2400 points
    (4 for each of 600 columns of the figure) a column shows the first, last, smallest and largest
    point, and the widest band.
    """
    confidence = check.probability(confidence=confidence)
    if values is None:
        if not (stddevs is lower is upper is keys is None):
            raise InvalidType("a frame of releases has the values, their ends and the keys itself")
        times, values, lower, upper, keys = release_columns(times)
    clock = _clock(times)
    released = _columns(values=values)
    if len(released) != len(clock.x):
        raise InvalidValue(
            f"must have one row per time, {len(clock.x)}", argument="values", got=len(released)
        )
    low, high = _ends(released, stddevs, lower, upper, confidence)
    true = None if truth is None else _columns(truth=truth)
    if true is not None and true.shape != released.shape:
        raise InvalidValue(f"truth must have the shape {released.shape}", got=true.shape)
    names = _names(keys, released.shape[1])
    shown = min(len(names), MOST_KEYS)
    chance, words = f"{100 * confidence:.6g} %", time_label or clock.label

    across = 1 if shown <= 3 else 2 if shown <= 8 else 3
    down = math.ceil(shown / across)
    figure = style.figure(9.0 if across < 3 else 12.0, 2.8 + 2.0 * down)
    alike = _alike(low[:, :shown], high[:, :shown])
    panels = figure.subplots(down, across, sharex=True, sharey=alike, squeeze=False).ravel()
    for place, axes in enumerate(panels[:shown]):
        one = None if true is None else true[:, place]
        columns = COLUMNS // across
        ends = low[:, place], high[:, place]
        _draw(axes, clock.x, released[:, place], *ends, one, chance, columns=columns)
        lowest = place + across >= shown
        style.tidy(
            axes,
            x=words if lowest else "",
            title=style.short(names[place], 100 if across == 1 else 46),
        )
        axes.tick_params(labelbottom=lowest)
    clock.dress(panels[0])
    for axes in panels[shown:]:
        axes.set_visible(False)
    figure.supylabel(label, fontsize=style.LABEL, parse_math=False)
    style.legend_below(figure, panels[0])
    notes = [f"The first {shown} of {len(names)} keys."] if shown < len(names) else []
    notes += [] if stddevs is None else ["Normal errors assumed, as with Gaussian noise."]
    notes += [] if alike else ["Each panel has its own vertical scale."]
    title = f"Released {label}, with {chance} intervals"
    style.headline(figure, style.short(title, 100), style.terms(decay, guarantee), " ".join(notes))
    return figure


def _draw(
    axes: Axes,
    x: Column,
    value: Column,
    low: Column,
    high: Column,
    true: Column | None,
    chance: str,
    *,
    columns: int,
) -> None:
    band = f"{chance} interval, for each step separately"
    edges = thinning.envelope(x, low, high, columns=columns)
    style.band(axes, *edges, colour=style.BLUE, label=band)
    few, crowded = len(x) <= 40, len(x) > columns
    at = thinning.kept(x, value, columns=columns)
    axes.plot(
        x[at],
        value[at],
        color=style.BLUE,
        linewidth=0.5 if crowded else 1.3,
        marker="o" if few else "",
        markersize=3,
        label="released",
    )
    if true is not None:
        at = thinning.kept(x, true, columns=columns)
        axes.plot(
            x[at],
            true[at],
            color=style.BLACK,
            linewidth=1.0,
            linestyle="--",
            marker="x" if few else "",
            markersize=4,
            label="truth (public data)",
        )


@dataclass(frozen=True)
class _Clock:
    """The horizontal axis: step numbers, or days since 1970 with labels as dates."""

    x: Column
    dated: bool
    zone: tzinfo | None = None

    @property
    def label(self) -> str:
        if not self.dated:
            return "step"
        return "time" if self.zone is None else f"time ({self.zone})"

    def dress(self, axes: Axes) -> None:
        """Set ticks at whole steps, or at dates in a short form."""
        if len(self.x) == 1:
            axes.set_xlim(self.x[0] - 1, self.x[0] + 1)
        if not self.dated:
            style.whole_steps(axes)
            return
        axes.xaxis_date(tz=self.zone)
        dates = _dates()
        locator = dates.AutoDateLocator(tz=self.zone, minticks=3, maxticks=9)
        axes.xaxis.set_major_locator(locator)
        formatter = dates.ConciseDateFormatter(locator, tz=self.zone)
        first, last = dates.num2date(self.x[[0, -1]], tz=self.zone)
        if (first.year, first.month) != (last.year, last.month):
            formatter.offset_formats[2] = "%Y"  # the ticks name the months
        axes.xaxis.set_major_formatter(formatter)


def _dates() -> Any:
    """matplotlib.dates, which has no types."""
    from matplotlib import dates

    return dates


def _clock(times: ArrayLike | Sequence[date]) -> _Clock:
    array = np.asarray(times)
    if array.dtype.kind in "iuf":
        found = _Clock(check.coefficients(times=array), False)
    else:
        found = _calendar(array)
    back = np.flatnonzero(np.diff(found.x) < 0)
    if back.size:
        raise InvalidValue("times must not decrease", got=f"an earlier one at index {back[0] + 1}")
    return found


def _calendar(array: NDArray[Any]) -> _Clock:
    if array.ndim != 1:
        raise InvalidValue("times must have one dimension", got=f"shape {array.shape}")
    if not array.size:
        raise InvalidValue("times must not be empty", got=f"shape {array.shape}")
    zone: tzinfo | None = None
    if array.dtype.kind != "M":
        for place, time in enumerate(array):
            # pandas' NaT is a datetime of the year nan
            if not (isinstance(time, date) and time.year >= 1):
                raise InvalidType(
                    "times must be step numbers or dates and times",
                    got=f"{type(time).__name__} at index {place}",
                )
        zone = getattr(array[0], "tzinfo", None)
        if any((getattr(time, "tzinfo", None) is None) != (zone is None) for time in array):
            raise InvalidValue("times must all have a time zone, or none of them")
    elif np.any(np.isnat(array)):
        missing = int(np.argmax(np.isnat(array)))
        raise InvalidValue("times must be times", got=f"NaT at index {missing}")
    return _Clock(np.asarray(_dates().date2num(array), dtype=np.float64), True, zone)


def _columns(**argument: Any) -> Matrix:
    """The single keyword's value as (n, keys), finite."""
    ((name, value),) = argument.items()
    if np.ndim(value) == 2:
        return check.matrix(**argument)
    return check.coefficients(**{name: value})[:, None]


def _names(keys: Sequence[str] | None, count: int) -> list[str]:
    if keys is None:
        return [""] if count == 1 else [f"column {place}" for place in range(count)]
    if isinstance(keys, str) or not all(isinstance(key, str) for key in keys):
        raise InvalidType("keys must be a sequence of str")
    if len(keys) != count:
        raise InvalidValue(
            f"must have one key per column of values, {count}", argument="keys", got=len(keys)
        )
    return list(keys)


def _ends(
    released: Matrix,
    stddevs: ArrayLike | None,
    lower: ArrayLike | None,
    upper: ArrayLike | None,
    confidence: float,
) -> tuple[Matrix, Matrix]:
    """The ends of the intervals, as they are given or from standard deviations."""
    if stddevs is None:
        if lower is None or upper is None:
            raise InvalidType(
                "series needs lower and upper, the ends of the intervals",
                remedy="they are values - margins and values + margins of plan.margins(n)",
            )
        low, high = _columns(lower=lower), _columns(upper=upper)
        for name, end in (("lower", low), ("upper", high)):
            if end.shape != released.shape:
                raise InvalidValue(
                    f"must have the shape of values, {released.shape}", argument=name, got=end.shape
                )
        if not bool(np.all(low <= high)):
            raise InvalidValue("lower must be at most upper in every row")
        return low, high
    if lower is not None or upper is not None:
        raise InvalidType("stddevs cannot be combined with lower and upper")
    s = check.coefficients(stddevs=stddevs)
    if len(s) != len(released):
        raise InvalidValue(
            f"must have one row per time, {len(released)}", argument="stddevs", got=len(s)
        )
    if not float(np.min(s)) >= 0:
        raise InvalidValue("must be >= 0", argument="stddevs", got=repr(float(np.min(s))))
    margin = (normal_multiple(confidence) * s)[:, None]
    return released - margin, released + margin


def _alike(low: Matrix, high: Matrix) -> bool:
    """Whether all panels share a scale: each has at least an eighth of the whole range."""
    spans = np.max(high, axis=0) - np.min(low, axis=0)
    whole = float(np.max(high) - np.min(low))
    return len(spans) == 1 or whole <= 8.0 * float(np.min(spans))
