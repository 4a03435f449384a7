"""Threads that charge streams to one budget, in a process that is killed again and again.

Each thread asks for one small stream after the other.  Every fifth request charges two streams
together, and creates both.  The parent kills the process at random moments and starts the next.  In
the end no budget may be overspent, every stream that was acknowledged must be in the ledger, and no
stream twice.
"""

from __future__ import annotations

import os
import random
import signal
import time
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from threading import Thread
from typing import IO

import hushfade as hf
from hushfade.planning.joint_charge import JointCharge
from hushfade.planning.mechanism_search import LawName
from hushfade.planning.plan import Plan
from hushfade.store import Store
from lab.soaks.store_kills import Place, new_place

WHOLE = hf.Guarantee(epsilon=2, delta=1e-6)
# A budget has room for some dozens of them: most requests meet a budget that is nearly spent.
SMALL = hf.Guarantee(epsilon=0.05, delta=1e-9)
SQUARED = hf.Guarantee(epsilon=0.25, delta=1e-6)
WEEK = hf.SlidingWindow(length=2)
LAWS: dict[str, tuple[LawName, ...]] = {
    "gaussian": ("gaussian",),
    "basic": ("laplace", "huber", "gaussian"),
}


@cache
def plans_of(dataset: str) -> list[Plan]:
    """The plans that a dataset is asked for, in turn."""
    part = SQUARED if dataset == "gaussian" else SMALL
    return [hf.plan(WEEK, part, law=law, resolution=1.0) for law in LAWS[dataset]]


@cache
def pair() -> JointCharge:
    """Two streams that are charged together."""
    first, second, _ = plans_of("basic")
    return JointCharge.of({"a": first, "b": second}, hf.Guarantee(epsilon=0.1, delta=2e-9))


@dataclass(frozen=True)
class Charged:
    """What was asked and what the ledgers say."""

    asked: int
    granted: int  # acknowledged
    together: int  # of them, streams that were charged together and created
    kills: int
    overspent: int  # budgets
    lost: int  # acknowledged streams that no ledger has
    twice: int  # streams that a ledger has twice
    verified: bool

    @property
    def sound(self) -> bool:
        """Was nothing overspent, lost or counted twice?"""
        return self.verified and not (self.overspent or self.lost or self.twice)


def charges(requests: int, *, threads: int = 8, seed: int = 1) -> Charged:
    """Requests for streams of either kind of account, with kills in between."""
    rng = random.Random(seed)
    asked, kills = 0, 0
    granted: set[str] = set()
    with new_place(None) as place:
        store = Store.open(place.where, mark=place.mark)
        for name in LAWS:
            store.add_dataset(name, WHOLE)
            plans_of(name)  # before the first fork: the children do not plan
        pair()
        store.close()
        for number in count():
            if asked >= requests and kills > 1:  # a fast machine serves some dozens in one round
                break
            said = _round(place, f"{number}", threads, rng.uniform(0.05, 0.5))
            kills += 1
            asked += len(said)
            granted |= {words[1] for words in said if words[0] == "granted"}
        store = Store.open(place.where, mark=place.mark)
        try:
            created = {
                kind: [entry.content["stream"] for entry in store.entries() if entry.kind == kind]
                for kind in ("charge", "member")
            }
            entries = created["charge"] + created["member"]
            return Charged(
                asked,
                len(granted),
                len(granted.intersection(created["member"])),
                kills,
                overspent=sum(_overspent(store, name) for name in LAWS),
                lost=len(granted - set(entries)),
                twice=len(entries) - len(set(entries)),
                verified=store.verify() > 0,
            )
        finally:
            store.close()


def _overspent(store: Store, name: str) -> bool:
    account = store.accounts()[name]
    return account.spent_epsilon > WHOLE.epsilon or account.spent_delta > WHOLE.delta


def _round(place: Place, name: str, threads: int, seconds: float) -> list[list[str]]:
    """What a process said until it was killed; the time runs from its first words."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.close(reading)
            _work(place, name, threads, os.fdopen(writing, "w"))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        lines = [pipe.readline()]
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        lines += pipe.read().split("\n")
    return [line.split() for line in lines if len(line.split()) == 2]


def _work(place: Place, name: str, threads: int, pipe: IO[str]) -> None:
    """Ask for streams in several threads, for ever."""
    store = Store.open(place.where, mark=place.mark)

    def ask(thread: int) -> None:
        for number in count():
            dataset = ("gaussian", "basic")[number % 2]
            plans = plans_of(dataset)
            stream = f"{name}-{thread}-{number}"
            asked = [(stream, plans[number % len(plans)])]
            try:
                if number % 5 == 1:
                    asked = [(f"{stream}-{part}", plan) for part, plan in pair().streams]
                    store.enter_joint(replace(pair(), streams=tuple(asked)), dataset="basic")
                    dataset = "basic"
                said = "granted"
                for each, plan in asked:
                    store.add_stream(each, plan, dataset=dataset)
            except hf.Refused:
                said = "refused"
            for each, _ in asked:  # one write, so that a line is whole
                pipe.write(f"{said} {each}\n")
                pipe.flush()

    started = [Thread(target=ask, args=(thread,)) for thread in range(threads)]
    for each in started:
        each.start()
    for each in started:
        each.join()
