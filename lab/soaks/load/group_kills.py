"""kill -9 while a store closes steps of several streams together."""

from __future__ import annotations

import os
import random
import select
import signal
from dataclasses import dataclass, field
from pathlib import Path

from hushfade.store import Closing, Store
from lab.findings import Finding, Part
from lab.progress import progress
from lab.soaks import store_process
from lab.soaks.load.places import directory, new_store, plan
from lab.soaks.store_kills import POINTS

STREAMS = [f"s{number}" for number in range(8)]


@dataclass
class Seen:
    """What a reader saw on a pipe: each published release, and the steps of the streams."""

    published: dict[tuple[str, int], set[str]] = field(default_factory=dict)
    uneven: int = 0  # starts after which the streams had different steps

    def line(self, text: str) -> None:
        """Count a line of a process."""
        kind, *words = text.split()
        if kind == "pub":
            self.published.setdefault((words[0], int(words[1])), set()).add(words[2])
        elif kind == "open":
            self.uneven += len(set(words)) > 1


def group_kills(count: int) -> Part:
    """Groups of eight streams, killed at points and at random moments, and the control."""
    findings = []
    for control in (False, True):
        found, wrong, verified = _killed(max(20, count // 3) if control else count, control=control)
        twice = sum(len(said) > 1 for said in found.published.values())
        progress(f"groups, control {control}: uneven {found.uneven}, twice {twice}, {wrong}")
        measured = (
            f"{len(found.published)} releases: {found.uneven} times a part of a group, {twice} "
            f"drawn twice, {wrong} changed; ledger {'verified' if verified else 'WRONG'}"
        )
        findings.append(
            Finding(
                ("a build that commits each stream alone, " if control else "")
                + f"{max(20, count // 3) if control else count} kills",
                "parts of groups are committed" if control
                else "all or nothing, 0 drawn twice, published bytes unchanged",
                measured,
                passed=found.uneven > 0 if control
                else found.uneven + twice + wrong == 0 and verified,
                is_bug=control,
            )
        )  # fmt: skip
    return Part(
        "kill -9 during a group",
        f"A process closes steps of {len(STREAMS)} streams in one transaction, again and again, "
        "and reports each release after it is committed.  The soak kills it at random moments and "
        "at each point within a step.",
        findings,
    )


def _killed(count: int, *, control: bool) -> tuple[Seen, int, bool]:
    rng, seen = random.Random(5), Seen()
    with directory(in_memory=True) as place:
        path = place / "releases.db"
        store = new_store(path)
        for name in STREAMS:
            store.add_stream(name, plan(), dataset="d")
        store.close()
        for number in range(count):
            point = POINTS[number // 2 % len(POINTS)] if number % 2 else None
            _round(path, seen, point, rng, control=control)
        store = Store.open(path)
        kept = {(x, r.step): r.digest for x in STREAMS for r in store.releases(x)}
        verified = store.verify() == 1 + len(STREAMS) + len(kept)
        store.check()
        store.close()
    wrong = sum(kept.get(key) not in said for key, said in seen.published.items())
    return seen, wrong, verified


def _round(path: Path, seen: Seen, point: str | None, rng: random.Random, *, control: bool) -> None:
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.close(reading)
            if point is not None:
                store_process.kill_at(point, rng.randint(1, 40))
            _work(path, writing, control=control)
        finally:
            os._exit(9)
    os.close(writing)
    wait = 10.0 if point else rng.uniform(0.01, 0.15)
    text = b""
    ends = False
    while not ends:
        ready, _, _ = select.select([reading], [], [], wait)
        if not ready:
            os.kill(process, signal.SIGKILL)
            wait = 10.0
            continue
        piece = os.read(reading, 1 << 16)
        text += piece
        ends = not piece
        wait = max(0.0, wait - 0.005) if not point else wait
    os.close(reading)
    os.waitpid(process, 0)
    for line in text.decode().split("\n")[:-1]:
        seen.line(line)


def _work(path: Path, pipe: int, *, control: bool) -> None:
    """Close group after group, and report each release after it is committed."""
    store = Store.open(path)
    steps = [store.live(name).steps for name in STREAMS]
    os.write(pipe, ("open " + " ".join(map(str, steps)) + "\n").encode())
    while True:
        at = [Closing(name, store.live(name).steps + 1, 0) for name in STREAMS]
        for group in [[one] for one in at] if control else [at]:
            for release in store.close_steps(group):
                said = f"pub {release.stream} {release.step} {release.digest}\n"
                os.write(pipe, said.encode())
