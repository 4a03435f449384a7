"""Exact checks: how far one person's records move R̃ x, and what the plan claims about it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from hushfade.audit import law_formulas
from hushfade.audit.findings import Finding
from hushfade.audit.subject import DOORS, Case, ChosenNoise, left, released, right, support
from hushfade.check import Signed
from hushfade.crossing.sampling_tables import table
from hushfade.laws import Gaussian, Huber, Law
from hushfade.planning.plan import Plan
from hushfade.privacy.loss import PrivacyLoss
from hushfade.privacy.rounded_losses import Shift

_LONGEST, _VALUES = 1 << 12, 1 << 18  # steps of a stream whose R̃ x is compared, and its values
_FARTHEST = 1 << 17  # steps over which one person's records are placed
_DENSE = 256  # steps in which the worst placement is searched
_RANDOM = 4
_MIXED = 12
_CLOSE = 1e-3  # the relative error of `law_formulas.delta`
_COARSE = 12.0  # the standard deviation of the law in exact sums, in units


def private_half(case: Case) -> Iterator[Finding]:
    """The finding that totals x release the bits of noise R̃ x: the release is a function of y."""
    longest = case.steps(_LONGEST, _VALUES)
    n = min(longest, support(case.plan) + 64)
    units, wrong = case.inputs(n), []
    z = case.chance.inputs().integers(-1000, 1000, size=units.shape)
    for door in DOORS:
        steps = n if door.startswith("run") else min(n, 64)
        found = released(case.start(ChosenNoise(z)), units[:steps], door)
        same = found.tobytes() == case.expected(units[:steps], z[:steps]).tobytes()
        wrong += [] if same else [door]
    claim = "totals x with noise z release the bits of no totals with noise z + R̃ x"
    yield Finding(
        "R̃ x",
        claim,
        f"{n:,} steps by {len(DOORS)} methods; {', '.join(wrong) or 'none'} differ",
        not wrong,
    )


# Persons --------------------------------------------------------------------------------------


class Moved(NamedTuple):
    """A change of one person's records: Δx at some steps, and R̃ Δx in the lanes that change."""

    name: str
    steps: tuple[int, ...]
    units: Signed
    shifts: Signed

    @property
    def sizes(self) -> Counter[int]:
        """How often each size of a shift occurs."""
        flat = np.abs(self.shifts).ravel()
        return Counter(flat[flat > 0].tolist())

    @property
    def square(self) -> int:
        """‖R̃ Δx‖²."""
        return sum(size * size * times for size, times in self.sizes.items())


def sensitivity(case: Case) -> Iterator[Finding]:
    """Findings that no tried person moves R̃ x farther than the plan claims."""
    law, promised, guarantee = case.plan.law, case.promised, case.promised.guarantee
    found = list(persons(case))
    if isinstance(law, Gaussian):
        worst = max(found, key=lambda one: one.square)
        ratio = worst.square / (Fraction(law.sigma) * Fraction(guarantee.mu)) ** 2
        shown = f"{float(ratio) ** 0.5:.9g} times that: {worst.name}"
        yield Finding(f"{len(found)} persons", "‖R̃ Δx‖ is at most σ μ", shown, ratio <= 1)
    elif guarantee.pure:
        worst = max(found, key=lambda one: int(np.sum(np.abs(one.shifts))))
        largest = Fraction(law_formulas.slope(law)) * int(np.sum(np.abs(worst.shifts)))
        ratio = largest / Fraction(guarantee.epsilon)
        shown = f"{float(ratio):.9g} times that: {worst.name}"
        yield Finding(f"{len(found)} persons", "slope ‖R̃ Δx‖₁ is at most ε", shown, ratio <= 1)
    epsilons = guarantee.epsilon * np.array([0.0, 0.5, 1.0])
    claimed = np.array([promised.privacy.delta(float(epsilon)) for epsilon in epsilons])
    claimed[-1] = min(claimed[-1], guarantee.delta)
    by_energy = sorted(found, key=lambda one: -np.sum(law_formulas.energy(law, one.shifts)))
    by_total = sorted(found, key=lambda one: -np.sum(np.abs(one.shifts)))
    excess, name = -math.inf, ""
    for one in (*by_energy[:2], *by_total[:2]):
        delta = law_formulas.delta(law, one.sizes, epsilons)
        ratio_here = float(np.max((delta - 1e-13) / np.maximum(claimed, 1e-300)))
        excess, name = max((excess, name), (ratio_here, one.name))
    claim = "δ(ε), by the audit's own sums, is at most plan.privacy.delta and delta"
    yield Finding("δ(ε)", claim, f"{excess:.5f} times that: {name}", excess <= 1.0 + _CLOSE)


def persons(case: Case) -> Iterator[Moved]:
    """Changes of one person's records: the largest, the most divided and random ones, placed close
    together, far apart, where they add most, and at random."""
    plan, unit, rng = case.plan, case.promised.guarantee.protects, case.chance.inputs()
    reach = support(plan) + (unit.steps - 1) * unit.apart
    n = min(plan.horizon or reach, reach if plan.pair.gain is None else _FARTHEST, _FARTHEST)
    often = min(unit.steps, 1 + (n - 1) // unit.apart, _FARTHEST // 64)
    changes = _changes(case, rng)
    for place, steps, signs in _placements(plan, n, often, unit.apart, rng):
        for kind, change in changes.items():
            lanes, units = np.flatnonzero(change), np.outer(signs, change)
            totals = np.zeros((n, len(lanes)), dtype=np.int64)
            totals[list(steps)] = units[:, lanes]
            yield Moved(f"{kind} change {place}", steps, units, right(plan, totals))


def _changes(case: Case, rng: np.random.Generator) -> dict[str, Signed]:
    """Some changes of one step's totals: sums of a person's records, or differences of sums."""
    most = case.promised.guarantee.protects.records_per_step
    rows = np.unique([one.units for one in case.counted], axis=0)
    rows = rows[np.argsort(-np.sum(rows.astype(float) ** 2, axis=1))]
    rows = np.concatenate([rows[:20], rows[-10:]])
    sums = [most * rows]
    if 1 < most <= _DENSE:
        sums.append(rows[rng.integers(len(rows), size=(_MIXED, most))].sum(axis=1))
    found = np.concatenate(sums)
    if case.promised.guarantee.neighbours == "replace":
        found = (found[:, None, :] - found[None, :, :]).reshape(-1, case.lanes)
    found = found[np.any(found != 0, axis=1)]
    total = np.sum(np.abs(found), axis=1)
    norm = np.sqrt(np.sum(found.astype(float) ** 2, axis=1))
    orders = {"largest": -norm, "longest": -total, "most divided": norm - total}
    chosen = {kind: int(np.argmin(order)) for kind, order in orders.items()}
    chosen |= {f"random {i}": int(rng.integers(len(found))) for i in range(_RANDOM)}
    return {kind: found[place] for kind, place in chosen.items()}


def _placements(
    plan: Plan, n: int, often: int, apart: int, rng: np.random.Generator
) -> Iterator[tuple[str, tuple[int, ...], Signed]]:
    """Admissible steps of a person's records, and the signs of the changes."""
    length, same = 1 + (often - 1) * apart, np.ones(often, dtype=np.int64)
    for start in sorted({0, (n - length) // 2, n - length}):
        yield f"from step {start + 1} on", tuple(range(start, start + length, apart)), same
    if often > 1:
        yield "with alternating signs", tuple(range(0, length, apart)), (-1) ** np.arange(often)
        for _ in range(_RANDOM):
            gaps = rng.multinomial(n - length, np.full(often + 1, 1.0 / (often + 1)))[:often]
            steps = tuple((np.cumsum(gaps) + apart * np.arange(often)).tolist())
            yield f"at random from step {steps[0] + 1} on", steps, rng.choice((-1, 1), often)
    few = min(n, _DENSE)
    columns = right(plan, np.eye(few, dtype=np.int64)).astype(np.float64)
    free, total = np.ones(few, dtype=bool), np.zeros(few)
    placed: dict[int, int] = {}
    while len(placed) < often and np.any(free):  # the record that adds most to the norm
        norms = np.where(free, np.sum(columns**2, axis=0) + 2 * np.abs(total @ columns), -1.0)
        best = int(np.argmax(norms))
        placed[best] = 1 if total @ columns[:, best] >= 0 else -1
        total += placed[best] * columns[:, best]
        free[max(0, best - apart + 1) : best + apart] = False
    yield "where they add most", tuple(placed), np.array(list(placed.values()))


# Claims ---------------------------------------------------------------------------------------


def claims(case: Case) -> Iterator[Finding]:
    """Findings on (ε, δ), on the accountant, and on the stated errors."""
    plan, guarantee = case.plan, case.promised.guarantee
    stated = case.promised.privacy.delta(guarantee.epsilon)
    claim, shown = "plan.privacy.delta(epsilon) is at most delta", f"{stated:.12g}"
    most = max(guarantee.delta * (1.0 + 1e-12), 2.0**-1000)
    yield Finding("delta", claim, shown, stated <= most)
    yield _accountant(plan.law)
    n = min(plan.horizon or 48, 48)
    L, R = left(plan, n)[0], right(plan, np.eye(n, dtype=np.int64))
    lag = np.arange(n)[:, None] - np.arange(n)
    weights = np.where(lag >= 0, plan.decay.weights(n)[lag], 0.0) * plan.grid.resolution
    off = float(np.max(np.abs(L @ R - weights))) / plan.grid.resolution
    yield Finding("L R̃", "the weights of the decay", f"{off:.1g} off in {n} steps", off < 1e-6)
    second, _ = law_formulas.moments(plan.law, law_formulas.sizes(plan.law).middle ** 2)
    ratio = plan.stddevs(n) / (math.sqrt(second) * np.linalg.norm(L, axis=1))
    off = float(np.max(np.abs(ratio - 1.0)))
    near = 1e-4 if plan.law.stddev > 50 else 0.02
    yield Finding(
        "stddevs", "the standard deviations of L z", f"{off:.1g} off in {n} steps", off < near
    )


def _accountant(law: Law) -> Finding:
    """The finding that the accountant's δ(ε) bounds exact sums over all outcomes of two draws.

    The law is the plan's law on a coarse grid.  The probabilities are the integers of its sampling
    table, and e^ε is rounded up, so the sums are lower bounds on δ(ε) by integers alone.
    """
    coarse, worst = scaled(law, _COARSE / law.stddev), 0.0
    for shifts in ((9, 0), (5, 5), (7, 2)):
        claimed = PrivacyLoss.shifted(coarse, [[Shift(size, 1) for size in shifts if size]])
        if isinstance(coarse, Gaussian):
            claimed = PrivacyLoss.gaussian(math.hypot(*shifts) / coarse.sigma)
        for epsilon in (0.0, 0.25, 0.5):
            least, most = exact_delta(coarse, shifts, epsilon), claimed.delta(epsilon)
            worst = max(worst, float(least / Fraction(max(most, 1e-300))))
    claim = "a bound on exact sums over the outcomes of two draws, by integers"
    return Finding("accountant", claim, f"at most {worst:.6f} of it, for {coarse!r}", worst <= 1.0)


def scaled(law: Law, factor: float) -> Law:
    """The law on a grid that is coarser by 1 / factor, with the same shape."""
    if isinstance(law, Gaussian):
        return Gaussian(law.sigma * factor)
    if isinstance(law, Huber):
        return Huber(law.slope / factor, max(1, round(law.core * factor)))
    return replace(law, slope=law_formulas.slope(law) / factor)  # type: ignore[type-var]


def exact_delta(law: Law, shifts: tuple[int, int], epsilon: float) -> Fraction:
    """Σ (P[z - shifts] - e^ε P[z])_+ over outcomes z of two draws within 8 standard deviations."""
    above = [0, *table(law).above]
    reach = min(len(above) - 2, round(8.0 * law.stddev))
    mass = {m: above[abs(m) + 1] - above[abs(m)] for m in range(-reach, reach + 1)}
    mass[0] *= 2  # the others count one sign of two
    factor = math.ceil(Fraction(math.nextafter(math.exp(epsilon), math.inf)) * 2**64)
    second = {0: (1 << 128, 1 << 128)}
    if shifts[1]:
        second = {b: (mass[b], mass.get(b - shifts[1], 0)) for b in mass}
    total = 0
    for a, (usual, shifted) in itertools.product(mass, second.values()):
        total += max(0, (mass.get(a - shifts[0], 0) * shifted << 64) - factor * mass[a] * usual)
    return Fraction(total, 1 << (256 + 64))
