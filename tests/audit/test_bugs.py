"""The audit notices every seeded bug, and does not accuse hushfade on the same plans."""

import pytest

from hushfade.audit import TINY
from hushfade.audit.randomness import Chance
from hushfade.audit.review import BROKEN, checked
from tests.audit.bugs import BUGS, CROWDED, ENDING, KEYED, OFTEN, SINGLE, SWAPPED, Seeded
from tests.audit.bugs_noise import NOISE_BUGS, TEN

ALL = BUGS | NOISE_BUGS
# one of each kind; all of them take minutes, and some 400,000 streams until two meet
SOON = {
    "half noise", "forgotten norm of R", "clip after sum", "wrong neighbours",
    "redraw on replay: an older state", "off by one: totals enter a step late",
    "key reuse across streams", "fork sharing noise", "float noise", "noise skipped on empty steps",
    "sensitivity from unrounded taps", "participation ignored", "horizon ignored: steps after it",
}  # fmt: skip
NAMED = [pytest.param(name, marks=() if name in SOON else pytest.mark.long) for name in ALL]


@pytest.mark.parametrize("name", NAMED)
def test_the_audit_notices(name):
    bug = ALL[name]
    findings = checked(bug.subject, {"a plan": bug.plan}, bug.size, Chance(5))
    # a check that only broke down has noticed nothing
    assert any(found.passed is False and found.check != BROKEN for found in findings)


@pytest.mark.parametrize(
    "plan",
    [
        SINGLE, KEYED, ENDING,
        *(pytest.param(plan, marks=pytest.mark.long) for plan in (SWAPPED, OFTEN, CROWDED, TEN)),
    ],
    ids=lambda plan: repr(plan)[:60],
)  # fmt: skip
def test_the_right_implementation_is_not_accused(plan):
    findings = list(checked(Seeded(), {"a plan": plan}, TINY, Chance(5)))
    assert [found for found in findings if found.passed is False] == []
    assert len(findings) > 30


def test_there_are_as_many_bugs_as_promised():
    assert set(ALL) > SOON
    assert len(ALL) == len(BUGS) + len(NOISE_BUGS) >= 60
