"""Plans with statistics: the audit passes them, and detects every wrong spread or accounting."""

import numpy as np
import pytest

import hushfade as hf
from hushfade.audit import TINY
from hushfade.audit.lane_changes import divided, extreme
from hushfade.audit.plan_claims import promise
from hushfade.audit.randomness import Chance
from hushfade.audit.review import checked
from hushfade.audit.sensitivity import records, sensitivity
from hushfade.audit.statistic_records import samples, textbook
from hushfade.audit.totals import totals
from hushfade.planning import shifts
from tests.audit.subjects import ONE, SWAP, InProcess
from tests.public.statistics.all_statistics import STATISTICS

WEEK, DAY = hf.SlidingWindow(length=7), hf.Exponential(half_life=24)
SEVERAL = hf.Guarantee(1, 1e-6, neighbours="replace", protects=hf.Person(records_per_step=2))
PURE = hf.Guarantee(1, 0)
PLANS = {  # every statistic, relation and law, with keys and without
    "mean": (WEEK, ONE, {"law": "laplace"}),
    "variance": (DAY, SWAP, {"law": "gaussian", "keys": ["a", "b"]}),
    "share": (WEEK, PURE, {}),
    "share of a text": (WEEK, SEVERAL, {"law": "laplace", "keys": ["a", "b", "c"]}),
    "ratio": (WEEK, SWAP, {"law": "laplace"}),
    "histogram": (DAY, ONE, {"method": "blend"}),
    "quantiles": (DAY, SEVERAL, {"law": "gaussian"}),
    "quantiles on two levels": (DAY, SWAP, {"method": "blend"}),
}


def planned(name, **other):
    decay, guarantee, more = PLANS[name]
    return hf.plan(
        decay, other.pop("guarantee", guarantee), statistic=STATISTICS[name], **(more | other)
    )


def exact_findings(plan):
    """The checks that need no samples."""
    subject, chance = InProcess(), Chance(1)
    found = promise(subject, plan, "a plan")
    for check in (sensitivity, records, totals):
        found += check(subject, plan, "a plan", chance)
    return found


def failed(plan):
    return {finding.check for finding in exact_findings(plan) if finding.passed is False}


def test_exact_checks_pass_every_statistic():
    for name in PLANS:
        found = exact_findings(planned(name))
        assert [each for each in found if each.passed is False] == [], name
        titles = " ".join(finding.subject for finding in found)
        assert "lanes of a record" in titles, name
        assert "random persons" in titles, name


def test_all_checks_pass_a_mean():
    found = list(checked(InProcess(), {"a plan": planned("mean")}, TINY, Chance(1)))
    assert [each for each in found if each.passed is False] == []
    assert len(found) > 100


def test_samples_spread_over_lanes_as_a_textbook_says():
    for name, statistic in STATISTICS.items():
        levels = 2 if name in ("ratio", "quantiles on two levels") else 1
        for record in samples(statistic, Chance(2)).values():
            weights = textbook(statistic, record)
            assert (weights >= 0).all(), name
            assert weights.sum() <= levels + 1e-12, name


def test_changes_come_from_records_and_not_from_the_accounting(monkeypatch):
    plan = planned("mean")
    monkeypatch.setattr(shifts, "statistic_change", None)
    assert sorted(extreme(plan)["an added record"]) == [0, 1024]
    assert divided(plan) == {"an added record, divided": (512, 512)}


# Seeded bugs ---------------------------------------------------------------------------------


def accounted_lanes(monkeypatch, lanes):
    """A planner that accounts for another number of lanes."""

    def change(guarantee, grid):
        return (guarantee.protects.records_per_step * grid.lane_units[1],) * lanes

    monkeypatch.setattr(shifts, "statistic_change", change)


@pytest.mark.parametrize(
    ("name", "lanes", "other"),
    [
        ("mean", 1, {"guarantee": SWAP}),  # replaced records as one whole
        ("variance", 1, {}),
        ("ratio", 1, {"guarantee": ONE}),  # a lane left out
        ("ratio", 2, {}),
        ("quantiles on two levels", 2, {}),  # a level forgotten
        ("quantiles on two levels", 1, {"guarantee": ONE, "method": "square_root"}),
    ],
)
def test_lanes_that_the_plan_leaves_out_are_noticed(monkeypatch, name, lanes, other):
    accounted_lanes(monkeypatch, lanes)
    assert "certificates" in failed(planned(name, **other))


def test_several_records_that_count_as_one_are_noticed(monkeypatch):
    def change(guarantee, grid):
        return (grid.lane_units[1],) * 2

    monkeypatch.setattr(shifts, "statistic_change", change)
    for name in ("share of a text", "quantiles"):
        assert "certificates" in failed(planned(name)), name


@pytest.mark.parametrize(
    ("kind", "name", "added"),
    [
        (hf.Mean, "mean", lambda u, span: [u, span - u // 2]),
        (hf.Mean, "mean", lambda u, span: [u, u - span]),  # the sum is no more, but for negatives
        (hf.Variance, "variance", lambda u, span: [(span - u) ** 2, 4 * u * (span - u), u * u]),
    ],
)
def test_weights_that_do_not_sum_to_the_range_are_noticed(monkeypatch, kind, name, added):
    def lanes(self, codes, span):
        found = np.stack(added(codes, span), axis=1)
        return np.broadcast_to(np.arange(found.shape[1]), found.shape), found

    plan = planned(name)
    monkeypatch.setattr(kind, "lanes", lanes)
    assert "records" in failed(plan)
