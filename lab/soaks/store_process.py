"""The process of the store that is killed.  It reports each action on a pipe:

open STEP          the store is open, and this step is the open one
ack SEQUENCE       the batch is acknowledged
pub STEP BYTES     the release of the step is published
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import IO
from unittest.mock import patch

import numpy as np

from hushfade.check import Column
from hushfade.store import Batch, Store, fail_points, live_streams
from hushfade.store.database import Writable

STREAM = "late"


def value(sequence: int) -> int:
    """The units that a batch adds, chosen so that sums rarely coincide."""
    return 1 + sequence * 7919 % 1009


def work(where: str | Path, mark: Path | None, pipe: IO[str], *, sequence: int) -> None:
    """Accept batches from this sequence on, and close a step after every third, until killed."""

    def say(*words: object) -> None:
        pipe.write(" ".join(map(str, words)) + "\n")
        pipe.flush()

    store = Store.open(where, mark=mark)
    step = store.live(STREAM).steps + 1
    for release in store.releases(STREAM, after=step - 2):  # published again after a restart
        say("pub", release.step, release.values.tobytes().hex())
    say("open", step)
    while True:
        for _ in range(3):
            batch = Batch(STREAM, "client", sequence, 1, np.array([0]), np.array([value(sequence)]))
            store.accept([batch])
            say("ack", sequence)
            sequence += 1
        release = store.close_step(STREAM, step, closed=0)
        say("pub", step, release.values.tobytes().hex())
        step += 1


def kill_at(point: str, count: int) -> None:
    """Kill this process when it reaches the point for the count-th time."""
    left = count

    def reached(name: str) -> None:
        nonlocal left
        left -= name == point
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    patch.object(fail_points, "reached", reached).start()


def publish_before_commit(pipe: IO[str]) -> None:
    """Install the control: a build that publishes a release before it commits it."""

    class Early(live_streams.Live):
        def close(self, database: Writable, closed: int) -> tuple[Column, float]:
            values, stddev = super().close(database, closed)
            pipe.write(f"pub {self.steps} {values.tobytes().hex()}\n")
            pipe.flush()
            return values, stddev

    patch("hushfade.store.store.Live", Early).start()
