"""The series that `hushfade run` releases: a chart in the terminal as it grows, and a picture."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hushfade.cli import console

if TYPE_CHECKING:
    from hushfade.planning.plan import Plan
    from hushfade.releases.files import Meaning, Rows

_LAST = 240  # steps in the chart


class SeriesView:
    """Shows releases: the last steps in a chart, all steps in a picture."""

    def __init__(self, plan: Plan, meaning: Meaning, *, shown: bool, kept: bool) -> None:
        self._plan, self._meaning = plan, meaning
        self._pieces: list[Rows] = []
        self._kept = kept
        self._last: deque[tuple[float, float]] = deque(maxlen=_LAST)
        self._step = 0
        self._live: Any = _live() if shown else None

    def __enter__(self) -> SeriesView:
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._live is not None:
            self._live.__exit__(*error)

    def add(self, rows: Rows) -> None:
        """Take the next steps."""
        if self._kept:
            self._pieces.append(rows)
        if self._live is None:
            return
        first = rows.values[-_LAST:, 0]
        self._last.extend(zip(first.tolist(), rows.margins(0.95)[-_LAST:].tolist(), strict=True))
        self._step = int(rows.steps[-1])
        self._live.update(self._chart(), refresh=True)

    def _chart(self) -> Any:
        from hushfade.plots import chart

        values, margins = np.array(self._last).T
        keys = self._meaning.keys
        of = "" if keys is None else f"{keys[0]}, the first of {len(keys)} keys; "
        return chart(
            values,
            low=values - margins,
            high=values + margins,
            width=min(console.err().width, 100),
            height=14,
            label=f"{of}steps {self._step - len(values) + 1} to {self._step}, 95 % band",
        )

    def plot(self, path: Path) -> None:
        """Write a picture of the whole series."""
        from hushfade import plots

        if not self._pieces:
            return
        ends = [piece.ends for piece in self._pieces if piece.ends is not None]
        steps = np.concatenate([piece.steps for piece in self._pieces])
        times = np.concatenate(ends).astype("datetime64[ns]") if ends else steps
        values = np.concatenate([piece.values for piece in self._pieces])
        figure = plots.series(
            times.tolist() if times is steps else times.astype("datetime64[us]").tolist(),
            values,
            np.concatenate([piece.stddevs for piece in self._pieces]),
            keys=self._meaning.keys,
            decay=self._plan.decay,
            guarantee=self._plan.guarantee,
            confidence=self._meaning.confidence,
            margins=np.concatenate(
                [piece.margins(self._meaning.confidence) for piece in self._pieces]
            ),
        )
        plots.write(figure, path)


def _live() -> Any:
    from rich.live import Live

    return Live(console=console.err(), auto_refresh=False)
