"""Plans of every law: as private as they claim, and with the smallest error of those compared."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import hushfade as hf
from hushfade.audit.subject import right
from hushfade.factors import from_right
from hushfade.laws import Gaussian, Huber, Laplace
from hushfade.planning import noise_scale, plan_file
from hushfade.planning.shifts import cases
from tests.made_when_used import MadeWhenUsed

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
DAY, WEEK, MONTHS = hf.Exponential(half_life=24), hf.SlidingWindow(7), hf.SlidingWindow(64)
PLANS = MadeWhenUsed(
    {
        "week": lambda: hf.plan(WEEK, ONE),
        "day": lambda: hf.plan(DAY, ONE),
        "months": lambda: hf.plan(MONTHS, ONE, low=-1, high=2),
        "power": lambda: hf.plan(hf.PowerLaw(power=0.5), ONE, horizon=200),
        "replaced": lambda: hf.plan(
            DAY, hf.Guarantee(1, 1e-6, neighbours="replace"), low=-1, high=1
        ),
        "moved": lambda: hf.plan(
            DAY, hf.Guarantee(2, 1e-6, neighbours="replace"), keys=["a", "b", "c"]
        ),
        "person": lambda: hf.plan(
            WEEK, hf.Guarantee(1, 1e-6, protects=hf.Person(steps=20)), law="huber"
        ),
        "root": lambda: hf.plan(DAY, ONE, method="square_root", law="huber"),
        "pure": lambda: hf.plan(DAY, hf.Guarantee(epsilon=0.5, delta=0)),
        "counts": lambda: hf.plan(WEEK, hf.Guarantee(epsilon=8, delta=0), resolution=1),
        "weighted": lambda: hf.plan(2.0 * hf.PowerLaw(power=0.3), ONE, horizon=100),
    }
)


def neighbouring(plan, rng):
    """Units per step and lane of two streams that differ in one person's records."""
    grid, guarantee = plan.grid, plan.guarantee
    n, lanes = min(plan.horizon or 300, 300), grid.lanes
    x = rng.integers(-50, 50, size=(n, lanes))
    y = x.copy()
    steps = rng.choice(n, size=min(guarantee.protects.steps, n), replace=False)
    for step in steps:
        new, old = rng.choice(
            [grid.low_unit, grid.high_unit, rng.integers(grid.low_unit, grid.high_unit + 1)], 2
        )
        y[step, rng.integers(lanes)] += new
        if guarantee.neighbours == "replace":
            y[step, rng.integers(lanes) if grid.keys else 0] -= old
    return x, y


def test_no_neighbouring_stream_shifts_the_noise_by_more_than_a_case_claims():
    rng = np.random.default_rng(7)
    for name, plan in PLANS.items():
        claimed = [
            sorted(_expanded(case), reverse=True)
            for case in cases(plan.guarantee, plan.grid, plan.pair)
        ]
        for _ in range(60):
            x, y = neighbouring(plan, rng)
            moved = np.abs(right(plan, y) - right(plan, x)).ravel()
            found = sorted((int(d) for d in moved if d), reverse=True)
            covered = any(
                len(found) <= len(case) and all(a <= b for a, b in zip(found, case, strict=False))
                for case in claimed
            )
            assert covered, f"{name}: {found[:5]} is not covered by {[c[:5] for c in claimed]}"


def _expanded(case):
    return [shift.size for shift in case for _ in range(shift.times)]


def test_a_plan_has_its_guarantee_and_little_more():
    for name, plan in PLANS.items():
        guarantee = plan.guarantee
        delta = plan.privacy.delta(guarantee.epsilon)
        assert delta <= guarantee.delta, name
        if guarantee.delta > 0 and not isinstance(plan.law, Laplace):
            assert delta >= 0.97 * guarantee.delta, f"{name}: {delta}"
        if guarantee.pure:
            assert plan.privacy.epsilon(0.0) == pytest.approx(guarantee.epsilon, rel=1e-12), name


def test_laplace_noise_is_pure_in_exact_fractions():
    for name in ("week", "pure", "counts"):
        plan = PLANS[name]
        total = max(
            sum(size * times for size, times in case)
            for case in cases(plan.guarantee, plan.grid, plan.pair)
        )
        assert Fraction(plan.law.slope) * total <= Fraction(plan.guarantee.epsilon), name


def test_counts_have_the_variance_of_the_geometric_law():
    plan = hf.plan(WEEK, ONE, resolution=1)
    assert plan.law == Laplace(1.0)
    q = math.exp(-1.0)
    assert plan.max_stddev(100) == pytest.approx(math.sqrt(7 * 2 * q) / (1 - q), rel=1e-12)


def test_the_best_plan_has_the_smallest_error_of_all_methods():
    guarantees = (ONE, hf.Guarantee(0.25, 1e-9), hf.Guarantee(8, 1e-5))
    for decay in (hf.Exponential(half_life=2), DAY, WEEK, MONTHS, hf.PowerLaw(power=1.0)):
        for guarantee in guarantees:
            best = hf.plan(decay, guarantee, horizon=256, resolution=1 / 32).max_stddev(256)
            for method in ("square_root", "normalized", "input"):
                made = hf.plan(decay, guarantee, horizon=256, resolution=1 / 32, method=method)
                other = made.max_stddev(256)
                # noise on the inputs is preferred if it is within 1 % of the best
                assert best <= 1.0102 * other, f"{decay!r}, {guarantee!r}, {method}"


def test_noise_on_the_inputs_is_preferred_where_it_is_within_one_percent():
    for plan in PLANS.values():
        chosen, *others = plan.considered
        least = min((other.error for other in others), default=chosen.error)
        if chosen.method == "input":
            assert chosen.error <= 1.0101 * least
        else:
            assert chosen.error <= least * (1 + 1e-6)
            assert all(o.error > 1.01 * chosen.error for o in others if o.method == "input")


def test_the_expected_error_is_that_of_the_plan():
    # integer taps, and the coarse estimates of the search
    for name in ("week", "day", "months", "power", "pure", "weighted"):
        plan = PLANS[name]
        n = plan.horizon or 4000
        assert plan.max_stddev(n) == pytest.approx(plan.considered[0].error, rel=0.015), name


def test_releases_are_unbiased_with_the_stated_deviation():
    for name, plan in PLANS.items():
        if plan.grid.lanes > 1:
            continue
        n = min(plan.horizon or 400, 400)
        x = np.full(n, 5.0)
        truth = np.convolve(x, plan.decay.weights(n))[:n]
        errors = np.array(
            [plan.start(hf.UnsafeSeededNoise(seed)).run(x) - truth for seed in range(300)]
        )
        deviation = plan.stddev(n)
        # 300 draws: the mean within 5 standard errors, the deviation within 5/√600 · (kurtosis)
        assert abs(errors[:, -1].mean()) < 5 * deviation / math.sqrt(300), name
        assert errors[:, -1].std() == pytest.approx(deviation, rel=0.35), name


def test_a_plan_survives_its_file_and_a_forged_one_is_rejected():
    for name, plan in PLANS.items():
        assert hf.Plan.from_json(plan.to_json()).digest == plan.digest, name
        if isinstance(plan.law, Gaussian):
            continue
        document = json.loads(plan.to_json())
        for factor in (2, Fraction(1, 2)):
            forged = json.loads(plan.to_json())
            slope = forged["noise"]["slope"]
            scaled = Fraction(slope["scale"], 1 << slope["bits"]) * factor
            top, bottom = float(scaled).as_integer_ratio()
            forged["noise"]["slope"] = {"bits": bottom.bit_length() - 1, "scale": top}
            covered = {k: v for k, v in forged.items() if k not in ("digest", "reported")}
            forged["digest"] = plan_file._hashed(covered).hex()
            assert forged != document
            with pytest.raises(
                hf.InvalidValue, match=r"noise must be the noise|changed after it was saved"
            ):
                hf.Plan.from_json(json.dumps(forged))


def test_what_is_not_proven_is_rejected_with_a_reason():
    twice = hf.Guarantee(1, 1e-6, protects=hf.Person(steps=2))
    several = hf.Guarantee(1, 1e-6, protects=hf.Person(records_per_step=3))
    pure = hf.Guarantee(1, 0)

    def rejected(message, guarantee, **arguments):
        with pytest.raises(hf.InvalidValue, match=message):
            hf.plan(DAY, guarantee, **arguments)

    rejected("law must be gaussian", ONE, width=3, norm=1.0, law="laplace")
    rejected("than the reach of the taps", twice, method="square_root", law="huber")
    rejected("must not be 'blend'", twice, method="blend")
    rejected("law must be gaussian", several, keys=["a", "b"], law="huber")
    rejected("gain", ONE, horizon=50, method="normalized", law="huber")
    rejected("mu or rho", hf.Guarantee.from_mu(0.3), method="input", law="laplace")
    rejected("law must be laplace for delta = 0", pure, law="gaussian")
    rejected("delta must be > 0", pure, method="square_root")
    rejected("gaussian, laplace or huber", ONE, law="cauchy")


def test_several_records_far_apart_may_have_any_law():
    far = hf.Guarantee(1, 1e-6, protects=hf.Person(steps=3, apart=10))
    plan = hf.plan(DAY, far, method=from_right(DAY, [1.0, 0.5]), law="huber")
    (case,) = cases(far, plan.grid, plan.pair)
    assert sorted(shift.times for shift in case) == [3, 3]
    assert plan.privacy.delta(1.0) <= 1e-6


def test_a_slope_with_too_little_noise_is_caught():
    # seeded bugs: the law is 5 % too steep, or a tap is missing from the accounting
    plan = PLANS["day"]
    steep = Huber(plan.law.slope * 1.05, plan.law.core)
    every = cases(plan.guarantee, plan.grid, plan.pair)
    assert hf.PrivacyLoss.shifted(steep, every).delta(1.0) > 2 * plan.guarantee.delta
    with pytest.raises(hf.InvalidValue, match="noise must be"):
        noise_scale.check_required(steep, plan.guarantee, plan.grid, plan.pair)


def test_losses_of_different_units_of_privacy_do_not_add_up():
    one = hf.plan(hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6)).privacy
    three = hf.plan(
        hf.SlidingWindow(length=7), hf.Guarantee(1, 1e-6, protects=hf.Person(steps=3))
    ).privacy
    assert (one + one).relation == one.relation
    with pytest.raises(hf.InvalidValue, match="same unit of privacy"):
        hf.composed([one, three])


def test_a_large_epsilon_gives_a_plan_that_can_be_used():
    for epsilon in (40, 100, 1000):
        plan = hf.plan(hf.SlidingWindow(length=7), hf.Guarantee(epsilon, 1e-6), resolution=1)
        assert plan.law.slope == min(epsilon, 64)
        assert plan.interval(5) == (0.0, 0.0)
        assert plan.error_bound(10) == 0.0
        assert plan.start().step([1, 1]).value == 2.0
        assert hf.Plan.from_json(plan.to_json()).digest == plan.digest


@pytest.mark.parametrize(
    ("decay", "delta", "options", "message"),
    [
        (hf.SlidingWindow(7), 0, {"law": "gaussian"}, "law must be laplace for delta = 0"),
        (hf.SlidingWindow(7), 0, {"law": "huber"}, "law must be laplace for delta = 0"),
        (hf.SlidingWindow(7), 0, {"method": "square_root"}, "delta must be > 0 for the method 'sq"),
        (hf.SlidingWindow(7), 0, {"method": "blend"}, "must not be 'blend' with delta = 0"),
        (hf.SlidingWindow(7), 0, {"width": 2, "norm": 1.0}, "delta must be > 0 for vectors"),
        (hf.NoDecay(), 0, {}, "horizon must be given for NoDecay"),
        (hf.SlidingWindow(7), 1e-6, {"method": "blend", "law": "laplace"}, "law must be huber"),
        (hf.SlidingWindow(7), 1e-6, {"width": 2, "norm": 1.0, "law": "huber"}, "law must be gauss"),
    ],
)
def test_what_no_mechanism_gives_is_refused_with_the_reason(decay, delta, options, message):
    with pytest.raises(hf.InvalidValue, match=message):
        hf.plan(decay, hf.Guarantee(1, delta), **options)


def test_a_declared_mu_has_gaussian_noise_only():
    for options in ({"law": "laplace"}, {"method": "input", "law": "huber"}):
        with pytest.raises(hf.InvalidValue, match="law must be gaussian if mu or rho"):
            hf.plan(hf.SlidingWindow(7), hf.Guarantee.from_mu(0.3), **options)
    with pytest.raises(hf.InvalidValue, match="must not be 'blend' if mu or rho"):
        hf.plan(hf.SlidingWindow(7), hf.Guarantee.from_mu(0.3), method="blend")


def test_a_law_alone_takes_the_best_mechanism_with_it():
    count = hf.plan(hf.NoDecay(), hf.Guarantee(1, 1e-6), horizon=1000, law="laplace")
    assert count.method == "blocks"
    endless = hf.plan(hf.NoDecay(), hf.Guarantee(1, 1e-6), method="input")
    assert endless.law.name == "laplace"


def test_losses_are_summed_and_nothing_else_is():
    plan = hf.plan(hf.SlidingWindow(7), hf.Guarantee(1, 0))
    assert sum([plan.privacy, plan.privacy]).epsilon(0) == 2.0
    with pytest.raises(hf.InvalidType, match=r"such as plan\.privacy"):
        hf.composed([plan])
    with pytest.raises(hf.InvalidType, match=r"composed\(\[a\.privacy"):
        hf.composed_mu([plan])
    with pytest.raises(hf.InvalidValue, match="needs delta > 0"):
        plan.certificate()


def test_reports_show_the_worst_step():
    from hushfade.planning.summary import shown_step

    assert shown_step(hf.plan(hf.Exponential(half_life=24), hf.Guarantee(1, 1e-6)), 1000) == 1000
    gain = hf.plan(hf.NoDecay(), hf.Guarantee(1, 1e-6), horizon=300, method="normalized")
    worst = shown_step(gain, 300)
    assert worst < 300
    assert gain.stddev(worst) == pytest.approx(gain.max_stddev(300), rel=1e-12)


def test_a_count_is_a_sum_on_a_grid_of_one():
    count = hf.plan(WEEK, ONE, statistic=hf.Count())
    assert count.digest == hf.plan(WEEK, ONE, resolution=1).digest
    stream = count.start(hf.UnsafeSeededNoise(3))
    same = count.start(hf.UnsafeSeededNoise(3))
    assert stream.step([1, 0, 1, 7]).value == same.step_total(3).value  # 7 is clipped to 1
    for arguments in ({"high": 5}, {"resolution": 0.5}):
        with pytest.raises(hf.InvalidValue, match="must not have bounds or a resolution"):
            hf.plan(WEEK, ONE, statistic=hf.Count(), **arguments)
    with pytest.raises(hf.InvalidType, match="a statistic has no vectors"):
        hf.plan(WEEK, ONE, statistic=hf.Count(), width=2, norm=1.0)
    with pytest.raises(hf.InvalidType, match="statistic must be a statistic"):
        hf.plan(WEEK, ONE, statistic="count")
