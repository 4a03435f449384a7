"""The budget of the dataset that `hushfade run --store` adds or charges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hushfade.cli import budget_lines, console
from hushfade.cli.options.parameters import naming_options
from hushfade.errors import InvalidValue, Refused
from hushfade.planning.charge import charge_of
from hushfade.privacy.account import Account
from hushfade.privacy.rounding import rounded_up

if TYPE_CHECKING:
    from hushfade.cli.options.run import RunStoreOptions
    from hushfade.planning.plan import Plan
    from hushfade.privacy.guarantee import Guarantee
    from hushfade.store import Reader


def of(plan: Plan, where: RunStoreOptions, dataset: str, reader: Reader | None) -> Guarantee | None:
    """The budget of a dataset that the run adds, or None if the dataset exists.

    It protects the unit of the plan.  Raise if the options contradict the budget of a dataset that
    exists.
    """
    epsilon, delta = where.budget_epsilon, where.budget_delta
    if epsilon is None and delta is not None:
        raise InvalidValue("--budget-delta needs --budget-epsilon")
    budget = plan.guarantee
    if epsilon is not None:
        with naming_options(where, epsilon="budget_epsilon", delta="budget_delta"):
            budget = replace(
                budget,
                epsilon=epsilon,
                delta=budget.delta if delta is None else delta,
                declared_mu=None,
                declared_rho=None,
            )
    account = None if reader is None else reader.accounts().get(dataset)
    if account is None:
        return budget
    if epsilon is not None and (account.declared != epsilon or delta not in (None, account.delta)):
        raise Refused(
            f"dataset {dataset!r} already exists with a budget of {_said(account)}, and a budget "
            "cannot change: omit --budget-epsilon and --budget-delta"
        )
    return None


def charged(plan: Plan, dataset: str, budget: Guarantee) -> Account:
    """A new account with this budget, after the charge of the plan.  Raise if it is too small."""
    account = Account.of(dataset, budget, plan.every)
    return account.charged(account.spending(charge_of(plan)), plan.relation)


def added(verb: str, plan: Plan, dataset: str, budget: Guarantee) -> str:
    """The budget of a new dataset in words; `verb` is 'Adding' or 'Would add'."""
    if budget is plan.guarantee:
        return (
            f"{verb} dataset {dataset!r}: its budget is the guarantee of this plan. A larger "
            "budget, for further series, needs --budget-epsilon now, because it cannot change."
        )
    said = _said(Account.of(dataset, budget, plan.every))
    return f"{verb} dataset {dataset!r}: its budget is {said}."


def report(plan: Plan, dataset: str, budget: Guarantee | None, reader: Reader | None) -> None:
    """Report what the charge of a new stream would leave of the budget."""
    if budget is not None:
        console.note(added("Would add", plan, dataset, budget))
        after = charged(plan, dataset, budget)
    else:
        assert reader is not None
        account = reader.accounts()[dataset]
        after = account.charged(account.spending(charge_of(plan)), plan.relation)
    said = budget_lines.sentence(budget_lines.budget(after))
    console.note(f"Dataset {dataset!r} after the charge of the new stream: {said}")


def _said(account: Account) -> str:
    return f"epsilon = {rounded_up(account.epsilon)} and delta = {rounded_up(account.delta, 3)}"
