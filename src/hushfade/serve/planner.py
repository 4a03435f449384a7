"""The planner: how private and how accurate a stream would be, and how other mechanisms compare.

The planner reads no data and stores nothing.  Sizes are bounded, so that a response takes a few
seconds at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from hushfade import check
from hushfade.baselines.binary_tree import binary_tree
from hushfade.baselines.bolot_exponential import bolot_exponential
from hushfade.baselines.bolot_power import bolot_power
from hushfade.baselines.bolot_window import bolot_window
from hushfade.baselines.independent_noise import input_noise, output_noise
from hushfade.baselines.mechanism import Mechanism
from hushfade.decays import Decay, Exponential, NoDecay, PowerLaw, SlidingWindow
from hushfade.errors import HushfadeError, InvalidValue, Malformed
from hushfade.laws import Gaussian
from hushfade.planning import privacy_over_time
from hushfade.planning.mechanism_names import choice, mechanism_name
from hushfade.planning.mechanism_search import LawName
from hushfade.planning.plan import Plan
from hushfade.planning.planner import plan
from hushfade.planning.search_taps import reference_steps
from hushfade.planning.summary import lower_bounds, shown_step
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.unit import Person
from hushfade.public.statistics import Count
from hushfade.serve import strict_json
from hushfade.serve.declarations import guarantee_of, requested_unit
from hushfade.serve.planned_statistics import described, example_records, statistic_of
from hushfade.serve.planned_statistics import options as statistic_options

LONGEST = 1 << 16  # the largest horizon in steps
EXPECTED = 1 << 20  # the largest expected length in steps
SLOWEST = 10_000  # the largest half-life or window in steps
NEED = ("decay", "epsilon", "delta")
MORE = (
    "horizon", "expect", "low", "high", "resolution", "neighbours", "protects", "method", "law",
    "statistic",
)  # fmt: skip
METHODS = ("best", "input", "blocks", "blend", "square_root", "normalized", "unbounded")
LAWS = get_args(LawName)

_LATE = 1000  # the reported step of a stream without a horizon
_COMPARED = 256  # the steps of the comparison for a stream without a horizon
_MOST_COMPARED = 4096
_POINTS = 200  # points of the error curve
_BIAS = 0.1  # the bias allowed for the power-law sums of Bolot et al.
_TRUE = 100.0  # the true sum of the example


def answer(document: Any) -> dict[str, Any]:
    """The plan for a request, in numbers and words."""
    asked = strict_json.fields(document, needed=NEED, more=MORE)
    asked = {name: value for name, value in asked.items() if name in NEED or value is not None}
    decay = _decay(asked["decay"])
    horizon = asked.get("horizon")
    if horizon is not None:
        horizon = check.count(horizon=horizon, most=LONGEST)
    guarantee = _guarantee(asked)
    span = (guarantee.protects.steps - 1) * guarantee.protects.apart
    if horizon is None and not span <= LONGEST:  # would take a minute without a horizon
        raise InvalidValue(
            f"the records of one person must lie within {LONGEST} steps, or give a horizon",
            argument="protects",
        )
    low = check.real(low=asked.get("low", 0.0))
    high = check.real(high=asked.get("high", 1.0))
    if not max(abs(low), abs(high)) <= 1e12:
        raise InvalidValue("low and high must be within 1e12")
    statistic = statistic_of(asked, low, high)
    expect = asked.get("expect")
    if expect is not None:
        expect = check.count(expect=expect, most=EXPECTED)
    options: dict[str, Any] = {
        "method": _one_of(METHODS, method=asked.get("method", "best")),
        "law": None if "law" not in asked else _one_of(LAWS, law=asked["law"]),
        "expect": expect,
        "resolution": asked.get("resolution"),
    }
    try:
        bounds: dict[str, Any] = {"low": low, "high": high}
        if isinstance(statistic, Count):
            options["resolution"] = 1
        elif statistic is not None:
            bounds = {"statistic": statistic}
        made = plan(decay, guarantee, horizon=horizon, **bounds, **options)
        return _answered(made, options)
    except HushfadeError:
        raise
    except (ArithmeticError, ValueError):  # extreme numbers
        raise InvalidValue("the numbers are too large or too small to compute a plan") from None


def _answered(made: Plan, options: dict[str, Any]) -> dict[str, Any]:
    late = made.horizon or _LATE
    # the errors of a statistic's lanes are in records
    unit = 1.0 if made.statistic is None else made.grid.lane_bounds[1]
    stddevs = made.stddevs(late) / unit
    points = np.unique(np.geomspace(1, late, _POINTS).round().astype(int))
    shown = shown_step(made, late)
    gaussian = isinstance(made.law, Gaussian)
    return {
        "guarantee": made.guarantee.sentence(),
        "mechanism": mechanism_name(made.method, made.law.name),
        "method": made.method,
        "law": made.law.name,
        "choice": choice(made),
        "mu": made.guarantee.mu if gaussian else None,
        "stddev": float(stddevs[shown - 1]),
        "step": shown,
        "over_time": " ".join(privacy_over_time.sentences(made)),
        "optimum": " ".join(lower_bounds(made, late)),
        "curve": {"step": points.tolist(), "stddev": stddevs[points - 1].tolist()},
        "alternatives": list(_alternatives(made, unit)),
        "shown": None if made.statistic is not None else _example(made, shown),
        "statistic": described(made, shown),
        "code": _code(made, options),
        "command": _command(made, options),
    }


def _example(made: Plan, step: int) -> dict[str, float]:
    low, high = made.interval(step)
    return {"true": _TRUE, "low": _TRUE + low, "high": _TRUE + high}


def _alternatives(made: Plan, unit: float) -> Iterator[dict[str, Any]]:
    """Other mechanisms, each with its largest error and its ratio to the plan's largest error.

    First the mechanisms that the planner compared, over the steps of that comparison.  Then
    mechanisms of other authors, which are defined for sums and one record.
    """
    if made.considered:
        chosen, *others = made.considered
        steps = made.horizon or reference_steps(made.decay)
        for one in others:
            name = mechanism_name(one.method, one.law)
            yield _alternative(name, steps, one.error / unit, chosen.error / unit)
    if made.guarantee.protects.steps > 1 or made.statistic is not None:
        return
    change = made.guarantee.change(made.grid.low, made.grid.high)
    steps = min(made.horizon or _COMPARED, _MOST_COMPARED)
    ours = made.max_stddev(steps)
    for rival in _rivals(made.decay, steps):
        if made.guarantee.pure and not rival.pure:
            continue
        largest = float(np.max(rival.stddevs(made.guarantee, change)))
        name = f"{rival.name}, {'Laplace' if rival.pure else 'Gaussian'} noise"
        yield _alternative(name, steps, largest, ours)


def _alternative(name: str, steps: int, largest: float, ours: float) -> dict[str, Any]:
    return {"name": name, "steps": steps, "largest": largest, "ratio": largest / ours}


def _rivals(decay: Decay, steps: int) -> Iterator[Mechanism]:
    yield output_noise(decay, steps)
    yield input_noise(decay, steps)
    yield output_noise(decay, steps, noise="laplace")
    match decay:
        case NoDecay():
            yield binary_tree(decay, steps)
        case Exponential() if decay.rate < math.log(1.5):
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


def _one_of(names: tuple[str, ...], **given: Any) -> str:
    ((argument, value),) = given.items()
    if value not in names:
        raise InvalidValue(f"must be {', '.join(names[:-1])} or {names[-1]}", argument=argument)
    return str(value)


def _guarantee(asked: dict[str, Any]) -> Guarantee:
    """The requested guarantee; delta may be 0."""
    if asked["delta"] != 0 or isinstance(asked["delta"], bool):
        return guarantee_of(asked, **_neighbours(asked))
    checked = guarantee_of(asked | {"delta": 0.5}, **_neighbours(asked))
    return replace(checked, delta=0.0)


def _neighbours(asked: dict[str, Any]) -> dict[str, Any]:
    return {
        "neighbours": asked.get("neighbours", "add_remove"),
        "protects": requested_unit(asked, steps=1000, apart=LONGEST),
    }


def _beyond_default(guarantee: Guarantee) -> Iterator[tuple[str, Any]]:
    if guarantee.neighbours != "add_remove":
        yield "neighbours", guarantee.neighbours
    if isinstance(guarantee.protects, Person):
        yield "protects", guarantee.protects


def _code(made: Plan, options: dict[str, Any]) -> str:
    guarantee, statistic = made.guarantee, made.statistic
    what = f"low={made.grid.low!r}, high={made.grid.high!r}"
    records, printed = "[1, 1, 1]", "release.stddev"
    if statistic is not None:
        what = f"statistic=hf.{statistic!r}"
        records, printed = example_records(statistic), "release.interval(0.95)"
    more = "".join(
        f", {name}={'hf.' * (name == 'protects')}{value!r}"
        for name, value in _beyond_default(guarantee)
    )
    horizon = "" if made.horizon is None else f", horizon={made.horizon}"
    chosen = "".join(f", {name}={value!r}" for name, value in _chosen(options))
    return "\n".join(
        (
            "import hushfade as hf",
            "",
            f"guarantee = hf.Guarantee(epsilon={guarantee.epsilon!r}, "
            f"delta={guarantee.delta!r}{more})",
            f"plan = hf.plan(hf.{made.decay!r}, guarantee, {what}{horizon}{chosen})",
            "stream = plan.start()",
            f"release = stream.step({records})  # the records of a step",
            f"print(release.value, {printed})",
            "",
            "# to serve it: send plan.to_json() to POST /v1/streams, see docs/how-to/operate.md",
        )
    )


def _command(made: Plan, options: dict[str, Any]) -> str | None:
    """The command that makes the plan; None if the command line cannot."""
    what = f"--low {_short(made.grid.low)} --high {_short(made.grid.high)}"
    if made.statistic is not None:
        found = statistic_options(made.statistic)
        if found is None:
            return None
        what = found
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
        *_options(guarantee),
        what,
        *([] if made.horizon is None else [f"--horizon {made.horizon}"]),
        *(f"--{name} {value}" for name, value in _chosen(options)),
        "-o plan.json",
    ]
    return " ".join(parts)


def _options(guarantee: Guarantee) -> Iterator[str]:
    """The options of `hushfade plan` for the unit of privacy."""
    if guarantee.neighbours != "add_remove":
        yield f"--neighbours {guarantee.neighbours}"
    if isinstance(guarantee.protects, Person):
        for name, value in guarantee.protects.given().items():
            option = "person-steps" if name == "steps" else name.replace("_", "-")
            yield f"--{option} " + (f"'{value}'" if name == "period" else f"{value}")


def _chosen(options: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments that differ from the defaults of `plan`."""
    for name, value in options.items():
        if value is not None and value != "best":
            yield name, value


def _short(number: float) -> str:
    """The exact number in its shortest form: 1, not 1.0."""
    return repr(number).removesuffix(".0")
