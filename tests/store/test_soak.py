import pytest

from hushfade.store.live import Live
from soaks import kills


@pytest.mark.parametrize("seeded", [True, False])
def test_killed_again_and_again_nothing_is_lost_counted_twice_or_drawn_twice(seeded):
    found = kills.soak(24, seeded=seeded)
    assert found.kills == 24
    assert found.acknowledged > 20
    assert (found.lost, found.drawn_twice, found.changed) == (0, 0, 0)
    assert found.verified


def test_a_build_that_publishes_before_it_commits_is_caught():
    found = kills.soak(24, seeded=False, control=True)
    assert found.drawn_twice > 0
    assert found.changed > 0


def test_a_build_that_counts_a_repeated_batch_again_is_caught(monkeypatch):
    accept = Live.accept

    def forgetful(self, database, batch):
        self.senders.clear()
        return accept(self, database, batch)

    monkeypatch.setattr(Live, "accept", forgetful)
    assert kills.soak(24, seeded=True).lost > 0
