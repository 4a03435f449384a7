"""Beyond the paper: known and unknown horizons, class F, constant memory, less noise."""

from __future__ import annotations

import math

import numpy as np

from hushfade.baselines.circulant import circulant
from hushfade.baselines.square_roots import column_normalized_root, normalized_root, square_root
from hushfade.decays import NoDecay, PowerLaw
from hushfade.factors import factorization, power_series
from hushfade.privacy.guarantee import mu_of
from hushfade.theory import certificates
from hushfade.training.compact_taps import compact
from hushfade.training.exponentials import CompactTaps
from lab.paper.bolot import mean_square
from lab.paper.decays import DECAYS
from lab.paper.document import Blocks, Cell, Claim, Extent, Prose, Table, holds
from lab.paper.limit import QUICK, bracket
from lab.paper.theory.class_f import enclosed_root, membership

DENSE = 4096  # steps up to which the column-normalized root is tried
SIGNS = 2048  # coefficients whose signs are decided


def blocks(extent: Extent) -> Blocks:
    """The chapter."""
    yield from _normalized(extent)
    yield from _since(extent)
    yield from _endless(extent)
    yield from _class_f()
    yield from _compact(extent)
    yield from _gaussian()


def _normalized(extent: Extent) -> Blocks:
    n = extent.exact
    rows, gains, rest = [], [], []
    for name, decay in DECAYS.items():
        if not (extent.full or name in QUICK):
            continue
        least = bracket(decay, n, n).lower
        root = factorization.square_root(decay).error_factor(n)
        normalized = factorization.normalized(decay, n).error_factor(n)
        rows.append((name, least, root, normalized, root / least, normalized / least))
        gains.append(root / normalized)
        rest.append(normalized / least)
    yield Prose(
        "The square root √g is optimal in the limit. What can still be improved? If the horizon is "
        "known, a mechanism can add more noise early and less noise late: R = D⁻¹ H and L = H D, "
        "where H is the matrix of √g and D has one gain per step (`factors.normalized`). This "
        "costs one product per step."
    )
    yield Table(
        "beyond-normalized",
        f"Error factors at T = {n}: the smallest possible, √g, the normalized √g.",
        ("decay", "γ2 ≥", "√g", "normalized", "√g/γ2", "normalized/γ2"),
        tuple(rows),
        digits=5,
    )
    yield Claim.new(
        "the normalized √g is never worse than √g",
        "ratio of √g to normalized ≥ 1",
        f"{min(gains):.6f} to {max(gains):.4f}; normalized is at most {max(rest):.4f} times γ2",
        holds(min(gains) >= 1.0),
    )


def _since(extent: Extent) -> Blocks:
    makers = {
        "normalized": normalized_root,
        "column-normalized": column_normalized_root,
        "circulant": circulant,
    }
    names = "counting", "exponential, α = 1.01", "power 1", "window 256"
    steps = [1 << k for k in (4, 6, 8, 10, *((12, 18) if extent.full else ()))]
    rows: list[tuple[str, int, str, float, float]] = []
    for name in names:
        for T in steps:
            root = square_root(DECAYS[name], T)
            for rival, make in makers.items():
                if make is column_normalized_root and T > DENSE:
                    continue
                made = make(DECAYS[name], T)
                largest = made.error_factor / root.error_factor
                rows.append((name, T, rival, largest, mean_square(made) / mean_square(root)))
    yield Prose(
        "Other factorizations have been found since (`baselines`): √g with columns of norm 1, in "
        f"O(T² log T), here up to T = {DENSE}, and the circulant one, whose mean squared error is "
        "larger. All three have the same limit as √g. If the weights tend to zero they gain while "
        "T is short compared with the memory; for counting they gain at every T shown here."
    )
    yield Table(
        "beyond-since",
        "Three factorizations for a known horizon: largest standard deviation and mean squared "
        "error relative to √g.",
        ("decay", "T", "mechanism", "largest, over √g", "mean square, over √g"),
        tuple(rows),
        digits=5,
    )
    counting = [row for row in rows if row[0] == "counting"]
    found = {x: [row[3] for row in counting if row[2] == x] for x in makers}
    yield Claim.new(
        "for counting all three have a smaller largest error than √g, at T = "
        + ", ".join(map(str, steps)),
        "ratios < 1",
        "; ".join(f"{x} {min(found[x]):.3f} to {max(found[x]):.3f}" for x in makers),
        holds(all(row[3] < 1.0 for row in counting)),
    )
    last = [row[3] for row in rows if row[0] in names[1:3] and row[1] == steps[-1]]
    yield Claim.new(
        f"for α = 1.01 and power 1 they gain less than 0.1 % at T = {steps[-1]}",
        "ratios > 0.999",
        f"at least {min(last):.7f}",
        holds(min(last) > 0.999),
    )


def _endless(extent: Extent) -> Blocks:
    c, beta, horizon = 0.05, 2.0, extent.horizon
    pairs = (
        factorization.unbounded_counting(c=c, beta=beta),
        factorization.unbounded_counting(expect=horizon),
    )
    noise = [pair.sensitivity().value for pair in pairs]
    errors = [pair.errors(horizon) for pair in pairs]
    rows: list[tuple[Cell, ...]] = []
    ratios: list[list[float]] = []
    for k in range(4, horizon.bit_length(), 2):
        n = 1 << k
        known = factorization.square_root(NoDecay()).error_factor(n)
        ours = [level * float(column[n - 1]) for level, column in zip(noise, errors, strict=True)]
        ratios.append([error / known for error in ours])
        rows.append((n, certificates.lower(np.ones(n)).value, known, *ours, *ratios[-1]))
    endless, ended = zip(*ratios, strict=True)
    yield Prose(
        "Of the paper's named decays only counting has an infinite Σ a_n², so √g needs a horizon "
        "for it. The factors r = (1-x)^-½ ℓ^-β and l = (1-x)^-½ ℓ^β with ℓ = 1 + c ln(1/(1-x)) and "
        "β > ½ need none (`factors.unbounded_counting`). Σ r_n² is finite, at most "
        f"{noise[0] ** 2:.4g} for c = {c:g} and β = {beta:g}, and the error grows like "
        "(ln t)^(½+β). A mechanism keeps finitely many taps. With an expected length the taps end "
        "after twice that length, which also determines c and β. The stream may continue, but "
        "after about 16 times the expected length the error grows like √t."
    )
    yield Table(
        "beyond-endless",
        "Counting: the error at step T divided by the noise multiplier, for √g with this T, for "
        f"infinitely many taps, and for taps with an expected length of {horizon}; the last two "
        "also relative to √g.",
        ("T", "γ2 ≥", "√g, T known", "endless", "expected", "endless/√g", "expected/√g"),
        tuple(rows),
        digits=5,
    )
    yield Claim.new(
        "counting without a horizon has at most 1.6 times the error of counting with a known one",
        "ratios ≤ 1.6 from T = 16 on",
        f"endless {min(endless):.3f} to {max(endless):.3f}, expected {min(ended):.3f} to "
        f"{max(ended):.3f}",
        holds(max(*endless, *ended) <= 1.6),
    )


def _class_f() -> Blocks:
    others = {f"power {c:.4g}": PowerLaw(c) for c in (1.5, math.pi)}
    rows: list[tuple[str, bool, float, float, str]] = []
    sure = True
    for name, decay in {**DECAYS, **others}.items():
        f = decay.weights(SIGNS)
        a, error = enclosed_root(f)
        judged = membership(decay, SIGNS)
        largest = float(np.max(power_series.inverse(f)[1:]))
        least = float(np.min(np.where(np.abs(a) <= error, 0.0, a)))
        rows.append((name, decay.log_convex, largest, least, judged.verdict))
        if decay.log_convex:
            sure = sure and least >= 0.0 and largest <= 1e-15
            sure = sure and judged.verdict == "proven"
    listed = [row for row in rows if row[1]]
    refuted = [row[0] for row in rows if row[4] == "refuted"]
    yield Prose(
        "Theorem 3 needs a_n ≥ 0. Every log-convex f satisfies this: 1/g = 1 - Σ b_n x^n with "
        "b_n ≥ 0 (Kaluza 1928), and all coefficients of √g = (1 - b)^-½ as a series in b are "
        "positive. So n^-c belongs to F for every real c > 0, not only for integer c. Windows do "
        f"not: {', '.join(refuted)}."
    )
    yield Table(
        "beyond-class",
        f"Signs of the first {SIGNS} coefficients of 1/g (after the first) and of √g.",
        ("decay", "log-convex", "largest of 1/g", "smallest a_n", "in F"),
        tuple(rows),
        digits=4,
    )
    yield Claim.new(
        "every log-convex f is in F: 1/g has no positive coefficient except the first, and √g has "
        "no negative one",
        f"{len(listed)} decays, including powers that are not integers",
        f"largest of 1/g {max(row[2] for row in listed):.1g}, smallest a_n "
        f"{min(row[3] for row in listed):.1g}",
        holds(sure and len(refuted) > 0),
    )


def _compact(extent: Extent) -> Blocks:
    n, lost = extent.horizon, 0.0
    rows: list[tuple[Cell, ...]] = []
    names = "counting", "exponential, α = 1.01", "power 0.25", "power 0.5", "power 1"
    for name in names if extent.full else names[:3]:
        decay, cells = DECAYS[name], list[Cell]()
        root = factorization.square_root(decay).error_factor(n)
        for order in (4, 8, 12):
            pair = compact(decay, horizon=n, order=order)
            assert isinstance(pair.taps, CompactTaps)
            loss = max(pair.error_factor(n) / root - 1.0, 0.0)
            cells += [pair.taps.memory, loss]
            lost = max(lost, loss if order == 8 else 0.0)
        rows.append((name, *cells))
    yield Prose(
        "√g has T coefficients. For a completely monotone f it is a mixture of exponentials, and a "
        "sum of a few exponentials approximates it (`compact`). The mechanism then keeps one "
        "number per exponential, for any T. The approximation costs only accuracy: the left factor "
        "is exactly g/right, and the sensitivity is computed from the taps in use."
    )
    yield Table(
        "beyond-compact",
        f"Numbers kept, and the error factor relative to √g, minus 1, at T = {n}: fits with up to "
        "4, 8 and 12 exponentials.",
        ("decay", "kept", "loss", "kept ", "loss ", "kept  ", "loss  "),
        tuple(rows),
        digits=2,
    )
    yield Claim.new(
        f"with eight numbers the error is within 0.1 % of the error of √g at T = {n}",
        "loss ≤ 0.001",
        f"at most {lost:.2g}",
        holds(lost <= 1e-3),
    )


def _gaussian() -> Blocks:
    epsilons, rows = (0.01, 0.1, 0.5, 0.99), []
    for delta in (1e-3, 1e-6, 1e-9, 1e-12):
        classical = math.sqrt(2.0 * math.log(1.25 / delta))
        rows.append((delta, *(classical / epsilon * mu_of(epsilon, delta) for epsilon in epsilons)))
    ratios = [ratio for row in rows for ratio in row[1:]]
    yield Prose(
        "The paper's noise multiplier √(2 ln(1.25/δ))/ε is proven only for ε < 1. The smallest "
        "multiplier, 1/μ with δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ) (Balle and Wang 2018), is "
        "valid for every ε. It reduces all errors by the following ratio, with the same privacy."
    )
    yield Table(
        "beyond-gaussian",
        "The ratio of the classical noise multiplier to the smallest one.",
        ("δ", *(f"ε = {epsilon:g}" for epsilon in epsilons)),
        tuple(rows),
        digits=4,
    )
    yield Claim.new(
        "the classical multiplier is never the smallest one",
        "ratio > 1",
        f"{min(ratios):.3f} to {max(ratios):.3f}",
        holds(min(ratios) > 1.0),
    )
