"""Exact checks: what one person's records change, and what the plan claims about it.

records       a step counts each record once, within its bounds, in its own key
R̃ x           the stream adds its noise to R̃ x in whole units, by every method
sensitivity   no admissible change of one person's records moves R̃ x farther than claimed
claims        ε, δ, standard deviations, and the accountant against exact sums
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from hushfade.audit import law_formulas
from hushfade.audit.findings import Chance, Finding
from hushfade.audit.subject import (
    DOORS,
    ChosenNoise,
    Subject,
    lanes_of,
    left,
    released,
    right,
    support,
)
from hushfade.check import Signed
from hushfade.crossing.sampling_tables import table
from hushfade.errors import HushfadeError
from hushfade.laws import Gaussian, Huber, Laplace, Law
from hushfade.planning.plan import Plan
from hushfade.privacy.loss import PrivacyLoss
from hushfade.privacy.rounded_losses import Shift

_LONGEST = 1 << 12  # steps of a stream whose R̃ x is compared
_FARTHEST = 1 << 17  # steps over which one person's records are placed
_DENSE = 256  # steps in which the worst placement is searched
_VALUES = 1 << 18
_RANDOM = 12
_CLOSE = 1e-3  # the relative error of `law_formulas.delta`
_COARSE = 12.0  # the standard deviation of the law in exact sums, in units
_FAR = 1e300

# Records --------------------------------------------------------------------------------------


def samples(plan: Plan, rng: np.random.Generator) -> list[Any]:
    """Records of one key: within their bounds, at, between and far beyond them."""
    grid, statistic = plan.grid, plan.statistic
    if grid.norm is not None:
        axis, even = np.zeros(grid.width), np.ones(grid.width) / math.sqrt(grid.width)
        axis[0] = 1.0
        some = [axis, -axis, even, -even, *rng.normal(size=(_RANDOM, grid.width))]
        return [grid.norm * size * one for one in some for size in (0.5, 1.0, 1e6)]
    kind = "numbers" if statistic is None else statistic.kind
    found: Any = statistic
    if kind == "truths":
        return [True, False]
    if kind == "texts":
        return [found.of, found.of + " ", ""]
    if kind == "pairs":
        shares = (-1.0, 0.0, 0.37, 1.0, 40.0)
        return [[a * found.numerator, b * found.denominator] for a in shares for b in shares]
    edges = getattr(found, "edges", (grid.low, grid.high))
    low, high = edges[0], edges[-1]
    inside = low + (high - low) * np.concatenate([[0.0, 0.25, 0.5, 1.0], rng.random(_RANDOM)])
    near = [
        number
        for edge in edges[:: max(1, len(edges) // 16)]
        for number in (edge, math.nextafter(edge, -_FAR))
    ]
    return [
        *map(float, inside),
        high + 40.0 * (high - low),
        low - 40.0 * (high - low),
        _FAR,
        -_FAR,
        *near,
    ]


def placed(plan: Plan, records: list[tuple[int, Any]]) -> Any:
    """Records of keys, given by number, in the form that a step accepts."""
    if plan.grid.keys is None:
        return [record for _, record in records]
    found: dict[str, list[Any]] = {}
    for key, record in records:
        found.setdefault(plan.grid.keys[key], []).append(record)
    return found


class Counted(NamedTuple):
    """A record, its key, and the units that it adds to each lane."""

    key: int
    record: Any
    units: Signed


def counted(subject: Subject, plan: Plan, records: Any) -> Signed:
    """The units that a first step counts for these records, in each lane, without noise."""
    nothing = np.zeros((1, plan.grid.lanes), dtype=np.int64)
    one = float(left(plan, 1)[0, 0]) * float(right(plan, nothing + 1)[0, 0])
    units = lanes_of(subject.start(plan, ChosenNoise(nothing)).step(records)) / one
    whole = np.rint(np.clip(units, -(2.0**62), 2.0**62))
    return np.where(
        np.abs(units - whole) < 1e-6 * np.maximum(1.0, np.abs(units)), whole, 2.0**62
    ).astype(np.int64)


def each_record(subject: Subject, plan: Plan, chance: Chance) -> list[Counted]:
    """What the samples add, each alone, in the first and the last key."""
    keys = sorted({0, len(plan.grid.keys or [0]) - 1})
    return [
        Counted(key, record, counted(subject, plan, placed(plan, [(key, record)])))
        for key in keys
        for record in samples(plan, chance.inputs())
    ]


def records(subject: Subject, plan: Plan, name: str, chance: Chance) -> Iterator[Finding]:
    """Findings on single records, on many records, and on what a stream refuses."""
    plan = subject.plan(plan)
    known = each_record(subject, plan, chance)
    wrong = [one for one in known if not _within(plan, one)]
    claim = "counts once, within its bounds, in its own key"
    shown = f"{len(known) - len(wrong)} of {len(known)} do"
    yield Finding("records", f"{name}, one record", claim, shown, not wrong)
    yield _many(subject, plan, name, known, chance)
    yield _refusals(subject, plan, name)


def _within(plan: Plan, one: Counted) -> bool:
    """True if a record adds what its declared bounds allow, and nothing in another key."""
    grid, units = plan.grid, one.units
    own = units[one.key * grid.parts :][: grid.parts] if grid.norm is None else units
    if np.count_nonzero(own) != np.count_nonzero(units):
        return False
    if grid.norm is not None:
        return sum(value * value for value in units.tolist()) <= grid.norm_unit**2
    if grid.statistic is not None:
        whole, levels = grid.statistic.whole(grid.high_unit - grid.low_unit), grid.statistic.levels
        return bool(own.min() >= 0 and own.max() <= whole and own.sum() <= levels * whole)
    near = min(max(one.record, grid.low), grid.high) / grid.resolution
    return bool(grid.low_unit <= own[0] <= grid.high_unit and abs(own[0] - near) <= 1.0)


def _many(subject: Subject, plan: Plan, name: str, known: list[Counted], chance: Chance) -> Finding:
    """The finding that steps with many records release R̃ x of the sums of what each record adds."""
    rng = chance.inputs()
    n = min(plan.horizon or 24, 24)
    most = max(1, min(9, plan.grid.largest_total // max(plan.grid.largest_unit, 1)))
    stream = subject.start(plan, ChosenNoise(np.zeros((n, plan.grid.lanes), dtype=np.int64)))
    units, rows = np.zeros((n, plan.grid.lanes), dtype=np.int64), []
    for step in range(n):
        chosen = [
            known[place] for place in rng.integers(len(known), size=rng.integers(0, most + 1))
        ]
        units[step] = sum((one.units for one in chosen), start=units[step])
        rows.append(lanes_of(stream.step(placed(plan, [(one.key, one.record) for one in chosen]))))
    differ = np.count_nonzero(np.array(rows) != _expected(plan, units))
    claim = "the release of R̃ x, where x is the sum of what each record adds"
    return Finding(
        "records",
        f"{name}, many records",
        claim,
        f"{differ} of {units.size} values differ",
        not differ,
    )


def _refusals(subject: Subject, plan: Plan, name: str) -> Finding:
    """The finding that a stream refuses invalid records, large totals, and steps too many."""
    grid = plan.grid
    row = np.zeros((1, grid.lanes), dtype=np.int64)
    row[0, 0] = grid.largest_total + 1
    tries: dict[str, Callable[[Any], Any]] = {
        f"a large total by {door}": lambda stream, door=door, sign=sign: released(
            plan, stream, sign * row, door
        )
        for door in DOORS
        for sign in (1, -1)
        if door.endswith("units") or grid.largest_total < 2**52
    }
    for wrong in (math.nan, math.inf) if grid.norm is None else ([math.nan] * grid.width,):
        kind = "" if plan.statistic is None else plan.statistic.kind
        record: Any = (
            [wrong, 1.0] if kind == "pairs" else 7 if kind in ("truths", "texts") else wrong
        )
        tries[f"a record of {wrong}"] = lambda stream, record=record: stream.step(
            placed(plan, [(0, record)])
        )
    accepted = []
    nothing = np.zeros((1, grid.lanes), dtype=np.int64)
    for what, work in tries.items():
        stream = subject.start(plan, ChosenNoise(nothing))
        if not refuses(lambda: work(stream)) or stream.steps:
            accepted.append(what)
    if plan.horizon is not None and plan.horizon * grid.lanes <= _VALUES * 16:
        whole = np.zeros((plan.horizon, grid.lanes), dtype=np.int64)
        for door in DOORS:
            stream = subject.start(plan, ChosenNoise(nothing))
            released(plan, stream, whole)
            if not refuses(lambda: released(plan, stream, nothing, door)):
                accepted.append(f"a step after the horizon by {door}")
    shown = f"accepted: {', '.join(accepted)}" if accepted else "all refused"
    claim = "invalid records, large totals and steps after the horizon are refused"
    return Finding("records", f"{name}, refusals", claim, shown, not accepted)


def refuses(work: Callable[[], Any]) -> bool:
    """True if the call raises one of hushfade's errors."""
    try:
        work()
    except HushfadeError:
        return True
    return False


# R̃ x ------------------------------------------------------------------------------------------


def private_half(subject: Subject, plan: Plan, name: str, chance: Chance) -> Iterator[Finding]:
    """The finding that totals x release the bits of noise R̃ x: the release is a function of y."""
    plan = subject.plan(plan)
    longest = max(2, min(_LONGEST, _VALUES // plan.grid.lanes))
    n = min(plan.horizon or longest, support(plan) + 64, longest)
    few = min(n, 64)
    units = inputs(plan, n, chance)
    z = chance.inputs().integers(-1000, 1000, size=units.shape)
    wrong = []
    for door in DOORS:
        steps = n if door.startswith("run") else few
        with_totals = subject.start(plan, ChosenNoise(z))
        found = released(plan, with_totals, units[:steps], door)
        again = _expected(plan, units[:steps], z[:steps])
        wrong += [door] if found.tobytes() != again.tobytes() else []
    claim = "totals x with noise z release the bits of no totals with noise z + R̃ x"
    shown = f"{n:,} steps by {len(DOORS)} methods" + (
        f"; not by {', '.join(wrong)}" if wrong else ""
    )
    yield Finding("sensitivity", f"{name}, R̃ x", claim, shown, not wrong)


def inputs(plan: Plan, n: int, chance: Chance) -> Signed:
    """Random totals in units of both signs and many sizes.  Half of the steps are empty."""
    rng, shape = chance.inputs(), (n, plan.grid.lanes)
    most = max(1, min(plan.grid.largest_total, 64 * plan.grid.largest_unit))
    units = np.exp(rng.uniform(0.0, math.log(most + 1.0), size=shape)).astype(np.int64)
    return np.asarray(units * rng.choice((-1, 1), size=shape) * rng.integers(0, 2, size=(n, 1)))


def _expected(plan: Plan, units: Signed, z: Signed | int = 0) -> Any:
    """The releases of no totals with noise z + R̃ x."""
    nothing = np.zeros_like(units)
    return released(plan, plan.start(ChosenNoise(right(plan, units) + z)), nothing)


# Sensitivity ----------------------------------------------------------------------------------


class Moved(NamedTuple):
    """A change of one person's records, and R̃ Δx in the lanes that change."""

    name: str
    steps: tuple[int, ...]
    units: Signed  # Δx, (k, lanes)
    shifts: Signed  # R̃ Δx, (n, changed lanes)

    def sizes(self) -> Counter[int]:
        """How often each size of a shift occurs."""
        flat = np.abs(self.shifts).ravel()
        return Counter(flat[flat > 0].tolist())


def sensitivity(subject: Subject, plan: Plan, name: str, chance: Chance) -> Iterator[Finding]:
    """Findings that no tried person moves R̃ x farther than the plan claims."""
    promised, plan = plan, subject.plan(plan)
    law, guarantee = plan.law, promised.guarantee
    found = list(persons(plan, each_record(subject, plan, chance), guarantee, chance))
    if isinstance(law, Gaussian):
        worst = max(found, key=lambda one: _square(one.shifts))
        most = (Fraction(law.sigma) * Fraction(guarantee.mu)) ** 2
        ratio = Fraction(_square(worst.shifts)) / most
        shown = f"{float(ratio) ** 0.5:.9g} times that: {worst.name}"
        claim = "‖R̃ Δx‖ is at most σ μ, by integers"
        yield Finding("sensitivity", f"{name}, {len(found)} persons", claim, shown, ratio <= 1)
    elif guarantee.pure:
        worst = max(found, key=lambda one: int(np.sum(np.abs(one.shifts))))
        ratio = (
            Fraction(law.slope) * int(np.sum(np.abs(worst.shifts))) / Fraction(guarantee.epsilon)
        )
        shown = f"{float(ratio):.9g} times that: {worst.name}"
        claim = "slope · ‖R̃ Δx‖₁ is at most ε, by fractions"
        yield Finding("sensitivity", f"{name}, {len(found)} persons", claim, shown, ratio <= 1)
    epsilons = guarantee.epsilon * np.array([0.0, 0.5, 1.0])
    claimed = np.array([promised.privacy.delta(float(epsilon)) for epsilon in epsilons])
    claimed[-1] = min(claimed[-1], guarantee.delta)
    orders: list[Callable[[Moved], float]] = [
        lambda one: -float(np.sum(law_formulas.energy(law, one.shifts))),
        lambda one: -float(np.sum(np.abs(one.shifts))),
    ]
    worst_of = {one.name: one for order in orders for one in sorted(found, key=order)[:2]}
    excess, where = max(
        (
            float(
                np.max(
                    (law_formulas.delta(law, one.sizes(), epsilons) - 1e-13)
                    / np.maximum(claimed, 1e-300)
                )
            ),
            one.name,
        )
        for one in worst_of.values()
    )
    claim = (
        "δ(ε) of R̃ Δx, by the audit's own sum of losses, is at most plan.privacy.delta and delta"
    )
    shown = f"{excess:.5f} times that at the worst of 3 values of ε: {where}"
    yield Finding("sensitivity", f"{name}, δ(ε)", claim, shown, excess <= 1.0 + _CLOSE)


def persons(plan: Plan, known: list[Counted], guarantee: Any, chance: Chance) -> Iterator[Moved]:
    """Changes of one person's records: the largest, the most divided and random ones, placed close
    together, far apart, where they add most, and at random."""
    rng, unit = chance.inputs(), guarantee.protects
    reach = support(plan) + (unit.steps - 1) * unit.apart
    n = int(min(plan.horizon or reach, reach if plan.horizon is None else plan.horizon, _FARTHEST))
    often = min(unit.steps, 1 + (n - 1) // unit.apart, _FARTHEST // 64)
    changes = list(_changes(known, guarantee, rng))
    for place, steps, signs in _placements(plan, n, often, unit.apart, rng):
        for kind, change in changes if n * often < _VALUES else changes[:4]:
            lanes = np.flatnonzero(change)
            units = np.outer(signs, change[lanes])
            totals = np.zeros((n, len(lanes)), dtype=np.int64)
            totals[list(steps)] += units
            yield Moved(f"{kind}, {place}", steps, np.outer(signs, change), right(plan, totals))


def _changes(
    known: list[Counted], guarantee: Any, rng: np.random.Generator
) -> Iterator[tuple[str, Signed]]:
    """The changes of one step's totals: sums of records, or differences of sums."""
    most = guarantee.protects.records_per_step
    rows = np.unique([one.units for one in known], axis=0)
    rows = rows[np.argsort(-np.sum(rows.astype(float) ** 2, axis=1))]
    rows = np.unique(np.concatenate([rows[:20], rows[-10:]]), axis=0)
    mixed = rows[rng.integers(len(rows), size=(_RANDOM, min(most, 64)))].sum(axis=1)
    sums = np.concatenate([most * rows, mixed if most <= 64 else mixed[:0]])
    if guarantee.neighbours == "replace":
        pairs = np.array(list(itertools.combinations(range(len(sums)), 2)))
        sums = sums[pairs[:, 0]] - sums[pairs[:, 1]]
        sums = np.concatenate([sums, -sums])
    sums = sums[np.any(sums != 0, axis=1)]
    total, norm = np.sum(np.abs(sums), axis=1), np.sqrt(np.sum(sums.astype(float) ** 2, axis=1))
    orders = {"the largest": -norm, "the most units": -total, "the most divided": norm - total}
    chosen = {f"{kind} change": int(np.argmin(order)) for kind, order in orders.items()}
    chosen |= {f"random change {i}": int(rng.integers(len(sums))) for i in range(4)}
    yield from ((kind, sums[place]) for kind, place in chosen.items())


def _placements(
    plan: Plan, n: int, often: int, apart: int, rng: np.random.Generator
) -> Iterator[tuple[str, tuple[int, ...], Signed]]:
    """Admissible steps of a person's records, and the signs of the changes."""
    length = 1 + (often - 1) * apart
    same, other = np.ones(often, dtype=np.int64), (-1) ** np.arange(often)
    for start in sorted({0, (n - length) // 2, n - length}):
        yield f"from step {start + 1} on", tuple(range(start, start + length, apart)), same
    if often > 1:
        near = tuple(range(0, length, apart))
        yield "with alternating signs", near, other
        for _ in range(_RANDOM // 3):
            gaps = rng.multinomial(n - length, np.full(often + 1, 1.0 / (often + 1)))[:often]
            steps = tuple((np.cumsum(gaps) + apart * np.arange(often)).tolist())
            yield f"random from step {steps[0] + 1} on", steps, rng.choice((-1, 1), size=often)
    few = min(n, _DENSE)
    if plan.pair.gain is None and often == 1:
        return
    columns = right(plan, np.eye(few, dtype=np.int64)).astype(np.float64)
    steps, signs, sum_of = [], [], np.zeros(few)
    while len(steps) < often and few:  # add the record that adds most to the norm
        with_it = np.sum(columns**2, axis=0) + 2.0 * np.abs(sum_of @ columns)
        with_it[
            [
                abs(s - t) < apart
                for t in range(few)
                for s in [min(steps, key=lambda s: abs(s - t), default=1 << 60)]
            ]
        ] = -1.0
        best = int(np.argmax(with_it))
        if with_it[best] < 0:
            break
        sign = 1 if sum_of @ columns[:, best] >= 0 else -1
        steps, signs, sum_of = [*steps, best], [*signs, sign], sum_of + sign * columns[:, best]
    yield "where they add most", tuple(steps), np.array(signs)


def _square(shifts: Signed) -> int:
    return sum(value * value for value in shifts.ravel().tolist() if value)


# Claims ---------------------------------------------------------------------------------------


def claims(subject: Subject, plan: Plan, name: str, chance: Chance) -> Iterator[Finding]:
    """Findings on (ε, δ), on the accountant, and on the stated errors."""
    promised, plan = plan, subject.plan(plan)
    guarantee = promised.guarantee
    stated = promised.privacy.delta(guarantee.epsilon)
    if guarantee.pure:
        passed, shown = stated <= 2.0**-1000, f"{stated:.12g}"
    else:
        passed, shown = (
            stated <= guarantee.delta * (1 + 1e-12),
            f"{stated / guarantee.delta:.9f} times that",
        )
    yield Finding(
        "claims", f"{name}, delta", "plan.privacy.delta(epsilon) is at most delta", shown, passed
    )
    yield from _accountant(plan.law, name)
    n = min(plan.horizon or 48, 48)
    L = left(plan, n)
    R = right(plan, np.eye(n, dtype=np.int64))
    off = np.max(np.abs(L @ R / plan.grid.resolution - _toeplitz(plan.decay.weights(n))))
    shown = f"{off:.1g} off in {n} steps"
    yield Finding("claims", f"{name}, L R̃", "the weights of the decay", shown, bool(off < 1e-6))
    second, _ = law_formulas.moments(plan.law, law_formulas.sizes(plan.law).middle ** 2)
    ratio = plan.stddevs(n) / (math.sqrt(second) * np.linalg.norm(L, axis=1))
    off = float(np.max(np.abs(ratio - 1.0)))
    shown = f"{off:.1g} off in {n} steps"
    near = 1e-4 if plan.law.stddev > 50 else 0.02
    yield Finding("claims", f"{name}, stddevs", "the standard deviation of L z", shown, off < near)


def _toeplitz(column: Any) -> Any:
    from scipy.linalg import toeplitz

    return toeplitz(column, np.zeros(len(column)))


def _accountant(law: Law, name: str) -> Iterator[Finding]:
    """The finding that the accountant's δ(ε) bounds exact sums over all outcomes of two draws.

    The law is the plan's law on a coarse grid.  The probabilities are the integers of its sampling
    table, and e^ε is rounded up, so the sums are lower bounds on δ(ε) by integers alone.
    """
    coarse = scaled(law, _COARSE / law.stddev)
    worst, count = Fraction(0), 0
    for shifts in ((9, 0), (5, 5), (7, 2)):
        parts = [Shift(size, 1) for size in shifts if size]
        claimed = PrivacyLoss.shifted(coarse, [parts])
        if isinstance(coarse, Gaussian):
            claimed = PrivacyLoss.gaussian(math.hypot(*shifts) / coarse.sigma)
        for epsilon in (0.0, 0.25, 0.5):
            least = exact_delta(coarse, shifts, epsilon)
            worst = max(worst, least / Fraction(claimed.delta(epsilon)))
            count += 1
    claim = "an upper bound on exact sums over all outcomes of two draws, by integers"
    shown = f"the sums are {float(worst):.6f} of the bound at most, in {count} cases of {coarse!r}"
    yield Finding("claims", f"{name}, accountant", claim, shown, worst <= 1)


def scaled(law: Law, factor: float) -> Law:
    """The law on a grid that is coarser by 1 / factor, with the same shape."""
    if isinstance(law, Gaussian):
        return Gaussian(law.sigma * factor)
    if isinstance(law, Laplace):
        return Laplace(law.slope / factor)
    assert isinstance(law, Huber)
    return Huber(law.slope / factor, max(1, round(law.core * factor)))


def exact_delta(law: Law, shifts: tuple[int, int], epsilon: float) -> Fraction:
    """Σ (P[z - shifts] - e^ε P[z])_+ over all outcomes z of two draws, at most.

    Draws beyond 8 standard deviations are left out.
    """
    above = [0, *table(law).above]
    reach = min(len(above) - 2, round(8.0 * law.stddev))
    ones = {
        m: (above[abs(m) + 1] - above[abs(m)]) * (2 if m == 0 else 1)
        for m in range(-reach, reach + 1)
    }
    factor = math.ceil(Fraction(math.nextafter(math.exp(epsilon), math.inf)) * 2**64)
    total = 0
    for a, b in itertools.product(ones, ones if shifts[1] else [0]):
        shifted = ones.get(a - shifts[0], 0) * (ones.get(b - shifts[1], 0) if shifts[1] else 2**128)
        usual = ones[a] * (ones[b] if shifts[1] else 2**128)
        total += max(0, (shifted << 64) - factor * usual)
    return Fraction(total, 2 ** (256 + 64))
