"""Growth: the cost of a step with the number of steps, of keys, and of coordinates of noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

from hushfade import Decay, NoDecay, Plan, Stream, UnsafeSeededNoise, plan
from hushfade.training.correlated_noise import CorrelatedNoise
from lab.benchmarks import memory
from lab.benchmarks.noise import NORMALS, normals
from lab.benchmarks.pictures import Picture, Points
from lab.benchmarks.report import Section, ratio_section, seconds, short
from lab.benchmarks.stream import (
    EXPONENTIAL,
    GUARANTEE,
    HORIZON,
    KEYED,
    plans,
    started,
    step_of,
    totals,
    warm_up,
)
from lab.benchmarks.timing import Job, each, interleaved, ratio, repeated
from lab.progress import progress

BLOCK, BEFORE = 1 << 12, 1 << 10  # timed steps, and steps before them that are not timed
MARKS = [*(1 << bits for bits in range(10, 20)), HORIZON - BLOCK]
KEYS = [10**digits for digits in range(7)]
WIDTHS = [10**digits for digits in range(8)]
SHARE = 0.5  # of the free memory; jobs that need more are not measured

Times = dict[str, dict[int, list[float]]]


def sections(rounds: int) -> Iterator[Section]:
    """Time, keys and width."""
    warm_up()
    growing = {**plans(), "counting, unbounded": plan(NoDecay(), GUARANTEE, method="unbounded")}
    by_block = _along(growing, min(rounds, 5), lambda stream, x: stream.run(x))
    live = _along(growing, min(rounds, 5), _live)
    yield ratios(by_block, live)
    yield _curve("run", f"`run` of {BLOCK} steps", by_block)
    yield _curve("live", f"{BLOCK} live steps", live)
    yield keys(rounds)
    yield widths(rounds)


# Time ----------------------------------------------------------------------------------------


def ratios(by_block: Times, live: Times) -> Section:
    """The cost of a step at 2^20 against the cost at 2^10."""
    found = []
    for name, times in by_block.items():
        found.append(ratio(f"run, {name}", times[MARKS[-1]], times[MARKS[0]], 2.0))
    for name, times in live.items():
        found.append(ratio(f"live, {name}", times[MARKS[-1]], times[MARKS[0]]))
    return ratio_section(
        "Growth: cost of a step as t grows from 2^10 to 2^20",
        f"Yardstick: {BLOCK} steps from 2^10 on.  The job: {BLOCK} steps that end at 2^20.",
        found,
    )


def _along(growing: dict[str, Plan], rounds: int, work: Callable[[Stream, Any], object]) -> Times:
    """The seconds of the work from each mark on, each with a new stream."""
    x, before = totals(BLOCK), totals(BEFORE)
    times: Times = {name: {mark: [] for mark in MARKS} for name in growing}
    for number in range(rounds + 1):  # the first is not counted
        for name, found in growing.items():
            for mark in MARKS:
                stream = started(found)
                if mark > BEFORE:
                    stream.run(totals(mark - BEFORE))
                work(stream, before)
                start = perf_counter()
                work(stream, x)
                if number > 0:
                    times[name][mark].append(perf_counter() - start)
    for name, at in times.items():
        first, last = (seconds(min(at[mark]) / BLOCK) for mark in (MARKS[0], MARKS[-1]))
        progress(f"a step at 2^10 and 2^20, {name}: {first}, {last}")
    return times


def _live(stream: Stream, x: Any) -> None:
    each(stream.step_total, x.tolist())()


def _curve(kind: str, what: str, times: Times) -> Section:
    rows = [
        (_power(mark), *(seconds(min(at[mark]) / BLOCK) for at in times.values())) for mark in MARKS
    ]
    lines: dict[str, Points] = {
        name: [(mark, min(at[mark]) / BLOCK * 1e6) for mark in MARKS] for name, at in times.items()
    }
    title = f"Time of a step: {what} from t on"
    return Section(
        f"Growth: time of a step, {kind}",
        f"{what[0].upper() + what[1:]} from t on, best of {len(times[EXPONENTIAL][MARKS[0]])} "
        "rounds; the last block ends at 2^20.",
        ("t", *times),
        rows,
        Picture(
            f"steps-{kind}", title.replace("`", ""), "t, steps", "microseconds per step", lines
        ),
    )


def _power(mark: int) -> str:
    return f"2^{mark.bit_length() - 1}" if mark & (mark - 1) == 0 else "2^20"


# Keys ----------------------------------------------------------------------------------------


def keys(rounds: int) -> Section:
    """`step_total` of 1 to 10^6 keys."""
    rows = []
    lines: dict[str, list[tuple[float, float]]] = {name: [] for name in (*KEYED, NORMALS)}
    for count in KEYS:
        row, unit = [f"10^{len(str(count)) - 1}"], 0.0
        for name, decay in KEYED.items():
            needed = _per_key(decay) * count
            if needed > SHARE * memory.available():
                row += [f"not measured: needs {needed / 1e9:.1f} GB", "-"]
                continue
            calls = max(1, min(2000, 10**5 // count))
            stream = started(plan(decay, GUARANTEE, keys=map(str, range(count))))
            memory.touch(stream)
            jobs = {
                NORMALS: repeated(normals(count), calls),
                name: repeated(step_of(stream, totals(count)), calls),
            }
            progress(f"{count} keys, {needed / 1e6:.0f} MB:")
            times = interleaved(jobs, rounds)
            taken, unit = (min(times[job]) / calls / count for job in (name, NORMALS))
            row += [seconds(taken), f"{short(ratio(name, times[name], times[NORMALS]).best)}×"]
            lines[name].append((count, taken * 1e9))
            del stream
        if unit:
            lines[NORMALS].append((count, unit * 1e9))
        rows.append(row)
    needs = ", ".join(f"{name} {_per_key(decay)} bytes" for name, decay in KEYED.items())
    columns = [column for name in KEYED for column in (name, "in normals")]
    return Section(
        "Growth: time per key and step",
        "The time of one `step_total`, divided by the number of keys, and in units of as many "
        f"numpy normals, drawn in one call; {rounds} rounds.  Memory per key: {needs}.  Jobs that "
        "need more than half of the free memory are not measured.",
        ("keys", *columns),
        rows,
        Picture(
            "keys",
            "Time of a live step per key",
            "keys",
            "nanoseconds per key and step",
            lines,
            base=10,
            yardstick=NORMALS,
        ),
    )


def _per_key(decay: Decay) -> int:
    """The bytes that one key adds to a stream."""
    few, more = (
        memory.array_bytes(started(plan(decay, GUARANTEE, keys=map(str, range(count)))))
        for count in (2000, 3000)  # with this many keys, noise drawn ahead is one row
    )
    return (more - few) // 1000


# Width ---------------------------------------------------------------------------------------


def widths(rounds: int) -> Section:
    """`CorrelatedNoise.next` in float32, for counting to 2^20, of 1 to 10^7 coordinates."""
    rows, ours, unit = [], [], []
    for width in WIDTHS:
        noise = CorrelatedNoise(
            NoDecay(),
            width,
            guarantee=GUARANTEE,
            norm=1.0,
            horizon=HORIZON,
            noise=UnsafeSeededNoise(1),
        )
        memory.touch(noise)
        calls = max(1, min(2000, 10**6 // width))
        jobs: dict[str, Job] = {
            NORMALS: repeated(normals(width), calls),
            f"width {width}": repeated(noise.next, calls),
        }
        draws, taken = interleaved(jobs, min(rounds, 3) if width > 10**6 else rounds).values()
        per = [min(times) / calls / width for times in (draws, taken)]
        rows.append(
            (
                f"10^{len(str(width)) - 1}",
                seconds(per[1] * width),
                seconds(per[1]),
                f"{short(ratio('', taken, draws).best)}×",
                f"{memory.array_bytes(noise) / 1e6:.3g} MB",
            )
        )
        unit.append((width, per[0] * 1e9))
        ours.append((width, per[1] * 1e9))
    return Section(
        "Growth: time of correlated noise with its width",
        "`CorrelatedNoise.next` for counting to 2^20 in float32.  Yardstick: as many numpy normals "
        "in float64.  *Memory* is the size of the object's arrays with its tables.",
        ("width", "per step", "per coordinate", "of normals", "memory"),
        rows,
        Picture(
            "width",
            "Correlated noise, counting to 2^20, float32",
            "width, coordinates",
            "nanoseconds per coordinate and step",
            {"CorrelatedNoise.next": ours, NORMALS: unit},
            base=10,
            yardstick=NORMALS,
        ),
    )
