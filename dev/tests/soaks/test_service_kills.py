"""The service killed under load: the soak in short, with the builds that it must catch."""

import pytest

from dev.soaks import service_kills, service_process


def test_a_service_that_is_killed_loses_nothing_and_neither_counts_nor_draws_twice():
    found = service_kills.soak(14)
    assert found.starts > 5
    assert found.at_points > 3
    assert found.acknowledged > 50
    assert found.steps > 5
    assert found.events > 5
    assert found.flawless, found


def test_so_it_is_on_postgresql(postgres_server):
    found = service_kills.soak(6, server=postgres_server)
    assert found.acknowledged > 10
    assert found.flawless, found


def test_a_build_that_publishes_before_it_commits_is_caught():
    points = ("after draw", "before commit")
    found = service_kills.soak(
        8, seeded=False, build=service_process.publishing_before_commit, points=points
    )
    assert found.drawn_twice > 0
    assert found.changed > 0
    assert not found.flawless


@pytest.mark.parametrize(
    ("build", "point", "lost", "twice"),
    [
        (service_process.acknowledging_before_commit, "before commit", True, False),
        (service_process.forgetting_senders, "after commit", False, True),
    ],
)
def test_a_build_that_loses_or_counts_twice_is_caught(build, point, lost, twice):
    found = service_kills.soak(8, build=build, points=(point,))
    assert (found.lost > 0, found.twice > 0) == (lost, twice)
    assert not found.flawless
