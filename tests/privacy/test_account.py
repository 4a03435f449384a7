"""Budgets of every law: the rule, against sums that are computed here once more."""

import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import hushfade as hf
from hushfade.errors import Malformed, Refused
from hushfade.planning.charge import charge_of
from hushfade.privacy import ledger
from hushfade.privacy.account import Account, Charge, Loss, Total
from hushfade.privacy.calibration import epsilon_of, mu_of
from hushfade.privacy.ledger import following
from hushfade.privacy.unit import Relation

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
TWO = hf.Guarantee(epsilon=2, delta=1e-6)


def account(epsilon=2.0, delta=1e-6):
    return Account.of("clinics", hf.Guarantee(epsilon=epsilon, delta=delta))


def gaussian(epsilon, delta=1e-6):
    """The charge of Gaussian noise with that guarantee."""
    return Charge(Loss(epsilon, delta, "gaussian"), mu_of(epsilon, delta))


def other(epsilon, delta=0.0, law="huber"):
    """The charge of any other noise."""
    return Charge(Loss(epsilon, delta, law))


def spent(whole, charges):
    """The account after all charges that it accepts, and those charges."""
    accepted = []
    for charge in charges:
        try:
            whole = whole.charged(whole.spending(charge))
        except Refused:
            continue
        accepted.append(charge)
    return whole, accepted


def delta_of_gaussians(mu, epsilon):
    """δ(ε; μ) with 60 digits."""
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def random_charges(rng, epsilon, delta):
    """A mixture of charges that may or may not fit a budget."""
    charges = []
    for _ in range(rng.randint(1, 12)):
        part = round(epsilon * rng.choice([0.05, 0.1, 0.25, 0.5, 1.0, rng.random()]), 6) or 1e-3
        share = delta * rng.choice([1e-3, 0.1, 0.5, 1.0, rng.random()])
        if rng.random() < 0.5:
            charges.append(gaussian(part, share))
        else:
            charges.append(other(part, rng.choice([0.0, share])))
    return charges


# Invariants ----------------------------------------------------------------------------------


def test_no_mixture_is_accepted_beyond_the_budget():
    rng = random.Random(1)
    kinds = set()
    for _ in range(400):
        epsilon, delta = rng.choice([0.3, 1.0, 2.0, 7.5]), rng.choice([1e-9, 1e-6, 1e-3])
        whole, accepted = spent(account(epsilon, delta), random_charges(rng, epsilon, delta))
        kinds.add(whole.composition)
        if whole.composition == "gaussian":
            assert all(charge.mu is not None for charge in accepted)
            with mpmath.workdps(60):
                mu = mpmath.sqrt(sum(mpmath.mpf(charge.mu) ** 2 for charge in accepted))
            # sums of mu may exceed the budget by 1e-12; d ln δ / d ln μ is below 1000 here
            assert delta_of_gaussians(mu, epsilon) <= delta * (1 + 1e-9), accepted
        elif whole.composition == "basic":
            total = [sum(Fraction(str(x[0][i])) for x in accepted) for i in (0, 1)]
            assert total[0] <= Fraction(str(epsilon)), accepted
            assert total[1] <= Fraction(str(delta)), accepted
    assert {"gaussian", "basic"} <= kinds


def test_what_is_left_fits_and_more_does_not():
    rng = random.Random(2)
    for _ in range(200):
        whole, _ = spent(account(), random_charges(rng, 2.0, 1e-6))
        left, delta = whole.left_epsilon, whole.left_delta
        law = gaussian if whole.composition == "gaussian" else other
        if left > 1e-3:
            assert whole.affords(whole.spending(law(left, delta))), whole
        more = max(left * (1 + 2e-8), 1e-3)  # nine digits
        assert not whole.affords(whole.spending(law(more, delta))), whole


def test_the_rule_is_never_below_the_exact_loss_of_plans_that_are_fixed_together():
    plans = [
        hf.plan(hf.SlidingWindow(length=7), hf.Guarantee(epsilon=0.5, delta=0)),
        hf.plan(hf.Exponential(half_life=24), hf.Guarantee(epsilon=1, delta=1e-7), law="huber"),
        hf.plan(hf.Exponential(half_life=3), hf.Guarantee(epsilon=0.7, delta=1e-7), law="gaussian"),
    ]
    assert {plan.law.name for plan in plans} == {"laplace", "huber", "gaussian"}
    for several in (plans[:1], plans[:2], plans[1:], plans, 2 * plans[2:]):
        whole, accepted = spent(account(10.0, 1e-6), [charge_of(plan) for plan in several])
        assert len(accepted) == len(several)
        exact = hf.composed(plan.privacy for plan in several)
        found = exact.epsilon(whole.spent_delta)
        # the bound on the loss is itself accurate to 1e-6
        assert found <= whole.spent_epsilon * (1 + 1e-6), several


def test_trading_one_rule_for_the_other_after_a_release_would_exceed_the_budget():
    """Why the first charge decides.

    The rule ε(Σ mu²) + Σ ε_i ≤ ε looks sound, and is sound for charges that are fixed in advance.
    An analyst first takes Gaussian noise.  If the loss so far is large, they take a mechanism with
    a pure loss, else more Gaussian noise: each path fits the rule.  δ(ε) is then 1.69 delta.
    """
    epsilon, delta, share = 2.0, 1e-6, 0.3
    most = mu_of(epsilon, delta)
    first, rest = most * math.sqrt(share), most * math.sqrt(1 - share)
    pure = epsilon - epsilon_of(first, delta)
    loss = first**2 / 2 + first * np.linspace(-12, 12, 100_001)
    weight = np.exp(-(((loss - first**2 / 2) / first) ** 2) / 2) * 24 / 100_000
    weight /= math.sqrt(2 * math.pi)

    def beyond(total):
        return np.maximum(0.0, -np.expm1(epsilon - total))

    likely = math.exp(pure) / (1 + math.exp(pure))  # randomized response
    with_pure = likely * beyond(loss + pure) + (1 - likely) * beyond(loss - pure)
    need = epsilon - loss
    normal = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2)))
    with_more = normal(rest / 2 - need / rest) - np.exp(need) * normal(-rest / 2 - need / rest)
    assert np.sum(weight * with_pure) < delta
    assert np.sum(weight * with_more) == pytest.approx(delta, rel=1e-6)
    worst = np.sum(weight * np.maximum(with_pure, with_more))
    assert worst == pytest.approx(1.69 * delta, rel=1e-2)
    begun = account(epsilon, delta).charged(first)
    with pytest.raises(Refused, match="Gaussian noise only"):
        begun.spending(other(1e-3))


def test_a_copy_that_learns_what_was_lost_has_spent_at_least_what_is_known():
    rng = random.Random(3)
    for _ in range(200):
        charges = random_charges(rng, 2.0, 1e-6)
        copy, accepted = spent(account(), charges[: rng.randint(0, len(charges))])
        known, _ = spent(copy, charges[len(accepted) :])
        lost = copy.lacking(known)
        restored = copy if lost is None else copy.with_lost(lost)
        if known.composition == "gaussian":
            assert restored.spent >= known.spent * (1 - 1e-15)
        elif known.composition == "basic":
            assert restored.losses.epsilon >= known.losses.epsilon
            assert restored.losses.delta >= known.losses.delta
            assert restored.losses.epsilon <= known.losses.epsilon * (1 + Fraction(1, 10**14))
        assert known.lacking(copy) is None


# By hand -------------------------------------------------------------------------------------


def test_epsilons_and_deltas_add_up_as_decimals():
    whole = account(0.3, 3e-7).charged(Loss(0.1, 1e-7, "huber")).charged(Loss(0.2, 2e-7, "huber"))
    assert whole.losses == Total(Fraction(3, 10), Fraction(3, 10**7))
    assert (whole.composition, whole.left_epsilon, whole.left_delta) == ("basic", 0.0, 0.0)
    assert (whole.spent_epsilon, whole.spent_delta) == (0.3, 3e-7)
    with pytest.raises(Refused, match="epsilon = 0 and delta = 0 are left"):
        whole.charged(Loss(0.001, 0.0))


def test_gaussian_noise_counts_with_its_epsilon_where_epsilons_add_up():
    whole, accepted = spent(account(2.0), [other(0.5), gaussian(1.0, 1e-6), gaussian(0.5, 1e-7)])
    assert (whole.spent_epsilon, whole.spent_delta, len(accepted)) == (1.5, 1e-6, 2)
    with pytest.raises(Refused, match="Plan the stream with a smaller delta"):
        whole.charged(Loss(0.5, 1e-7, "gaussian"))


def test_a_budget_of_epsilon_and_delta_takes_gaussian_noise_as_the_budget_in_mu_does():
    declared, by_mu = account(), Account("clinics", TWO.mu, 1e-6, TWO.relation)
    assert declared.composition is None
    for epsilon in (1.0, 0.7, 0.5, 0.1, 1.0, 0.01):
        mu = mu_of(epsilon, 1e-6)
        assert declared.affords(mu) == by_mu.affords(mu)
        if by_mu.affords(mu):
            declared, by_mu = declared.charged(mu), by_mu.charged(mu)
        assert (declared.spent, declared.left) == (by_mu.spent, by_mu.left)
        assert declared.left_epsilon == by_mu.left_epsilon
    assert declared.composition == "gaussian"


# Edges ---------------------------------------------------------------------------------------


def test_a_budget_without_delta_takes_pure_losses_only():
    whole = account(1.0, 0)
    assert (whole.composition, whole.mu, whole.left, whole.left_delta) == ("basic", None, 0.0, 0.0)
    with pytest.raises(Refused, match="Plan the stream with a smaller delta"):
        whole.charged(whole.spending(gaussian(0.5, 1e-9)))
    whole = whole.charged(Loss(0.25, 0.0, "laplace"))
    assert (whole.left_epsilon, whole.spent_epsilon, whole.spent_delta) == (0.75, 0.25, 0.0)
    assert not whole.affords(0.1)


def test_a_budget_in_mu_takes_gaussian_noise_only():
    for guarantee in (hf.Guarantee.from_mu(0.5), hf.Guarantee.from_rho(0.1)):
        whole = Account.of("clinics", guarantee)
        with pytest.raises(Refused, match=r"because its budget is a mu.*law='gaussian' \(--law"):
            whole.spending(other(0.001))
        with pytest.raises(Refused, match="Gaussian noise only"):
            whole.charged(Loss(0.001, 0.0, "laplace"))
        assert whole.charged(whole.mu).left == 0.0


def test_two_histories_that_add_up_differently_leave_nothing():
    """The mark belongs to a branch of the ledger that charged the other kind first."""
    summed, squared = account().charged(Loss(0.5, 0.0)), account().charged(mu_of(0.5, 1e-6))
    after = summed.with_lost(summed.lacking(squared))
    assert (after.left_epsilon, after.left_delta) == (0.0, 0.0)
    assert squared.with_lost(squared.lacking(summed)).left == 0.0


def test_streams_that_protect_another_unit_are_refused_for_every_law():
    whole = account().charged(Loss(0.5, 0.0), ONE.relation)
    with pytest.raises(Refused, match="must protect the same unit"):
        whole.charged(Loss(0.5, 0.0), Relation("replace", 1, 1, 1))


def test_the_charge_of_a_plan_is_what_it_declares():
    pure = hf.plan(hf.SlidingWindow(length=7), hf.Guarantee(epsilon=1, delta=1e-6))
    assert charge_of(pure) == Charge(Loss(1.0, 0.0, "laplace"))
    assert pure.privacy.epsilon(0) == 1.0
    huber = hf.plan(hf.Exponential(half_life=24), ONE)
    assert charge_of(huber) == Charge(Loss(1.0, 1e-6, "huber"))
    root = hf.plan(hf.Exponential(half_life=24), ONE, method="square_root")
    assert charge_of(root) == Charge(Loss(1.0, 1e-6, "gaussian"), ONE.mu)
    several = hf.Guarantee(epsilon=1, delta=1e-6, protects=hf.Person(steps=40, apart=1))
    steeper = hf.plan(hf.SlidingWindow(length=7), several, method="input", law="laplace")
    assert steeper.privacy.epsilon(0) > 1
    assert charge_of(steeper) == Charge(Loss(1.0, 1e-6, "laplace"))


# The ledger ----------------------------------------------------------------------------------


UNIT = ["add_remove", 1, 1, 1]


def entries(*contents):
    listed = []
    for kind, content in contents:
        listed.append(following(listed[-1] if listed else None, kind, **content))
    return listed


def charge(stream, loss, kind="charge", **more):
    rest = {"epoch": 0, "plan": "", "relation": UNIT}
    return kind, {"stream": stream, "dataset": "clinics", "loss": loss, **rest, **more}


BUDGET = ("dataset", {"dataset": "clinics", "epsilon": 2.0, "delta": 1e-6, "relation": UNIT})
HALF = {"epsilon": 0.5, "delta": 1e-7, "law": "huber"}


def test_accounts_come_from_entries_of_every_law():
    found = ledger.accounts(entries(BUDGET, charge("a", HALF), charge("b", HALF)))["clinics"]
    assert found == account().charged(Loss(*HALF.values())).charged(Loss(*HALF.values()))
    assert ledger.budget_fields(found) == BUDGET[1]
    assert ledger.fields(Loss(**HALF)) == {"loss": HALF}


def test_a_ledger_that_overspends_or_mixes_is_refused():
    large = HALF | {"epsilon": 1.6}
    rest = {"epoch": 0, "plan": "", "relation": UNIT}
    mu = ("charge", {"stream": "m", "dataset": "clinics", "mu": 0.1, **rest})
    for forged in (
        [charge("a", HALF), charge("b", large)],
        [charge("a", HALF), mu],
        [mu, charge("a", HALF)],
    ):
        with pytest.raises(Refused):
            ledger.accounts(entries(BUDGET, *forged))


@pytest.mark.parametrize(
    "loss",
    [
        None, 1.0, {}, HALF | {"epsilon": 0.0}, HALF | {"epsilon": -1.0}, HALF | {"epsilon": 1},
        HALF | {"delta": -1e-9}, HALF | {"delta": "0"}, HALF | {"more": 0},
    ],
)  # fmt: skip
def test_a_loss_that_no_store_wrote_is_refused(loss):
    with pytest.raises(Malformed, match="entry 2 of the ledger must charge a loss"):
        ledger.accounts(entries(BUDGET, charge("a", loss)))


def test_an_entry_that_charges_twice_is_refused():
    with pytest.raises(Malformed, match="entry 2 of the ledger must charge a loss"):
        ledger.accounts(entries(BUDGET, charge("a", HALF, mu=0.1)))


def test_the_losses_of_all_epochs_of_a_stream_are_composed():
    lost = charge("", HALF | {"law": None}, "lost")
    told = entries(BUDGET, charge("a", HALF), charge("b", HALF), lost, charge("a", HALF))
    assert ledger.published(told, "a") == Loss(1.5, 3e-7)
    assert ledger.published(told, "b") == Loss(0.5, 1e-7)


def test_a_charge_is_above_zero():
    account = Account.of("clinics", hf.Guarantee(1, 1e-6))
    for spending in (Loss(-1.0, 0.0), Loss(0.0, 0.0), Loss(0.5, -1e-9), -0.1, 0.0):
        with pytest.raises(hf.InvalidValue, match="must be above 0"):
            account.charged(spending)
