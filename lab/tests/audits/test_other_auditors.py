"""Third-party auditors: their input, and the findings from their results."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from lab.audits.effort import QUICK
from lab.audits.other_auditors import auditors, comparison, protocol
from lab.audits.other_auditors.auditors import Answer, Auditor
from lab.audits.other_auditors.comparison import (
    CLAIMS,
    SAME,
    Claim,
    judged,
    measured,
    packed,
    prepared,
    same,
)
from lab.audits.other_auditors.scores import (
    BROKEN,
    GUARANTEE,
    SOUND,
    STEPS,
    Scores,
    decayed,
    scored,
)
from lab.environments import Absent
from lab.paths import ROOT

COPIES = 25_000
LIBRARY = Auditor("library", "script", ())


@pytest.fixture(scope="module")
def sound():
    return scored(SOUND, COPIES, 1)


def normals(n, shift=0.0, seed=1):
    rng = np.random.default_rng(seed)
    return Scores(rng.normal(shift, size=n), rng.normal(size=n))


def answer(**said):
    """The result of a library with one method, which misses all broken mechanisms."""
    bounds = {case.name: {"method": 0.0} for case in (SOUND, *BROKEN)} | {SAME: {"method": 0.0}}
    return Answer({}, bounds | {name.replace("_", " "): {"method": x} for name, x in said.items()})


# Scores --------------------------------------------------------------------------------------


def test_scores_are_standard_normal_without_the_record_and_mu_further_with_it(sound):
    # fixed seed, all within 5 standard errors
    each = 5 / math.sqrt(COPIES * 0.95)
    assert abs(sound.absent.mean()) < each
    assert abs(sound.present.mean() - GUARANTEE.mu) < each
    for scores in (sound.absent, sound.present):
        assert abs(scores.var() - 1) < each * math.sqrt(2)


def test_a_coin_decides_for_each_copy(sound):
    total = len(sound.present) + len(sound.absent)
    assert total == 2 * COPIES
    assert abs(len(sound.present) - COPIES) < 5 * math.sqrt(total) / 2


def test_the_truth_is_the_decayed_sum():
    found = SOUND.planned(1)
    totals = np.arange(STEPS, dtype=float)[:, None]
    by_hand = np.convolve(totals[:, 0], 2.0 ** (-np.arange(STEPS) / 8))[:STEPS]
    np.testing.assert_allclose(decayed(found, totals)[:, 0], by_hand, rtol=1e-12)


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_the_mu_test_accuses_every_broken_control(case):
    mu, error = measured(scored(case, 50_000, 2))
    assert mu > GUARANTEE.mu + 5 * error


def test_the_mu_test_does_not_accuse_hushfade(sound):
    mu, error = measured(sound)
    assert abs(mu - GUARANTEE.mu) < 5 * error


# The input of the auditors ---------------------------------------------------------------------


def test_the_threshold_is_chosen_by_copies_that_no_auditor_sees():
    scores = normals(1000, shift=1.0)
    asked = prepared(scores, 1e-6)
    assert len(asked.scores.present) == len(asked.scores.absent) == 800
    changed = Scores(scores.present.copy(), scores.absent.copy())
    changed.present[200:] += 100.0
    changed.absent[200:] -= 100.0
    assert prepared(changed, 1e-6).threshold == asked.threshold


def test_a_threshold_has_false_alarms_far_above_delta():
    scores = normals(200_000, shift=8.0)
    asked = prepared(scores, 1e-6)
    assert np.mean(asked.scores.absent > asked.threshold) > comparison.LEAST_RATE / 2


def test_the_same_stream_twice_is_two_halves_of_the_copies_without_the_record():
    asked = prepared(normals(1000), 1e-6)
    twice = same(asked).scores
    joined = np.sort(np.concatenate([twice.present, twice.absent]))
    np.testing.assert_array_equal(joined, np.sort(asked.scores.absent))


def test_scripts_read_what_is_packed(tmp_path):
    asked = prepared(normals(1000), 0.03)
    np.savez(tmp_path / "scores.npz", **packed({"one": asked, "two": asked}, 0.03))
    found = protocol.given(str(tmp_path / "scores.npz"))
    assert list(found) == ["one", "two"]
    np.testing.assert_array_equal(found["two"].present, asked.scores.present)
    assert (found["one"].threshold, found["one"].delta) == (asked.threshold, 0.03)
    assert found["one"].level == comparison.LEVEL


def test_a_library_bounds_epsilon_as_computed_here(tmp_path):
    """The bound by JAX Privacy equals Clopper and Pearson's bound by scipy."""
    asked = prepared(normals(20_000, shift=2.0), 1e-6)
    np.savez(tmp_path / "scores.npz", **packed({"one": asked}, 1e-6))
    command = [
        sys.executable,
        "-m",
        "lab.audits.other_auditors.jax_privacy",
        str(tmp_path / "scores.npz"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    bound = json.loads(done.stdout)["bounds"]["one"]["Clopper-Pearson"]
    n = len(asked.scores.present)
    hits = int(np.count_nonzero(asked.scores.present >= asked.threshold))
    false = int(np.count_nonzero(asked.scores.absent >= asked.threshold))
    least = stats.beta.ppf(comparison.LEVEL / 2, hits, n - hits + 1)
    most = stats.beta.isf(comparison.LEVEL / 2, false + 1, n - false)
    reverse = math.log((1 - most - 1e-6) / stats.beta.isf(comparison.LEVEL / 2, n - hits + 1, hits))
    assert bound == pytest.approx(max(math.log((least - 1e-6) / most), reverse), rel=1e-6)


# Findings from the results ---------------------------------------------------------------------


def test_a_bound_above_the_claim_fails_and_a_bug_that_is_missed_does_not():
    claim = CLAIMS[0]
    (finding,) = judged(LIBRARY, [(claim, answer(no_bug=0.9, half_noise=1.5))])
    assert finding.passed is True
    assert f"caught 1 of {len(BROKEN)}, not " in finding.measurement
    assert "half noise" not in finding.measurement
    (finding,) = judged(LIBRARY, [(claim, answer(no_bug=1.01))])
    assert finding.passed is False


def test_a_method_that_distinguishes_two_samples_of_one_stream_is_not_counted():
    said = answer(no_bug=4.0, **{SAME.replace(" ", "_"): 2.0})
    (first, second) = judged(LIBRARY, [(CLAIMS[0], said), (CLAIMS[1], answer(no_bug=0.1))])
    assert (first.passed, second.passed) == (None, None)
    for finding in (first, second):
        assert finding.measurement.startswith("not used: it states epsilon ≥ ")


def test_a_method_that_fails_is_not_counted_and_its_reason_is_told():
    (finding,) = judged(LIBRARY, [(CLAIMS[0], answer(no_bug="ValueError: no root"))])
    assert finding.passed is None
    assert "ValueError: no root" in finding.measurement


def test_an_infinite_bound_accuses_and_another_failure_does_not():
    said = answer(half_noise="inf", redraw_on_replay="nan")
    (finding,) = judged(LIBRARY, [(CLAIMS[0], said)])
    assert "caught 1 of" in finding.measurement


def test_a_library_without_delta_is_allowed_what_delta_allows():
    claim = Claim(1.0, 1e-6)
    assert claim.allowed(takes_delta=True) == 1.0
    worst = math.log(math.e + claim.delta / comparison.LEAST_RATE)
    assert worst <= claim.allowed(takes_delta=False) < 1.002


def test_both_claims_are_of_one_mu():
    for claim in CLAIMS:
        mu, epsilon = GUARANTEE.mu, claim.epsilon
        delta = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(
            -mu / 2 - epsilon / mu
        )
        assert delta == pytest.approx(claim.delta, rel=1e-6)


# Missing libraries ------------------------------------------------------------------------------


def test_a_library_that_cannot_be_installed_is_told_and_nothing_fails(monkeypatch):
    def absent(auditor, path):
        raise Absent("ERROR: no such version")

    def drawn(case, copies, seed):
        return normals(4000, shift=GUARANTEE.mu if case is SOUND else 9.0)

    monkeypatch.setattr(comparison, "scored", drawn)
    monkeypatch.setattr(comparison, "asked", absent)
    monkeypatch.setattr(comparison, "offered", lambda name: None)
    ours, *others = comparison.part(QUICK).findings
    assert (ours.subject, ours.passed) == ("μ-test (ours)", True)
    assert all(finding.passed is None for finding in others)
    told = {finding.subject: finding.measurement for finding in others}
    for auditor in auditors.AUDITORS:
        assert told[auditor.title] == "not installed, or no result: ERROR: no such version"
    assert told[", ".join(comparison.SOUGHT)] == "pip finds no packages with these names"


@pytest.mark.parametrize(
    ("code", "printed", "expected"),
    [
        (0, "privacy-meter (1.0.1)\nAvailable versions: 1.0.1", "1.0.1"),
        (1, "", None),
        (0, "rubbish", None),
    ],
)
def test_a_name_is_looked_for_and_nothing_is_installed(monkeypatch, code, printed, expected):
    asked = []

    def run(command, **_):
        asked.append(command)
        return subprocess.CompletedProcess(command, code, printed, "")

    monkeypatch.setattr(auditors, "ran", run)
    assert auditors.offered("privacy-meter") == expected
    assert "install" not in asked[0]
