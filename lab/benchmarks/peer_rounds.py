"""Alternating rounds of our jobs and the peers' jobs, and the table of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from lab.benchmarks.peer_process import PEERS, TITLES, Peer, peer
from lab.benchmarks.peers.protocol import NORMALS, Round
from lab.benchmarks.report import PeerRow, Section, ratio_cells, seconds, short
from lab.benchmarks.timing import Ratio, ratio
from lab.environments import Absent
from lab.progress import progress

Ours = Mapping[str, Callable[[], Round]]


@dataclass(frozen=True)
class Theirs:
    """A peer's job, and the job of hushfade that it is compared with."""

    peer: str
    job: str
    compared_with: str
    less: str = ""  # a limit of the peer's job

    @property
    def name(self) -> str:
        """Its name in tables."""
        return f"{TITLES[self.peer]}: {self.job}"


@dataclass(frozen=True)
class Found:
    """The rounds of one job, or the reason why there are none."""

    rounds: Sequence[Round] = ()
    why: str = ""

    @property
    def each(self) -> float:
        """The shortest time of one step."""
        return min(one.each for one in self.rounds)

    @property
    def normals(self) -> Ratio:
        """The cost of a step in numpy normals."""
        return ratio("", *_times(self.rounds))


class Peers:
    """The running peers, and the reasons why others are missing."""

    def __init__(self, stack: ExitStack) -> None:
        self.running: dict[str, Peer] = {}
        self.absent: dict[str, str] = {}
        for name in PEERS:
            progress(f"starting {TITLES[name]}")
            try:
                self.running[name] = stack.enter_context(peer(name))
            except Absent as error:
                self.absent[name] = str(error)

    def round(self, name: str, job: str) -> Round:
        """One measurement; raises Absent if the peer is missing or has died."""
        if name in self.absent:
            raise Absent(self.absent[name])
        return self.running[name].round(job)


def compared(left: Sequence[Round], right: Sequence[Round]) -> Ratio:
    """How many times as long a step of `left` takes, each measured in its own yardsticks.

    >>> one, two = Round(1.0, 1, 0.01), Round(3.0, 1, 0.02)  # the second on a slower machine
    >>> compared([two], [one]).best
    1.5
    """
    best = Found(left).normals.best / Found(right).normals.best
    ratios = [a.normals / b.normals for a, b in zip(left, right, strict=True)]
    return Ratio("", None, best, (min(ratios), max(ratios)))


def in_turn(
    ours: Ours, theirs: Sequence[Theirs], peers: Peers, rounds: int
) -> tuple[dict[str, Found], dict[str, Found]]:
    """The rounds of all jobs, ours and theirs in turn, once per round.  A peer's job may fail."""
    asked = {their.name: their for their in theirs}
    mine: dict[str, list[Round]] = {name: [] for name in ours}
    other: dict[str, list[Round]] = {name: [] for name in asked}
    failed: dict[str, str] = {}
    for _ in range(rounds):
        for name, job in ours.items():
            mine[name].append(job())
        for name, their in asked.items():
            if name in failed:
                continue
            try:
                other[name].append(peers.round(their.peer, their.job))
            except Absent as error:
                failed[name] = str(error)
    found = (
        {name: Found(taken) for name, taken in mine.items()},
        {
            name: Found(why=failed[name]) if name in failed else Found(taken)
            for name, taken in other.items()
        },
    )
    for name, one in (found[0] | found[1]).items():
        progress(f"{name}: {one.why or seconds(one.each)}")
    return found


def section(
    title: str,
    sentence: str,
    theirs: Sequence[Theirs],
    mine: Mapping[str, Found],
    other: Mapping[str, Found],
) -> Section:
    """One table: our jobs, then the peers' jobs and their times relative to ours."""
    rows: list[tuple[str, ...]] = []
    lines = []
    for name, found in mine.items():
        rows.append((f"**{name}**", seconds(found.each), *_normals(found), "-", "-", "-"))
    for their in theirs:
        found, own = other[their.name], mine[their.compared_with]
        called = f"{their.name}, {their.less}" if their.less else their.name
        time, times = f"not measured: {found.why}", "-"
        rest: tuple[str, ...] = ("-", "-", their.compared_with, "-", "-")
        if not found.why:
            ratio_to_ours = ratio_cells(compared(found.rounds, own.rounds))
            time, times = seconds(found.each), ratio_to_ours[0]
            rest = (*_normals(found), their.compared_with, *ratio_to_ours)
        rows.append((their.name, time, *rest))
        lines.append(PeerRow(their.compared_with, seconds(own.each), called, time, times))
    columns = ("job", "time", "in normals", "spread", "compared with", "times as long", "spread")
    return Section(title, sentence, columns, rows, peer_rows=lines)


def _times(rounds: Sequence[Round]) -> tuple[list[float], list[float]]:
    """The seconds of a step, and of a normal, in each round."""
    return [one.each for one in rounds], [one.yardstick / NORMALS for one in rounds]


def _normals(found: Found) -> tuple[str, str]:
    best, spread = found.normals.best, found.normals.spread
    unit, word = (1e6, " million") if best >= 1e6 else (1.0, "")
    low, high = (short(value / unit) for value in spread)
    return f"{short(best / unit)}{word}", f"{low} to {high}{word}"
