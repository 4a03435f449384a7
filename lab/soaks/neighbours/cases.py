"""Random cases, and the property that each case tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any

import hushfade as hf
from hushfade.errors import HushfadeError
from hushfade.factors.factorization import IntegerFactorization
from hushfade.planning import noise_scale, shifts
from hushfade.privacy.unit import Unit
from lab.soaks.neighbours.input_path import AnyPath
from lab.soaks.neighbours.meaning import Fault, Meaning, Rules, Totals

LONGEST = 8  # the most records of an input


@dataclass(frozen=True)
class Violation(Exception):
    """A case that violates the property; the path and the seed reproduce it."""

    path: str
    seed: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}, seed {self.seed}: {self.what}"


@dataclass(frozen=True)
class Case:
    """An input and its neighbour: their rows, and the declarations for both."""

    made: Any
    rows: list[tuple[Any, Meaning]]
    others: list[tuple[Any, Meaning]]


def case_of(path: AnyPath, seed: int) -> Case:
    """The case of a seed."""
    random = Random(f"{path.name} {seed}")
    made = path.setting(random)
    rows = [path.row(random, made, 0) for _ in range(random.randint(1, LONGEST))]
    place = random.randrange(len(rows))
    new = path.row(random, made, 0)
    if random.random() < 0.4:
        new = _wrong_row(path, random, made)
    if random.random() < 0.2:
        rows[random.randrange(len(rows))] = _wrong_row(path, random, made)
    how = "changed" if path.by_position else random.choice(("added", "removed", "changed"))
    others = list(rows)
    if how == "added":
        others.insert(random.randint(0, len(rows)), new)
    elif how == "removed":
        del others[place]
    else:
        others[place] = new
    return Case(made, rows, others)


def _wrong_row(path: AnyPath, random: Random, made: Any) -> tuple[Any, Meaning]:
    """A row with exactly one fault: two faults would hide each other."""
    while True:
        content, meaning = path.row(random, made, 0.15)
        fields = (meaning.time, meaning.value, meaning.key, meaning.user)
        if sum(isinstance(one, Fault) for one in fields) + meaning.broken == 1:
            return content, meaning


def check(path: AnyPath, seed: int) -> int:
    """The number of rejected inputs of a case, 0 to 2.

    Raises Violation unless hushfade reads both inputs correctly, and they differ by one record.
    """
    case = case_of(path, seed)
    rules = path.rules(case.made)
    found = []
    for rows in (case.rows, case.others):
        expected = _expected(path, rules, [meaning for _, meaning in rows])
        try:
            read = path.read(case.made, [content for content, _ in rows])
        except HushfadeError:
            read = None
        if read != expected and not (path.infers and read is None):
            raise Violation(path.name, seed, f"{_shown(read)}, expected {_shown(expected)}")
        found.append(read)
    before, after = found
    if before is not None and after is not None and not rules.persons:
        longer = len(case.others) - len(case.rows)
        moved = unfair_move(rules, before, after, changed=not longer)
        if moved is not None:
            raise Violation(path.name, seed, moved)
    if before is not None and rules.persons:
        _check_person(path, case, rules, before, seed)
    return found.count(None)


def _check_person(path: AnyPath, case: Case, rules: Rules, before: Totals, seed: int) -> None:
    """Remove the records of one unit of privacy: one person, in one stretch of time if it renews.

    Raise Violation if the units, or R x for some right factors, change by more than the sensitivity
    that a plan claims.
    """
    random, guarantee = Random(f"person {path.name} {seed}"), rules.plan.guarantee
    users = sorted({one.user for _, one in case.rows if isinstance(one.user, str)})
    if not users:
        return
    user, unit = random.choice(users), guarantee.protects
    step = random.randrange(rules.steps.count)
    rest = [
        content
        for content, one in case.rows
        if one.user != user or not _in_unit(rules, unit, one, step)
    ]
    try:
        after = path.read(case.made, rest)
    except HushfadeError:
        return
    moves = {
        cell: after.get(cell, 0) - before.get(cell, 0) for cell in before.keys() | after.keys()
    }
    moved = too_large(rules, {cell: move for cell, move in moves.items() if move})
    if moved is not None:
        raise Violation(path.name, seed, f"a person moved {moved}")


def too_large(rules: Rules, moves: Totals) -> str | None:
    """A description of a change that exceeds the sensitivity that a plan claims, or None."""
    guarantee, grid = rules.plan.guarantee, rules.plan.grid
    steps = {step for step, _ in moves}
    most = shifts.squared_change(guarantee, grid)
    for one in steps:
        size = sum(move**2 for (step, _), move in moves.items() if step == one)
        if size > most:
            return f"step {one} by more than {most}, squared"
    if len(steps) > guarantee.protects.steps:
        return f"{len(steps)} steps"
    for pair in right_factors():
        size, most = _shift(pair, moves), noise_scale.squared_sensitivity(guarantee, grid, pair)
        if size > most:
            return f"R x by {size}, more than {most}, squared, with {pair.taps.support} taps"
    return None


@lru_cache(maxsize=1)
def right_factors() -> tuple[IntegerFactorization, ...]:
    """Right factors of which columns overlap, so that all steps of a person add up."""
    decays = (hf.Exponential(half_life=2), hf.SlidingWindow(3), hf.PowerLaw(1.0))
    guarantee = hf.Guarantee(epsilon=1, delta=1e-6)
    return tuple(hf.plan(decay, guarantee, method="square_root").pair for decay in decays)


def _shift(pair: IntegerFactorization, moves: Totals) -> int:
    """The squared length of the change of R x, over all its steps and lanes."""
    taps = pair.taps.integers.tolist()
    length = len(taps) + max((step for step, _ in moves), default=0)
    total = 0
    for lane in {lane for _, lane in moves}:
        v = [0] * length
        for (step, at), move in moves.items():
            if at == lane:
                for lag, tap in enumerate(taps):
                    v[step + lag] += move * tap
        total += sum(value**2 for value in v)
    return total


def _in_unit(rules: Rules, unit: Unit, record: Meaning, step: int) -> bool:
    """True if the record belongs to the unit that contains this step, or begins with it."""
    place = None if isinstance(record.time, Fault) else rules.steps.of(record.time)
    if place is None:
        return False
    if unit.within is not None:
        return step <= place < step + unit.within
    return rules.stretch(place) == rules.stretch(step)


def _expected(path: AnyPath, rules: Rules, records: Sequence[Meaning]) -> Totals | None:
    """The expected units of the input; None if it must be rejected."""
    if path.by_position:
        records = [replace(record, time=place) for place, record in enumerate(records)]
    if path.stops and any(rules.malformed(record) for record in records):
        return None
    return rules.totals([left for record in records if (left := rules.left_of(record))])


def unfair_move(rules: Rules, before: Totals, after: Totals, *, changed: bool) -> str | None:
    """A description of a difference that is larger than one record's contribution, or None.

    An added or removed record moves one cell, and a `changed` record at most two.  With a statistic
    it moves its lanes by a whole per level, in total.
    """
    grid = rules.plan.grid
    cells = {cell for cell in before.keys() | after.keys() if before.get(cell) != after.get(cell)}
    moves = [after.get(cell, 0) - before.get(cell, 0) for cell in cells]
    if grid.statistic is not None:
        whole = grid.statistic.levels * grid.lane_units[1]
        up, down = (sum(abs(move) for move in moves if move * sign > 0) for sign in (1, -1))
        if max(up, down) <= whole and (changed or min(up, down) == 0):
            return None
        return f"one record moved its lanes by {up} and {-down}, more than {whole}"
    most = max(abs(grid.low_unit), abs(grid.high_unit))
    if changed:
        most = max(most, grid.high_unit - grid.low_unit)
    if len(cells) <= 1 + changed and all(abs(move) <= most for move in moves):
        return None
    return f"one record moved {len(cells)} cells by {moves}"


def _shown(totals: Totals | None) -> str:
    return "rejected" if totals is None else f"units {totals}"
