"""The series that `hushfade run` releases: a live chart in the terminal, and a figure in a file."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hushfade.cli import console
from hushfade.releases.files import Rows

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan
    from hushfade.releases.files import Meaning
    from hushfade.releases.statistic_rows import StatisticRows

_LAST = 240  # steps in the chart


class SeriesView:
    """A view of the releases: a chart of the last steps, and a figure of all steps."""

    def __init__(
        self, plan: Plan, meaning: Meaning, *, shown: bool, kept: bool, label: str | None = None
    ) -> None:
        self._plan, self._meaning, self._label = plan, meaning, label
        self._pieces: list[Rows] = []
        self._statistics: list[StatisticRows] = []
        self._kept = kept
        self._last: deque[tuple[float, float, float]] = deque(maxlen=_LAST)
        self._step = 0
        self._live: Any = _live() if shown else None

    def __enter__(self) -> SeriesView:
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._live is not None:
            self._live.__exit__(*error)

    def add(self, rows: Rows | StatisticRows) -> None:
        """Add the next steps."""
        if self._kept:
            kept: list[Any] = self._pieces if isinstance(rows, Rows) else self._statistics
            kept.append(rows)
        if self._live is None:
            return
        if isinstance(rows, Rows):
            first, margins = rows.values[:, 0], rows.margins(0.95)
            bands = [first, first - margins, first + margins]
        else:
            bands = [part[:, 0] for part in rows.series(0.95)]
        self._last.extend(zip(*(part[-_LAST:].tolist() for part in bands), strict=True))
        self._step = int(rows.steps[-1])
        self._live.update(self._chart(), refresh=True)

    def _chart(self) -> Any:
        from hushfade.plots import chart

        values, low, high = np.array(self._last).T
        keys = self._meaning.keys
        of = "" if keys is None else f"{keys[0]} (first of {len(keys)} keys), "
        return chart(
            values,
            low=low,
            high=high,
            width=min(console.err().width, 100),
            height=14,
            label=f"{of}steps {self._step - len(values) + 1} to {self._step}, with 95 % band",
        )

    def plot(self, path: Path) -> None:
        """Write a figure of the complete series."""
        from hushfade import plots

        if self._statistics:
            self._plot_statistic(path)
        if not self._pieces:
            return
        ends = [piece.ends for piece in self._pieces if piece.ends is not None]
        steps = np.concatenate([piece.steps for piece in self._pieces])
        times = np.concatenate(ends).astype("datetime64[ns]") if ends else steps
        values = np.concatenate([piece.values for piece in self._pieces])
        margins = [piece.margins(self._meaning.confidence) for piece in self._pieces]
        margin = np.concatenate(margins)[:, None]
        figure = plots.series(
            times.tolist() if times is steps else times.astype("datetime64[us]").tolist(),
            values,
            lower=values - margin,
            upper=values + margin,
            keys=self._meaning.keys,
            decay=self._plan.decay,
            guarantee=self._plan.guarantee,
            label=self._label or "decayed sum",
            confidence=self._meaning.confidence,
        )
        plots.write(figure, path)

    def _plot_statistic(self, path: Path) -> None:
        from hushfade import plots

        pieces, statistic = self._statistics, self._plan.statistic
        assert statistic is not None
        parts = [piece.series(self._meaning.confidence) for piece in pieces]
        value, lower, upper = (np.concatenate(part) for part in zip(*parts, strict=True))
        ends = [piece.ends for piece in pieces if piece.ends is not None]
        times: Any = np.concatenate([piece.steps for piece in pieces]).tolist()
        if ends:
            times = np.concatenate(ends).astype("datetime64[ns]").astype("datetime64[us]").tolist()
        figure = plots.statistic_series(
            times,
            value,
            lower,
            upper,
            statistic=statistic,
            keys=self._meaning.keys,
            decay=self._plan.decay,
            guarantee=self._plan.guarantee,
            label=self._label,
            confidence=self._meaning.confidence,
        )
        plots.write(figure, path)


def _live() -> Any:
    from rich.live import Live

    return Live(console=console.err(), auto_refresh=False)
