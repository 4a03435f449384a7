"""The service killed under load: a short soak, with the builds that it must catch."""

from lab.soaks import service_kills, service_process


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


def test_a_build_that_acknowledges_before_it_commits_is_caught():
    build = service_process.acknowledging_before_commit
    found = service_kills.soak(8, build=build, points=("before commit",))
    assert found.lost > 0
    assert not found.flawless


def test_a_build_that_forgets_its_senders_is_caught():
    # How often it counts a batch has no limit.  Four times in one step carry into the next batch's
    # digit and look like a loss, so `lost` is not asserted here.
    build = service_process.forgetting_senders
    found = service_kills.soak(8, build=build, points=("after commit",))
    assert found.twice > 0
    assert not found.flawless
