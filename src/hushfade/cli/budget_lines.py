"""The budget of a dataset: what is spent, and what one more stream would bring the total to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hushfade.cli import ledger_statement
from hushfade.privacy.rounding import rounded_down, rounded_up

if TYPE_CHECKING:
    from hushfade.privacy.account import Account


def budget(account: Account) -> dict[str, Any]:
    """The budget as plain data."""
    gaussian = account.composition != "basic"
    return {
        "dataset": account.name,
        "composition": account.composition,
        "mu": account.mu if gaussian else None,
        "delta": account.delta,
        "epsilon": account.epsilon,
        "spent": account.spent if gaussian else None,
        "spent_epsilon": account.spent_epsilon,
        "spent_delta": account.spent_delta,
        "left": account.left if gaussian else None,
        "left_epsilon": account.left_epsilon,
        "left_delta": account.left_delta,
        "next_epsilon": account.next_epsilon,
        "unit": ledger_statement.unit(account),
    }


def sentence(account: dict[str, Any]) -> str:
    """The spent part of a budget and the effect of a further stream, in words."""
    delta = rounded_up(account["delta"], 3)
    spent = f"epsilon = {rounded_up(account['spent_epsilon'])} of {rounded_up(account['epsilon'])}"
    largest = f"epsilon = {rounded_down(account['left_epsilon'])}"
    if account["composition"] == "basic":
        spent += f" and delta = {rounded_up(account['spent_delta'], 3)} of {delta} are spent."
        largest += f" and delta = {rounded_down(account['left_delta'], 3)}"
    else:
        spent += f" at delta = {delta} is spent."
    unit = "" if account["unit"] is None else f" It protects {account['unit']}."
    if account["left_epsilon"] <= 0:
        return f"{spent} Nothing is left.{unit}"
    if account["next_epsilon"] is None:
        return spent + unit
    return (
        f"{spent} Another stream like the last would raise epsilon to "
        f"{rounded_up(account['next_epsilon'])}. The budget has room for a stream with {largest}."
        f"{unit}"
    )
