"""The plan's own numbers, recomputed by other means: integers, fractions and decimals.

mu            δ(ε) of Gaussian noise by a series with enough digits (Balle and Wang 2018)
sensitivity   sums of squared integer taps, as integers
shifts        for other laws: from the taps or the blocks themselves
delta         for other laws: by `loss_probabilities`, or slope · ‖R̃ Δx‖₁ ≤ ε exactly
stddevs       l = g / r̃ term by term, with exact sums; L = M R⁻¹ for block sums
certificate   its lower bound, compared with factorizations from linear algebra
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from hushfade.audit.exact_shifts import shift_cases, shift_square
from hushfade.audit.finding import Finding, exact, info
from hushfade.audit.gaussian_delta import delta
from hushfade.audit.lane_changes import reached
from hushfade.audit.loss_probabilities import Losses
from hushfade.audit.noise_probabilities import variance
from hushfade.audit.observer import block_starts, gain_of
from hushfade.audit.sensitivity import accounted, dominates
from hushfade.audit.subject import Subject
from hushfade.errors import InvalidValue
from hushfade.factors.block_factors import BlockSums
from hushfade.laws import Gaussian, Huber, Laplace
from hushfade.planning.plan import Plan
from hushfade.theory.bound_values import Contradiction

CHECK = "certificates"

_CLOSE = 1e-9
_NUMERICAL = 5e-4  # the relative error of delta in `loss_probabilities`, at most
_LOOSE = 0.5  # a plan uses at least this share of delta: slopes have 13 bits, delta may be steep
_ROWS = 48  # steps for dense matrices and exact sums
_MATRIX = 400  # the longest horizon whose matrix is tested completely


def promise(subject: Subject, plan: Plan, name: str) -> list[Finding]:
    """Findings on every number that the plan's guarantee depends on."""
    plan = subject.plan(plan)
    if isinstance(plan.law, Gaussian):
        noise = [_mu(plan, name), _sigma(plan, name)]
    else:
        noise = [_shifts(plan, name), _delta(plan, name)]
    return [*noise, _stddevs(plan, name), *_optimum(plan, name)]


def _mu(plan: Plan, name: str) -> Finding:
    guarantee = plan.guarantee
    subject = f"{name}, mu"
    claim = f"delta at epsilon = {guarantee.epsilon!r} is at most {guarantee.delta!r}"
    try:
        found = delta(guarantee.mu, guarantee.epsilon)
    except InvalidValue as error:
        return info(CHECK, subject, claim, f"not computed: {error}", "none")
    ratio = found / guarantee.delta
    close = 1.0 - 1e-6 <= ratio <= 1.0 + 1e-12
    return exact(CHECK, subject, claim, f"delta {found:.12g}", passed=close)


def _sigma(plan: Plan, name: str) -> Finding:
    square, whole = shift_square(plan)
    whole &= reached(plan)
    with localcontext() as context:
        context.prec = 60
        exactly = (Decimal(square.numerator) / Decimal(square.denominator)).sqrt()
        ratio = float(Decimal(plan.sigma) * Decimal(plan.guarantee.mu) / exactly)
    # for a plan with gain an FFT finds the column, and the plan adds the FFT's error bound
    close = _CLOSE if plan.pair.gain is None else 1e-6
    passed = ratio >= 1.0 - 1e-15 and (ratio <= 1.0 + close or not whole)
    claim = "σ μ is the largest ‖R̃ Δx‖" if whole else "σ μ is at least the largest ‖R̃ Δx‖ found"
    return exact(CHECK, f"{name}, sigma", claim, f"ratio {ratio:.15g}", passed=passed)


def _shifts(plan: Plan, name: str) -> Finding:
    """The finding that compares each case of the accounting with the shifts from the taps."""
    claimed, own = accounted(plan), shift_cases(plan)
    forgotten = [case for case in own if not any(dominates(other, case) for other in claimed)]
    invented = [case for case in claimed if case not in own] if reached(plan) else []
    apart = plan.guarantee.protects.steps == 1 or plan.guarantee.protects.apart >= plan.taps.support
    total = sum(sum(case.values()) for case in own)
    shown = f"{len(own)} kinds of change, {total:,} shifts; {len(forgotten)} kinds are missing"
    shown += f", {len(invented)} cases match no kind" if invented else ""
    return exact(
        CHECK,
        f"{name}, shifts",
        "the plan accounts for R̃ Δx of every kind of change",
        shown + ("" if apart or plan.horizon == 1 else "; records of one person overlap"),
        passed=not forgotten and not invented and (apart or plan.horizon == 1),
    )


def _delta(plan: Plan, name: str) -> Finding:
    """The finding on delta at the guarantee's epsilon, or that no loss exceeds epsilon."""
    law, guarantee = plan.law, plan.guarantee
    assert isinstance(law, Laplace | Huber)
    cases = shift_cases(plan)
    total = max(sum(size * times for size, times in case.items()) for case in cases)
    largest = Fraction(law.slope) * total / Fraction(guarantee.epsilon)
    if guarantee.pure or largest <= 1:
        close = largest >= 1 - (_CLOSE if isinstance(law, Laplace) else 2.0**-11)
        close |= not reached(plan)
        shown = f"slope · ‖R̃ Δx‖₁ = {float(largest):.12g} epsilon"
        claim = "the largest privacy loss is at most epsilon, and close to it"
        return exact(CHECK, f"{name}, slope", claim, shown, passed=largest <= 1 and close)
    ratio = max(Losses(law, case).delta(guarantee.epsilon) for case in cases) / guarantee.delta
    claim = f"delta at epsilon = {guarantee.epsilon!r} is at most {guarantee.delta!r}"
    passed = (_LOOSE if reached(plan) else 0.0) <= ratio <= 1.0 + _NUMERICAL
    return exact(CHECK, f"{name}, delta", claim, f"delta is {ratio:.5f} times that", passed=passed)


def _stddevs(plan: Plan, name: str) -> Finding:
    """The finding on stddevs, from l_k = (f_k - Σ_{j≥1} r_j l_{k-j}) / r_0 with exact sums."""
    n = min(_ROWS, plan.horizon or _ROWS)
    if isinstance(plan.pair, BlockSums):
        return _block_stddevs(plan, name, plan.pair, n)
    f = plan.decay.weights(n).tolist()
    bits = plan.taps.bits
    r = [int(tap) / 2.0**bits for tap in plan.taps.integers[:n]]
    left: list[float] = []
    for k in range(n):
        past = [-r[j] * left[k - j] for j in range(1, min(k + 1, len(r)))]
        left.append(math.fsum([f[k], *past]) / r[0])
    gain = gain_of(plan, n) / (1.0 if plan.pair.gain is None else 2.0**bits)
    unit = plan.grid.resolution * 2.0**-plan.bits
    noise = math.sqrt(variance(plan.law)) * unit
    wanted = [
        noise * math.sqrt(math.fsum((left[k] / gain[t - k]) ** 2 for k in range(t + 1)))
        for t in range(n)
    ]
    off = float(np.max(np.abs(plan.stddevs(n) / np.array(wanted) - 1.0)))
    claim, shown = "σ ‖L_t‖ at every step", f"{off:.1g} off in {n} steps"
    return exact(CHECK, f"{name}, stddevs", claim, shown, passed=off < _CLOSE)


def _block_stddevs(plan: Plan, name: str, pair: BlockSums, n: int) -> Finding:
    """The finding on stddevs of block sums, from the row norms of L = M R⁻¹ with a dense R."""
    from scipy.linalg import solve_triangular, toeplitz

    starts, steps = block_starts(pair, n), np.arange(n)
    R = ((starts[:, None] <= steps) & (steps <= steps[:, None])).astype(np.float64)
    M = toeplitz(plan.decay.weights(n), np.zeros(n))
    L = solve_triangular(R, M.T, trans="T", lower=True).T
    wanted = math.sqrt(variance(plan.law)) * plan.unit * np.linalg.norm(L, axis=1)
    off = float(np.max(np.abs(plan.stddevs(n) / wanted - 1.0)))
    claim, shown = "σ ‖L_t‖ at every step", f"{off:.1g} off in {n} steps"
    return exact(CHECK, f"{name}, stddevs", claim, shown, passed=off < _CLOSE)


def _optimum(plan: Plan, name: str) -> Iterator[Finding]:
    """The finding that the certificate's lower bound is below every Gaussian factorization."""
    n = plan.horizon if plan.horizon is not None and plan.horizon <= _MATRIX else _ROWS
    subject = f"{name}, optimum"
    claim = f"the lower bound on the error in {n} steps is below every factorization tried"
    try:
        found = plan.certificate(n)
    except Contradiction:  # an error below what is possible
        yield exact(CHECK, subject, claim, "the plan contradicts its own bound", passed=False)
        return
    except InvalidValue as error:  # the bound does not apply to these weights
        yield info(CHECK, subject, claim, f"not tested: {error}", "none")
        return
    achieved, gaussian = found.error_factor, isinstance(plan.law, Gaussian)
    rivals = {"this plan": achieved} if gaussian else {}
    if plan.guarantee.protects.steps == 1:
        rivals |= _factorizations(plan, n)
    if not rivals:
        shown = f"{found.lower:.6g}; not compared, since a person may have several records"
        yield info(CHECK, subject, claim, shown, "none")
        return
    least = min(rivals, key=lambda rival: rivals[rival])
    made_for = f", {achieved:.6g} by this plan" if least != "this plan" else ""
    made_for += f", which is for {plan.horizon:,} steps" if (plan.horizon or 0) > n else ""
    shown = f"{found.lower:.6g}; {rivals[least]:.6g} by {least}" + made_for
    below = found.lower <= rivals[least] * (1.0 + 1e-12)
    below &= found.ratio >= 1.0 - 1e-12 or not gaussian
    yield exact(CHECK, subject, claim, shown, passed=below)


def _factorizations(plan: Plan, n: int) -> dict[str, float]:
    """The error factors ‖L‖₂→∞ ‖R‖₁→₂ of dense factorizations of M."""
    from scipy.linalg import sqrtm, toeplitz

    M = toeplitz(plan.decay.weights(n), np.zeros(n))
    U, values, V = np.linalg.svd(M)
    half = np.sqrt(values)
    root = np.real(sqrtm(M)) if n > 1 else np.sqrt(M)
    pairs = {
        "noise on the input": (M, np.eye(n)),
        "noise on the output": (np.eye(n), M),
        "singular values": (U * half, half[:, None] * V),
        "the square root": (root, np.linalg.solve(root, M)),
    }
    return {
        name: float(np.max(np.linalg.norm(L, axis=1)) * np.max(np.linalg.norm(R, axis=0)))
        for name, (L, R) in pairs.items()
    }
