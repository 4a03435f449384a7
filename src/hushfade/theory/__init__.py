"""The smallest error of any factorization, and the statements of the paper as code.

norms          brackets of γ2 and γ_F at n steps; the limit of γ2
bounds         the paper's bounds on γ2 and γ_F, corrected: Theorems 2 and 3
families       the bounds for power laws, exponentials, counting and windows: Theorems 3, 4 and 7
accuracy       the error that a factor implies: expected maximum, mean squared error
class_f        whether √g has no negative coefficient (the paper's class F)
bell_polynomials    Bell polynomials, Faà di Bruno's formula, the paper's formula for a_n
certificates   explicit bounds for any decay, up to millions of steps
optimum        the best factorization for n steps, with matching primal and dual bounds
dense_pair     a factorization stored as two matrices
discrepancy    hereditary discrepancy: search and bounds
completion     positive completions, and proofs that none exists
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hushfade.theory.bound_values import Bound, Bracket
from hushfade.theory.norms import gamma2, gamma2_limit, gamma_f

__all__ = ["Bound", "Bracket", "gamma2", "gamma2_limit", "gamma_f"]

_MODULES = {  # loaded on first use, so that importing hushfade is quick
    "accuracy", "bell_polynomials", "bounds", "class_f", "completion", "dense_pair", "discrepancy",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"hushfade.theory.{name}")
    raise AttributeError(f"module 'hushfade.theory' has no attribute {name!r}")
