"""The audit notices bugs that wait for a form, key, direction, sign or size of the input."""

import pytest

from hushfade.audit.randomness import Chance
from hushfade.audit.review import BROKEN, checked
from hushfade.audit.sensitivity import RECORDS
from tests.audit.bugs_records import BUGS, SYMMETRIC, VECTORS
from tests.audit.test_bugs import test_the_right_implementation_is_not_accused as not_accused

pytestmark = pytest.mark.long
STATISTICAL = {"noise in releases", "released error"}


@pytest.mark.parametrize("name", BUGS)
def test_the_audit_notices(name):
    bug = BUGS[name]
    found = list(checked(bug.subject, {"a plan": bug.plan}, bug.size, Chance(5)))
    failed = {finding.check for finding in found if finding.passed is False}
    assert RECORDS in failed
    assert BROKEN not in failed


@pytest.mark.parametrize("name", ["negative totals count ten times", "large totals have no noise"])
def test_statistics_notice_too_what_waits_for_a_sign_or_a_size(name):
    bug = BUGS[name]
    found = list(checked(bug.subject, {"a plan": bug.plan}, bug.size, Chance(6)))
    assert STATISTICAL & {finding.check for finding in found if finding.passed is False}


@pytest.mark.parametrize("plan", [VECTORS, SYMMETRIC], ids=["vectors", "symmetric"])
def test_the_right_implementation_is_not_accused(plan):
    not_accused(plan)
