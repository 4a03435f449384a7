"""Compiles the loops that most tests use, once, before several processes would each compile them.

Run with `python -m lab.compile_loops`.  The loops step streams, read records and correlate noise.
"""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from hushfade import (
    CorrelatedNoise,
    Exponential,
    Guarantee,
    NoDecay,
    Person,
    PowerLaw,
    SlidingWindow,
    UnsafeSeededNoise,
    plan,
)
from hushfade.cli import main as hushfade

_ONE = Guarantee(epsilon=1, delta=1e-6)
_PURE = Guarantee(epsilon=1, delta=0)
_ROWS = [
    {"at": f"2026-01-01T0{hour}:00:00Z", "key": key, "value": 0.5}
    for hour in range(4)
    for key in ("a", "b")
]
_OPTIONS = (
    "--time at --every 1h --start 2026-01-01T00:00:00Z --steps 4 --value value --low 0 --high 1 "
    "--key key --keys a,b --half-life 3 --epsilon 1 --delta 1e-6"
)


def streams() -> None:
    """Step streams of every shape, one step and many steps at a time."""
    for decay, guarantee, horizon in (
        (NoDecay(), _ONE, 50),
        (NoDecay(), _PURE, 1 << 14),
        (Exponential(half_life=24), _ONE, None),
        (Exponential(half_life=500), _PURE, None),
        (PowerLaw(power=1), _ONE, None),
        (PowerLaw(power=0.25), _PURE, None),
        (SlidingWindow(length=7), _ONE, None),
        (SlidingWindow(length=500), _PURE, None),
    ):
        single = plan(decay, guarantee, horizon=horizon)
        stream = single.start(UnsafeSeededNoise(0))
        stream.step([0.5])
        stream.run(np.zeros(10))
        keyed = plan(decay, guarantee, horizon=horizon, keys=["a", "b"])
        stream = keyed.start(UnsafeSeededNoise(0))
        stream.step({"a": [0.5], "b": []})
        stream.run(np.zeros((10, 2)))


def records() -> None:
    """Read the same rows as CSV and as lines of JSON."""
    with TemporaryDirectory() as directory:
        rows, lines = Path(directory, "rows.csv"), Path(directory, "rows.jsonl")
        names = list(_ROWS[0])
        table = [names, *([str(row[name]) for name in names] for row in _ROWS)]
        rows.write_text("".join(",".join(row) + "\n" for row in table), encoding="utf-8")
        text = "".join(json.dumps(row) + "\n" for row in _ROWS)
        lines.write_text(text.replace('"a"', '"\\u0061"'), encoding="utf-8")
        for path in (rows, lines):
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                hushfade(["run", str(path), *_OPTIONS.split()])


def correlated_noise() -> None:
    """Take noise of each kind of recurrence, as both kinds of number."""
    person = Guarantee(1, 1e-6, protects=Person(steps=5, apart=3))
    for decay, guarantee in (
        (NoDecay(), _ONE), (Exponential(half_life=24), _ONE), (SlidingWindow(length=64), person),
    ):  # fmt: skip
        for dtype in ("float32", "float64"):
            noise = CorrelatedNoise(
                decay, 3, guarantee=guarantee, norm=1.0, horizon=100, dtype=dtype,
                noise=UnsafeSeededNoise(0),
            )  # fmt: skip
            noise.next_many(10)


def main() -> None:
    """Run all of them."""
    streams()
    records()
    correlated_noise()


if __name__ == "__main__":
    main()
