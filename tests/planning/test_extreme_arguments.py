"""Every call with extreme numbers returns a plan that keeps its promise, or raises an own error."""

import itertools
import math
import warnings
from dataclasses import replace
from functools import partial

import pytest

import hushfade as hf
from tests.cli.command import invoke

EXTREMES = [
    0, -0.0, 5e-324, 1e-300, 1e-9, 1, 1e9, 1e300, 1.79e308, math.inf, -math.inf, math.nan,
    2**31, 2**63, 10**18, 10**400,
]  # fmt: skip
ONE = hf.Guarantee(epsilon=1, delta=1e-6)
PURE = hf.Guarantee(1, 0, "replace")
SHORT, LONG = hf.SlidingWindow(length=3), hf.Exponential(half_life=4)
LAWS = (None, "gaussian", "laplace", "huber")


def kept(call, *arguments, **named):
    """Whether the call returns plans, after tests of them; it may raise an own error instead.

    Arguments that are partial functions are made within the call.
    """
    shown, own = f"{call.__name__}{arguments}{named}"[:500], None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = call(*map(built, arguments), **{name: built(one) for name, one in named.items()})
            promises(made, shown)
    except hf.HushfadeError as error:
        own = error
    except (ArithmeticError, ValueError, TypeError, MemoryError, Warning) as error:
        pytest.fail(f"{type(error).__name__}: {error} for {shown}")
    assert own is None or 10 < len(str(own)) < 1000, shown
    return own is None


def built(argument):
    return argument() if isinstance(argument, partial) else argument


def promises(made, shown):
    if isinstance(made, hf.JointPlan):
        claimed = made.privacy.delta(float(made.guarantee.epsilon))
        assert claimed <= made.guarantee.delta, shown
        for plan in made.plans:
            promises(plan, shown)
    elif isinstance(made, hf.Plan):
        for step in range(1, 1 + min(5, made.horizon or 5)):
            assert 0.0 < made.stddev(step) < math.inf, shown
        claimed = made.privacy.delta(float(made.guarantee.epsilon))
        # the tight delta of Gaussian noise is rounded up by a relative 2^-50
        assert claimed <= made.guarantee.delta * (1.0 + 1e-12), shown
    else:
        assert all(0.0 < row.max_error < math.inf for row in made.rows), shown


def test_extreme_guarantees_are_kept_or_refused():
    numbers = [*EXTREMES, 1e-12, 1e-6, 30.0, 800.0, 1e6, 1e60, 1e130]
    made = 0
    for epsilon, delta in itertools.product(numbers, EXTREMES):
        for decay in (SHORT, LONG):
            made += kept(hf.plan, decay, partial(hf.Guarantee, epsilon, delta))
        for law in LAWS:
            if law != "huber" or epsilon != 30.0:  # it takes seconds
                kept(hf.plan, SHORT, partial(hf.Guarantee, epsilon, delta, "replace"), law=law)
        kept(hf.plan, SHORT, partial(hf.Guarantee.from_mu, epsilon, delta=delta))
        kept(hf.plan, SHORT, partial(hf.Guarantee.from_rho, epsilon, delta=delta))
    assert made > 20


def test_extreme_bounds_grids_and_horizons_are_kept_or_refused():
    signed = [*EXTREMES, *(-number for number in EXTREMES[2:9]), 5e307, -1e308]
    for low, high in itertools.product(signed, signed):
        kept(hf.plan, SHORT, ONE, low=low, high=high)
        kept(hf.plan, SHORT, PURE, low=low, high=high, keys=["a"])
        for statistic in (hf.Sum, hf.Mean, hf.Variance):
            if low in (0, 1, -1e300):
                kept(hf.plan, SHORT, ONE, statistic=partial(statistic, low=low, high=high))
    for number in signed:
        kept(hf.plan, SHORT, ONE, resolution=number)
        kept(hf.plan, SHORT, ONE, norm=number, width=3)
        kept(hf.plan, SHORT, ONE, norm=1, width=number)
        kept(hf.plan, hf.NoDecay(), ONE, expect=number)
        for decay in (SHORT, LONG):
            kept(hf.plan, decay, ONE, horizon=number)
        kept(hf.plan, SHORT, ONE, statistic=partial(hf.Histogram, [0, number]))
        quantiles = partial(hf.Quantiles, low=0, quantiles=[0.5])
        kept(hf.plan, SHORT, ONE, statistic=partial(quantiles, high=number))
        kept(hf.plan, SHORT, ONE, statistic=partial(quantiles, high=1, bins=number))


def test_extreme_decays_are_kept_or_refused():
    for number in EXTREMES:
        for decay in (
            partial(hf.Exponential, half_life=number),
            partial(hf.PowerLaw, power=number),
            partial(hf.SlidingWindow, length=number),
            partial(hf.CustomDecay, [1, number]),
            partial(hf.CustomDecay, [number, 1]),
        ):
            kept(hf.plan, decay, ONE, horizon=20)
            if number != 1e9:  # a half-life of 10^9 steps takes seconds
                kept(hf.plan, decay, ONE)


def of_person(guarantee, **limits):
    return replace(guarantee, protects=hf.Person(**limits))


def test_extreme_units_of_privacy_are_kept_or_refused():
    for number in EXTREMES:
        for name in ("steps", "records_per_step", "apart", "within"):
            limit = {name: number}
            for law, horizon in itertools.product(LAWS, (None, 20)):
                if number != 2**31 or law == "gaussian" or name == "apart":  # others take seconds
                    unit = partial(of_person, ONE, **limit)
                    kept(hf.plan, SHORT, unit, law=law, horizon=horizon)
            kept(hf.plan, SHORT, partial(of_person, PURE, **limit))
    kept(hf.plan, SHORT, partial(of_person, ONE, within=2**31 - 1), law="huber")


def test_extreme_joint_plans_and_comparisons_are_kept_or_refused():
    both = [hf.SlidingWindow(length=1), hf.SlidingWindow(length=2)]
    for number in EXTREMES:
        kept(hf.plan_together, both, partial(hf.Guarantee, number, 0))
        kept(hf.plan_together, both, PURE, weights=[1, number])
        if number != 1:
            kept(hf.plan_together, both, partial(hf.Guarantee, number, 1e-6))
            kept(hf.plan_together, both, partial(hf.Guarantee, 1, number))
        kept(hf.compare, SHORT, partial(hf.Guarantee, number, 1e-6), 8)
        kept(hf.compare, SHORT, ONE, 8, low=number, high=2)
        kept(hf.compare, SHORT, ONE, 8, high=number)
        kept(hf.compare, SHORT, ONE, number)


@pytest.mark.parametrize(
    "option", ["--epsilon", "--low", "--high", "--person-steps", "--horizon", "--resolution"]
)
def test_the_command_never_fails_with_an_unexpected_error(option):
    for number in (*EXTREMES, 5e307, -1e308):
        text = str(number) if number != 10**400 else "1" + 400 * "0"
        usual = {"--epsilon": "1", "--delta": "1e-6", "--window": "3"}
        words = [word for pair in {**usual, option: text}.items() for word in pair]
        ended = invoke("plan", *words)
        assert ended.exit_code in (0, 2), (option, number, ended.output)
        assert "Traceback" not in ended.output
