"""Guarantees and units of privacy: plans and streams are the recorded ones."""

import pytest

from tests.golden import files
from tests.golden.test_golden import same


@pytest.mark.parametrize("group", ["guarantees", "units"])
def test_plans_and_streams_are_the_recorded_ones(group):
    same(files.group_differences(group))
