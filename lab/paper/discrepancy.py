"""Hereditary discrepancy: its bounds by γ2, and its value for a decay (Appendix E.1)."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from hushfade.check import Matrix
from hushfade.decays import Decay, SlidingWindow
from hushfade.theory import norms, optimum
from lab.paper.decays import DECAYS
from lab.paper.document import Blocks, Claim, Extent, Figure, Panel, Prose, Table, holds, line
from lab.paper.theory import discrepancy, families

# for the few steps of a search, the report's windows are equal to counting
SMALL: dict[str, Decay] = {
    **{name: decay for name, decay in DECAYS.items() if not name.startswith("window")},
    "window 4": SlidingWindow(4),
}


def blocks(extent: Extent) -> Blocks:
    """The chapter."""
    yield from _definition()
    yield from _searched(11 if extent.full else 8)
    yield from _where_it_speaks(extent)


def over_rows(A: Matrix) -> float:
    """The maximum of disc over all sets of rows, as printed.

    >>> over_rows(np.array([[1.0, 1.0]]))
    0.0
    """
    rows = range(len(A))
    sets = (list(some) for k in range(1, len(A) + 1) for some in combinations(rows, k))
    return max(discrepancy.discrepancy(A[some]).value for some in sets)


def _definition() -> Blocks:
    A = np.hstack([np.eye(2), np.eye(2)])
    by_rows, by_columns = over_rows(A), discrepancy.hereditary_discrepancy(A)
    # γ2 = 1: no entry is larger than γ2, and A = I · A has columns of norm 1
    gamma2 = float(np.max(np.abs(A)))
    longest = float(np.max(np.linalg.norm(A, axis=0)))
    yield Prose(
        "Appendix E.1 states that the hereditary discrepancy of M_f is between γ2/log m and "
        "γ2 √log m, up to constants. It defines hereditary discrepancy as a maximum over sets of "
        "rows. Removing rows never increases ‖A x‖∞, so this maximum is just disc(A). It is 0 if "
        f"the columns come in equal pairs. For two {len(A)} × {len(A)} identity matrices side by "
        f"side, with γ2 = {gamma2:g}, the search (`theory.discrepancy`) finds {by_rows:g} over "
        f"rows and {by_columns.value:g} over columns."
    )
    yield Claim(
        "Appendix E.1",
        "the maximum of disc over sets of rows is at least γ2/log m, up to a constant",
        f"> 0 for a matrix with γ2 = {gamma2:g}",
        f"{by_rows:g}",
        holds(by_rows > 0 or gamma2 != longest),
        "hereditary discrepancy is the maximum over sets of columns",
    )
    least = discrepancy.lower_from_gamma2(gamma2, rows=2, columns=4).value
    yield Claim(
        "Appendix E.1, corrected",
        "the maximum over sets of columns is at least γ2/(2h), h = Σ √((m-k+1)(n-k+1)/mn)/k",
        f"≥ {least:.4f}",
        f"{by_columns.value:g}",
        holds(by_columns.value >= least),
    )


def _searched(steps: int) -> Blocks:
    rows, found = [], []
    for name, decay in SMALL.items():
        f = decay.weights(steps)
        gamma2 = norms.gamma2(decay, steps)
        value = discrepancy.hereditary_discrepancy(optimum.matrix(f)).value
        low, high = _said(gamma2.lower, gamma2.upper, steps)
        found.append((value, low, high, gamma2.lower))
        rows.append((name, gamma2.lower, low, value, high))
    values, lows, highs, gammas = np.array(found).T
    away = float(np.max(np.abs(values - 1.0)))
    spread = float(np.max(gammas) / np.min(gammas))
    yield Table(
        "discrepancy-searched",
        f"Hereditary discrepancy of M_f at T = {steps}, by search over all sets of columns and all "
        "signs, and its bounds by γ2.",
        ("decay", "γ2 ≥", "γ2/(2h)", "herdisc", "γ2 √(2 ln 2T)"),
        tuple(rows),
        digits=5,
    )
    yield Claim(
        "Appendix E.1, corrected",
        "γ2/(2h) ≤ herdisc(M_f) ≤ γ2 √(2 ln 2T)",
        f"lower bounds up to {np.max(lows):.3f}, upper bounds from {np.min(highs):.3f}",
        f"herdisc from {np.min(values):.6g} to {np.max(values):.6g}",
        holds(bool(np.all(lows <= values) and np.all(values <= highs))),
    )
    yield Claim(
        "Appendix E.1",
        "the bounds on γ2 give a general bound for the discrepancy of all M_f",
        f"of the order of γ2, which varies by a factor {spread:.3f} here",
        f"herdisc is 1 for all decays, to {away:.1g}",
        "weak" if away < 1e-12 and spread > 1.1 else "holds",
        "herdisc(M_f) = f(1) exactly for every non-increasing f, whatever γ2 is",
    )
    most, sets = _alternating(1024)
    yield Claim.new(
        "alternating signs along any set of columns give |(M_f x)_t| ≤ f_0, since the newest "
        "weight is the largest, and one column alone gives f_0.  So herdisc(M_f) = f_0 for every "
        "non-increasing decay",
        "at most 1, up to rounding",
        f"at most 1 + {max(most - 1.0, 0.0):.1g}, over {sets} random sets at T = 1024",
        holds(most <= 1.0 + 1e-12),
    )


def _alternating(steps: int) -> tuple[float, int]:
    """The largest ‖M x‖∞ for x that alternates along random column sets, and their number."""
    rng = np.random.default_rng(21)
    largest, count = 0.0, 0
    for decay in SMALL.values():
        M = optimum.matrix(decay.weights(steps))
        chosen = rng.random((steps, 20)) < rng.random(20)
        x = np.where(chosen, 1.0 - 2.0 * ((np.cumsum(chosen, axis=0) - 1) % 2), 0.0)
        largest = max(largest, float(np.max(np.abs(M @ x))))
        count += chosen.shape[1]
    return largest, count


def _where_it_speaks(extent: Extent) -> Blocks:
    sizes = extent.powers(2)
    counted = [
        _said(families.mathias_lower(n).value, families.mathias_upper(n).value, n) for n in sizes
    ]
    signs = [(n, *_said(math.sqrt(n), math.sqrt(n), n)) for n in sizes]
    searched = [discrepancy.hereditary_discrepancy(_signs(n)).value for n in (2, 4, 8)]
    lower, upper = np.array(counted).T
    n, low, high = np.array(signs).T
    first = next((size for size, least, _ in signs if least > 1.0), 0)
    determinant = discrepancy.determinant_bound(_signs(8)).value / 2
    yield Prose(
        "When are the bounds by γ2 informative? A single column shows that a matrix whose largest "
        "entry is 1 has herdisc ≥ 1. For counting, γ2/(2h) is smaller than that at every T: it is "
        f"at most {np.max(lower):.4f} for T up to {sizes[-1]}, since γ2 and h both grow like ln T. "
        "Sylvester's n × n sign matrices are different. They have γ2 = √n (columns of length √n, "
        f"all singular values √n), and γ2/(2h) exceeds 1 from n = {first} on, far beyond any "
        "search, and grows with n. At n = 8 determinants give "
        f"herdisc ≥ {determinant:.3f}, and the search finds {searched[-1]:g}."
    )
    yield Figure(
        "discrepancy-bounds",
        "The bounds of the hereditary discrepancy by γ2: uninformative for counting, informative "
        "for sign matrices.",
        (
            Panel(
                "counting, M_f of T steps", "T", "hereditary discrepancy",
                (
                    line("γ2 √(2 ln 2T), upper", n, upper),
                    line("γ2/(2h), lower", n, lower),
                    line("herdisc", n, 1.0),
                ),
                x_log=True, y_log=True,
            ),
            Panel(
                "Sylvester's n × n sign matrices", "n", "hereditary discrepancy",
                (
                    line("γ2 √(2 ln 2T), upper", n, high),
                    line("γ2/(2h), lower", n, low),
                    line("herdisc by search", n[: len(searched)], np.array(searched), "points"),
                ),
                x_log=True, y_log=True,
            ),
        ),
    )  # fmt: skip
    inside = all(
        least <= value <= most for value, (_, least, most) in zip(searched, signs, strict=False)
    )
    yield Claim.new(
        "γ2 proves that the hereditary discrepancy of sign matrices grows; for M_f its lower bound "
        "stays below 1",
        f"above 1 for n ≥ {first}; below 1 for counting",
        f"{low[-1]:.4g} at n = {sizes[-1]}; at most {np.max(lower):.4f} for counting",
        holds(bool(inside and first > 0 and low[-1] > 1.0 and np.max(lower) < 1.0)),
    )


def _said(lower: float, upper: float, n: int) -> tuple[float, float]:
    """Bounds on an n × n matrix's hereditary discrepancy from bounds on its γ2."""
    return (
        discrepancy.lower_from_gamma2(lower, rows=n, columns=n).value,
        discrepancy.upper_from_gamma2(upper, rows=n).value,
    )


def _signs(n: int) -> Matrix:
    """Sylvester's n × n sign matrix, for n a power of two."""
    from scipy.linalg import hadamard

    return np.asarray(hadamard(n), dtype=np.float64)
