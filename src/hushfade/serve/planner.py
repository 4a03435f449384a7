"""A plan before there is a stream: how private, how accurate, how near the optimum, and what else.

No data are read and nothing is kept.  The sizes are bounded so that an answer takes a second or
two at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from hushfade import check
from hushfade.baselines.binary_tree import binary_tree
from hushfade.baselines.bolot_exponential import bolot_exponential
from hushfade.baselines.bolot_power import bolot_power
from hushfade.baselines.bolot_window import bolot_window
from hushfade.baselines.independent_noise import input_noise, output_noise
from hushfade.baselines.mechanism import Mechanism
from hushfade.decay import Decay, Exponential, NoDecay, PowerLaw, SlidingWindow
from hushfade.errors import HushfadeError, InvalidValue, Malformed
from hushfade.planning.exact_factors import Method
from hushfade.planning.plan import Plan
from hushfade.planning.planner import plan
from hushfade.privacy.guarantee import Guarantee
from hushfade.serve import strict_json
from hushfade.serve.service import guarantee_of

LONGEST = 1 << 16  # steps of a horizon
EXPECTED = 1 << 20  # steps of an expected length, at most
SLOWEST = 10_000  # steps of a half-life or a window
NEED = ("decay", "epsilon", "delta")
MORE = ("horizon", "expect", "low", "high", "neighbours", "participations", "separation")

_LATE = 1000  # the step that is told where a stream runs for ever
_COMPARED = 256  # steps, there
_MOST_COMPARED = 4096
_POINTS = 200  # of the curve
_BIAS = 0.1  # that Bolot et al.'s power law sums are allowed
_TRUE = 100.0  # the true sum whose release is shown


def answer(document: Any) -> dict[str, Any]:
    """All that the planner says of what is asked."""
    asked = strict_json.fields(document, needed=NEED, more=MORE)
    asked = {name: value for name, value in asked.items() if name in NEED or value is not None}
    decay = _decay(asked["decay"])
    horizon = asked.get("horizon")
    if horizon is not None:
        horizon = check.count(horizon=horizon, most=LONGEST)
    guarantee = guarantee_of(asked, **_neighbours(asked))
    span = (guarantee.participations - 1) * guarantee.separation
    if horizon is None and not span <= LONGEST:  # a minute of work, with a horizon none
        raise InvalidValue(f"participations must lie within {LONGEST} steps, or give a horizon")
    low = check.real(low=asked.get("low", 0.0))
    high = check.real(high=asked.get("high", 1.0))
    if not max(abs(low), abs(high)) <= 1e12:
        raise InvalidValue("low and high must be within 1e12")
    endless = isinstance(decay, NoDecay) and horizon is None
    method: Method = "unbounded" if endless else "square_root"
    expect = asked.get("expect")
    if expect is not None:
        expect = check.count(expect=expect, most=EXPECTED)
    try:
        made = plan(
            decay, guarantee, low=low, high=high, horizon=horizon, method=method, expect=expect
        )
        return _told(made, low, high, expect)
    except HushfadeError:
        raise
    except (ArithmeticError, ValueError):  # numbers of a size that nobody uses
        raise InvalidValue("the numbers must be of a size that can be computed with") from None


def _told(made: Plan, low: float, high: float, expect: int | None) -> dict[str, Any]:
    late = made.horizon or _LATE
    stddevs = made.stddevs(late)
    points = np.unique(np.geomspace(1, late, _POINTS).round().astype(int))
    stddev = float(stddevs[-1])
    low_end, high_end = made.interval(late)
    return {
        "guarantee": made.guarantee.sentence(),
        "stddev": stddev,
        "step": late,
        "optimum": made.certificate(late).sentence(),
        "curve": {"step": points.tolist(), "stddev": stddevs[points - 1].tolist()},
        "alternatives": list(_alternatives(made, made.guarantee.change(low, high))),
        "shown": {"true": _TRUE, "low": _TRUE + low_end, "high": _TRUE + high_end},
        "code": _code(made, low, high, expect),
        "command": _command(made, low, high, expect),
    }


def _alternatives(made: Plan, change: float) -> Iterator[dict[str, Any]]:
    """What else there is, with its largest error over the same steps and how much more that is."""
    if made.guarantee.participations > 1:  # the others are defined for one
        return
    steps = min(made.horizon or _COMPARED, _MOST_COMPARED)
    ours = made.max_stddev(steps)
    for rival in _rivals(made.decay, steps):
        largest = float(np.max(rival.stddevs(made.guarantee, change)))
        name = rival.name + (", Laplace noise" if rival.pure else "")
        yield {"name": name, "steps": steps, "largest": largest, "ratio": largest / ours}


def _rivals(decay: Decay, steps: int) -> Iterator[Mechanism]:
    yield output_noise(decay, steps)
    yield input_noise(decay, steps)
    yield input_noise(decay, steps, noise="laplace")  # it may do better, and that is told
    match decay:
        case NoDecay():
            yield binary_tree(decay, steps)
        case Exponential() if decay.half_life > 1.0 / math.log2(1.5):
            yield bolot_exponential(decay, steps)
        case PowerLaw():
            yield bolot_power(decay, steps, beta=_BIAS)
        case SlidingWindow():
            yield bolot_window(decay, steps)


def _decay(document: Any) -> Decay:
    match document:
        case {"kind": "exponential", "half_life": half_life, **rest} if not rest:
            return Exponential(half_life=_within(0.1, SLOWEST, half_life=half_life))
        case {"kind": "power", "power": power, **rest} if not rest:
            return PowerLaw(power=_within(0.05, 10, power=power))
        case {"kind": "window", "length": length, **rest} if not rest:
            return SlidingWindow(length=check.count(length=length, most=SLOWEST))
        case {"kind": "counting", **rest} if not rest:
            return NoDecay()
    raise Malformed(
        "decay must have the kind exponential with a half_life, power with a power, window with a "
        "length, or counting"
    )


def _within(least: float, most: float, **given: Any) -> float:
    ((name, value),) = given.items()
    number = check.real(**given)
    if not least <= number <= most:
        raise InvalidValue(f"must be from {least:g} to {most:g}", argument=name, got=repr(value))
    return number


def _neighbours(asked: dict[str, Any]) -> dict[str, Any]:
    return {
        "neighbours": asked.get("neighbours", "add_remove"),
        "participations": check.count(participations=asked.get("participations", 1), most=1000),
        "separation": check.count(separation=asked.get("separation", 1), most=LONGEST),
    }


def _beyond_default(guarantee: Guarantee) -> Iterator[tuple[str, Any]]:
    if guarantee.neighbours != "add_remove":
        yield "neighbours", guarantee.neighbours
    if guarantee.participations > 1:
        yield "participations", guarantee.participations
        yield "separation", guarantee.separation


def _code(made: Plan, low: float, high: float, expect: int | None) -> str:
    guarantee = made.guarantee
    more = "".join(f", {name}={value!r}" for name, value in _beyond_default(guarantee))
    horizon = "" if made.horizon is None else f", horizon={made.horizon}"
    method = "" if made.method == "square_root" else f", method={made.method!r}"
    expected = "" if expect is None else f", expect={expect}"
    return "\n".join(
        (
            "import hushfade as hf",
            "",
            f"guarantee = hf.Guarantee(epsilon={guarantee.epsilon!r}, "
            f"delta={guarantee.delta!r}{more})",
            f"plan = hf.plan(hf.{made.decay!r}, guarantee, low={low!r}, high={high!r}"
            f"{horizon}{method}{expected})",
            "stream = plan.start()",
            "release = stream.step([1, 1, 1])  # the records of a step",
            "print(release.value, release.stddev)",
            "",
            "# to serve it: plan.to_json() is the 'plan' of POST /v1/streams, see docs/operate.md",
        )
    )


def _command(made: Plan, low: float, high: float, expect: int | None) -> str:
    match made.decay:
        case Exponential(half_life=half_life):
            kind = f"--half-life {half_life:.15g}"
        case PowerLaw(power=power):
            kind = f"--power {_short(power)}"
        case SlidingWindow(length=length):
            kind = f"--window {length}"
        case _:
            kind = "--decay none"
    guarantee = made.guarantee
    parts = [
        f"hushfade plan {kind} --epsilon {_short(guarantee.epsilon)} "
        f"--delta {_short(guarantee.delta)}",
        *(f"--{name} {value}" for name, value in _beyond_default(guarantee)),
        f"--low {_short(low)} --high {_short(high)}",
        *([] if made.horizon is None else [f"--horizon {made.horizon}"]),
        *([] if made.method == "square_root" else [f"--method {made.method}"]),
        *([] if expect is None else [f"--expect {expect}"]),
        "-o plan.json",
    ]
    return " ".join(parts)


def _short(number: float) -> str:
    """The number as people type it, and exactly: 1, not 1.0."""
    return repr(number).removesuffix(".0")
