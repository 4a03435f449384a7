"""The short form of the comparison of neighbouring inputs, and what is expected by hand.

test_neighbours_spark.py runs it on Spark tables.  `make soak` runs the long form.
"""

import re
from dataclasses import replace

import pytest

from dev.soaks.neighbours.__main__ import main
from dev.soaks.neighbours.all_paths import all_paths
from dev.soaks.neighbours.cases import case_of, right_factors, too_large, unfair_move
from dev.soaks.neighbours.meaning import Fault, Meaning, Rules, Steps
from dev.soaks.neighbours.report_parts import NAMES
from dev.soaks.neighbours.seeded_bugs import BUGS
from dev.soaks.neighbours.settings import KEYS, plan_of
from dev.soaks.neighbours.spark_path import NAME as SPARK

NOT_ON_SPARK = [bug for bug in BUGS if bug.path != SPARK]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return all_paths(tmp_path_factory.mktemp("inputs"))


def test_one_record_changes_its_own_contribution_alone_on_every_path(capsys):
    words = [word for name in NAMES if name != SPARK for word in ("--path", name)]
    code = main(["--short", *words])
    text = capsys.readouterr().out
    assert code == 0, text
    assert f"caught {len(NOT_ON_SPARK)} of {len(NOT_ON_SPARK)}" in text


def test_the_command_repeats_a_violation_by_its_path_and_seed(capsys):
    bug = next(bug for bug in BUGS if bug.path == "JSON lines")
    with bug.planted():
        words = ["--short", "--path", bug.path]
        assert main(words) == 1
        seed = re.search(r"JSON lines, seed (\d+): ", capsys.readouterr().out)[1]
        assert main([*words, "--seed", seed]) == 1
    assert f"the first: JSON lines, seed {seed}: " in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--path", "no such path"])
    assert "invalid choice" in capsys.readouterr().err


def test_cases_have_malformed_records_and_all_kinds_of_neighbours(paths):
    for path in paths.values():
        cases = [case_of(path, seed) for seed in range(60)]
        rules = [path.rules(case.made) for case in cases]
        wrong = [
            any(rule.malformed(meaning) for _, meaning in case.rows + case.others)
            for rule, case in zip(rules, cases, strict=True)
        ]
        assert 10 < sum(wrong) < 50, path.name
        longer = {len(case.others) - len(case.rows) for case in cases}
        assert longer == ({0} if path.by_position else {-1, 0, 1})


# What is expected, by hand ----------------------------------------------------------------------


RULES = Rules(plan_of(1, True, 1), Steps(0, 10, 3))  # -4 to 4 in whole numbers; twice, two apart


def record(time, value=1.0, key="a", user=None):
    return Meaning(time, value, key, user)


def test_units_by_hand():
    assert [RULES.units(value) for value in (0.5, -0.5, 1.49, 9.0, -1e308)] == [1, 0, 1, 4, -4]


def test_totals_by_hand():
    records = [record(0), record(9, 2.0), record(10, 3.0, "b"), record(29, 2.0**70), record(-1),
               record(30), record(5, key="x"), record(5, Fault.EMPTY)]  # fmt: skip
    assert RULES.totals(records) == {(0, 0): 3, (1, 1): 3, (2, 0): 4}


def test_persons_by_hand():
    """Two steps of each person count, two apart, with one record each."""
    rules = replace(RULES, persons=True)
    records = [record(0, user="ann"), record(1, user="ann"), record(10, user="ann"),
               record(20, user="ann"), record(0, user="bob")]  # fmt: skip
    assert rules.totals(records) == {(0, 0): 2, (2, 0): 1}


def test_what_is_malformed_by_hand():
    assert not RULES.malformed(record(5, key="x"))
    assert replace(RULES, declared_keys_only=True).malformed(record(5, key="x"))
    assert RULES.malformed(record(5, Fault.EMPTY))
    assert not replace(RULES, skip_empty=True).malformed(record(5, Fault.EMPTY))
    for wrong in (record(Fault.EMPTY), record(5, Fault.MALFORMED), record(5, key=Fault.MALFORMED)):
        assert replace(RULES, skip_empty=True).malformed(wrong)
    assert RULES.malformed(replace(record(5), broken=True))


def test_an_unfair_move_is_seen():
    assert RULES.plan.keys == KEYS
    assert unfair_move(RULES, {(0, 0): 1}, {(0, 0): 5}, changed=False) is None
    assert unfair_move(RULES, {(0, 0): 1}, {(0, 0): 6}, changed=False) is not None
    assert unfair_move(RULES, {(0, 0): 1}, {(1, 0): 1}, changed=False) is not None
    assert unfair_move(RULES, {(0, 0): 1}, {(1, 0): 1}, changed=True) is None
    assert unfair_move(RULES, {(0, 0): -4}, {(0, 0): 4}, changed=True) is None
    assert unfair_move(RULES, {}, {(0, 0): 1, (1, 0): 1, (2, 0): 1}, changed=True) is not None


def test_a_shift_that_is_too_large_is_seen():
    """One step changes by at most 4, and two steps of a person are at least two apart."""
    assert too_large(RULES, {(0, 0): 4, (2, 1): -4}) is None
    assert too_large(RULES, {(0, 0): 5}) is not None
    assert too_large(RULES, {(0, 0): 1, (2, 0): 1, (4, 0): 1}) is not None
    assert too_large(RULES, {(0, 0): 4, (2, 0): 4}) is None
    assert "R x" in too_large(
        RULES, {(0, 0): 4, (1, 0): 4}
    )  # closer together than the limits allow


def test_right_factors_have_columns_that_overlap():
    assert all(pair.taps.support > 2 for pair in right_factors())
