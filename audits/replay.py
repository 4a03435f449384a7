"""Keyed noise in a second process: the same bytes, and others under any other name.

The second process is `python -m audits.replay`; plan, key and totals reach it by standard input.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np

from audits.finding import Finding, Part, Size
from benchmarks.timing import progress
from hushfade import Exponential, Guarantee, KeyedNoise, Plan, plan

STEPS = 5000


def part(size: Size) -> Part:
    """A run here, replayed elsewhere; and the parts of a position, each of which matters."""
    job = {
        "plan": plan(Exponential(half_life=24), Guarantee(epsilon=1, delta=1e-6)).to_json(),
        "key": KeyedNoise.new_key().hex(),
        "stream": "audit",
        "epoch": 0,
        "totals": np.random.default_rng(1).integers(0, 50, size=STEPS).tolist(),
    }
    here = _blocks(job)
    findings = [_replayed("the same key, stream and epoch", job, here, same=True)]
    for name, value in {"stream": "another", "epoch": 1, "key": KeyedNoise.new_key().hex()}.items():
        findings.append(
            _replayed(f"control: another {name}", {**job, name: value}, here, same=False)
        )
    for finding in findings:
        progress(f"replay, {finding.subject}: {finding.measurement}, {finding.verdict}")
    return Part(
        "Replay",
        f"{STEPS} steps under keyed noise, as one block in this process and one by one in a second "
        "process that reads the plan from JSON.  The key is new in every audit.",
        findings,
    )


def _replayed(subject: str, job: dict[str, Any], here: bytes, *, same: bool) -> Finding:
    command = [sys.executable, "-m", "audits.replay"]
    done = subprocess.run(
        command, input=json.dumps(job).encode(), stdout=subprocess.PIPE, check=True
    )
    there = bytes.fromhex(done.stdout.decode())
    values = [np.frombuffer(part, dtype=np.float64) for part in (here, there)]
    alike = int(np.count_nonzero(values[0] == values[1]))
    return Finding(
        subject,
        "the same bytes" if same else "no value alike",
        f"{alike} of {STEPS} values alike",
        here == there if same else alike == 0,
    )


def _noise(job: dict[str, Any]) -> KeyedNoise:
    return KeyedNoise(bytes.fromhex(job["key"]), stream=job["stream"], epoch=job["epoch"])


def _blocks(job: dict[str, Any]) -> bytes:
    stream = Plan.from_json(job["plan"]).start(_noise(job))
    return stream.run(np.array(job["totals"])).tobytes()


def _one_by_one(job: dict[str, Any]) -> bytes:
    stream = Plan.from_json(job["plan"]).start(_noise(job))
    return np.array([stream.step_total(total).value for total in job["totals"]]).tobytes()


if __name__ == "__main__":
    sys.stdout.write(_one_by_one(json.load(sys.stdin)).hex())
