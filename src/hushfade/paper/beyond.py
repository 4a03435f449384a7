"""Beyond the paper: a known horizon's gains, none at all, class F, constant memory, less noise."""

from __future__ import annotations

import math

import numpy as np

from hushfade.baselines.circulant import circulant
from hushfade.baselines.square_roots import column_normalized_root, normalized_root, square_root
from hushfade.decay import NoDecay, PowerLaw
from hushfade.factors import factorization
from hushfade.factors.compact_taps import compact
from hushfade.factors.exponentials import CompactTaps
from hushfade.numerics import power_series
from hushfade.paper.bolot import mean_square
from hushfade.paper.decays import DECAYS
from hushfade.paper.document import Blocks, Cell, Claim, Extent, Prose, Table, holds
from hushfade.paper.limit import QUICK, bracket
from hushfade.privacy.guarantee import mu_of
from hushfade.theory import certificates
from hushfade.theory.class_f import enclosed_root, membership

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
        "What else can be had, now that √g is known to be optimal in the limit? Where the horizon "
        "is known, early noise may be raised and late noise lowered: R = D⁻¹ H, L = H D with H the "
        "matrix of √g and one gain a step (`factors.normalized`). It costs one product a step."
    )
    yield Table(
        "beyond-normalized",
        f"Error factors at T = {n}: the least possible, √g, the normalized √g.",
        ("decay", "γ2 ≥", "√g", "normalized", "√g/γ2", "normalized/γ2"),
        tuple(rows),
        digits=5,
    )
    yield Claim.new(
        "the normalized √g is never worse than √g",
        "√g over normalized ≥ 1",
        f"{min(gains):.6f} to {max(gains):.4f}; at most {max(rest):.4f} of γ2",
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
        "Others have been found since (`baselines`): √g with columns of norm 1, at O(T² log T), "
        f"here to T = {DENSE}, and the circulant one, whose mean square is larger. All three come "
        "to what √g has in the limit: where weights fade they gain while T is short against the "
        "memory, and for counting at every T here."
    )
    yield Table(
        "beyond-since",
        "Three factorizations for a known horizon: largest deviation and mean square over √g's.",
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
        f"{min(last):.7f} at least",
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
        "Of the paper's named decays counting alone has an infinite Σ a_n²: √g needs a horizon "
        "there. r = (1-x)^-½ ℓ^-β and l = (1-x)^-½ ℓ^β with ℓ = 1 + c ln(1/(1-x)) and β > ½ need "
        f"none (`factors.unbounded_counting`). Σ r_n² is finite, {noise[0] ** 2:.4g} at most for "
        f"c = {c:g} and β = {beta:g}, and the error grows like (ln t)^(½+β). A mechanism keeps "
        "finitely many taps. Those for an expected length end after twice that length, and c and "
        "β follow from it. The stream may run on, but after some 16 times the expected length the "
        "error grows like √t."
    )
    yield Table(
        "beyond-endless",
        "Counting: the error at step T over the noise multiplier, by √g for that T, by taps that "
        f"never end, and by taps for an expected length of {horizon}; both over √g.",
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
        "Theorem 3 needs a_n ≥ 0. Every log-convex f has that: 1/g = 1 - Σ b_n x^n with b_n ≥ 0 "
        "(Kaluza 1928), and √g = (1 - b)^-½ has positive powers of b only. So n^-c belongs to F "
        f"for every real c > 0, not for whole c only. Windows do not: {', '.join(refuted)}."
    )
    yield Table(
        "beyond-class",
        f"Signs of the first {SIGNS} coefficients of 1/g (after the first) and of √g.",
        ("decay", "log-convex", "largest of 1/g", "least a_n", "in F"),
        tuple(rows),
        digits=4,
    )
    yield Claim.new(
        "every log-convex f is in F: 1/g has no positive coefficient but the first, √g no "
        "negative one",
        f"{len(listed)} decays, among them powers that are not whole",
        f"largest of 1/g {max(row[2] for row in listed):.1g}, least a_n "
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
            cells += [pair.taps.state, loss]
            lost = max(lost, loss if order == 8 else 0.0)
        rows.append((name, *cells))
    yield Prose(
        "√g has T coefficients, but of a completely monotone f it is a mixture of exponentials, "
        "and a few come near (`compact`): the mechanism then keeps as many numbers, whatever T. "
        "What is fitted costs accuracy only: left is g/right exactly, and the sensitivity is that "
        "of the taps in use."
    )
    yield Table(
        "beyond-compact",
        f"Numbers kept, and the error factor over √g's less 1, at T = {n}: fits of up to 4, 8 and "
        "12 exponentials.",
        ("decay", "kept", "loss", "kept ", "loss ", "kept  ", "loss  "),
        tuple(rows),
        digits=2,
    )
    yield Claim.new(
        f"eight numbers hold the mechanism to 0.1 % of √g's error at T = {n}",
        "loss ≤ 0.001",
        f"{lost:.2g} at most",
        holds(lost <= 1e-3),
    )


def _gaussian() -> Blocks:
    epsilons, rows = (0.01, 0.1, 0.5, 0.99), []
    for delta in (1e-3, 1e-6, 1e-9, 1e-12):
        classical = math.sqrt(2.0 * math.log(1.25 / delta))
        rows.append((delta, *(classical / epsilon * mu_of(epsilon, delta) for epsilon in epsilons)))
    ratios = [ratio for row in rows for ratio in row[1:]]
    yield Prose(
        "The paper's noise multiplier √(2 ln(1.25/δ))/ε is proven for ε < 1 only. The least one, "
        "1/μ with δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ) (Balle and Wang 2018), serves every ε "
        "and is smaller: all errors shrink by the ratio below, at the same privacy."
    )
    yield Table(
        "beyond-gaussian",
        "The classical noise multiplier over the least one.",
        ("δ", *(f"ε = {epsilon:g}" for epsilon in epsilons)),
        tuple(rows),
        digits=4,
    )
    yield Claim.new(
        "the classical multiplier is never the least one",
        "ratio > 1",
        f"{min(ratios):.3f} to {max(ratios):.3f}",
        holds(min(ratios) > 1.0),
    )
