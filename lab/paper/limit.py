"""The limit of γ2, and certificates: lower bounds for all factorizations at any number of steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from hushfade.check import Column
from hushfade.decays import Decay, Exponential
from hushfade.factors import factorization, limit_norms, power_series
from hushfade.theory import certificates, norms
from hushfade.theory.bound_values import Bracket
from lab.paper.decays import DECAYS
from lab.paper.document import Blocks, Claim, Extent, Figure, Panel, Prose, Table, holds, line
from lab.paper.theory import families

SLOW = "counting", "power 0.1", "power 0.25"  # their γ2 still increases at a million steps
SHOWN = "exponential, α = 1.01", "power 0.25", "power 1", "window 256"
QUICK = (*SHOWN, "counting", "exponential, α = 2", "window 16")  # the decays of a quick report


def blocks(extent: Extent) -> Blocks:
    """The chapter."""
    steps = _steps(extent)
    brackets = {
        name: [bracket(decay, n, extent.exact) for n in steps]
        for name, decay in DECAYS.items()
        if extent.full or name in QUICK
    }
    yield from _limit(extent, steps, brackets)
    yield from _certificates(extent, steps, brackets)


def _steps(extent: Extent) -> list[int]:
    most = 12 if extent.full else 0  # every power of two up to 2^most, then every second one
    return [1 << k for k in range(1, extent.horizon.bit_length()) if k <= most or k % 2 == 0]


@cache  # the next chapter uses some of them again
def bracket(decay: Decay, n: int, exact: int) -> Bracket:
    """A bracket of γ2 at n steps: by optimisation up to `exact` steps, else by explicit bounds."""
    if n <= exact:
        return norms.gamma2(decay, n, gap=2e-5)
    f = decay.weights(n)
    error = certificates.rounding(decay, f)
    lower = certificates.lower(f, weight_error=error).value
    upper = min(certificates.upper(f, weight_error=error).value, _root(decay, n))
    if upper > 1.0001 * lower:  # only where the bracket can become narrower
        upper = min(upper, factorization.normalized(decay, n).error_factor(n))
    return Bracket(lower, upper)


def _root(decay: Decay, n: int) -> float:
    return factorization.square_root(decay).error_factor(n)


# The limit -------------------------------------------------------------------------------------


def _limit(extent: Extent, steps: list[int], brackets: dict[str, list[Bracket]]) -> Blocks:
    rows, apart, above, left, closed = [], 0.0, 0.0, 0.0, 0.0
    for name, listed in brackets.items():
        decay = DECAYS[name]
        if not decay.horizon_free:
            continue
        found = limit_norms.energy(decay)
        partial, whole = _summed(decay, extent.horizon)
        last = listed[-1]
        rows.append((name, found.value, partial, whole, whole / found.value - 1.0, last.lower))
        apart = max(apart, abs(whole / found.value - 1.0))
        above = max(above, max(x.lower for x in listed) / found.value)
        if name not in SLOW:
            left = max(left, 1.0 - last.lower / found.value)
        if isinstance(decay, Exponential):
            elliptic = families.exponential_elliptic(decay).value
            closed = max(closed, abs(elliptic / found.value - 1.0))
    yield Prose(
        "By Bennett's theorem on Toeplitz Schur multipliers (1977), γ2(M_f) increases to "
        "(1/2π) ∫ |g(e^iθ)| dθ. By Parseval's theorem this is Σ a_n², the error factor of √g on an "
        "unbounded stream. So the square root is optimal in the limit for non-increasing weights "
        "with a finite mean of |g|. Of the paper's named decays only counting does not satisfy "
        "this condition: its γ2 grows without bound, the ratio of √g to it tends to 1, and the "
        "difference does not vanish. Other decays do not satisfy it either: Σ a_n² over n < "
        f"{', '.join(map(str, _ENDS))} is {_listed(_flat)} for f_k = (1 + 2^-k)/2 and "
        f"{_listed(_logarithmic)} for f_k = 1/ln(k+e). We compute the limit twice: as the "
        "integral, by quadrature of |g| (`limit_norms.energy`), and as the sum of the squared "
        f"coefficients (`factors.square_root`) up to n = {extent.horizon}. For the rest of the sum "
        "we assume that the contributions of successive doublings of n decrease by a constant "
        "ratio."
    )
    yield Table(
        "limit-sums",
        f"The limit of γ2: the integral, the sum up to n = {extent.horizon}, its extrapolation, "
        "the relative difference of integral and extrapolation, and a certified lower bound of γ2 "
        f"at T = {steps[-1]}.",
        ("decay", "∫ |g|/2π", "Σ a_n², partial", "Σ a_n²", "difference", f"γ2({steps[-1]}) ≥"),
        tuple(rows),
        digits=7,
    )
    yield Claim.new(
        "Σ a_n² = (1/2π) ∫ |g|",
        "equal",
        f"relative difference at most {apart:.1g}",
        holds(apart < (1e-5 if extent.full else 3e-4)),
    )
    yield Claim.new(
        "for α^-k the limit is (2/π) K(1/α) with the complete elliptic integral K",
        "equal",
        f"relative difference at most {closed:.1g}",
        holds(closed < 1e-13),
    )
    yield Claim.new(
        "γ2(M_f) stays below the limit and approaches it",
        "certified lower bounds divided by the limit: at most 1, and close to 1",
        f"at most 1 - {1.0 - above:.1g}; at T = {steps[-1]} within {left:.2g} of 1 for all decays "
        f"except {', '.join(SLOW[1:])}",
        holds(above <= 1.0 and left < (1e-3 if extent.full else 0.06)),
    )
    yield Figure(
        "limit-by-steps",
        f"γ2 and its limit.  The brackets come from a primal and a dual up to T = {extent.exact}, "
        "and from explicit certificates beyond.",
        tuple(
            Panel(
                name, "T", "γ2",
                (
                    line("γ2 at most", _floats(steps), _floats([x.upper for x in brackets[name]])),
                    line("γ2 at least", _floats(steps), _floats([x.lower for x in brackets[name]])),
                    line("limit, Σ a_n²", steps, limit_norms.energy(DECAYS[name]).value),
                ),
                x_log=True,
            )
            for name in SHOWN
        ),
    )  # fmt: skip


_ENDS = 1 << 10, 1 << 12, 1 << 14


def _flat(k: Column) -> Column:
    return np.asarray((1.0 + np.exp2(-k)) / 2.0)


def _logarithmic(k: Column) -> Column:
    return np.asarray(1.0 / np.log(k + np.e))


def _listed(weights: Callable[[Column], Column]) -> str:
    """Σ a_n² of the weights' square root, over n < each of _ENDS."""
    sums = np.cumsum(power_series.square_root(weights(np.arange(float(_ENDS[-1])))) ** 2)
    return ", ".join(f"{sums[end - 1]:.3f}" for end in _ENDS)


def _summed(decay: Decay, n: int) -> tuple[float, float]:
    """Σ_{k<n} a_k², and its limit by Aitken's extrapolation from n/4, n/2 and n terms."""
    square = factorization.square_root(decay).right(n) ** 2
    before, last = float(np.sum(square[n // 4 : n // 2])), float(np.sum(square[n // 2 :]))
    total = float(np.sum(square))
    rest = last * last / (before - last) if last > 1e-16 else 0.0
    return total, total + rest


def _floats(numbers: list[int] | list[float]) -> Column:
    return np.array(numbers, dtype=np.float64)


# Certificates ------------------------------------------------------------------------------------


def _certificates(extent: Extent, steps: list[int], brackets: dict[str, list[Bracket]]) -> Blocks:
    chosen = [1 << 10, 1 << 16, 1 << 20] if extent.full else [1 << 8, 1 << 10, 1 << 12]
    rows, worst, roots = [], 0.0, 0.0
    for name, listed in brackets.items():
        found = [listed[steps.index(n)] for n in chosen]
        root = _root(DECAYS[name], chosen[-1]) / found[-1].lower
        row: list[str | float] = [name, *(x for one in found for x in (one.lower, one.gap))]
        rows.append((*row, root - 1.0))
        worst = max(worst, found[-1].gap)
        roots = max(roots, root)
    heads = [head for n in chosen for head in (f"γ2 ≥, T = {n}", f"upper/lower - 1, T = {n}")]
    yield Prose(
        "The paper's lower bound for every decay is the exact γ2 of two steps. "
        "`theory.certificates` gives a lower bound for any T in O(T log T): a bound on the trace "
        "norm of D_u M D_v by a circulant unitary matrix, with weights u, v from a family with two "
        "parameters. It accounts for all rounding. The upper bound is the best of the circulant "
        "bound, √g and the normalized √g (`factors.normalized`). So there is a proof for every "
        "mechanism of how far it can be from the best one."
    )
    yield Table(
        "limit-certificates",
        "Certified lower bounds of γ2; the ratio of the best of the three upper bounds to it, "
        "minus 1; and the ratio of the error factor of √g to the last lower bound, minus 1, at "
        f"T = {chosen[-1]}.",
        ("decay", *heads, "√g/lower - 1"),
        tuple(rows),
        digits=5,
    )
    yield Claim.new(
        f"at T = {chosen[-1]} the best of these three is within 6 % of the best factorization, for "
        f"the {len(brackets)} decays here",
        "upper/lower ≤ 1.06",
        f"at most {1.0 + worst:.4f}; {roots:.4f} for √g itself",
        holds(worst <= 0.06),
    )
    far = [k for k, n in enumerate(steps) if n > extent.exact]
    yield Figure(
        "limit-gaps",
        "How far can the best of three constructions (circulant, √g, normalized √g) be from the "
        "optimum?  The ratio of the upper to the certified lower bound, minus 1 (at least 1e-9).",
        (
            Panel(
                "explicit certificates", "T", "upper / lower - 1",
                tuple(
                    line(
                        name,
                        _floats([steps[k] for k in far]),
                        _floats([max(listed[k].gap, 1e-9) for k in far]),
                    )
                    for name, listed in brackets.items()
                ),
                x_log=True, y_log=True,
            ),
        ),
    )  # fmt: skip
