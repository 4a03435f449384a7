"""The service with limits per person killed under load: a short soak, and builds it must catch."""

from lab.soaks import person_kills, service_process


def test_after_kills_exactly_the_records_within_the_limits_count():
    for kind in person_kills.UNITS:
        found = person_kills.soak(3, kind)
        assert found.service.acknowledged > 20
        assert found.over_limit > 20
        assert found.flawless, (kind, found)


def test_a_build_that_keeps_persons_only_in_memory_is_caught():
    found = person_kills.soak(4, "stream", build=service_process.forgetting_persons)
    assert found.too_much > 0


def test_a_build_that_commits_persons_before_the_records_is_caught():
    build = service_process.committing_persons_first
    found = person_kills.soak(8, "step", build=build, points=(service_process.BETWEEN,))
    assert found.too_little > 0


def test_a_build_in_which_repeated_batches_use_up_limits_is_caught():
    found = person_kills.soak(3, "step", build=service_process.counting_repeated_persons)
    assert found.too_little > 0


def test_the_independent_rule_agrees_with_values_by_hand():
    records = [
        person_kills.Arrival(step, "a", number, "x", 10 * step + number)
        for number, step in enumerate([5, 2, 2, 2, 3, 6, 7])
    ]
    expected = {"stream": [21, 22, 50, 76], "period": [21, 22, 23, 34]}
    for kind, values in expected.items():
        found = [x.value for x in person_kills.within_limits(person_kills.UNITS[kind], records)]
        assert found == values, kind
