"""The short form of the comparison of neighbouring inputs on Spark tables."""

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

from dev.soaks.neighbours import spark_path
from dev.soaks.neighbours.__main__ import main
from dev.soaks.neighbours.seeded_bugs import BUGS, SeededBug
from hushfade.spark import step_bounds
from hushfade.spark.limits import PersonLimits


@pytest.fixture(scope="module")
def session():
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed: run dev/scripts/make-java")
    with spark_path.session() as made:
        yield made


@pytest.mark.usefixtures("session")
def test_one_record_changes_its_own_contribution_alone(capsys):
    code = main(["--short", "--path", spark_path.NAME])
    assert code == 0, capsys.readouterr().out


def test_one_record_changes_its_own_contribution_alone_in_calendar_steps(session):
    for seed in (3, 11, 19):  # calendar days; limits per person and week, then both
        spark_path.check_job(session, seed, 60)


def utc_days(right):
    """Wrong bounds: 24 hours each, as if no clock changed."""
    return lambda calendar: right(calendar)[0] + np.arange(calendar.steps + 1) * 86_400 * 10**6


def never_renewed(right):
    """Wrong limits: for the life of the stream, whatever the period."""
    return lambda unit, calendar: replace(right(unit, calendar), firsts=None)


def test_the_seeded_bugs_are_caught(session):
    bugs = [(bug, 3) for bug in BUGS if bug.path == spark_path.NAME]
    for seed, owner, name, made in (
        (3, step_bounds, "microseconds", utc_days),
        (19, PersonLimits, "of", never_renewed),
    ):
        bugs.append((SeededBug(name, spark_path.NAME, owner, name, made), seed))
    for bug, seed in bugs:
        with bug.planted(), pytest.raises(spark_path.Violation, match="expected"):
            spark_path.check_job(session, seed, 30)
