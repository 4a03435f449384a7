"""What is recorded of a plan, and of 300 steps of a stream that it starts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import hushfade as hf
from tests.golden import adapter
from tests.golden.cases import Case

STEPS = 300
SHOWN = (1, 2, 3, 5, 10, 20, 50, 100, 200, 300)  # the steps whose floats are recorded
CLEAR = 20  # integers in clear, before the hashes
PART = 50  # integers of one hash
LANES = 3  # of a wide stream, the lanes that are recorded in clear

Vector = dict[str, Any]


def vector(case: Case, plan: hf.Plan) -> Vector:
    """What is recorded of the plan."""
    return {
        "mechanism": [plan.method, plan.horizon],
        "noise": adapter.law(plan),
        "taps": _taps(plan),
        "privacy": _privacy(plan.privacy, plan.guarantee.epsilon, plan.guarantee.delta),
        "stddevs": _short(plan.stddevs(_steps(plan))[np.array(_shown(plan)) - 1]),
        **_series(case, plan),
    }


def joint_vector(joint: hf.JointPlan) -> Vector:
    """What is recorded of plans under one guarantee."""
    guarantee = joint.guarantee
    return {
        "privacy": _privacy(joint.privacy, guarantee.epsilon, guarantee.delta),
        "plans": [
            {
                "mechanism": [plan.method, plan.horizon],
                "noise": adapter.law(plan),
                "guarantee": _short([plan.guarantee.epsilon, plan.guarantee.delta]),
            }
            for plan in joint.plans
        ],
        "errors": _short(joint.errors),
        "alone": _short(joint.alone),
    }


def composed_vector(plans: list[hf.Plan]) -> Vector:
    """What is recorded of several plans on the same data."""
    loss = hf.composed(plan.privacy for plan in plans)
    delta = max(plan.guarantee.delta for plan in plans)
    return {"privacy": _privacy(loss, len(plans) / 2, delta)}


def _privacy(loss: hf.PrivacyLoss, epsilon: float, delta: float) -> Vector:
    """The claimed epsilon at the declared delta, and delta at parts of the declared epsilon."""
    return {
        "epsilon": _short([loss.epsilon(delta)]),
        "delta": _short([loss.delta(part * epsilon) for part in (0.5, 1, 1.5)]),
    }


def _taps(plan: hf.Plan) -> Vector:
    bits, values, lengths = adapter.taps(plan)
    first = np.repeat(values, np.minimum(lengths, STEPS))[:STEPS].tolist()
    found = {
        "bits": bits,
        "support": sum(lengths),
        "first": first[:CLEAR],
        "hashes": _hashes(first),
        "pieces": _hash([*values, *lengths]),
    }
    gain, blocks = adapter.gain(plan), adapter.blocks(plan)
    if gain is not None:
        found |= {"gain": gain[:CLEAR], "gain_hash": _hash(gain)}
    return found if blocks is None else found | {"blocks": blocks}


def _series(case: Case, plan: hf.Plan) -> Vector:
    """The noisy integers y, and the released values s with their intervals."""
    stream = plan.start(adapter.FixedNoise(case.name))
    steps = _steps(plan)
    noisy = adapter.noisy_integers(stream, steps)
    y, values, intervals = [], [], []
    for records in made_records(case, steps):
        release = stream.step(records)
        y.append(next(noisy))
        if release.step in SHOWN:
            values.append(_short(np.ravel(release.value)[:LANES]))
            intervals.append([_short(np.ravel(end)[:LANES]) for end in release.interval(0.95)])
    clear = [row[:LANES] for row in y[:CLEAR]]
    return {
        "y": clear if len(y[0]) > 1 else [row[0] for row in clear],
        "y_hashes": _hashes(y),
        "s": values,
        "intervals": intervals,
    }


def _steps(plan: hf.Plan) -> int:
    return min(STEPS, plan.horizon or STEPS)


def _shown(plan: hf.Plan) -> list[int]:
    return [step for step in SHOWN if step <= _steps(plan)]


def _hashes(rows: Sequence[Any]) -> list[str]:
    return [_hash(rows[start : start + PART]) for start in range(0, len(rows), PART)]


def _hash(integers: Iterable[Any]) -> str:
    """64 bits of the SHA-256 of the integers as text."""
    return hashlib.sha256(repr(list(integers)).encode()).hexdigest()[:16]


def _short(numbers: Iterable[float]) -> list[float]:
    """The numbers with 12 digits, more than are compared."""
    return [float(f"{float(number):.12g}") for number in numbers]


# Records --------------------------------------------------------------------------------------


def made_records(case: Case, steps: int) -> Iterator[Any]:
    """Records for every step, from integers alone; some lie outside the bounds."""
    drawn = _integers()
    one = _kind(case)
    keys = case.arguments.get("keys")
    for _ in range(steps):
        if keys is None:
            yield [one(drawn) for _ in range(next(drawn) % 4)]
        else:
            yield {
                key: [one(drawn) for _ in range(next(drawn) % 3)] for key in keys if next(drawn) % 4
            }


def _integers() -> Iterator[int]:
    """Integers below 2^31: the upper bits of a linear congruential generator (Knuth's MMIX)."""
    state = 1
    while True:
        state = (6364136223846793005 * state + 1442695040888963407) % (1 << 64)
        yield state >> 33


def _kind(case: Case) -> Callable[[Iterator[int]], Any]:
    """A function that makes one record of the case from integers."""
    arguments = case.arguments
    statistic = arguments.get("statistic")
    bounds = arguments.get("low", 0), arguments.get("high", 1)
    match statistic:
        case hf.Share(of=None):
            return lambda drawn: next(drawn) % 3 == 0
        case hf.Share():
            return lambda drawn: "abc"[next(drawn) % 3]
        case hf.Ratio():
            several = [(0, statistic.numerator), (0, statistic.denominator)]
            return lambda drawn: [_between(*one, drawn) for one in several]
        case hf.Histogram():
            bounds = statistic.edges[0], statistic.edges[-1]
        case hf.Sum() | hf.Mean() | hf.Variance() | hf.Quantiles():
            bounds = statistic.low, statistic.high
    if "width" in arguments:
        return lambda drawn: [_between(-1, 1, drawn) for _ in range(arguments["width"])]
    return lambda drawn: _between(*bounds, drawn)


def _between(low: float, high: float, drawn: Iterator[int]) -> float:
    """A number from a tenth of the range below `low` to a tenth above `high`."""
    return low + (high - low) * ((next(drawn) % 1201 - 100) / 1000)
