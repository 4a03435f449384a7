"""The likelihood-ratio test of plans with Laplace and Huber noise."""

from dataclasses import replace

import numpy as np
import pytest

from hushfade import PrivacyLoss
from hushfade.audit import TINY
from hushfade.audit.accuracy import accuracy, noise
from hushfade.audit.distinguish import EPSILON
from hushfade.audit.exact_shifts import shift_cases
from hushfade.audit.likelihood_ratio import CHECK, likelihood_ratio
from hushfade.audit.plan_claims import promise
from hushfade.audit.randomness import Chance
from hushfade.audit.sensitivity import accounted, dominates, sensitivity
from hushfade.crossing.sampling_tables import table
from hushfade.laws import Huber
from hushfade.privacy.rounded_losses import Shift
from tests.audit.subjects import COUNTS, HUBER, LAPLACE, MOVED, OTHER_LAWS, InProcess


def failed(findings):
    return [finding.subject for finding in findings if finding.passed is False]


class Drawn(InProcess):
    """Streams draw from another law than the plan states."""

    def __init__(self, **changes):
        self.changes = changes

    def start(self, plan, noise):
        stream = plan.start(noise)
        changed = {
            field: change(getattr(plan.law, field)) for field, change in self.changes.items()
        }
        stream._engine.law = table(replace(plan.law, **changed))
        return stream


class Planned(InProcess):
    """The plan has another law than its guarantee requires."""

    def __init__(self, factor):
        self.factor = factor

    def plan(self, promised):
        return replace(promised, law=replace(promised.law, slope=self.factor * promised.law.slope))


@pytest.mark.parametrize("found", OTHER_LAWS.values(), ids=OTHER_LAWS)
def test_the_right_implementation_is_not_accused(found):
    findings = likelihood_ratio(InProcess(), found, "a plan", TINY, Chance(3))
    assert failed(findings) == []
    assert {finding.check for finding in findings} == {CHECK, EPSILON}
    assert min(finding.p for finding in findings if finding.p is not None) > 1e-6
    assert failed(promise(InProcess(), found, "a plan")) == []
    assert failed(sensitivity(InProcess(), found, "a plan", Chance(3))) == []
    assert failed(accuracy(InProcess(), found, "a plan", TINY, Chance(3))) == []


# 1,500 copies of the Huber plan are too few to show its delta
@pytest.mark.parametrize(
    ("found", "core", "seen"),
    [
        (LAPLACE, {}, ("mean loss", "law of the loss", "δ(ε)")),
        (HUBER, {"core": lambda core: core // 2}, ("mean loss", "law of the loss")),
    ],
    ids=["Laplace", "Huber"],
)
def test_half_the_noise_is_seen_in_the_likelihood_ratio(found, core, seen):
    half = Drawn(slope=lambda slope: 2.0 * slope, **core)
    subjects = failed(likelihood_ratio(half, found, "a plan", TINY, Chance(3)))
    for what in seen:
        assert f"a plan, an added record, first step, {what}" in subjects
    stddevs = failed(accuracy(half, found, "a plan", TINY, Chance(3)))
    assert "a plan, stddevs" in stddevs


@pytest.mark.parametrize("found", [LAPLACE, COUNTS, HUBER], ids=["Laplace", "counts", "Huber"])
def test_noise_five_per_cent_too_steep_is_seen_in_its_scale(found):
    steep = Drawn(slope=lambda slope: 1.05 * slope)
    assert "a plan, scale" in failed(noise(steep, found, "a plan", TINY, Chance(3)))


def test_a_core_twice_as_wide_is_seen_in_the_law_and_the_scale():
    wide = Drawn(core=lambda core: 2 * core)
    subjects = failed(noise(wide, HUBER, "a plan", TINY, Chance(3)))
    assert {"a plan", "a plan, scale"} <= set(subjects)


@pytest.mark.parametrize(
    ("found", "seen"),
    # with delta = 0 by fractions alone; Laplace noise that is too steep by its delta
    [
        (LAPLACE, ("delta", "slope")),
        (COUNTS, ("slope", "slope")),
        (HUBER, ("delta", "delta")),
        (MOVED, ("delta", "delta")),
    ],
    ids=["Laplace", "counts", "Huber", "keys"],
)
def test_a_planned_slope_that_is_a_little_off_is_seen(found, seen):
    for factor, what in zip((1.01, 0.9), seen, strict=True):
        assert failed(promise(Planned(factor), found, "a plan"))[0] == f"a plan, {what}"


def test_a_forgotten_shift_is_seen_exactly():
    class Forgetful(InProcess):
        def plan(self, promised):
            wrong = replace(promised)
            shifts = promised.privacy.cases[0].shifted[0].shifts[1:]
            wrong.__dict__["privacy"] = PrivacyLoss.shifted(promised.law, [shifts])
            return wrong

    assert "a plan, shifts" in failed(promise(Forgetful(), HUBER, "a plan"))
    moved = failed(sensitivity(Forgetful(), HUBER, "a plan", Chance(1)))
    assert "a plan, an added record, first step" in moved


@pytest.mark.parametrize("found", OTHER_LAWS.values(), ids=OTHER_LAWS)
def test_shifts_by_the_taps_are_those_of_the_accounting(found):
    own, claimed = shift_cases(found), accounted(found)
    assert all(case in own for case in claimed)
    assert all(any(dominates(case, each) for case in claimed) for each in own)


def test_shifts_by_hand():
    law = Huber(0.01, 100)
    loss = PrivacyLoss.shifted(law, [[Shift(3, 2), Shift(3, 1)], [Shift(7, 1)]])
    found = replace(COUNTS)
    found.__dict__["privacy"] = loss
    assert accounted(found) == [{3: 3}, {7: 1}]
    assert shift_cases(COUNTS) == [{1: 1}]
    assert np.all([case.total() for case in shift_cases(MOVED)])
