"""Peers: jobs of hushfade and of other libraries in turn, each library in its own process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

from hushfade import NoDecay, UnsafeSeededNoise
from hushfade.crossing.sampling_tables import table
from hushfade.training.correlated_noise import CorrelatedNoise
from lab.benchmarks.noise import LAWS
from lab.benchmarks.peer_process import PEERS, TITLES
from lab.benchmarks.peer_rounds import Ours, Peers, Theirs, compared, in_turn, section
from lab.benchmarks.peers.protocol import Round, Work, measured, yardstick
from lab.benchmarks.report import GOAL_COLUMNS, NOT_MEASURED, Section, goal_cells, ratio_cells
from lab.benchmarks.startup import planned
from lab.benchmarks.stream import (
    COUNTING,
    EXPONENTIAL,
    GUARANTEE,
    HORIZON,
    LIVE,
    STEPS,
    by_new_streams,
    plans,
    started,
    totals,
    warm_up,
)
from lab.benchmarks.timing import each

WIDE, WIDE_STEPS = 10**6, 256
LIVE_GOAL = 0.1  # of the live BLT step of JAX Privacy
BLT_STEP = ("jax_privacy", "BLT step")


def sections(rounds: int) -> Iterator[Section]:
    """The libraries, then plans, live steps, many steps, wide noise, and draws."""
    warm_up()
    with ExitStack() as stack:
        peers = Peers(stack)
        yield present(peers)
        yield planning(peers, max(1, rounds // 3))  # its searches take long
        yield from live(peers, rounds)
        yield many(peers, rounds)
        yield wide(peers, max(1, rounds // 3))
        yield draws(peers, rounds)


def present(peers: Peers) -> Section:
    """The libraries, their versions, and why one is missing."""
    rows = []
    for name, wanted in PEERS.items():
        if name in peers.absent:
            rows.append((TITLES[name], ", ".join(wanted), f"missing: {peers.absent[name]}"))
        else:
            versions = peers.running[name].versions.items()
            held = ", ".join(f"{library} {number}" for library, number in versions)
            rows.append((TITLES[name], held, "measured"))
    return Section(
        "Peers: libraries",
        "Each library runs in its own environment with these versions.  A cost *in normals* is the "
        "time of a step divided by the time of one numpy normal.  Each process draws 10^6 normals "
        "three times before and after each round, and the best of six counts.  Our jobs and "
        "theirs run in turn and are compared in this unit.",
        ("library", "versions", "state"),
        rows,
    )


def live(peers: Peers, rounds: int) -> Iterator[Section]:
    """One call from Python and one number per step."""
    values: list[float] = totals(LIVE).tolist()
    exponential, counting = f"step_total, {EXPONENTIAL}", f"step_total, {COUNTING}"
    correlated = "CorrelatedNoise.next, counting, width 1"
    noise = _noise(1)
    ours: Ours = {
        exponential: _work(each(started(plans()[EXPONENTIAL]).step_total, values), LIVE),
        counting: _work(each(started(plans()[COUNTING]).step_total, values), LIVE),
        correlated: _work(lambda: [noise.next() for _ in range(LIVE)], LIVE),
    }
    theirs = [
        Theirs(*BLT_STEP, counting),
        Theirs(*BLT_STEP, correlated),
        Theirs("opake", "BLT step, counting", counting),
        Theirs("opake", "BLT step, half-life 24", exponential),
        Theirs("tf_privacy", "tree", counting),
    ]
    mine, other = in_turn(ours, theirs, peers, rounds)
    yield section(
        "Peers: live steps",
        "The time of one step.  JAX Privacy: one compiled `update` per step, with a BLT optimised "
        "for 2^20 steps, float32.  "
        "opake-dpftrl: a BLT for 2^12 steps, beyond which its optimiser takes minutes, float32.  "
        "TensorFlow Privacy: Honaker's tree.  The other libraries add noise to a sum of the "
        "caller; hushfade computes and publishes the sum itself, from exact integers.",
        theirs,
        mine,
        other,
    )
    blt = other[Theirs(*BLT_STEP, "").name]
    rows = []
    for name in (exponential, counting):
        if blt.why:
            rows.append((name, "-", "-", f"≤ {LIVE_GOAL:g}×", NOT_MEASURED))
        else:
            times = compared(mine[name].rounds, blt.rounds)
            rows.append((name, *ratio_cells(times), *goal_cells(times.best, LIVE_GOAL, "×")))
    yield Section(
        "Peers: a live step against JAX Privacy",
        "From the table above: our time divided by the time of the live BLT step.",
        ("job", "best", "spread", *GOAL_COLUMNS),
        rows,
    )


def many(peers: Peers, rounds: int) -> Section:
    """Many steps in one call."""
    x = totals(STEPS)
    exponential, counting = f"run, {EXPONENTIAL}", f"run, {COUNTING}"
    correlated = "CorrelatedNoise.next_many, counting, width 1"
    noises = [_noise(1) for _ in range(rounds + 1)]  # each has a horizon of 2^20
    ours: Ours = {
        name: _work(by_new_streams(plans()[of], rounds, lambda stream: stream.run(x)), STEPS)
        for name, of in ((exponential, EXPONENTIAL), (counting, COUNTING))
    } | {correlated: _work(lambda: noises.pop().next_many(STEPS), STEPS)}
    theirs = [
        Theirs("jax_privacy", "BLT scan, 10^6 steps", counting),
        Theirs("jax_privacy", "BLT scan, 10^6 steps", correlated),
        Theirs("jax_privacy", "BLT scan of updates, 10^5 steps", correlated),
        Theirs("jax_privacy", "Toeplitz scan, 2^14 steps", counting, "quadratic"),
        Theirs("jax_privacy", "Toeplitz scan, 64 bands, 10^5 steps", correlated),
        Theirs("jax_privacy", "banded scan, 64 bands, 10^5 steps", correlated),
        Theirs("pandas", "ewm mean, half-life 24", exponential, "not private"),
    ]
    mine, other = in_turn(ours, theirs, peers, rounds)
    return section(
        "Peers: many steps at once",
        "The time per step of 10^6 steps, or of the stated number.  `run` publishes the sums, from "
        "exact integers; `CorrelatedNoise` and JAX Privacy make float32 noise for sums of the "
        "caller.  JAX Privacy: one compiled scan over noise that is drawn before it; *of updates* "
        "draws the noise step by step.  Its Toeplitz scan with the complete square root is "
        "quadratic: the cost of a step grows in proportion to the number of steps.",
        theirs,
        mine,
        other,
    )


def wide(peers: Peers, rounds: int) -> Section:
    """Noise for a model of 10^6 coordinates."""
    name = f"CorrelatedNoise.next, counting, width 10^6, {WIDE_STEPS} steps"
    noise = _noise(WIDE)
    ours: Ours = {name: _work(lambda: [noise.next() for _ in range(WIDE_STEPS)], WIDE_STEPS)}
    theirs = [
        Theirs("jax_privacy", "BLT step, width 10^6", name),
        Theirs("opake", "BLT step, counting, width 10^6", name),
    ]
    mine, other = in_turn(ours, theirs, peers, rounds)
    return section(
        "Peers: noise of width 10^6",
        f"The time per step of {WIDE_STEPS} steps (opake-dpftrl: 16) in float32, best of {rounds}.",
        theirs,
        mine,
        other,
    )


def planning(peers: Peers, rounds: int) -> Section:
    """From a decay and a guarantee to factors: our plans and the optimisers of BLTs."""
    exponential, counting = "plan, exponential, half-life 24", "plan, counting, horizon 2^20"
    compact, compact_faded = "compact, counting, horizon 2^20", "compact, exponential, half-life 24"
    decays = {"half": "Exponential(half_life=24)", "count": f"NoDecay(), horizon={HORIZON}"}
    ours: Ours = {
        exponential: partial(_planned, f"plan({decays['half']}, guarantee=guarantee)"),
        counting: partial(_planned, f"plan({decays['count']}, guarantee=guarantee)"),
        compact: partial(_planned, f"compact({decays['count']})"),
        compact_faded: partial(_planned, f"compact({decays['half']})"),
    }
    theirs = [
        Theirs("jax_privacy", "optimise BLT, n = 2^20", compact),
        Theirs("jax_privacy", "optimise BLT, n = 2^20", counting),
        Theirs("opake", "optimise BLT, half-life 24, n = 2^12", compact_faded),
        Theirs("opake", "optimise BLT, half-life 24, n = 2^12", exponential),
        Theirs("opake", "optimise BLT, counting, n = 2^12", compact),
    ]
    mine, other = in_turn(ours, theirs, peers, rounds)
    return section(
        "Peers: planning",
        f"The time of one plan or search, best of {rounds}.  hushfade plans in a fresh interpreter "
        "that has planned another decay.  The times of the others include the compilation that "
        "every search needs.  `compact` finds a few exponentials, as in a BLT.",
        theirs,
        mine,
        other,
    )


def draws(peers: Peers, rounds: int) -> Section:
    """Noise alone."""
    (label, law), *_ = LAWS.items()
    drawer, made = UnsafeSeededNoise(1).bound(b""), table(law)
    name = f"a draw, {label}"
    ours: Ours = {name: _work(lambda: drawer.draws(made, 0, STEPS, 1), STEPS)}
    theirs = [
        Theirs("opendp", "Gaussian, integers", name),
        Theirs("opendp", "Gaussian, floats", name),
        Theirs("jax_privacy", "normals, float32", name, "not exact"),
    ]
    mine, other = in_turn(ours, theirs, peers, rounds)
    return section(
        "Peers: draws",
        "The time of one draw.  hushfade: 10^6 draws at once of the Gaussian rounded to a grid, "
        "exact to 2^-113, from AES-256.  OpenDP: its exact Gaussian measurement on a vector of "
        "10^4 with σ = 300.  JAX: threefry in float32.",
        theirs,
        mine,
        other,
    )


def _work(run: Callable[[], object], count: int) -> Callable[[], Round]:
    run()  # warm
    return lambda: measured(Work(run, count))


def _planned(job: str) -> Round:
    """The seconds of a plan in a fresh interpreter; this process draws the yardstick."""
    before = yardstick()
    taken = planned(job)
    return Round(taken, 1, min(before, yardstick()))


def _noise(width: int) -> CorrelatedNoise:
    return CorrelatedNoise(
        NoDecay(),
        width,
        guarantee=GUARANTEE,
        norm=1.0,
        horizon=HORIZON,
        noise=UnsafeSeededNoise(1),
    )
