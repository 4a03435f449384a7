"""The noise of Algorithm 1: how much privacy requires, and the distribution of what is added."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from hushfade.privacy.guarantee import delta_of, mu_of
from lab.paper import samples
from lab.paper.document import Blocks, Claim, Extent, Figure, Panel, Prose, Table, holds, line
from lab.paper.samples import GUARANTEE, HEAD, Sample

ALARM = 1e-7  # probability that a check fails by chance, over all its steps and decays


def blocks(extent: Extent) -> Blocks:
    """The chapter."""
    yield from _multipliers()
    yield from _law(samples.known(extent), samples.endless(extent))


def _multipliers() -> Blocks:
    delta, rows = GUARANTEE.delta, []
    for epsilon in (0.1, 0.5, 1.0):
        tight = 2.0 / mu_of(epsilon, delta)
        main = 2.0 * math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon
        appendix = main / math.sqrt(2.0)
        # a record in [-Δ, Δ] changes by up to 2Δ, so μ = 2/σ
        rows.append((epsilon, tight, main, main / tight, delta_of(2.0 / main, epsilon), appendix,
                     delta_of(2.0 / appendix, epsilon)))  # fmt: skip
    yield Prose(
        "Algorithm 1 adds noise of standard deviation σ Δ ‖R‖. Section 1.2 prints "
        "σ = (2/ε) √(2 ln(1.25/δ)), and Definition 17 prints (2/ε) √(ln(1.25/δ)). Records lie in "
        "[-Δ, Δ] and one of them is replaced, so it changes by up to 2Δ. The true δ of any σ is "
        "then `delta_of(2/σ, ε)` (Balle and Wang 2018), and the smallest possible σ is "
        "2/`mu_of(ε, δ)`."
    )
    yield Table(
        "calibration-multipliers",
        f"σ for δ = {delta:g}: the smallest possible one, and the two in the paper with their true "
        "δ.",
        ("ε", "smallest σ", "Section 1.2", "ratio to smallest", "its δ", "Definition 17", "its δ "),
        tuple(rows),
        digits=4,
    )
    worst = max(row[6] for row in rows if row[0] < 1)
    yield Claim(
        "Section 1.2",
        "σ = (2/ε) √(2 ln(1.25/δ)) gives (ε, δ)-privacy for x in [-Δ, Δ]",
        f"δ ≤ {delta:g}",
        f"δ is at most {max(row[4] for row in rows):.2g}",
        holds(all(row[4] <= delta for row in rows)),
    )
    epsilon, main, appendix = rows[1][0], rows[1][2], rows[1][5]
    own = max(delta_of(1.0 / row[5], row[0]) for row in rows if row[0] < 1)
    yield Claim(
        "Definition 17",
        "σ_(ε,δ) = (2/ε) √(ln(1.25/δ)), times the sensitivity (15); Section 1.2 uses the same "
        "symbol",
        f"{main:.4f} at ε = {epsilon:g} in Section 1.2",
        f"{appendix:.4f}, private with its own sensitivity: δ is at most {own:.2g}",
        "false" if own > delta else "weak" if appendix < 0.99 * main else "holds",
        "one symbol for two values that differ by a factor of √2; each is private with its own "
        "sensitivity",
    )
    yield Claim(
        "Section 3.5",
        "the sensitivity is Δ √(Σ r²), and with it the σ of Definition 17 gives (ε, δ)-privacy for "
        "x in [-Δ, Δ]",
        f"δ ≤ {delta:g}",
        f"δ = {worst:.3g} at ε = {rows[1][0]:g}",
        holds(worst <= delta),
        "the sensitivity is 2Δ √(Σ r²): use the σ of Section 1.2, or the smallest one",
    )
    wide = 10.0
    beyond = delta_of(wide / math.sqrt(2.0 * math.log(1.25 / delta)), wide)
    yield Claim(
        "Theorem 5",
        "the σ of Section 1.2 gives (ε, δ)-privacy, with no condition on ε",
        f"δ ≤ {delta:g} at ε = {wide:g}",
        f"δ = {beyond:.3g}",
        holds(beyond <= delta),
        "only for ε < 1; the smallest σ is valid for every ε",
    )
    root = delta_of(2.0 / math.sqrt(rows[1][2]), rows[1][0])
    yield Claim(
        "Section 3.5",
        "the noise has variance σ Δ² Σ r²",
        f"δ ≤ {delta:g} at ε = {rows[1][0]:g}",
        f"δ = {root:.3g}",
        holds(root <= delta),
        "σ² Δ² Σ r², as in Algorithm 1",
    )
    safe = delta_of(2.0 / rows[1][1], rows[1][0])
    yield Claim.new(
        f"the smallest σ gives exactly δ; the σ of Section 1.2 is {rows[1][3]:.2f} times as large "
        f"at ε = {rows[1][0]}",
        f"{delta:g}",
        f"{safe:.6g}",
        holds(delta * (1.0 - 1e-6) <= safe <= delta),
    )


def _law(known: Mapping[str, Sample], endless: Mapping[str, Sample]) -> Blocks:
    from scipy.special import chdtri, ndtri

    both = [*known.values(), *endless.values()]
    n, steps = both[0].releases, len(both[0].truth)
    tail = ALARM / (2 * len(both) * steps)
    low, high = (math.sqrt(float(chdtri(n, p)) / n) for p in (1.0 - tail, tail))
    ratios = np.array([np.sqrt(x.square) / x.stddevs for x in both])
    bias = np.array([x.bias / x.stddevs * math.sqrt(n) for x in both])
    allowed = float(-ndtri(tail))
    noises = np.array([math.sqrt(x.noise) / x.plan.noise_stddev for x in both])
    pooled = [math.sqrt(float(chdtri(n * steps, p)) / (n * steps))
              for p in (1 - ALARM / (2 * len(both)), ALARM / (2 * len(both)))]  # fmt: skip
    count = f"{len(both)} plans, {steps} steps, {n} streams"
    yield Prose(
        "Do the releases contain this noise? For each of "
        f"{len(both)} plans, {len(known)} with the horizon and {len(endless)} without, we ran {n} "
        f"streams of {steps} steps with independent noise and the smallest σ. The following checks "
        "compare their errors with the distribution that Algorithm 1 prescribes. A correct "
        f"implementation exceeds the limits of a check with probability about {ALARM:g}."
    )
    yield Claim(
        "Algorithm 1",
        "the error at step t has standard deviation σ Δ ‖R‖ ‖L_t‖",
        f"ratio of measured to stated between {low:.4f} and {high:.4f} ({count})",
        f"{np.min(ratios):.4f} to {np.max(ratios):.4f}",
        holds(bool(low <= np.min(ratios) and np.max(ratios) <= high)),
    )
    yield Claim.new(
        "z = L⁻¹ error has the plan's standard deviation, over all steps together",
        f"ratio of measured to stated between {pooled[0]:.5f} and {pooled[1]:.5f}",
        f"{np.min(noises):.5f} to {np.max(noises):.5f}",
        holds(bool(pooled[0] <= np.min(noises) and np.max(noises) <= pooled[1])),
    )
    yield Claim(
        "Algorithm 1",
        "the output has no bias and no multiplicative error",
        f"mean errors within {allowed:.2f} standard errors of 0 ({count})",
        f"at most {np.max(np.abs(bias)):.2f}",
        holds(bool(np.max(np.abs(bias)) <= allowed)),
    )
    scores, factors = zip(*(_covariance(x) for x in known.values()), strict=True)
    entries = HEAD * (HEAD + 1) // 2 * len(known)
    # a mean of products of normals has longer tails than a normal, so the limit is a third larger
    allowed = 4.0 / 3.0 * float(-ndtri(ALARM / (2 * entries)))
    yield Claim(
        "Algorithm 1",
        "z ~ N(0, σ² L Lᵀ) on the output has the distribution of L z' with independent z'",
        f"covariances of the first {HEAD} steps within {allowed:.2f} standard errors of σ² L Lᵀ; "
        "L is the Cholesky factor of L Lᵀ",
        f"at most {max(scores):.2f}; difference at most {max(factors):.1g}",
        holds(max(scores) <= allowed and max(factors) <= 1e-12),
    )
    t = tuple(float(k) for k in range(1, steps + 1))
    least, most = np.min(ratios, axis=0), np.max(ratios, axis=0)
    yield Figure(
        "calibration-deviations",
        "Ratio of the measured to the stated standard deviation at each step: all "
        f"{len(both)} plans, one of them, and the limits that a correct implementation exceeds "
        f"anywhere with probability {ALARM:g}.",
        (
            Panel(
                f"{n} streams per plan", "step", "measured / stated",
                (
                    line("counting", t, ratios[0]),
                    line("limit", t, high),
                    line("limit", t, low),
                    line("all plans, smallest to largest", t, least, "band", most),
                ),
            ),
        ),
    )  # fmt: skip


def _covariance(x: Sample) -> tuple[float, float]:
    """The largest deviation of a covariance, in standard errors, and ‖chol(LLᵀ) - L‖."""
    L, _ = x.plan.pair.matrices(HEAD)
    expected = x.plan.noise_stddev**2 * (L @ L.T)
    sizes = np.outer(np.diag(expected), np.diag(expected))
    error = np.sqrt((sizes + expected**2) / x.releases)
    factor = np.linalg.cholesky(L @ L.T)
    return (
        float(np.max(np.abs(x.covariance - expected) / error)),
        float(np.max(np.abs(factor - L))),
    )
