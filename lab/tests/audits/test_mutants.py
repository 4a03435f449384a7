"""The audit detects changes in hushfade's own lines, and passes the unchanged code."""

import pytest

from hushfade.audit import QUICK, TINY
from hushfade.audit.review import BROKEN
from lab.audits.mutants import RIGHT, Answer, audited, edited, sought
from lab.audits.mutations import MUTANTS, PLANS, Mutant, one


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """One directory for all tests, which hold one copy of the package at a time."""
    return tmp_path_factory.mktemp("mutants")


def test_every_mutant_still_applies():
    wrong = {}
    for name, mutant in MUTANTS.items():
        try:
            files = edited(mutant.edits)
            for file, text in files.items():
                compile(text, file, "exec")
        except (AssertionError, FileNotFoundError, SyntaxError) as error:
            wrong[name] = str(error)
        else:
            assert files, name
        assert set(mutant.plans) <= set(PLANS), name
    assert wrong == {}


def test_there_are_as_many_mutants_as_promised():
    assert len(MUTANTS) >= 50
    assert len({mutant.edits for mutant in MUTANTS.values()}) == len(MUTANTS)


def test_edits_of_one_file_follow_each_other():
    found = edited(
        [
            ("stream/ownership.py", "_WIPE_ON_FORK = 18", "_A = 1"),
            ("stream/ownership.py", "_A = 1", "_B = 1"),
        ]
    )
    assert "_B = 1" in found["stream/ownership.py"]
    assert "_A = 1" not in found["stream/ownership.py"]


@pytest.mark.parametrize("old", ["no such line", "self"])
def test_a_mutant_that_does_not_apply_exactly_once_is_an_error(old):
    with pytest.raises(AssertionError, match=r"ownership\.py must have .* once"):
        edited([("stream/ownership.py", old, "")])


def test_a_mutant_that_cannot_be_imported_is_an_error(directory):
    broken = one("planning/planned_mechanism.py", "import math\n", "import no_such_module\n")
    with pytest.raises(RuntimeError, match="no_such_module"):
        audited(broken.edits, broken.plans, directory, TINY)


def test_a_check_that_breaks_down_has_noticed_nothing():
    assert Answer(9, (BROKEN, BROKEN)).accusing == []
    assert str(Answer(9, (BROKEN, BROKEN))) == "2 of 9 checks fail: all of them raise errors"
    assert str(Answer(9, (BROKEN, "replay", "replay"))) == "3 of 9 checks fail: replay"
    assert str(Answer(9, ())) == "none of 9 checks fails"


@pytest.mark.slow
def test_the_reduced_audit_notices_a_mutant(directory):
    name = "a live step subtracts its noise"
    assert sought(name, MUTANTS[name], directory, TINY).verdict == "caught"


@pytest.mark.long
def test_the_reduced_audit_does_not_accuse_the_code_as_it_is(directory):
    assert sought(RIGHT, Mutant(()), directory, TINY).verdict == "passed"


@pytest.mark.long
@pytest.mark.parametrize("name", MUTANTS)
def test_the_audit_notices(name, directory):
    assert sought(name, MUTANTS[name], directory, QUICK).verdict == "caught"


@pytest.mark.long
def test_the_audit_does_not_accuse_the_code_as_it_is(directory):
    assert sought(RIGHT, Mutant((), tuple(PLANS)), directory, QUICK).verdict == "passed"
