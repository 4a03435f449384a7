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
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

import numpy as np

from hushfade.audit.finding import Finding, exact, info
from hushfade.audit.loss_probabilities import Losses
from hushfade.audit.neighbouring_streams import arranged, falls, heaviest_column, kinds
from hushfade.audit.noise_probabilities import variance
from hushfade.audit.observer import block_starts, gain_of
from hushfade.audit.sensitivity import accounted, dominates
from hushfade.audit.subject import Subject
from hushfade.check import Signed
from hushfade.errors import InvalidValue
from hushfade.factors.block_factors import BlockSums
from hushfade.laws import Gaussian, Huber, Laplace
from hushfade.planning.plan import Plan
from hushfade.theory.bound_values import Contradiction

CHECK = "certificates"

_DIGITS, _MOST_DIGITS = 60, 1000  # digits after cancellation, and the most digits in total
_CLOSE = 1e-9
_NUMERICAL = 5e-4  # the relative error of delta in `loss_probabilities`, at most
_LOOSE = 0.5  # a plan uses at least this share of delta: slopes have 13 bits, delta may be steep
_ROWS = 48  # steps for dense matrices and exact sums
_MATRIX = 400  # the longest horizon whose matrix is tested completely
_COLUMNS = 400  # the most columns of a plan with gain that are tested one by one
_ADDED_UP = 1 << 24  # a longer horizon uses the sensitivity of an endless stream
_BLOCK_STEPS = 1 << 20  # the most steps whose block sums are tested
_SPAN = 1 << 22  # the most steps over which records are arranged


def promise(subject: Subject, plan: Plan, name: str) -> list[Finding]:
    """Findings on every number that the plan's guarantee depends on."""
    plan = subject.plan(plan)
    if isinstance(plan.law, Gaussian):
        noise = [_mu(plan, name), _sigma(plan, name)]
    else:
        noise = [_shifts(plan, name), _delta(plan, name)]
    return [*noise, _stddevs(plan, name), *_optimum(plan, name)]


def delta(mu: float, epsilon: float) -> float:
    """δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ), computed in decimals.

    Cancellation in 1/2 + ... loses digits of Φ(-μ/2 - ε/μ), so the computation has that many more.

    >>> f"{delta(0.236704, 1.0):.3e}"
    '1.000e-06'
    """
    far = abs(mu) / 2 + epsilon / mu
    digits = _DIGITS + math.ceil(far * far / 2 / math.log(10.0))
    if digits > _MOST_DIGITS:
        raise InvalidValue(
            f"epsilon is too large for this mu: delta needs {digits} digits, and the audit "
            f"computes at most {_MOST_DIGITS}"
        )
    with localcontext() as context:
        context.prec = digits
        m, e = Decimal(mu), Decimal(epsilon)
        return float(_normal(m / 2 - e / m) - e.exp() * _normal(-m / 2 - e / m))


def shift_square(plan: Plan) -> tuple[Fraction, bool]:
    """The largest ‖R̃ Δx‖² that the search found, and whether the search covers all changes.

    The search covers all changes for one record, and for several records if the taps decrease.
    Otherwise it tries some arrangements of the records.  A horizon beyond 2^24 steps uses the
    noise of an endless stream, which is slightly more than it needs.
    """
    guarantee, taps = plan.guarantee, plan.taps
    change = max(sum(units * units for units in lanes) for lanes in kinds(plan).values())
    if plan.grid.keys is not None and guarantee.neighbours == "replace":
        largest = guarantee.protects.records_per_step * plan.grid.largest_unit
        change = max(change, 2 * largest * largest)  # even a single key may lose a record
    integers = taps.integers[: plan.horizon]
    if plan.pair.gain is not None:
        once = guarantee.protects.steps == 1
        return Fraction(change * _heaviest(plan, integers.tolist())), once
    k, apart = guarantee.protects.steps, guarantee.protects.apart
    if plan.horizon is not None:
        k = min(k, 1 + (plan.horizon - 1) // apart)
    squares = [change * _nearest(integers, k, apart, plan.horizon)]
    for found in arranged(plan, plan.horizon or 1 << 62):
        often = max(2, sum(step + len(integers) <= _SPAN for step in found.steps))
        lanes = zip(*found.moves[:often], strict=True)
        moves = [list(zip(found.steps[:often], lane, strict=True)) for lane in lanes]
        squares.append(sum(_together(integers, lane, plan.horizon) for lane in moves))
    return Fraction(max(squares)), k == 1 or (falls(plan) and (plan.horizon or 0) <= _ADDED_UP)


def _nearest(integers: Signed, k: int, apart: int, horizon: int | None) -> int:
    """‖Σ_{i<k} r shifted by i·apart‖² over all steps up to the horizon, in O(support).

    Write the steps in rows of length `apart`.  Row m sums the taps of rows m, m-1, ..., at most k
    of them, which is a difference of running sums.  The rows from the last row of taps up to row k
    are equal.
    """
    columns = min(apart, len(integers))
    rows = -(-len(integers) // columns)
    fits = sum(map(abs, integers.tolist())) < 1 << 62
    padded = np.zeros(rows * columns, dtype=np.int64 if fits else object)
    padded[: len(integers)] = integers
    sums = np.cumsum(padded.reshape(rows, columns), axis=0)
    count = k + rows - 1
    if horizon is not None:
        count = min(count, -(-horizon // apart))
    distinct = {*range(min(rows, count)), *range(min(k, count), count), count - 1}
    total = (count - len(distinct)) * _square(sums[-1])
    for m in distinct:
        row = sums[min(m, rows - 1)] - (sums[m - k] if m >= k else 0)
        total += _square(row if horizon is None else row[: horizon - m * apart])
    return total


def _square(row: Signed) -> int:
    return sum(value * value for value in row.tolist())


def _together(integers: Signed, moves: list[tuple[int, int]], horizon: int | None) -> int:
    """‖Σ_i units_i r shifted by step_i‖² over all steps up to the horizon."""
    steps = min(moves[-1][0] + len(integers), horizon or 1 << 62)
    largest = max(abs(units) for _, units in moves)
    fits = largest * sum(map(abs, integers.tolist())) < 1 << 62  # no tap counts twice in one step
    total = np.zeros(steps, dtype=np.int64 if fits else object)
    column = integers if fits else np.array(integers.tolist(), dtype=object)
    for step, units in moves:
        room = min(len(column), steps - step)
        total[step : step + room] += units * column[:room]
    return _square(total)


def _heaviest(plan: Plan, integers: list[int]) -> int:
    """The largest Σ_n (gain_{s+n} r_n)² over the columns s; over some of them if there are many."""
    steps = plan.horizon or 0
    gain = np.array(gain_of(plan, steps).tolist(), dtype=object) ** 2
    squares = np.array(integers, dtype=object) ** 2
    columns = set(np.linspace(0, steps - 1, min(steps, _COLUMNS)).astype(int).tolist())
    columns.add(heaviest_column(plan, steps))
    return max(int(np.sum(gain[s : s + len(squares)] * squares[: steps - s])) for s in columns)


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
    with localcontext() as context:
        context.prec = 60
        exactly = (Decimal(square.numerator) / Decimal(square.denominator)).sqrt()
        ratio = float(Decimal(plan.sigma) * Decimal(plan.guarantee.mu) / exactly)
    # for a plan with gain an FFT finds the column, and the plan adds the FFT's error bound
    close = _CLOSE if plan.pair.gain is None else 1e-6
    passed = ratio >= 1.0 - 1e-15 and (ratio <= 1.0 + close or not whole)
    claim = "σ μ is the largest ‖R̃ Δx‖" if whole else "σ μ is at least the largest ‖R̃ Δx‖ found"
    return exact(CHECK, f"{name}, sigma", claim, f"ratio {ratio:.15g}", passed=passed)


def shift_cases(plan: Plan) -> list[Counter[int]]:
    """For each kind of change: the shifts of the noise, and how often each occurs.

    This does not cover records of one person with overlapping taps, because only plans with
    Gaussian noise allow them.
    """
    guarantee, integers = plan.guarantee, np.abs(plan.taps.integers[: plan.horizon])
    often = guarantee.protects.steps
    if plan.horizon is not None:
        often = min(often, 1 + (plan.horizon - 1) // guarantee.protects.apart)
    changes = [tuple(map(abs, lanes)) for lanes in kinds(plan).values()]
    if plan.grid.keys is not None and guarantee.neighbours == "replace":
        changes.append((guarantee.protects.records_per_step * plan.grid.largest_unit,) * 2)
    sizes, times = np.unique(integers[integers > 0], return_counts=True)
    if isinstance(plan.pair, BlockSums):
        sizes, times = np.ones(1, np.int64), np.array([_most_blocks(plan.pair)])
    cases = []
    for lanes in dict.fromkeys(changes):
        shifts: Counter[int] = Counter()
        for units in lanes:
            for size, count in zip(sizes.tolist(), times.tolist(), strict=True):
                shifts[units * size] += often * count
        cases.append(shifts)
    return cases


def _most_blocks(pair: BlockSums) -> int:
    """The largest number of block sums that contain one step, over the tested steps."""
    n = min(pair.horizon or 2 * pair.schedule.period, _BLOCK_STEPS)
    ends = np.zeros(n + 1, dtype=np.int64)
    np.add.at(ends, block_starts(pair, n), 1)
    ends[1:] -= 1
    return int(np.max(np.cumsum(ends)))


def _shifts(plan: Plan, name: str) -> Finding:
    """The finding that compares each case of the accounting with the shifts from the taps."""
    claimed, own = accounted(plan), shift_cases(plan)
    forgotten = [case for case in own if not any(dominates(other, case) for other in claimed)]
    invented = [case for case in claimed if case not in own]
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
        shown = f"slope · ‖R̃ Δx‖₁ = {float(largest):.12g} epsilon"
        claim = "the largest privacy loss is at most epsilon, and close to it"
        return exact(CHECK, f"{name}, slope", claim, shown, passed=largest <= 1 and close)
    ratio = max(Losses(law, case).delta(guarantee.epsilon) for case in cases) / guarantee.delta
    claim = f"delta at epsilon = {guarantee.epsilon!r} is at most {guarantee.delta!r}"
    passed = _LOOSE <= ratio <= 1.0 + _NUMERICAL
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


def _normal(x: Decimal) -> Decimal:
    """Φ(x) by Σ x^(2n+1)/(2n+1)!!, whose terms all have the same sign."""
    term = total = x
    n, least = 1, Decimal(10) ** -(getcontext().prec + 10)
    while abs(term) > least:
        n += 2
        term = term * x * x / n
        total += term
    return Decimal(1) / 2 + total * (-x * x / 2).exp() / (2 * _pi()).sqrt()


def _pi() -> Decimal:
    """π by the Gauss-Legendre iteration, which doubles the digits in each round."""
    a, b, t, p = Decimal(1), 1 / Decimal(2).sqrt(), Decimal(1) / 4, Decimal(1)
    for _ in range(getcontext().prec.bit_length() + 1):
        after = (a + b) / 2
        b, t, p, a = (a * b).sqrt(), t - p * (a - after) ** 2, 2 * p, after
    return (a + b) ** 2 / (4 * t)
