"""Plans that are fixed together compose as in dp-accounting; an adversary who chooses the next plan
after each release stays within the budget."""

import math

import numpy as np
import pytest

import hushfade as hf
from hushfade.privacy.account import Account, Loss
from hushfade.privacy.guarantee import mu_of

WEEK = hf.SlidingWindow(length=7)


def peer(plans, *, optimistic):
    from dp_accounting.pld import privacy_loss_distribution as pld

    grid = {
        "value_discretization_interval": 1e-4,
        "pessimistic_estimate": not optimistic,
        "use_connect_dots": not optimistic,
    }
    total = None
    for plan in plans:
        if plan.law.name == "gaussian":
            made = pld.from_gaussian_mechanism(1.0 / plan.guarantee.mu, **grid)
        else:
            made = pld.from_laplace_mechanism(1.0 / plan.privacy.epsilon(0.0), **grid)
        total = made if total is None else total.compose(made)
    return total


def test_random_mixtures_are_never_below_dp_accounting_and_at_most_a_percent_above():
    rng = np.random.default_rng(23)
    for _ in range(6):
        plans = []
        for epsilon in rng.uniform(0.1, 1.0, size=rng.integers(2, 6)):
            guarantee = hf.Guarantee(epsilon=float(epsilon), delta=1e-6)
            law = "gaussian" if rng.random() < 0.5 else "laplace"
            plans.append(hf.plan(WEEK, guarantee, law=law, method="input"))
        together = hf.composed(plan.privacy for plan in plans)
        for delta in (1e-4, 1e-6):
            found = together.epsilon(delta)
            below = peer(plans, optimistic=True).get_epsilon_for_delta(delta)
            above = peer(plans, optimistic=False).get_epsilon_for_delta(delta)
            assert found >= below * (1 - 1e-6), [plan.law.name for plan in plans]
            assert found <= 1.01 * above, [plan.law.name for plan in plans]


# Adversaries ---------------------------------------------------------------------------------

BUDGET = hf.Guarantee(epsilon=1, delta=0.01)
RUNS, ROUNDS = 200_000, 8


def excess(losses):
    """δ(1) of the losses, less the budget's, in standard errors."""
    parts = np.maximum(0.0, -np.expm1(np.minimum(1.0 - losses, 50.0)))
    error = float(np.std(parts)) / math.sqrt(len(parts))
    return (float(np.mean(parts)) - BUDGET.delta) / error


def attacked(offers, drawn, affords):
    """The losses of an adversary who takes the large offer while the loss is high.

    `offers` are a large and a small spending; one that does not fit is replaced by the other, and
    where neither fits the adversary stops.
    """
    rng = np.random.default_rng(5)
    losses, paths = np.zeros(RUNS), np.zeros(RUNS, dtype=np.int64)
    accounts = {0: Account.of("data", BUDGET)}
    for _ in range(ROUNDS):
        wants = np.where(losses >= 0.15, 0, 1)
        for path in np.unique(paths):
            account = accounts[int(path)]
            for want in (0, 1):
                here = (paths == path) & (wants == want)
                order = (offers[want], offers[1 - want])
                chosen = next((offer for offer in order if affords(account, offer)), None)
                if chosen is None or not here.any():
                    continue
                losses[here] += drawn(rng, chosen, int(here.sum()))
                place = 3 * int(path) + 1 + offers.index(chosen)
                accounts[place] = account._after(chosen, None)
                paths[here] = place
    return losses


def gaussian(rng, mu, count):
    return rng.normal(mu * mu / 2, mu, count)


def randomized_response(rng, loss, count):
    """The worst mechanism with this epsilon and delta: its loss is ±ε, or without bound."""
    truth = rng.random(count) < 1 / (1 + math.exp(-loss.epsilon))
    return np.where(rng.random(count) < loss.delta, np.inf, np.where(truth, 1, -1) * loss.epsilon)


MU = mu_of(1.0, 0.01)
RULES = {
    "gaussian": ([MU / 1.5, MU / 3], gaussian),
    "basic": ([Loss(0.5, 0.004), Loss(0.2, 0.001)], randomized_response),
}


def test_an_adversary_who_chooses_after_each_release_stays_within_the_budget():
    for name, (offers, drawn) in RULES.items():
        losses = attacked(offers, drawn, Account.affords)
        assert excess(losses) < 5.2, name  # the seed is fixed; by chance 1e-7
        assert excess(losses) > -40, name  # it spends most of the budget


def forgetful(account, spending):
    """A rule with a bug: it looks at each charge alone."""
    return Account.of("data", BUDGET).affords(spending)


def test_a_rule_that_forgets_earlier_charges_is_noticed():
    for name, (offers, drawn) in RULES.items():
        assert excess(attacked(offers, drawn, forgetful)) > 20, name


def test_a_filter_refuses_what_no_longer_fits():
    account = Account.of("data", BUDGET).charged(MU / 1.5)
    with pytest.raises(hf.Refused, match="must not be overspent"):
        account.charged(MU / 1.2)
