"""What records add to the lanes of a statistic, by brute force over single records and persons.

All runs have the same noise, so releases differ only by the records, and the audit recovers the
change of every lane in whole units.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import numpy as np

from hushfade.audit.finding import Finding, exact
from hushfade.audit.loss_probabilities import Losses
from hushfade.audit.neighbouring_streams import kinds
from hushfade.audit.observer import crossed, private
from hushfade.audit.randomness import Chance
from hushfade.audit.released_lanes import lanes_of
from hushfade.audit.statistic_records import by_level, invalid, rounding, samples, textbook
from hushfade.audit.subject import Subject, refuses
from hushfade.check import Column, Signed
from hushfade.errors import HushfadeError
from hushfade.factors.block_factors import BlockSums
from hushfade.laws import Gaussian, Huber, Laplace
from hushfade.planning.plan import Plan

CHECK, RECORDS = "sensitivity", "records"

_PERSONS = 100  # random persons
_COMPUTED = 3  # of their changes whose δ(ε) is computed
_NUMERICAL = 5e-4  # the relative error of `loss_probabilities`, at most
_SHARES = (0.0, 0.5, 1.0)  # of epsilon, at which δ(ε) is compared
_OFF_GRID = 0.05


def lane_records(subject: Subject, plan: Plan, name: str, chance: Chance) -> list[Finding]:
    """Findings on single records and on persons; none for a plan without a statistic."""
    plan = subject.plan(plan)
    if plan.statistic is None:
        return []
    stream = _Streams(subject, plan, chance)
    tried = samples(plan.statistic, chance)
    return [
        _single(plan, name, stream, tried),
        *_persons(plan, name, stream, list(tried.values()), chance),
        _refused(plan, name, stream, next(iter(tried.values()))),
    ]


class _Streams:
    """First steps of new streams with the same noise."""

    def __init__(self, subject: Subject, plan: Plan, chance: Chance) -> None:
        self._subject, self._plan, self._source = subject, plan, chance.noise()
        unit = np.zeros((1, plan.grid.lanes), dtype=np.int64)
        unit[0, 0] = 1
        self._answer = int(private(plan, unit)[0, 0])
        self._silent = self._crossed(())

    def new(self) -> Any:
        """A new stream."""
        return self._subject.start(self._plan, self._source)

    def change(self, records: Any) -> Signed | None:
        """What these records add to each lane, in units; None if they are refused, or not whole."""
        try:
            moved = (self._crossed(records) - self._silent) / self._answer
        except HushfadeError:
            return None
        whole = np.rint(moved)
        return whole.astype(np.int64) if np.max(np.abs(moved - whole)) < _OFF_GRID else None

    def _crossed(self, records: Any) -> Column:
        released = lanes_of(self.new().step(records))
        return np.asarray(crossed(self._plan, released[None, :])[0])


def _single(plan: Plan, name: str, stream: _Streams, tried: dict[str, Any]) -> Finding:
    """The finding that each record adds its weights, and one whole per level at most."""
    statistic, grid = plan.statistic, plan.grid
    assert statistic is not None
    span = grid.high_unit - grid.low_unit
    whole, near = statistic.whole(span), rounding(statistic, span)
    keys = [0] if grid.keys is None else sorted({0, len(grid.keys) - 1})
    faults: Counter[str] = Counter()
    worst = 0
    for record in tried.values():
        for key in keys:
            moved = stream.change(_placed(plan, [(key, record)]))
            if moved is None:
                faults["refused, or not whole"] += 1
                continue
            expected = np.zeros(moved.shape)
            own = slice(key * grid.parts, (key + 1) * grid.parts)
            expected[own] = whole * textbook(statistic, record)
            sums = [int(level.sum()) for level in by_level(statistic, moved)]
            worst = max(worst, *sums)
            if max(sums) > whole or moved.min() < 0:
                faults["more than one whole"] += 1
            elif float(np.max(np.abs(moved - expected))) > near:
                faults["not its weights"] += 1
    shown = f"at most {worst:,} units per level; {len(tried) * len(keys)} tried"
    shown += "".join(f"; {count} {fault}" for fault, count in faults.items())
    claim = f"adds its weights, none negative, and at most {whole:,} units per level"
    return exact(RECORDS, f"{name}, lanes of a record", claim, shown, passed=not faults)


def _persons(
    plan: Plan, name: str, stream: _Streams, tried: list[Any], chance: Chance
) -> list[Finding]:
    """Findings on random persons with as many records as the guarantee allows, in any keys."""
    rng, guarantee = chance.inputs(), plan.guarantee
    keys = 1 if plan.grid.keys is None else len(plan.grid.keys)
    found: dict[tuple[int, ...], Signed] = {}
    refused = 0

    def some() -> Any:
        places = rng.integers(0, len(tried), guarantee.protects.records_per_step).tolist()
        return _placed(plan, [(int(rng.integers(keys)), tried[place]) for place in places])

    for _ in range(_PERSONS):
        change = stream.change(some())
        if guarantee.neighbours == "replace" and change is not None:
            other = stream.change(some())
            change = None if other is None else change - other
        if change is None:
            refused += 1
        else:
            found[tuple(change.tolist())] = change
    most = max(sum(units * units for units in lanes) for lanes in kinds(plan).values())
    largest = max(sum(units * units for units in change) for change in found) if found else 0
    passed = refused == 0 and largest <= most
    records = "a record" if guarantee.protects.records_per_step == 1 else (
        f"{guarantee.protects.records_per_step} records")  # fmt: skip
    shown = f"{(largest / most) ** 0.5:.6g} times that; {len(found)} changes"
    shown += f"; {refused} refused or not whole" if refused else ""
    norms = exact(
        CHECK, f"{name}, random persons with {records} per step",
        "change the lanes by the norm of the largest change at most", shown, passed=passed,
    )  # fmt: skip
    if isinstance(plan.law, Gaussian) or not found:
        return [norms]
    return [norms, _divided(plan, name, list(found.values()))]


def _divided(plan: Plan, name: str, found: list[Signed]) -> Finding:
    """The finding that dividing a record among lanes reveals no more, from the privacy loss."""
    law = plan.law
    assert isinstance(law, Laplace | Huber)
    # the largest sums of changes, and among them the most evenly divided
    order = sorted(found, key=lambda one: (-int(np.abs(one).sum()), int(np.square(one).sum())))
    chosen = order[:: max(1, len(order) // _COMPUTED)][:_COMPUTED]
    worst = 0.0
    for change in chosen:
        losses = Losses(law, shifts_of(plan, change))
        for share in _SHARES:
            epsilon = share * plan.guarantee.epsilon
            most = plan.privacy.delta(epsilon)
            least = losses.delta(epsilon) if losses.largest > epsilon else 0.0
            worst = max(worst, least / most if most > 0.0 else float(least > 1e-15) * 2.0)
    return exact(
        CHECK,
        f"{name}, records divided among lanes",
        "δ(ε) is at most plan.privacy.delta",
        f"at most {worst:.5f} times that, for {len(chosen)} changes and {len(_SHARES)} values of ε",
        passed=worst <= 1.0 + _NUMERICAL,
    )


def shifts_of(plan: Plan, change: Signed) -> Counter[int]:
    """The shifts of the noise by a change of one step's lanes, over all later steps."""
    sizes: Counter[int] = Counter()
    if isinstance(plan.pair, BlockSums):
        taps = Counter({1: plan.pair.squared_sensitivity()})
    else:
        taps = Counter(np.abs(plan.taps.integers[: plan.horizon]).tolist())
    for units in change.tolist():
        for tap, times in taps.items():
            if units and tap:
                sizes[abs(units) * tap] += times
    return sizes


def _refused(plan: Plan, name: str, streams: _Streams, valid: Any) -> Finding:
    """The finding that invalid records are refused and change nothing."""
    assert plan.statistic is not None
    offers = [
        _placed(plan, [(0, record) for record in some]) for some in invalid(plan.statistic, valid)
    ]
    stream = streams.new()
    refused = 0
    for offer in offers:
        state = stream.save()
        refused += refuses(partial(stream.step, offer)) and stream.save() == state
    shown = f"{refused} of {len(offers)} refused with an unchanged state"
    claim = "refused, with an unchanged state"
    return exact(
        RECORDS, f"{name}, invalid records", claim, shown, passed=refused == len(offers)
    )  # fmt: skip


def _placed(plan: Plan, records: list[tuple[int, Any]]) -> Any:
    """Records of keys in the form that a stream accepts."""
    if plan.grid.keys is None:
        return [record for _, record in records]
    found: dict[str, list[Any]] = {}
    for key, record in records:
        found.setdefault(plan.grid.keys[key], []).append(record)
    return found
