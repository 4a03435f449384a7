"""Section 4.1: the bounds known before the paper, and Lemma 16 with its proof."""

from __future__ import annotations

import math

import numpy as np

from hushfade.check import Column
from hushfade.decays import Decay, Exponential, PowerLaw
from hushfade.theory import gamma2
from lab.paper.decays import DECAYS
from lab.paper.document import Blocks, Claim, Extent, Prose, holds
from lab.paper.theory import bounds, families


def blocks(extent: Extent) -> Blocks:
    """The chapter."""
    yield Prose(_BOUNDS)
    yield from _printed_bounds(extent)
    yield from _lemma(extent)
    yield Prose(_PROOF)
    yield from _proof(extent)


_BOUNDS = """\
Before the paper, the known bound on γ2 was the factor of noise on the output, √(Σ f(n)²)
(`theory.bounds.output_noise`). Equation (13) prints this bound with a wrong power for power laws,
and without the square root for exponentials. Lemma 16 states that 1 + Σ f(n+1)²/4 for power laws
and 1 + S/π for exponentials are smaller. We check it at every T
from 2 on, by running sums."""

_PROOF = """\
The lemma is true, but its proof for exponentials is wrong. With q = α^-2 the proof expands
(1 + Σ q^n/(πn))². Here is a correct proof. Let D(q) = Σ_{n<T} q^n - (1 + Σ_{0<n<T} q^n/(πn))².
Its coefficients are > 0 for 0 < n < T and ≤ 0 from T on. So D(q)/q^(T-1) decreases on (0, 1], and
it suffices that D(1) > 0."""


def _printed_bounds(extent: Extent) -> Blocks:
    T = 1024
    for c in (1, 2):
        printed = [math.sqrt(np.sum(PowerLaw(c).weights(n - 1))) for n in (2, T)]
        right = bounds.output_noise(PowerLaw(c), T).value
        truth = gamma2(PowerLaw(c), 2).lower
        valid = printed[0] >= truth
        yield Claim(
            "Section 4.1, eq. (13)",
            f"γ2 ≤ √H_(T,c) for f(n) = n^-{c}, with H_(T,c) = Σ_(n<T) n^-c",
            f"{printed[0]:.4f} at T = 2; {printed[1]:.4f} at T = {T}",
            f"γ2 ≥ {truth:.4f} at T = 2; √(Σ f(n)²) = {right:.4f} at T = {T}",
            ("holds" if printed[1] <= 1.01 * right else "weak") if valid else "false",
            "√H_(T,2c) with the sum to T",
        )
    for alpha in (1.01, 2.0):
        decay = Exponential.from_alpha(alpha)
        right = bounds.output_noise(decay, T).value
        printed_sum = float(np.sum(decay.weights(T) ** 2))
        yield Claim(
            "Section 4.1, eq. (13)",
            f"the bound known before the paper is γ2 ≤ Σ α^-2n over n < T (α = {alpha:g})",
            f"{printed_sum:.4f} at T = {T}",
            f"{right:.4f} was known",
            "holds" if printed_sum <= 1.01 * right else "weak",
            "its square root",
        )
    for name in ("power 1", "power 2", "exponential, α = 1.01", "exponential, α = 2"):
        sizes = (2, extent.exact)
        known = [bounds.output_noise(DECAYS[name], n).value for n in sizes]
        least = [gamma2(DECAYS[name], n, gap=1e-3).upper for n in sizes]
        yield Claim(
            "Section 4.1, corrected",
            f"γ2 ≤ √(Σ_(n≤T) f(n)²), {name}, T = 2 and {extent.exact}",
            f"{known[0]:.4f} and {known[1]:.4f}",
            f"γ2 ≤ {least[0]:.4f} and {least[1]:.4f}, by a factorization",
            holds(least[0] <= known[0] and least[1] <= known[1]),
        )


def _lemma(extent: Extent) -> Blocks:
    last = extent.horizon
    for name, decays in (
        ("n^-c, c = 1, ..., 5", [PowerLaw(c) for c in range(1, 6)]),
        ("α^-n, α = 1.0001, 1.01, 1.1, 2, 10", [
            Exponential.from_alpha(alpha) for alpha in (1.0001, 1.01, 1.1, 2.0, 10.0)
        ]),
    ):  # fmt: skip
        room = [_room(decay, last) for decay in decays]
        least = min(float(np.min(r)) for r in room)
        yield Claim(
            "Lemma 16",
            f"for f(n) = {name} the new bound is below the earlier one (corrected), 2 ≤ T ≤ {last}",
            "new < earlier",
            f"earlier - new is at least {least:.3g}; both are 1 at T = 1",
            holds(least > 0.0),
        )
    slow = PowerLaw(0.25)
    better = _room(slow, last) > 0.0
    first = 2 + int(np.argmin(better))
    later = "never better" if not np.any(better[first - 2 :]) else "worse"
    from scipy.optimize import brentq
    from scipy.special import zeta

    edge = float(brentq(lambda c: float(zeta(2.0 * c)) - 9.0, 0.51, 1.0))
    new, old = bounds.half_weights(slow, first).value, bounds.output_noise(slow, first).value
    yield Claim(
        "Section 1.1",
        "the bound for n^-c improves on the earlier one for all c and T ≥ 2, with real c (here "
        "c = 1/4)",
        f"1 + Σ f²/4 < {old:.4f} at T = {first}",
        f"{new:.4f}; {later} from T = {first} to {last}",
        "holds" if np.all(better) else "weak",  # Theorem 3, just before, has integer c
        f"true if Σ n^-2c stays below 9: for integer c, and for every c > {edge:.4f} (ζ(2c) < 9)",
    )
    ranges = [0.05, 0.1, 0.25, 0.5, 0.6, 1.0, 1.5]
    worst = max(
        bounds.root(PowerLaw(c), T).value / bounds.output_noise(PowerLaw(c), T).value
        for c in ranges
        for T in (2, 10, 100, 1000, 4096)
    )
    yield Claim.new(
        "Σ a_n² of Theorem 2 is below the earlier bound for c = "
        + ", ".join(f"{c:g}" for c in ranges)
        + " and T from 2 to 4096",
        "ratio < 1",
        f"at most {worst:.4f}",
        holds(worst < 1.0),
    )
    above = [c for c in (edge + 1e-3, 1.0, 2.0, 5.0) if np.any(_room(PowerLaw(c), last) <= 0.0)]
    yield Claim(
        "Section 1.1, corrected",
        f"the improvement holds for every c > {edge:.4f} (c = {edge + 1e-3:.4f}, 1, 2, 5 and "
        f"T ≤ {last})",
        "new < earlier",
        "true in all cases" if not above else f"false for c = {above}",
        holds(not above),
    )


def _room(decay: Decay, last: int) -> Column:
    """Earlier bound minus new bound for T = 2, ..., last, by running sums."""
    f = decay.weights(last)
    square = np.cumsum(f * f)
    n = np.arange(1.0, last)
    if isinstance(decay, Exponential):
        new = 1.0 + np.cumsum(f[1:] ** 2 / n) / math.pi
    else:
        new = 1.0 + (square[1:] - 1.0) / 4.0
    return np.asarray(np.sqrt(square[1:]) - new)


def _proof(extent: Extent) -> Blocks:
    s = np.concatenate([[1.0], 1.0 / (math.pi * np.arange(1, 64))])
    exact = np.convolve(s, s)[:64]
    rest = [sum(1.0 / (math.pi**2 * k * (n - k)) for k in range(1, n)) for n in range(64)]
    wrong = [n for n in range(1, 64) if not math.isclose(exact[n], 1 / math.pi + rest[n])]
    right = all(math.isclose(exact[n], 2 / (math.pi * n) + rest[n]) for n in range(1, 64))
    yield _step(
        "the coefficient of q^n is 1/π + Σ_k 1/(π² k (n-k))",
        f"{1 / math.pi + rest[3]:.4f} at n = 3",
        f"{exact[3]:.4f}; wrong for {len(wrong)} of 63 n",
        not wrong,
        "2/(πn) in place of 1/π",
    )
    yield Claim(
        "Lemma 16's proof, corrected",
        "the coefficient of q^n is 2/(πn) + Σ_k 1/(π² k (n-k)), 0 < n < 64",
        f"{2 / (3 * math.pi) + rest[3]:.4f} at n = 3",
        f"{exact[3]:.4f}",
        holds(right),
    )
    H = np.cumsum(1.0 / np.arange(1, extent.horizon))  # H_1, H_2, ...
    n = np.arange(2.0, extent.horizon + 1)
    yield _step(
        "Σ_(k<n) 1/k ≤ ln n",
        f"{math.log(2):.4f} at n = 2",
        f"{H[0]:.4f}; false for {int(np.sum(np.log(n) < H))} of {len(n)} n",
        bool(np.all(np.log(n) >= H)),
        "1 + ln(n - 1)",
    )
    yield Claim(
        "Lemma 16's proof, corrected",
        f"Σ_(k<n) 1/k ≤ 1 + ln(n - 1), 2 ≤ n ≤ {extent.horizon}",
        f"{1 + math.log(extent.horizon - 1):.4f} at n = {extent.horizon}",
        f"{H[-1]:.4f}",
        holds(bool(np.all(1.0 + np.log(n - 1.0) >= H))),
    )

    def term(n: int, q: float) -> float:
        return (1.0 / math.pi + 2.0 * math.log(n) / (math.pi**2 * n)) * q**n

    q = 0.01
    left, above = (1 + q / math.pi) ** 2, 1 + term(1, q) + term(2, q)
    yield _step(
        "first inequality (T = 2, q = 0.01)",
        f"≤ {above:.6f}",
        f"{left:.6f}",
        left <= above,
        f"the final inequality is true: {left:.6f} < 1 + q = {1 + q:.6f}",
    )
    q = 0.99
    yield _step(
        "third line: the terms from T on sum to at most the terms before (T = 2, q = 0.99)",
        f"≤ {term(1, q):.4f}",
        f"{term(2, q):.4f}",
        term(2, q) <= term(1, q),
        f"the final inequality is true: {(1 + q / math.pi) ** 2:.4f} < 1 + q = {1 + q:.4f}",
    )
    most = max(2 / math.pi + 4 * math.log(k) / (math.pi**2 * k) for k in range(1, 1000))
    yield _step("last line: 2/π + 4 ln(n)/(π² n) < 1", "< 1", f"at most {most:.4f}", most < 1, "")
    decay = Exponential.from_alpha(2)
    new, old = families.exponential_sum(decay, 5).value, bounds.output_noise(decay, 5).value
    yield _step(
        "0 < (1 + S/π)² - Σ α^-2n (α = 2, T = 5)",
        "> 0",
        f"{new**2 - old**2:.4f}",
        new**2 > old**2,
        "the direction is wrong: it must be < 0, as (14) states",
    )
    signs, ends = zip(*(_difference(T) for T in (2, 3, 10, 100, 2048)), strict=True)
    yield Claim(
        "Lemma 16's proof, ours",
        "the coefficients of D are > 0 below T and ≤ 0 from T on, and D(1) > 0; all coefficients "
        f"for T = 2, 3, 10, 100, 2048, and D(1) for 2 ≤ T ≤ {extent.horizon}",
        "D(1) > 0",
        f"D(1) = {ends[0]:.4f} at T = 2, and D(1) grows with T",
        holds(all(signs) and bool(np.all(np.diff(n - (1 + H / math.pi) ** 2, prepend=0) > 0))),
    )


def _difference(T: int) -> tuple[bool, float]:
    """Whether D has the signs that the proof needs, and D(1)."""
    s = np.concatenate([[1.0], 1.0 / (math.pi * np.arange(1, T))])
    d = -np.convolve(s, s)
    d[:T] += 1.0
    return bool(d[0] == 0 and np.all(d[1:T] > 0) and np.all(d[T:] <= 0)), float(np.sum(d))


def _step(says: str, printed: str, found: str, true: bool, instead: str) -> Claim:
    return Claim("Lemma 16's proof", says, printed, found, holds(true), instead)
