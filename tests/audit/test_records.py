import math

import numpy as np
import pytest

from hushfade import Exponential, Guarantee, NoDecay, SlidingWindow, plan
from hushfade.audit import Subject
from hushfade.audit.accuracy import inputs
from hushfade.audit.observer import crossed, private
from hushfade.audit.randomness import Chance
from hushfade.audit.sample_records import bad, offered
from hushfade.audit.sensitivity import records
from hushfade.audit.total_sizes import largest_tried, one_record
from tests.audit.subjects import Wrong
from tests.made_when_used import MadeWhenUsed

ONE = Guarantee(1, 1e-6)
SINGLE = plan(Exponential(half_life=8), ONE, method="square_root")
KEYED = plan(Exponential(half_life=8), ONE, keys=["at", "ch", "de"])
PLANS = MadeWhenUsed(
    {
        "single": SINGLE,
        "keys": KEYED,
        "many keys": lambda: plan(
            Exponential(half_life=8), ONE, keys=[str(key) for key in range(40)]
        ),
        "vectors": lambda: plan(Exponential(half_life=3), ONE, width=3, norm=1.0),
        "one coordinate": lambda: plan(Exponential(half_life=3), ONE, width=1, norm=1.0),
        "one step": lambda: plan(NoDecay(), ONE, horizon=1),
        "huge bounds": lambda: plan(Exponential(half_life=8), ONE, low=-1e300, high=1e300),
        "tiny bounds": lambda: plan(Exponential(half_life=8), ONE, high=1e-300),
        "negative": lambda: plan(Exponential(half_life=8), ONE, low=-5, high=-4),
        "halves": lambda: plan(
            Exponential(half_life=8),
            Guarantee(1, 1e-6, neighbours="replace"),
            low=-1.5,
            high=1.5,
            resolution=1.0,
        ),
    }
)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", PLANS)
def test_right_records_are_not_accused_whatever_the_bounds(name):
    found = records(Subject(), PLANS[name], "a plan", Chance(4))
    assert [finding for finding in found if not finding.passed] == []


def half_to_even(stream, records=()):
    """From -2 to 2 where the bounds are -1 and 2 on the grid: larger than promised is neither."""
    low, high = stream.plan.grid.low, stream.plan.grid.high
    return stream.step_total(float(np.sum(np.rint(np.clip(records, low, high)))))


def test_a_bound_that_is_rounded_another_way_is_seen_though_no_record_counts_more():
    found = records(Wrong(step=half_to_even), PLANS["halves"], "a plan", Chance(4))
    failed = {finding.subject: finding.measurement for finding in found if not finding.passed}
    assert failed["a plan, a record of -1.5"] == "2 units, not within its bounds; 1 tried"
    assert failed["a plan, range of one record"].startswith("4 units;")


def spilled(stream, records=()):
    """A record of one key counts a unit in the next one too."""
    grid = stream.plan.grid
    row = grid.record_sums(records)
    wrong = row + (np.roll(row, 1) > 2 * grid.high_unit)  # two usual ones are not enough
    return stream.step_total(wrong * grid.resolution)


def test_a_single_unit_in_another_key_is_seen():
    found = records(Wrong(step=spilled), KEYED, "a plan", Chance(4))
    failed = {finding.subject: finding.measurement for finding in found if not finding.passed}
    assert ", not within its bounds" in failed["a plan, a record of 1"]


def test_totals_have_both_signs_and_every_size_and_half_of_the_steps_none():
    units = inputs(SINGLE, 4000, Chance(1))[:, 0]
    most = largest_tried(SINGLE, 4000)
    assert np.abs(units).max() <= most
    for least in (1, one_record(SINGLE) * 10, most // 10):
        assert np.count_nonzero(units >= least) > 50
        assert np.count_nonzero(units <= -least) > 50
    assert 1800 < np.count_nonzero(units == 0) < 2200


@pytest.mark.parametrize("steps", [8, 512, 4096])
@pytest.mark.parametrize("decay", [Exponential(half_life=8), SlidingWindow(length=50)])
def test_the_largest_totals_come_back_to_the_unit(decay, steps):
    chosen = plan(decay, ONE)
    most = largest_tried(chosen, steps)
    units = np.random.default_rng(2).integers(-most, most + 1, size=(steps, 1))
    noise = Chance(3).noise()
    loud, quiet = (
        crossed(chosen, chosen.start(noise).run(x * chosen.grid.resolution).reshape(-1, 1))
        for x in (units, 0 * units)
    )
    assert np.max(np.abs(loud - quiet - private(chosen, units))) < 0.05


def test_every_key_is_offered_records_and_of_many_the_first_a_middle_and_the_last():
    for chosen, keys in ((KEYED, 3), (PLANS["many keys"], 3)):
        seen = {key for offer in offered(chosen, 8, Chance(1)) for key in offer.more}
        assert len(seen) == keys
        assert {chosen.grid.keys[0], chosen.grid.keys[-1]} < seen


def test_lists_tuples_arrays_single_numbers_and_a_thousand_records_are_offered():
    kinds = {type(offer.more) for offer in offered(SINGLE, 8, Chance(1))}
    assert kinds == {list, tuple, np.ndarray, float, int}
    types = {
        offer.more.dtype
        for offer in offered(SINGLE, 8, Chance(1))
        if type(offer.more) is np.ndarray
    }
    assert types == {np.dtype(name) for name in ("f8", "f4", "i8", "i1", "u1")}
    assert max(np.size(offer.more) for offer in offered(SINGLE, 8, Chance(1))) == 1001


def test_what_is_offered_as_bad_has_a_number_that_is_none():
    for chosen in (SINGLE, KEYED, PLANS["vectors"]):
        for offer in bad(chosen):
            listed = offer.values() if isinstance(offer, dict) else [offer]
            assert not all(np.all(np.isfinite(each)) for each in listed)


def test_what_a_vector_counts_is_its_direction_at_its_norm():
    chosen = PLANS["vectors"]
    for offer in offered(chosen, 8, Chance(1)):
        last = np.atleast_2d(offer.more)[-1].astype(float)
        if not np.any(last):
            assert not np.any(offer.units)
            continue
        length = math.hypot(*(last / np.abs(last).max())) * np.abs(last).max()
        wanted = min(length, 1.0) / chosen.grid.resolution
        assert math.hypot(*offer.units) == pytest.approx(wanted, rel=1e-12)
        assert offer.units @ (last / length) == pytest.approx(wanted, rel=1e-12)
