"""Records, statistics and joint plans are the recorded ones."""

import pytest

from tests.golden import files
from tests.golden.test_golden import same


@pytest.mark.parametrize("group", ["records", "statistics"])
def test_plans_and_streams_are_the_recorded_ones(group):
    same(files.group_differences(group))


def test_joint_plans_are_the_recorded_ones():
    same(files.joint_differences())
