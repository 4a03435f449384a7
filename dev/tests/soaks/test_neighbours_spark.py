"""A sample of the cases on Spark tables."""

import os
import shutil

import pytest

from dev.soaks.neighbours import spark_path
from dev.soaks.neighbours.seeded_bugs import BUGS


@pytest.fixture(scope="module")
def session():
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed: run dev/scripts/make-java")
    with spark_path.session() as made:
        yield made


def test_one_record_changes_its_own_contribution_alone(session):
    for seed in (2, 3):  # with persons, and without
        spark_path.check_job(session, seed, 60)


def test_the_seeded_bug_is_caught(session):
    (bug,) = [bug for bug in BUGS if bug.path == spark_path.NAME]
    with bug.planted(), pytest.raises(spark_path.Violation, match="expected"):
        spark_path.check_job(session, 3, 30)
