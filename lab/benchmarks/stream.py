"""Streams: blocks of steps, live steps of one key and of many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

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
    factors,
    plan,
)
from lab.benchmarks.memory import touch
from lab.benchmarks.noise import NORMALS, normals
from lab.benchmarks.report import (
    GOAL_COLUMNS,
    NOT_MEASURED,
    PeerRow,
    Section,
    goal_cells,
    ratio_cells,
    ratio_section,
    seconds,
    short,
)
from lab.benchmarks.timing import Job, each, interleaved, ratio
from lab.progress import progress

STEPS, KEYS, HORIZON = 10**6, 10**5, 1 << 20
GUARANTEE = Guarantee(epsilon=1, delta=1e-6)
EXPONENTIAL, COUNTING = "exponential, half-life 24", "counting, horizon 2^20"
ENDLESS: dict[str, Decay] = {
    EXPONENTIAL: Exponential(half_life=24),
    "power 1": PowerLaw(power=1),
    "window 64": SlidingWindow(length=64),
}
ONE_TAP = "{}, R = 1"  # noise on the inputs
KEYED: dict[str, Decay] = {
    EXPONENTIAL: Exponential(half_life=24),
    "power 1": PowerLaw(power=1),
    "window 7": SlidingWindow(length=7),
}
RIVER = "River EWMean.update"
LIVE = 1 << 14  # live steps per round

Plans = dict[str, Plan]


def sections(rounds: int) -> Iterator[Section]:
    """Pauses, blocks, live steps and many keys."""
    warm_up()
    yield pauses()  # first, while nothing about the plans is known
    yield blocks(rounds)
    yield live(rounds)
    yield many_keys(rounds)


def warm_up() -> None:
    """Load compiled code with a plan that is not measured."""
    stream = started(plan(Exponential(half_life=3), GUARANTEE))
    stream.step_total(3.0)
    stream.run(totals(100))


@cache
def plans() -> Plans:
    """The plans that several benchmarks measure."""
    progress("planning counting to 2^20")
    found = {name: plan(decay, GUARANTEE) for name, decay in ENDLESS.items()}
    found |= {ONE_TAP.format(name): on_inputs(decay) for name, decay in ENDLESS.items()}
    found[COUNTING] = plan(NoDecay(), GUARANTEE, horizon=HORIZON)
    return found


def on_inputs(decay: Decay, keys: list[str] | None = None) -> Plan:
    """The plan whose right factor is 1: noise is added to the totals themselves."""
    return plan(decay, GUARANTEE, method=factors.from_right(decay, np.ones(1)), keys=keys)


def totals(count: int) -> Any:
    """Random totals of steps."""
    return np.random.default_rng(2).integers(0, 100, size=count).astype(float)


def started(found: Plan) -> Stream:
    """A stream with seeded noise, which costs as much as fresh noise."""
    return found.start(UnsafeSeededNoise(1))


def by_new_streams(
    found: Plan, rounds: int, work: Callable[[Stream], object], before: int = 0
) -> Job:
    """A job that does the work on a new stream in each round, after `before` live steps."""
    streams = [started(found) for _ in range(rounds + 1)]
    for stream in streams:
        for _ in range(before):
            stream.step_total(3.0)
    return lambda: work(streams.pop())


def pauses() -> Section:
    """The longest of many live steps, which an average hides."""
    rows = []
    for name, found in plans().items():
        stream = started(found)
        taken = np.array([_seconds(stream) for _ in range(1 << 15)])
        stream.run(totals(HORIZON - stream.steps - 1))
        late = _seconds(stream)
        at = int(np.argmax(taken)) + 1
        progress(f"longest live step, {name}: {seconds(taken.max())}, at 2^20 {seconds(late)}")
        rows.append(
            (name, seconds(float(np.median(taken))), seconds(taken.max()), str(at), seconds(late))
        )
    return Section(
        "Stream: pauses of live steps",
        "Each of the first 2^15 steps is timed alone, and so is one live step after a block up to "
        "2^20.",
        ("job", "median", "longest", "at step", "step 2^20"),
        rows,
    )


def blocks(rounds: int) -> Section:
    """`run` of 10^6 steps, each round by a new stream."""
    x = totals(STEPS)
    jobs: dict[str, Job] = {NORMALS: normals(STEPS)}
    for name, found in plans().items():
        jobs[f"run, {name}"] = by_new_streams(found, rounds, lambda stream: stream.run(x))
    times = interleaved(jobs, rounds)
    unit = times.pop(NORMALS)
    goals = {f"run, {EXPONENTIAL}": 4.0, f"run, {ONE_TAP.format(EXPONENTIAL)}": 2.0}
    return ratio_section(
        "Stream: run of 10^6 steps",
        "Yardstick: drawing 10^6 numpy normals, "
        f"{min(unit) * 1e3:.1f} ms at best.  The time excludes making the plan and the stream.",
        [ratio(name, taken, unit, goals.get(name)) for name, taken in times.items()],
    )


def live(rounds: int) -> Section:
    """`step_total` of one key, compared with River's statistics, which are not private."""
    values: list[float] = totals(LIVE).tolist()
    jobs: dict[str, Job] = {}
    if river := _river():
        jobs[RIVER] = each(river.EWMean(0.03).update, values)
        jobs["River EWVar.update"] = each(river.EWVar(0.03).update, values)
        jobs["River Sum.update"] = each(river.Sum().update, values)
    for name, found in plans().items():
        jobs[f"step_total, {name}"] = each(started(found).step_total, values)
    times = interleaved(jobs, rounds)
    unit = times.get(RIVER)
    goals = {
        f"step_total, {EXPONENTIAL}": 25.0,
        f"step_total, {ONE_TAP.format(EXPONENTIAL)}": 15.0,
    }
    rows = []
    for name, taken in times.items():
        cells = (name, seconds(min(taken) / LIVE))
        goal = goals.get(name)
        if unit is None:
            verdict = ("-", "-") if goal is None else (f"≤ {goal:g}×", NOT_MEASURED)
            rows.append((*cells, "-", "-", *verdict))
        else:
            compared = ratio(name, taken, unit)
            rows.append((*cells, *ratio_cells(compared), *goal_cells(compared.best, goal, "×")))
    yardstick = (
        "**River is not installed, so nothing was compared with it.**"
        if unit is None
        else f"Yardstick: {RIVER}, not private."
    )
    return Section(
        "Stream: live steps of one key",
        f"{yardstick}  {LIVE} single steps per round.",
        ("job", "per step", "best", "spread", *GOAL_COLUMNS),
        rows,
        peer_rows=list(_peer_rows(times)),
    )


def many_keys(rounds: int) -> Section:
    """`step_total` of 10^5 keys, the totals as an array."""
    keys = [str(key) for key in range(KEYS)]
    x = totals(KEYS)
    jobs: dict[str, Job] = {NORMALS: normals(KEYS)}
    for name, decay in KEYED.items():
        for job, found in (
            (name, plan(decay, GUARANTEE, keys=keys)),
            (ONE_TAP.format(name), on_inputs(decay, keys)),
        ):
            stream = started(found)
            touch(stream)
            jobs[f"step_total, {job}"] = step_of(stream, x)
    times = interleaved(jobs, 3 * rounds)
    unit = times.pop(NORMALS)
    return ratio_section(
        "Stream: live steps of 10^5 keys",
        f"Yardstick: drawing 10^5 numpy normals, {min(unit) * 1e3:.2f} ms at best.  One step per "
        f"round, {3 * rounds} rounds.",
        [ratio(name, taken, unit, 5.0) for name, taken in times.items()],
    )


def step_of(stream: Stream, x: Any) -> Job:
    """One live step with these totals."""
    return lambda: stream.step_total(x)


def _peer_rows(times: dict[str, list[float]]) -> Iterator[PeerRow]:
    ours = f"step_total, {EXPONENTIAL}"
    mine = min(times[ours]) / LIVE
    for name, taken in times.items():
        if name.startswith("River"):
            other = min(taken) / LIVE
            peer = f"{name}, not private"
            yield PeerRow(ours, seconds(mine), peer, seconds(other), f"{short(other / mine)}×")


def _river() -> Any:
    """River's statistics, or None if River is not installed."""
    return import_module("river.stats") if find_spec("river") else None


def _seconds(stream: Stream) -> float:
    start = perf_counter()
    stream.step_total(3.0)
    return perf_counter() - start
