"""The paper's formula for the coefficients of √g: Bell polynomials, equation (3), Remark 12."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from hushfade.decays import Decay
from hushfade.errors import InvalidValue
from hushfade.factors import factorization, power_series
from lab.paper.decays import DECAYS
from lab.paper.document import Blocks, Claim, Extent, Figure, Panel, Prose, Table, holds, line
from lab.paper.theory import bell_polynomials as bell
from lab.paper.theory.class_f import enclosed_root


def blocks(extent: Extent) -> Blocks:
    """The chapter."""
    yield from _formula(extent)
    yield from _remark(4 * 2048 if extent.full else 2048)
    yield from _inversion()


def _formula(extent: Extent) -> Blocks:
    n = 32 if extent.full else 20
    columns = {
        "counting": [Fraction(1)] * n,
        "exponential, α = 2": [Fraction(1, 2**k) for k in range(n)],
        "window 16": [Fraction(int(k < 16)) for k in range(n)],
        **{f"power {c}": [Fraction(1, (k + 1) ** c) for k in range(n)] for c in (1, 2, 3)},
    }
    equal = sum(bell.root_coefficients(f) == _recurred(f) for f in columns.values())
    yield Prose(
        "Theorem 2 bounds γ2 by Σ a_n², where the a_n are the coefficients of √g.  The formula for "
        "a_n by Bell polynomials, equation (3), is `theory.bell_polynomials.root_coefficients`.  "
        "We compare it with the recurrence of Remark 12 in fractions, and with "
        "`power_series.square_root` in float64.  Its terms alternate in sign and cancel.  The "
        "predicted relative error is 2^-53 t_n / |a_n|, where t_n is the sum of the absolute "
        "values of the terms, from `theory.bell_polynomials.cancellation`.  Finally we check the "
        "basis of the formula, Definition 1 and Theorems 8, 9 and 13, in fractions."
    )
    yield Claim(
        "Theorem 2, (3)",
        "a_n = (1/n!) Σ_k B_{n,k}(s) Π_{m<k} (½ - m), s_n = n! f(n+1)",
        "equal to the coefficients of √g",
        f"equal in fractions for {equal} of {len(columns)} decays, n < {n}",
        holds(equal == len(columns)),
    )
    names = "counting", "window 16", "power 0.5", "power 1", "power 2"
    errors = {name: _bell_error(DECAYS[name], 257) for name in names}
    rows = tuple(
        (name, *(float(measured[at]) for at in (16, 64, 256)),
         _first(measured > 1e-8), _first(measured > 1), _first(predicted > 1))
        for name, (measured, predicted) in errors.items()
    )  # fmt: skip
    yield Table(
        "formula-digits",
        "Relative error of formula (3) in float64, and the first n with at most 8 or no correct "
        "digits",
        ("decay", "n = 16", "n = 64", "n = 256", "8 left", "none left", "none left, predicted"),
        rows,
        3,
    )
    panels = []
    for side, title in enumerate(("measured", "predicted: 2^-53 t_n / |a_n|")):
        curves = []
        for name, found in errors.items():
            kept = found[side][1 : np.append(found[side] > 1, True).argmax()]  # beyond, only noise
            n_axis = np.arange(1.0, 1 + len(kept))
            curves.append(line(name, n_axis, np.maximum(kept, 2.0**-54)))
        panels.append(Panel(title, "n", "relative error", tuple(curves), y_log=True))
    yield Figure(
        "formula-errors",
        "Where does formula (3) lose its digits in float64?  A curve ends where no correct digit "
        "is left.",
        tuple(panels),
    )
    lost = [(int(row[5]), row[0]) for row in rows if isinstance(row[5], int)]
    yield Claim.new(
        "In float64 the formula, evaluated by the recurrence of the Bell polynomials, suffers from "
        "cancellation; exact fractions, Remark 12 and `power_series.square_root` do not",
        "no correct digit left by n = 256 for slow decays",
        f"none left for {len(lost)} of {len(rows)} decays, first at n = {min(lost)[0]} "
        f"({min(lost)[1]})"
        if lost
        else "some left for all decays",
        holds(bool(lost)),
    )


def _recurred(f: list[Fraction]) -> list[Fraction]:
    """Remark 12 in fractions, f_0 = 1."""
    a = [Fraction(1)]
    for n in range(1, len(f)):
        a.append((f[n] - sum(a[k] * a[n - k] for k in range(1, n))) / 2)
    return a


def _bell_error(decay: Decay, n: int) -> tuple[np.ndarray, np.ndarray]:
    f = decay.weights(n)
    a = power_series.square_root(f)
    size = np.maximum(np.abs(a), np.finfo(np.float64).tiny)
    predicted = 2.0**-53 * bell.cancellation(f) / size
    return np.abs(bell.root_coefficients(f) - a) / size, predicted


def _first(found: np.ndarray) -> int | str:
    return int(np.argmax(found)) if np.any(found) else "none"


def _remark(n: int) -> Blocks:
    within, apart = [], {}
    for name, decay in DECAYS.items():
        a, bound = enclosed_root(decay.weights(n))
        fast = factorization.square_root(decay).right(n)
        within.append(np.all(np.abs(a - fast) <= bound + 1e-11 * np.abs(a)))
        if np.all(a >= 0):  # where the sign changes, some coefficients are nearly 0
            apart[name] = float(np.max(np.abs(a - fast) / np.maximum(a, 1e-290)))
    worst = max(apart, key=lambda name: apart[name])
    yield Claim(
        "Remark 12",
        "Comparing coefficients gives a_1, ..., a_T in order, in T² time",
        "the coefficients of √g",
        f"compared with `factors.square_root`, which takes O(n log n), for n < {n}: the relative "
        f"difference is at most {apart[worst]:.1g} ({worst}), and for all decays it is within the "
        "rounding bound of the recurrence",
        holds(all(within) and apart[worst] < 1e-10),
    )


def _inversion() -> Blocks:
    draw = random.Random(12)
    s, F, G = ([Fraction(draw.randint(1, 9), draw.randint(1, 9)) for _ in range(9)] for _ in "sFG")
    pairs = [(n, k) for n in range(1, 10) for k in range(1, n + 1)]
    triangle = bell.partial(s)
    wrong = sum(triangle[n][k] != _defined(n, k, s) for n, k in pairs)
    yield _exact("Definition 1", "B_{n,k} is the sum (1) over all j", len(pairs), wrong)
    composed = _substituted(F, G)
    wrong = sum(x != y for x, y in zip(bell.composition(F, G), composed, strict=True))
    yield _exact("Theorem 8", "Faà di Bruno's formula for (F∘G)^(n)", len(composed), wrong)
    back = bell.composition(bell.inverse(F), bell.composition(F, s))
    wrong = sum(x != y for x, y in zip(back, s, strict=True))
    yield _exact("Theorem 9", "the transforms of s and y are inverse if F' ≠ 0", len(s), wrong)
    logarithm = [(-1) ** (k - 1) * math.factorial(k - 1) for k in range(1, 10)]  # at 1
    cosine = [0, -1, 0, 1]  # at 0
    yield Claim(
        "Theorem 9",
        "The theorem requires F(a) ≠ 0",
        "sufficient and necessary",
        f"ln at 1, F = 0: {_inverted(logarithm)}; cos at 0, F = 1: {_inverted(cosine)}",
        holds(_inverted(cosine) == "inverted" and _inverted(logarithm) != "inverted"),
        "F'(a) ≠ 0",
    )
    wrong = sum(x != y for x, y in zip(bell.squared(bell.rooted(s)), s, strict=True))
    yield _exact("Theorem 13", "s_n = 2y_n + Σ C(n,l) y_l y_{n-l} inverts the root", len(s), wrong)


def _exact(where: str, says: str, tried: int, wrong: int) -> Claim:
    found = f"{tried - wrong} of {tried} equal, for random fractions"
    return Claim(where, says, "equal", found, holds(wrong == 0))


def _defined(n: int, k: int, s: list[Fraction]) -> Fraction:
    """B_{n,k} by Definition 1: one term per way to write n as a sum of k parts."""
    total = Fraction(0)
    for parts in itertools.combinations_with_replacement(range(1, n + 1), k):
        if sum(parts) == n:
            term = Fraction(math.factorial(n))
            for i in set(parts):
                j = parts.count(i)
                term *= (s[i - 1] / math.factorial(i)) ** j / math.factorial(j)
            total += term
    return total


def _substituted(F: list[Fraction], G: list[Fraction]) -> list[Fraction]:
    """The derivatives of F(G(x)), by powers of the series G(x) - G(0)."""
    n = len(F)
    inner = np.array([Fraction(0), *(d / math.factorial(i) for i, d in enumerate(G, start=1))])
    power, total = np.array([Fraction(1), *[Fraction(0)] * n]), np.full(n + 1, Fraction(0))
    for k, d in enumerate(F, start=1):
        power = np.convolve(power, inner)[: n + 1]
        total = total + power * (d / math.factorial(k))
    return [math.factorial(i) * total[i] for i in range(1, n + 1)]


def _inverted(outer: Iterable[int]) -> str:
    try:
        bell.inverse(list(outer))
    except InvalidValue:
        return "no inverse"
    return "inverted"
