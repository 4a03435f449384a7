"""Processes that open one store at the same moment: one may write, the store refuses the others."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

import hushfade as hf
from hushfade.errors import HushfadeError, Refused
from hushfade.store import Store
from lab.postgres_server import Server
from lab.soaks.store_kills import Place, new_place

PLAN = hf.plan(hf.Exponential(half_life=3), hf.Guarantee(epsilon=1, delta=1e-6))


@dataclass(frozen=True)
class Contest:
    """The number of rounds in which processes opened one store, and in which exactly one could."""

    rounds: int
    one_won: int  # one process opened the store and the store refused all others
    steps: int  # closed by the winners, counted in the store
    verified: bool


def contest(rounds: int, *, processes: int = 2, server: Server | None = None) -> Contest:
    """The result of `rounds` rounds.  The winner closes a step; every second round ends by kill."""
    with new_place(server) as place:
        store = Store.open(place.where, mark=place.mark)
        store.add_dataset("clinics", PLAN.guarantee)
        store.add_stream("late", PLAN, dataset="clinics")
        store.close()
        won = 0
        for number in range(rounds):
            said = sorted(_round(place, processes, kill=number % 2 == 0))
            won += said == ["refused"] * (processes - 1) + [f"won {number + 1}"]
        store = Store.open(place.where, mark=place.mark)
        try:
            steps = len(store.releases("late"))
            return Contest(rounds, won, steps, store.verify() == 2 + steps)
        finally:
            store.close()


def _round(place: Place, processes: int, *, kill: bool) -> list[str]:
    """The reports of the processes."""
    gate, open_gate = os.pipe()
    hold, release = os.pipe()
    started = [_rival(place, (gate, open_gate), (hold, release)) for _ in range(processes)]
    os.close(gate)
    os.close(hold)
    os.close(open_gate)  # all read its end at the same moment
    said = []
    for _, pipe in started:
        said.append(os.read(pipe, 100).decode())
        os.close(pipe)
    for process, _ in started if kill else ():
        os.kill(process, signal.SIGKILL)
    os.close(release)
    for process, _ in started:
        os.waitpid(process, 0)
    return said


def _rival(place: Place, gate: tuple[int, int], hold: tuple[int, int]) -> tuple[int, int]:
    """A process that opens the store when the gate opens, and the pipe for its report.

    The winner keeps the store open until `hold` is closed.
    """
    reading, writing = os.pipe()
    process = os.fork()
    if process > 0:
        os.close(writing)
        return process, reading
    try:
        os.close(gate[1])
        os.close(hold[1])
        os.read(gate[0], 1)
        said, _store = _tried(place)  # the store stays open as long as this process lives
        os.write(writing, said.encode())
        os.read(hold[0], 1)
    finally:
        os._exit(0)


def _tried(place: Place) -> tuple[str, Store | None]:
    """The report, and the store if this process opened it."""
    try:
        store = Store.open(place.where, mark=place.mark)
        step = store.live("late").steps + 1
        return f"won {store.close_step('late', step, closed=0).step}", store
    except Refused:
        return "refused", None
    except HushfadeError:
        return "failed", None
