"""Persons at the door: one unit of privacy changes the private output by no more than claimed."""

from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import hushfade as hf
from hushfade.errors import InvalidValue
from hushfade.planning.noise_scale import squared_sensitivity
from hushfade.records import Arrival, Calendar, Columns, Reader, RowOrder, tables, tally
from hushfade.records.calendar import calendar
from hushfade.records.people import Names
from hushfade.records.persons import Persons
from hushfade.records.texts import of_list, parts

HOUR = 3600 * 10**9
COLUMNS = Columns(value="v", time="t", key="k", user="u")
UNITS = (
    hf.Person(), hf.Person(steps=2, apart=2), hf.Person(steps=3, records_per_step=2),
    hf.Person(within=1), hf.Person(within=3), hf.Person(within=4, records_per_step=2),
    hf.Person(period="day Europe/Vienna", steps=2, apart=2),
    hf.Person(period="week", steps=3, records_per_step=2),
)  # fmt: skip
# hours over a change of the clock, and days over two weeks and a month
ORDERS = (
    calendar("2026-10-24T20:00Z", 6 * HOUR, steps=14),
    calendar("2026-02-24", "day Europe/Vienna", steps=12),
)
NAMES = ("ann", "Ann", "ann ", "7", "é")


@cache
def planned(unit, neighbours):
    guarantee = hf.Guarantee(1, 1e-6, neighbours, unit)
    return hf.plan(
        hf.Exponential(half_life=3), guarantee, low=-1, high=2, resolution=0.5, keys=["a", "b"],
        method="square_root", law="gaussian",
    )  # fmt: skip


def totals_of(plan, order, rows):
    columns = dict(zip("tvku", zip(*rows, strict=True) if rows else ((),) * 4, strict=True))
    zone = "UTC" if order.zoned else None
    kinds = {"t": pa.timestamp("ns", zone), "v": pa.float64(), "k": pa.string(), "u": pa.string()}
    table = pa.table({name: pa.array(columns[name], kind) for name, kind in kinds.items()})
    return tally(tables(table, COLUMNS), Reader(plan, COLUMNS, order)).totals


def stretch(unit, order, step):
    """The steps of a unit: all, a window that begins with this step, or the step's period."""
    steps = np.arange(order.steps)
    if unit.within is not None:
        return set(steps[step : step + unit.within].tolist())
    if unit.period is None:
        return set(steps.tolist())
    persons = Persons(unit, order)
    numbers = persons._periods.of_steps(steps)
    return set(steps[numbers == numbers[step]].tolist())


def random_rows(rng, order, count):
    """Records with ties, duplicates, undeclared keys, look-alike names and times at the bounds."""
    places = rng.integers(0, order.steps, count)
    begins, ends = order.starts(places), order.starts(places + 1) - 1
    times = np.where(rng.random(count) < 0.3, np.where(rng.random(count) < 0.5, begins, ends),
                     begins + rng.integers(0, HOUR, count))  # fmt: skip
    values, keys = rng.choice([-1.0, 2.0, 0.5, 9.0], count), rng.choice(["a", "b", "x"], count)
    people = rng.choice(NAMES, count, p=[0.5, 0.2, 0.1, 0.1, 0.1])
    return list(zip(times.tolist(), values.tolist(), keys.tolist(), people.tolist(), strict=True))


def shift(plan, moved):
    """The squared ℓ2 shift of the private half, with its integer taps, for ever."""
    taps = plan.taps.integers
    return sum(int(np.sum(np.convolve(lane, taps).astype(object) ** 2)) for lane in moved.T)


def largest_shift(units, orders, neighbours, cases, without=None):
    """The largest shift of a unit that is removed or replaced, over what the plan claims."""
    rng = np.random.default_rng(7)
    worst = 0.0
    for unit, order in product(units, orders):
        plan = planned(unit, neighbours)
        claimed = squared_sensitivity(plan.guarantee, plan.grid, plan.pair)
        for _ in range(cases):
            rows = random_rows(rng, order, int(rng.integers(2, 60)))
            gone = stretch(without or unit, order, int(rng.integers(order.steps)))
            person = rng.choice(NAMES)
            places = order.places(np.array([row[0] for row in rows])).tolist()
            others = []
            for row, place in zip(rows, places, strict=True):
                if row[3] != person or place not in gone:
                    others.append(row)
                elif neighbours == "replace":
                    others.append((row[0], rng.choice([-1.0, 2.0]), rng.choice(["a", "b"]), row[3]))
            moved = totals_of(plan, order, rows) - totals_of(plan, order, others)
            worst = max(worst, shift(plan, moved) / claimed)
    return worst


def test_one_unit_never_shifts_the_private_half_by_more_than_claimed():
    for neighbours in ("add_remove", "replace"):
        found = largest_shift(UNITS, ORDERS, neighbours, cases=12)
        assert 0.3 < found <= 1.0, neighbours  # some cases come near the bound


def test_a_larger_stretch_than_the_unit_shifts_more_than_claimed():
    """The seeded bug: limits of a stretch do not cover a person's whole stream."""
    window = (hf.Person(within=1), hf.Person(period="day Europe/Vienna", steps=1))
    assert largest_shift(window, ORDERS, "add_remove", cases=12, without=hf.Person(steps=99)) > 1.0


def named(names):
    return Names(*parts(of_list(names)), np.arange(len(names)))


def test_live_lines_remember_people_of_open_steps_and_periods_only():
    hours = Calendar(0, HOUR, True)
    for unit, most in (
        (hf.Person(within=30 * 24), 6000), (hf.Person(period="day", steps=2), 26_000),
        (hf.Person(), 10**9),
    ):  # fmt: skip
        persons, largest = Persons(unit, hours), 0
        for step in range(60):
            names = [f"{step}-{i}" for i in range(500)]
            kept = persons.kept(named(names), np.full(500, step))
            assert kept.all()
            persons.close(step + 1)
            largest = max(largest, len(persons))
        assert largest <= most, unit
    assert largest == 60 * 500  # the life of the stream: everyone


def test_a_person_counts_once_also_after_others_were_forgotten():
    persons = Persons(hf.Person(period="day", steps=1), Calendar(0, HOUR, True))
    for step in range(48):
        crowd = [f"{step}-{i}" for i in range(3000)]
        kept = persons.kept(named(["ann", *crowd]), np.full(3001, step))
        assert kept[0] == (step % 24 == 0)
        assert kept[1:].all()
        persons.close(step + 1)


def test_a_period_needs_times():
    plan = planned(UNITS[-1], "replace")
    for order in (Arrival(), RowOrder()):
        with pytest.raises(InvalidValue, match="a unit with a period needs steps with times"):
            Reader(plan, Columns(value="v", key="k", user="u"), order)


def test_no_repr_shows_a_name():
    persons = Persons(hf.Person(), Calendar(0, HOUR, True))
    assert persons.kept(named(["annabella"]), np.zeros(1, dtype=np.int64)).all()
    (one,) = persons.counted(1)
    assert one.person == "annabella"
    for shown in (one, persons, named(["annabella"])):
        assert "annabella" not in repr(shown)
