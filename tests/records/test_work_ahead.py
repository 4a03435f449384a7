"""Work ahead: the same items, the same exceptions, and nothing goes on after the caller stops."""

import threading
import time

import pytest

from hushfade.records.work_ahead import ahead


def counted(most, seen, fail_at=None):
    """Numbers, each noted when it is made; notes "closed" at the end."""
    try:
        for number in range(most):
            if number == fail_at:
                raise ValueError(number)
            seen.append(number)
            yield number
    finally:
        seen.append("closed")


def threads():
    return [thread for thread in threading.enumerate() if thread.name.endswith("(_fill)")]


def test_items_keep_their_order():
    for most in (0, 1, 2, 3, 4, 100):
        seen = []
        assert list(ahead(counted(most, seen))) == [*range(most)]
        assert seen == [*range(most), "closed"]
        assert list(ahead(ahead(range(most)))) == [*range(most)]
    assert not threads()


def test_an_exception_comes_in_its_place():
    for fail_at in (0, 1, 2, 3, 20):
        seen, found = [], []
        items = ahead(counted(30, seen, fail_at))
        with pytest.raises(ValueError, match=str(fail_at)):
            found.extend(items)
        assert found == [*range(fail_at)]
        assert seen == [*range(fail_at), "closed"]
    assert not threads()


def test_few_items_are_made_in_advance():
    seen, items = [], None
    items = ahead(counted(1000, seen))
    for _ in range(5):
        next(items)
    time.sleep(0.3)
    assert len(seen) <= 5 + 2 + 1 + 1  # two wait, one is waiting for room, and one is made
    items.close()


def test_a_caller_who_stops_closes_the_source():
    for used in (1, 2, 3, 10):
        seen = []
        items = ahead(counted(10_000, seen))
        for _ in range(used):
            next(items)
        items.close()
        assert seen[-1] == "closed"
        assert len(seen) < 100
    assert not threads()


def test_short_inputs_need_no_thread():
    before = threading.active_count()
    for number in ahead(iter(range(2))):
        assert threading.active_count() == before, number
