"""Totals of every size and type count once, and the audit notices those that do not."""

from dataclasses import replace

import numpy as np
import pytest

from hushfade import Exponential, Guarantee, InvalidValue, NoDecay, UnsafeSeededNoise, plan
from hushfade.audit.randomness import Chance
from hushfade.audit.sample_records import quiet
from hushfade.audit.sampler import SIGMAS, Bits, far, p_value, sampler, tabled, tails
from hushfade.audit.subject import Subject
from hushfade.audit.totals import totals
from hushfade.crossing.sampling_tables import table
from hushfade.laws import Gaussian
from tests.audit.subjects import ENDING, KEYED, SINGLE, SWAPPED, Wrong

VECTORS = plan(Exponential(half_life=5), Guarantee(1, 1e-6), norm=0.7, width=3)


@pytest.mark.parametrize("found", [SINGLE, KEYED, SWAPPED, ENDING, VECTORS], ids=repr)
def test_right_totals_are_not_accused(found):
    findings = totals(Subject(), found, "a plan", Chance(3))
    assert len(findings) >= 6
    assert all(finding.passed for finding in findings)


def crowded(low):
    fine = Guarantee(1e6, 1e-6)
    return plan(NoDecay(), fine, horizon=10**5, method="normalized", low=low, resolution=2.0**-19)


def test_usual_records_leave_room_for_one_more():
    found = crowded(0.75)
    few = replace(found.grid, largest_total=3 * found.grid.high_unit)
    with pytest.raises(InvalidValue, match="largest_total"):
        few.record_sum([0.75, 1.0, 1.0, 1.0])
    assert few.record_sum([*quiet(replace(found, grid=few)), 1.0]) > 0


def test_a_step_with_room_for_few_records_is_given_few():
    found = crowded(0)
    grid = found.grid
    room = grid.largest_total // grid.high_unit
    assert 0 < room < 40
    (quantised,) = [
        finding
        for finding in totals(Subject(), found, "a plan", Chance(3))
        if finding.subject.endswith("quantise")
    ]
    assert quantised.passed
    assert quantised.measurement.startswith(f"{room} records")


def run_integers_twice(stream, given):
    whole = getattr(given, "dtype", None) is not None and given.dtype.kind in "iu"
    return stream.run(2 * given if whole else given)


def step_integers_twice(stream, given):
    return stream.step_total(2 * given if type(given) is int else given)


def test_integers_that_count_twice_are_noticed():
    twice = Wrong(run=run_integers_twice, step_total=step_integers_twice)
    findings = totals(twice, SINGLE, "a plan", Chance(3))
    (failed,) = [finding for finding in findings if not finding.passed]
    assert "not integers by run, short integers by run, int by step_total" in failed.measurement


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_table_and_the_tails_of_the_sampler_are_right(sigma):
    table, _, out, *_ = sampler(Subject(), sigma, 300_000, Chance(4))
    assert table.passed
    assert "σ" in table.measurement
    assert out.passed


def test_tails_that_end_early_are_noticed():
    sigma = 700.0
    z = UnsafeSeededNoise(3).bound(b"").draws(table(Gaussian(sigma)), 0, 600_000, 1)
    assert tails("sampler", "σ", sigma, far(sigma, z), z.size).passed
    cut = z.clip(-4 * 700 + 1, 4 * 700 - 1)
    assert not tails("sampler", "σ", sigma, far(sigma, cut), cut.size).passed


@pytest.mark.parametrize("sigma", [3.0, 700.0, 65_536.0])
def test_signs_and_bits_of_all_places_are_looked_at(sigma):
    z = UnsafeSeededNoise(3).bound(b"").draws(table(Gaussian(sigma)), 0, 100_000, 1)[:, 0]

    def failed(draws):
        bits = Bits(sigma)
        bits.add(draws)
        return [finding.subject for finding in bits.judged("sampler", "σ") if not finding.passed]

    assert failed(z) == []
    if sigma < 100:
        return
    assert "σ, low bits" in failed(z & ~np.int64(1 << 7))
    signed = np.where(np.abs(z) & 1, np.abs(z), -np.abs(z))  # uniform as they are
    assert "σ, signs" in failed(signed)


def test_few_counts_that_meet_their_means_are_no_failure():
    assert p_value(np.array([3125, 3125]), np.array([0.5, 0.5])) == 1.0
    assert p_value(np.full(4, 1000), np.full(4, 0.25)) == 1.0
    assert p_value(np.full(64, 1000), np.full(64, 1 / 64)) < 1e-10


def test_a_table_that_ends_early_is_noticed():
    law = table(Gaussian(700.0))
    assert tabled("σ", law).passed
    assert not tabled("σ", replace(law, above=[*law.above[: len(law.above) // 2], 1 << 127])).passed
    changed = list(law.above)
    changed[len(changed) // 2] += 1 << 100
    assert not tabled("σ", replace(law, above=changed)).passed
