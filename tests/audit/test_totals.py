"""Totals of every size and type count once, and the audit notices those that do not."""

from dataclasses import replace

import numpy as np
import pytest

from hushfade import Exponential, Guarantee, InvalidValue, NoDecay, UnsafeSeededNoise, plan
from hushfade.audit.noise_probabilities import described
from hushfade.audit.randomness import Chance
from hushfade.audit.sample_records import quiet
from hushfade.audit.sampler import LAWS, Bits, far, p_value, sampler, tabled, tails
from hushfade.audit.subject import Subject
from hushfade.audit.totals import totals
from hushfade.crossing.sampling_tables import table
from hushfade.laws import Gaussian, Huber, Laplace
from tests.audit.subjects import ENDING, KEYED, OTHER_LAWS, SINGLE, SWAPPED, Wrong

VECTORS = plan(Exponential(half_life=5), Guarantee(1, 1e-6), norm=0.7, width=3)


@pytest.mark.parametrize(
    "found", [SINGLE, KEYED, SWAPPED, ENDING, VECTORS, *OTHER_LAWS.values()], ids=repr
)
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


@pytest.mark.parametrize("law", LAWS, ids=described)
def test_the_sampler_has_the_table_the_law_the_tails_and_the_bits_of_every_law(law):
    findings = sampler(Subject(), law, 300_000, Chance(4))
    assert [finding.subject for finding in findings if not finding.passed] == []
    assert findings[0].subject.endswith("table")
    assert findings[2].subject.endswith("tails")


def test_tails_that_end_early_are_noticed():
    law = Gaussian(700.0)
    z = UnsafeSeededNoise(3).bound(b"").draws(table(law), 0, 600_000, 1)
    assert tails("sampler", "σ", law, far(law, z), z.size).passed
    cut = z.clip(-4 * 700 + 1, 4 * 700 - 1)
    assert not tails("sampler", "σ", law, far(law, cut), cut.size).passed


BITS = [
    Gaussian(3.0),
    Gaussian(700.0),
    Gaussian(65_536.0),
    Laplace(1.0),
    Laplace(1e-6),
    Huber(1e-6, 10**6),
]


@pytest.mark.parametrize("law", BITS, ids=described)
def test_signs_and_bits_of_all_places_are_looked_at(law):
    z = UnsafeSeededNoise(3).bound(b"").draws(table(law), 0, 100_000, 1)[:, 0]

    def failed(draws):
        bits = Bits(law)
        bits.add(draws)
        return [finding.subject for finding in bits.judged("sampler", "σ") if not finding.passed]

    assert failed(z) == []
    assert "σ, signs" in failed(np.abs(z))
    if law.stddev < 100:
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
