"""The audit detects every seeded bug, and passes hushfade on the same plans."""

import pytest

from hushfade.audit import TINY, accuracy, likelihood_ratio, plan_claims, replay, sensitivity
from hushfade.audit.accuracy import sources
from hushfade.audit.cases import few
from hushfade.audit.independence import bindings
from hushfade.audit.precision import CHECK, last_bits
from hushfade.audit.randomness import Chance
from hushfade.audit.recovered_noise import NOISE
from hushfade.audit.review import BROKEN, checked
from hushfade.audit.sensitivity import RECORDS
from lab.audits.seeded_bugs import SEEDED_BUGS, noise_laws, records
from lab.audits.seeded_bugs.added_floats import Adding
from lab.audits.seeded_bugs.subjects import (
    COUNTS,
    CROWDED,
    ENDING,
    HUBER,
    KEYED,
    LAPLACE,
    MOVED,
    OFTEN,
    SINGLE,
    SWAPPED,
    SYMMETRIC,
    TEN,
    VECTORS,
    Seeded,
)

# One bug of each kind.  All bugs together take minutes: some need 400,000 streams for a collision.
SOON = {
    "half noise", "norm of R ignored", "clip after sum", "wrong neighbours",
    "redraw on replay: an older state", "off by one: totals enter a step late",
    "key reuse across streams", "fork sharing noise", "float noise", "noise skipped on empty steps",
    "sensitivity from unrounded taps", "participation ignored", "horizon ignored: steps after it",
    "fractions are put on a grid of 1 after their sum",
}  # fmt: skip
# The check that must detect each bug in Laplace and Huber noise.
LAWS = {
    "Laplace slope 5 % too steep": plan_claims.CHECK,
    "Huber slope 5 % too steep": plan_claims.CHECK,
    "Laplace noise drawn 5 % too steep": NOISE,
    "Huber noise drawn 5 % too steep": NOISE,
    "Huber core drawn twice as wide": NOISE,
    "Huber core planned twice as wide": plan_claims.CHECK,
    "first tap missing from the accounting": sensitivity.CHECK,
    "last tap missing from the accounting": sensitivity.CHECK,
    "noise planned without the first tap": likelihood_ratio.CHECK,
    "delta exceeded by 5 %, as if slack were not needed": plan_claims.CHECK,
    "Laplace noise drawn for Gaussian noise": NOISE,
    "Laplace noise planned for Gaussian noise": plan_claims.CHECK,
    "a record that moves between keys counts once": sensitivity.CHECK,
    "a level of blocks missing from the accounting": sensitivity.CHECK,
    "noise planned for a level of blocks less": plan_claims.CHECK,
}
# These bugs show in one form, key, direction, sign or size of the input only.
FORMS = set(records.BUGS) - SOON - {"nan counts as a number", "totals saturate"}
SOON_CHECKED = {plan_claims.CHECK, sensitivity.CHECK}
STATISTICAL = {"noise in releases", "released error"}


def failed(findings):
    return [finding for finding in findings if finding.passed is False]


def audited(name, seed=5):
    bug = SEEDED_BUGS[name]
    return failed(checked(bug.subject, {"a plan": bug.plan}, bug.size, Chance(seed)))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in SOON else pytest.mark.long)
        for name in SEEDED_BUGS
        if name not in FORMS and name not in LAWS
    ],
)
def test_the_audit_notices(name):
    # a check that raised an error has noticed nothing; the first that failed is enough
    bug = SEEDED_BUGS[name]
    findings = checked(bug.subject, {"a plan": bug.plan}, bug.size, Chance(5))
    assert any(finding.passed is False and finding.check != BROKEN for finding in findings)


@pytest.mark.long
@pytest.mark.parametrize("name", LAWS)
def test_the_named_check_notices_a_bug_in_a_law(name):
    assert LAWS[name] in {finding.check for finding in audited(name)}


@pytest.mark.parametrize("name", [name for name, check in LAWS.items() if check in SOON_CHECKED])
def test_the_exact_checks_alone_notice_a_bug_in_a_law(name):
    bug = SEEDED_BUGS[name]
    found = [
        *plan_claims.promise(bug.subject, bug.plan, "a plan"),
        *sensitivity.sensitivity(bug.subject, bug.plan, "a plan", Chance(1)),
    ]
    assert LAWS[name] in {finding.check for finding in failed(found)}


@pytest.mark.parametrize("name", [name for name, check in LAWS.items() if check == NOISE])
def test_the_noise_alone_shows_a_wrong_law(name):
    bug = SEEDED_BUGS[name]
    found = failed(accuracy.noise(bug.subject, bug.plan, "a plan", TINY, Chance(1)))
    assert {"a plan", "a plan, scale"} & {finding.subject for finding in found}


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(FORMS))
def test_the_check_of_records_notices(name):
    checks = {finding.check for finding in audited(name)}
    assert RECORDS in checks
    assert BROKEN not in checks


@pytest.mark.long
@pytest.mark.parametrize("name", ["negative totals count ten times", "large totals have no noise"])
def test_statistics_notice_bugs_that_need_a_sign_or_a_size(name):
    assert STATISTICAL & {finding.check for finding in audited(name, seed=6)}


@pytest.mark.parametrize(
    "plan",
    [
        SINGLE,
        KEYED,
        ENDING,
        LAPLACE,
        HUBER,
        *(
            pytest.param(plan, marks=pytest.mark.long)
            for plan in (SWAPPED, OFTEN, CROWDED, TEN, VECTORS, SYMMETRIC, COUNTS, MOVED)
        ),
    ],
    ids=lambda plan: repr(plan)[:60],
)
def test_the_right_implementation_is_not_accused(plan):
    findings = list(checked(Seeded(), {"a plan": plan}, TINY, Chance(5)))
    assert failed(findings) == []
    assert len(findings) > 30


def test_there_are_as_many_bugs_as_promised():
    assert set(SEEDED_BUGS) > SOON
    assert set(LAWS) == set(noise_laws.BUGS)
    assert len(SEEDED_BUGS) >= 91
    assert len(FORMS) == 11


# Single checks -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("default noise a hundredth", "default noise, scale"),
        ("default noise with a mean", "default noise, mean"),
        ("default noise from a seed", "default noise, repeats"),
        ("fresh noise shared between keys", "fresh noise, keys"),
        ("keyed noise a hundredth", "keyed noise, loaded, scale"),
        ("loaded with default noise, a hundredth", "default noise, loaded, scale"),
        ("loaded with fresh noise, the same key", "fresh noise, loaded, repeats"),
    ],
)
def test_a_wrong_source_is_named(name, seen):
    bug = SEEDED_BUGS[name]
    findings = failed(sources(bug.subject, bug.plan, "a plan", TINY, Chance(2)))
    subjects = {finding.subject for finding in findings}
    assert f"a plan, {seen}" in subjects
    kind = seen.split(", ")[0]
    assert all(subject.startswith(f"a plan, {kind}") for subject in subjects)  # and no other


@pytest.mark.parametrize(
    "name",
    [
        "stream's name cut to 2 letters",
        "stream's name cut to 40 letters",
        "epoch modulo 2",
        "epoch of 32 bits",
        "the plan is not in the key",
        "31 bytes of the key",
        "name and epoch joined without a separator",
        "an epoch is another epoch, some steps later",
    ],
)
def test_a_binding_to_less_is_noticed_by_the_bindings_alone(name):
    bug = SEEDED_BUGS[name]
    findings = failed(bindings(bug.subject, bug.plan, "a plan", Chance(1)))
    assert "a plan, keyed noise" in {finding.subject for finding in findings}


# windows and counts add whole numbers here, which floats do without rounding
EXACT = ("window", "counting / block sums")
ROUNDED = {name: plan for name, plan in few().items() if not name.startswith(EXACT)}


@pytest.mark.parametrize("plan", ROUNDED.values(), ids=ROUNDED)
def test_a_true_sum_and_noise_added_as_floats_are_seen_wherever_floats_round(plan):
    assert last_bits(Adding(), plan, "a plan", Chance(3))[0].passed is False


def test_a_true_sum_and_noise_added_as_floats_are_right_but_for_their_last_bits():
    findings = failed(checked(Adding(), {"a plan": SINGLE}, TINY, Chance(5)))
    assert {(finding.check, finding.subject) for finding in findings} == {
        (CHECK, "a plan, last bits"),
        (replay.KEYED, "a plan, 40 traces"),  # their noise is not the plan's, and is refused
    }
