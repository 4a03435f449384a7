"""The same stream in a second process, which reads plan, key and totals from standard input."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np

from hushfade.audit.released_lanes import lanes_of
from hushfade.check import Column, Matrix
from hushfade.crossing.noise_sources import KeyedNoise
from hushfade.planning.plan import Plan

if TYPE_CHECKING:
    from hushfade.audit.subject import Live

_COMMAND = "from hushfade.audit import second_process; second_process.answer()"
_SECONDS = 120


def elsewhere(plan: Plan, key: bytes, stream: str, totals: Matrix) -> Column:
    """The flat releases of a second process."""
    job = {"plan": plan.to_json(), "key": key.hex(), "stream": stream, "totals": totals.tolist()}
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND],
        input=json.dumps(job).encode(),
        capture_output=True,
        check=True,
        timeout=_SECONDS,
    )
    return np.frombuffer(bytes.fromhex(done.stdout.decode()), dtype=np.float64)


def single(plan: Plan, stream: Live, totals: Matrix) -> Column:
    """The flat releases by single steps."""
    rows = [stream.step_total(row.item() if plan.grid.scalar else row) for row in totals]
    return np.concatenate([lanes_of(row) for row in rows]) if rows else np.empty(0)


def answer() -> None:
    """Write the releases to standard output; the second process calls this."""
    job = json.load(sys.stdin)
    plan = Plan.from_json(job["plan"])
    stream = plan.start(KeyedNoise(bytes.fromhex(job["key"]), stream=job["stream"]))
    sys.stdout.write(single(plan, stream, np.array(job["totals"])).tobytes().hex())
