"""The jobs that `versions` times in two versions of hushfade, with names that both versions have.

Run this file with PYTHONPATH set to one version.  It prints the best processor time of each job as
JSON.  Processor time varies less than elapsed time on a busy machine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from time import process_time
from typing import Literal

_start = process_time()
import hushfade as hf  # noqa: E402  its import is the first job

IMPORT = process_time() - _start

import numpy as np  # noqa: E402

GUARANTEE, NOISE = hf.Guarantee(epsilon=1, delta=1e-6), hf.UnsafeSeededNoise(1)
REPEATS = 7
ROOT: Literal["square_root"] = "square_root"  # both versions have it


def main() -> None:
    """Time every job and print the results."""
    times = {"import hushfade": IMPORT}
    for name, job in jobs().items():
        job()
        times[name] = min(_timed(job) for _ in range(REPEATS))
    json.dump(times, sys.stdout)


def jobs() -> dict[str, Callable[[], object]]:
    """Noise alone, runs, live steps, keys and plans."""
    zeros = np.zeros(200_000)
    short = hf.plan(hf.Exponential(half_life=24), GUARANTEE, method=ROOT)
    window = hf.plan(hf.SlidingWindow(length=64), GUARANTEE, method=ROOT)
    power = hf.plan(hf.PowerLaw(power=1), GUARANTEE, method=ROOT)
    counting = hf.plan(hf.NoDecay(), GUARANTEE, horizon=1 << 12, method="normalized")
    ten = hf.plan(short.decay, GUARANTEE, keys=[str(key) for key in range(10)], method=ROOT)
    many = hf.plan(power.decay, GUARANTEE, keys=[str(key) for key in range(20_000)], method=ROOT)
    trivial = hf.plan(
        hf.CustomDecay((1.0,)), GUARANTEE, method=ROOT
    )  # one tap: noise and little else
    live, keyed, wide = short.start(NOISE), ten.start(NOISE), many.start(NOISE)
    row, wide_row = np.zeros(10), np.zeros(20_000)

    def steps() -> None:
        for _ in range(5_000):
            live.step_total(1.0)

    def keyed_steps() -> None:
        for _ in range(2_000):
            keyed.step_total(row)

    def wide_steps() -> None:
        for _ in range(5):
            wide.step_total(wide_row)

    return {
        "noise: run, one tap": lambda: trivial.start(NOISE).run(zeros),
        "run: half-life 24": lambda: short.start(NOISE).run(zeros),
        "run: window 64": lambda: window.start(NOISE).run(zeros),
        "run: power 1": lambda: power.start(NOISE).run(zeros),
        "run: counting, normalized": lambda: counting.start(NOISE).run(zeros[:4096]),
        "live step": steps,
        "live step, 10 keys": keyed_steps,
        "live step, 20,000 keys, power 1": wide_steps,
        "plan: half-life 24": lambda: hf.plan(short.decay, GUARANTEE, method=ROOT),
        "plan: window 64": lambda: hf.plan(window.decay, GUARANTEE, method=ROOT),
        "plan: power 1": lambda: hf.plan(power.decay, GUARANTEE, method=ROOT),
    }


def _timed(job: Callable[[], object]) -> float:
    start = process_time()
    job()
    return process_time() - start


if __name__ == "__main__":
    main()
