"""Streams: blocks of steps, live steps of one key and of many, and steps far along a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.noise import NORMALS, normals
from benchmarks.report import (
    GOAL_COLUMNS,
    NOT_MEASURED,
    Section,
    goal_cells,
    ratio_cells,
    ratio_section,
)
from benchmarks.timing import Job, Ratio, each, interleaved, progress, ratio
from hushfade import (
    Decay,
    Exponential,
    Guarantee,
    NoDecay,
    Plan,
    PowerLaw,
    SlidingWindow,
    Stream,
    UnsafeSeededNoise,
    plan,
)

STEPS, KEYS, HORIZON = 10**6, 10**5, 1 << 20
GUARANTEE = Guarantee(epsilon=1, delta=1e-6)
ENDLESS: dict[str, Decay] = {
    "exponential, half-life 24": Exponential(half_life=24),
    "power 1": PowerLaw(power=1),
    "window 64": SlidingWindow(length=64),
}
KEYED: dict[str, Decay] = {
    "exponential, half-life 24": Exponential(half_life=24),
    "power 1": PowerLaw(power=1),
    "window 7": SlidingWindow(length=7),
}
COUNTING = "counting, horizon 2^20"
RIVER = "River EWMean.update"

Plans = dict[str, Plan]


def sections(rounds: int) -> Iterator[Section]:
    """Pauses, blocks, live steps, many keys, and the growth of the cost with t."""
    warm_up()
    plans = {name: plan(decay, GUARANTEE) for name, decay in ENDLESS.items()}
    progress("planning counting to 2^20")
    start = perf_counter()
    plans[COUNTING] = plan(NoDecay(), GUARANTEE, horizon=HORIZON)
    planning = perf_counter() - start
    yield pauses(plans)  # first, while nothing about the plans is known
    yield blocks(plans, rounds, planning)
    yield live(plans, rounds)
    yield many_keys(rounds)
    yield growth(plans, rounds)


def warm_up() -> None:
    """Compiled code loaded, by a plan that is not measured."""
    stream = _started(plan(Exponential(half_life=3), GUARANTEE))
    stream.step_total(3.0)
    stream.run(_totals(100))


def pauses(plans: Plans) -> Section:
    """The longest of many live steps: what an average hides."""
    rows = []
    for name, found in plans.items():
        stream = _started(found)
        taken = np.array([_seconds(stream) for _ in range(1 << 15)]) * 1e3
        stream.run(_totals(HORIZON - stream.steps - 1))
        late = _seconds(stream) * 1e3
        progress(f"longest live step, {name}: {taken.max():.3g} ms, at 2^20 {late:.3g} ms")
        at = int(np.argmax(taken)) + 1
        rows.append(
            (name, f"{np.median(taken) * 1e3:.2f}", f"{taken.max():.1f}", str(at), f"{late:.1f}")
        )
    return Section(
        "Stream: pauses of live steps",
        "Each of the first 2^15 steps timed alone, and one live step that follows a block up to "
        "2^20.",
        (
            "job",
            "median, microseconds",
            "longest, milliseconds",
            "at step",
            "step 2^20, milliseconds",
        ),
        rows,
    )


def blocks(plans: Plans, rounds: int, planning: float) -> Section:
    """`run` of 10^6 steps, each round by a new stream."""
    totals = _totals(STEPS)
    jobs: dict[str, Job] = {NORMALS: normals(STEPS)}
    for name, found in plans.items():
        jobs[f"run, {name}"] = _by_new_streams(found, rounds, lambda stream: stream.run(totals))
    times = interleaved(jobs, rounds)
    unit = times.pop(NORMALS)
    return ratio_section(
        "Stream: run of 10^6 steps",
        "Yardstick: drawing 10^6 numpy normals, "
        f"{min(unit) * 1e3:.1f} ms at best.  The plan and the stream are made before; "
        f"the plan of counting to 2^20 took {planning:.1f} s.",
        [ratio(name, taken, unit, 4.0) for name, taken in times.items()],
    )


def live(plans: Plans, rounds: int) -> Section:
    """`step_total` of one key beside River's decayed mean, which has no privacy."""
    steps = 1 << 14
    values: list[float] = _totals(steps).tolist()
    jobs: dict[str, Job] = {}
    if river := _river():
        jobs[RIVER] = each(river.EWMean(0.03).update, values)
    for name, found in plans.items():
        jobs[f"step_total, {name}"] = each(_started(found).step_total, values)
    times = interleaved(jobs, rounds)
    unit = times.pop(RIVER, None)
    goal = 25.0
    rows = []
    for name, taken in times.items():
        microseconds = f"{min(taken) / steps * 1e6:.2f}"
        if unit is None:
            rows.append((name, microseconds, "-", "-", f"≤ {goal:g}×", NOT_MEASURED))
        else:
            compared = ratio(name, taken, unit, goal)
            judged = goal_cells(compared.best, goal, "×")
            rows.append((name, microseconds, *ratio_cells(compared), *judged))
    yardstick = (
        "**River is not installed, so nothing was compared with it.**"
        if unit is None
        else f"Yardstick: {RIVER}, not private, {min(unit) / steps * 1e6:.3f} µs at best."
    )
    return Section(
        "Stream: live steps of one key",
        f"{yardstick}  {steps} steps a round, one after another.",
        ("job", "microseconds a step", "best", "spread", *GOAL_COLUMNS),
        rows,
    )


def many_keys(rounds: int) -> Section:
    """`step_total` of 10^5 keys, the totals as an array."""
    keys = [str(key) for key in range(KEYS)]
    totals = _totals(KEYS)
    jobs: dict[str, Job] = {NORMALS: normals(KEYS)}
    for name, decay in KEYED.items():
        stream = _started(plan(decay, GUARANTEE, keys=keys))
        for part in (stream._packed.integers, stream._packed.floats):
            part.fill(0)  # what a long stream has written to: memory, not pages of zeros
        jobs[f"step_total, {name}"] = _step_of(stream, totals)
    times = interleaved(jobs, 3 * rounds)
    unit = times.pop(NORMALS)
    return ratio_section(
        "Stream: live steps of 10^5 keys",
        f"Yardstick: drawing 10^5 numpy normals, {min(unit) * 1e3:.2f} ms at best.  One step a "
        f"round, {3 * rounds} rounds.",
        [ratio(name, taken, unit, 5.0) for name, taken in times.items()],
    )


def growth(plans: Plans, rounds: int) -> Section:
    """4096 steps that begin at 2^10, and 4096 that end at most at 2^20."""
    block = 1 << 12
    totals = _totals(block)
    unbounded = plan(NoDecay(), GUARANTEE, method="unbounded")
    ratios: list[Ratio] = []
    rounds *= 3  # they are short
    for name, found in {**plans, "counting, unbounded": unbounded}.items():
        late = _started(found)
        late.run(_totals(HORIZON - block * (rounds + 1)))

        def begin(stream: Stream) -> None:
            stream.run(_totals(1 << 10))

        early = _by_new_streams(found, rounds, lambda stream: stream.run(totals), begin)
        times = interleaved({"early": early, "late": _run_of(late, totals)}, rounds)
        ratios.append(ratio(name, times["late"], times["early"], 2.0))
    return ratio_section(
        "Stream: cost of a step as t grows from 2^10 to 2^20",
        f"Yardstick: `run` of {block} steps from 2^10 on, by a new stream each round, {rounds} "
        "rounds.  The job: as many steps of a stream that reaches 2^20 in the last round.",
        ratios,
    )


def _river() -> Any:
    """River's statistics, or None where it is not installed."""
    return import_module("river.stats") if find_spec("river") else None


def _totals(count: int) -> Any:
    return np.random.default_rng(2).integers(0, 100, size=count).astype(float)


def _started(found: Plan) -> Stream:
    return found.start(UnsafeSeededNoise(1))


def _by_new_streams(
    found: Plan,
    rounds: int,
    work: Callable[[Stream], object],
    begin: Callable[[Stream], object] = lambda stream: None,
) -> Job:
    """The work on a stream of its own in each round and in the one that is not counted."""
    streams = [_started(found) for _ in range(rounds + 1)]
    for stream in streams:
        begin(stream)
    return lambda: work(streams.pop())


def _step_of(stream: Stream, totals: Any) -> Job:
    return lambda: stream.step_total(totals)


def _run_of(stream: Stream, totals: Any) -> Job:
    return lambda: stream.run(totals)


def _seconds(stream: Stream) -> float:
    start = perf_counter()
    stream.step_total(3.0)
    return perf_counter() - start
