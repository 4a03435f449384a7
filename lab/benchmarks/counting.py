"""Counting to 2^20: the memory of plan, stream and steps, and the cost of a late step."""

from __future__ import annotations

from collections.abc import Iterator

from hushfade import NoDecay, Stream, plan
from lab.benchmarks import memory
from lab.benchmarks.report import GOAL_COLUMNS, Section, goal_cells, ratio_section
from lab.benchmarks.stream import (
    COUNTING,
    GUARANTEE,
    HORIZON,
    by_new_streams,
    plans,
    started,
    totals,
    warm_up,
)
from lab.benchmarks.timing import Job, each, interleaved, ratio
from lab.progress import progress

SHORT = 1 << 10
MEGABYTE = 1e6
MOST_MEMORY = 64.0  # megabytes
MOST_STEP = 3.0  # relative to a step with horizon 2^10

_BEFORE = """
import hushfade as hf
import numpy as np
guarantee = hf.Guarantee(epsilon=1, delta=1e-6)
warm = hf.plan(hf.Exponential(half_life=3), guarantee).start()
warm.step_total(3.0)
warm.run(np.ones(100))
"""
_STARTED = f"stream = hf.plan(hf.NoDecay(), guarantee, horizon={HORIZON}).start()"
_JOBS = {
    "plan and stream": _STARTED,
    "plan, stream and 2^20 live steps": f"""
{_STARTED}
for _ in range({HORIZON}):
    stream.step_total(3.0)
""",
    "plan, stream and one run of 2^20 steps": f"""
{_STARTED}
stream.run(np.ones({HORIZON}))
""",
}


def sections(rounds: int) -> Iterator[Section]:
    """Memory, and the cost of a live step."""
    warm_up()
    yield room()
    yield live(rounds)


def room() -> Section:
    """The memory in megabytes of a process that counts to 2^20, and of the stream's arrays."""
    rows = []
    for name, job in _JOBS.items():
        peak, left = (size / MEGABYTE for size in memory.growth(_BEFORE, job))
        progress(f"{name}: {peak:.1f} MB, {left:.1f} MB left")
        goal = goal_cells(peak, MOST_MEMORY if "live" in name else None, " MB")
        rows.append((f"growth of the process: {name}", f"{peak:.1f}", f"{left:.1f}", *goal))
    stream = started(plans()[COUNTING])
    stream.run(totals(HORIZON))
    for name, size in {
        "arrays of the stream": memory.array_bytes(stream),
        "its saved state": len(stream.save()),
    }.items():
        rows.append((f"{name} after 2^20 steps", f"{size / MEGABYTE:.1f}", "-", "-", "-"))
    return Section(
        "Counting to 2^20: memory",
        "Growth of resident memory in megabytes, at the peak and at the end.  The growth is "
        "measured from an interpreter in which a small stream has loaded the libraries and the "
        "compiled code.  One run has 8 MB of totals as input and 8 MB of output.",
        ("job", "peak", "at the end", *GOAL_COLUMNS),
        rows,
    )


def live(rounds: int) -> Section:
    """The first and the last live steps with horizon 2^20, compared with horizon 2^10."""
    few = plan(NoDecay(), GUARANTEE, horizon=SHORT)
    many = plans()[COUNTING]
    values: list[float] = totals(SHORT - 1).tolist()
    late = started(many)
    rounds *= 3  # the jobs are short
    late.run(totals(HORIZON - SHORT * (rounds + 1) - 1))
    late.step_total(3.0)

    def steps(stream: Stream) -> None:
        each(stream.step_total, values)()

    jobs: dict[str, Job] = {
        "horizon 2^10": by_new_streams(few, rounds, steps, before=1),
        "horizon 2^20, the first 2^10 steps": by_new_streams(many, rounds, steps, before=1),
        "horizon 2^20, the last steps": lambda: steps(late),
    }
    times = interleaved(jobs, rounds)
    unit = times.pop("horizon 2^10")
    return ratio_section(
        "Counting to 2^20: cost of a live step",
        f"Yardstick: all live steps but the first of a stream with horizon {SHORT}, "
        f"{min(unit) / len(values) * 1e6:.2f} µs per step at best.  {rounds} rounds of as many "
        "steps.",
        [
            ratio(name, taken, unit, MOST_STEP if "last" in name else None)
            for name, taken in times.items()
        ],
    )
