"""Processes that open one store at the same moment: one may write, the store refuses the others."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

import hushfade as hf
from dev.postgres_server import Server
from dev.soaks.store_kills import Place, new_place
from hushfade.errors import HushfadeError, Refused
from hushfade.store import Store

PLAN = hf.plan(hf.Exponential(half_life=3), hf.Guarantee(epsilon=1, delta=1e-6))


@dataclass(frozen=True)
class Contest:
    """How often processes opened one store at once, and how often just one could."""

    rounds: int
    one_won: int  # and all others were refused
    steps: int  # that the winners closed, as the store has them
    verified: bool


def contest(rounds: int, *, processes: int = 2, server: Server | None = None) -> Contest:
    """So many rounds; the winner of each closes a step, and every other one is killed then."""
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
    """What each process says."""
    gate, open_gate = os.pipe()
    hold, let_go = os.pipe()
    started = [_rival(place, (gate, open_gate), (hold, let_go)) for _ in range(processes)]
    os.close(gate)
    os.close(hold)
    os.close(open_gate)  # all read its end at the same moment
    said = []
    for _, pipe in started:
        said.append(os.read(pipe, 100).decode())
        os.close(pipe)
    for process, _ in started if kill else ():
        os.kill(process, signal.SIGKILL)
    os.close(let_go)
    for process, _ in started:
        os.waitpid(process, 0)
    return said


def _rival(place: Place, gate: tuple[int, int], hold: tuple[int, int]) -> tuple[int, int]:
    """A process that opens the store when the gate opens, and a pipe on which it says how it was.

    Whoever wins holds the store until it is let go.
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
        said, _store = _tried(place)  # held as long as this process is
        os.write(writing, said.encode())
        os.read(hold[0], 1)
    finally:
        os._exit(0)


def _tried(place: Place) -> tuple[str, Store | None]:
    """How it was, and the store if it could be opened."""
    try:
        store = Store.open(place.where, mark=place.mark)
        step = store.live("late").steps + 1
        return f"won {store.close_step('late', step, closed=0).step}", store
    except Refused:
        return "refused", None
    except HushfadeError:
        return "failed", None
