"""docs/results/norms.md: γ2, γ_F, their limits and certificates for a dozen decays."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hushfade import theory
from hushfade.decays import Decay
from hushfade.errors import Diverges
from hushfade.factors import factorization
from hushfade.theory import certificates
from lab.paper.decays import DECAYS
from lab.progress import progress
from lab.tables.page import table, write

STEPS = (64, 256, 1024)
MANY = (1 << 10, 1 << 16, 1 << 20)

PAGE = """\
# Norms

Written by `make tables`.  γ2 is the smallest error factor ‖L‖₂→∞ ‖R‖₁→₂ of any factorization of
the decay's matrix, and γ_F the smallest ‖L‖_F ‖R‖₁→₂.  [The
theory](../explanation/theory.md) explains both.

## The smallest error factor, γ2

`hushfade.theory.gamma2` computes brackets from a primal and a dual solution.  *Square root* is the
error factor of the paper's pair at 1024 steps.  *Limit* is the limit of γ2 for many steps.

{gamma2}

## The smallest root mean square error, γ_F/√n

{gamma_f}

## Certificates for many steps

Each cell has the explicit lower bound (`certificates.lower`), the best upper bound of circulant,
square root and normalized square root, and their ratio.  Both bounds take O(n log n) and account
for rounding errors.

{certified}
"""


def main() -> None:
    """Compute and write the page, in about ten minutes on two cores."""
    write(
        "results/norms.md",
        PAGE.format(
            gamma2=table(["decay", *_heads(), "square root", "limit"], _gamma2()),
            gamma_f=table(["decay", *_heads()], _gamma_f()),
            certified=table(
                ["decay", *(f"n = {n}: lower, upper, ratio" for n in MANY)], _certified()
            ),
        ),
    )


def _heads() -> list[str]:
    return [f"n = {n}" for n in STEPS]


def _gamma2() -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for name, decay in DECAYS.items():
        cells = [_shared(theory.gamma2(decay, n, gap=2e-5)) for n in STEPS]
        progress(f"γ2, {name}: {', '.join(cells)}")
        root = factorization.square_root(decay).error_factor(STEPS[-1])
        rows.append((name, *cells, f"{root:.5f}", _limit(decay)))
    return rows


def _gamma_f() -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for name, decay in DECAYS.items():
        cells = []
        for n in STEPS:
            found = theory.gamma_f(decay, n, gap=2e-5)
            root = math.sqrt(n)
            cells.append(_shared(theory.Bracket(found.lower / root, found.upper / root)))
        progress(f"γ_F, {name}: {', '.join(cells)}")
        rows.append((name, *cells))
    return rows


def _certified() -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for name, decay in DECAYS.items():
        cells = []
        for n in MANY:
            f = decay.weights(n)
            below = certificates.lower(f).value
            pairs = factorization.square_root(decay), factorization.normalized(decay, n)
            above = min(certificates.upper(f).value, *(pair.error_factor(n) for pair in pairs))
            cells.append(f"{below:.5f}, {above:.5f}, {above / below:.6f}")
        progress(f"certificates, {name}: {'; '.join(cells)}")
        rows.append((name, *cells))
    return rows


def _limit(decay: Decay) -> str:
    try:
        return f"{theory.gamma2_limit(decay).value:.5f}"
    except Diverges:
        return "infinite"


def _shared(bracket: theory.Bracket) -> str:
    """'lower to upper', rounded outwards to five digits."""
    low, high = math.floor(1e5 * bracket.lower) / 1e5, math.ceil(1e5 * bracket.upper) / 1e5
    return f"{low:.5f} to {high:.5f}"
