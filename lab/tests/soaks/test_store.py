import os
from unittest.mock import patch

import pytest

import hushfade as hf
from hushfade.store import schema
from hushfade.store.live_streams import Live
from hushfade.store.open_store import Settled
from lab.soaks import (
    concurrent_charges,
    concurrent_writers,
    damaged_logs,
    disk_faults,
    failing_disk,
    store_kills,
)

EXACT = (0, 0, 0)


def wrong(found):
    return found.lost, found.drawn_twice, found.changed


# Kills ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seeded", [True, False])
def test_killed_again_and_again_nothing_is_lost_counted_twice_or_drawn_twice(seeded):
    found = store_kills.soak(24, seeded=seeded)
    assert found.kills == 24
    assert found.acknowledged > 20
    assert wrong(found) == EXACT
    assert found.verified


def test_so_it_is_on_postgresql(postgres_server):
    found = store_kills.soak(12, seeded=True, server=postgres_server)
    assert found.acknowledged > 5
    assert wrong(found) == EXACT
    assert found.verified


def test_a_server_that_crashes_below_the_store_loses_and_changes_nothing(postgres_server):
    found = store_kills.crashes(2, postgres_server, seeded=True)
    assert found.acknowledged >= 2
    assert wrong(found) == EXACT
    assert found.verified


def test_a_build_that_publishes_before_it_commits_is_caught():
    found = store_kills.soak(24, seeded=False, control=True)
    assert found.drawn_twice > 0
    assert found.changed > 0


def test_a_build_that_counts_a_repeated_batch_again_is_caught(monkeypatch):
    accept = Live.accept

    def forgetful(self, database, batch):
        self.senders.clear()
        return accept(self, database, batch)

    monkeypatch.setattr(Live, "accept", forgetful)
    assert store_kills.soak(24, seeded=True).lost > 0


# Damaged logs --------------------------------------------------------------------------------


def test_a_log_that_is_cut_or_flipped_anywhere_is_a_committed_prefix_or_refused():
    for found in damaged_logs.damaged(stride=499).values():
        assert found.tried == found.prefixes > 100
        assert len(found.lengths) >= 4
        assert min(found.opened, found.refused) > 10
        assert found.wrong == 0


def test_a_build_that_does_not_read_the_mark_is_caught():
    def unread(database, *_, new_epoch):
        return Settled(schema.name(database))

    with patch("hushfade.store.store.settle", unread):
        found = damaged_logs.damaged(stride=2999)["cut"]
    assert found.wrong > 10


def test_a_log_whose_checksums_were_not_read_would_be_caught(tmp_path):
    sample = damaged_logs.sample()
    assert damaged_logs.judged(sample, _put(tmp_path, sample, sample.base)).wrong == 0
    flipped = bytearray(sample.base)
    place = sample.base.index(b"clinics")
    flipped[place] ^= 1
    assert damaged_logs.judged(sample, _put(tmp_path, sample, bytes(flipped))).wrong == 1


def _put(directory, sample, base):
    for old in directory.iterdir():
        old.unlink()
    path = directory / "releases.db"
    path.write_bytes(base)
    (directory / "releases.db.mark").write_bytes(sample.mark)
    return path


# Failing disks -------------------------------------------------------------------------------


@pytest.mark.parametrize("checkpoint", [False, True])
@pytest.mark.parametrize("kind", failing_disk.KINDS)
def test_a_disk_that_fails_at_any_write_or_sync_stops_the_store_and_nothing_is_lost(
    kind, checkpoint
):
    found = disk_faults.everywhere(kind, checkpoint=checkpoint)
    assert found.tried >= 4
    assert found.tried - found.stopped == kind.startswith("power")  # after the last answer
    assert found.wrong == 0


@pytest.mark.parametrize("kind", ["power at a write", "power at a sync"])
def test_half_of_what_was_not_synced_does_no_harm(kind):
    found = disk_faults.everywhere(kind, kept=0.5)
    assert found.wrong == 0


def test_a_build_that_does_not_sync_its_commits_is_caught():
    assert disk_faults.everywhere("power at a write", synchronous="NORMAL").wrong > 5


# One writer ----------------------------------------------------------------------------------


@pytest.mark.parametrize("processes", [2, 4])
def test_of_processes_that_open_a_store_at_once_one_may_write(processes):
    found = concurrent_writers.contest(8, processes=processes)
    assert (found.one_won, found.steps, found.verified) == (8, 8, True)


def test_so_it_is_for_one_database_on_postgresql(postgres_server):
    found = concurrent_writers.contest(2, server=postgres_server)
    assert (found.one_won, found.steps, found.verified) == (2, 2, True)


def test_a_build_without_a_lock_is_caught(monkeypatch):
    monkeypatch.setattr(
        "hushfade.store.process_lock.locked", lambda path: os.open(os.devnull, os.O_RDONLY)
    )
    assert concurrent_writers.contest(4).one_won < 4


def test_threads_that_are_killed_do_not_overspend(monkeypatch):
    monkeypatch.setattr(concurrent_charges, "WHOLE", hf.Guarantee(epsilon=0.4, delta=1e-6))
    found = concurrent_charges.charges(60)
    assert found.sound
    assert found.granted < found.asked
    assert found.kills > 1


def test_charges_that_are_not_counted_are_noticed(monkeypatch):
    monkeypatch.setattr(concurrent_charges, "WHOLE", hf.Guarantee(epsilon=0.4, delta=1e-6))
    monkeypatch.setattr("hushfade.privacy.account.Account.affords", lambda account, spending: True)
    assert concurrent_charges.charges(60).overspent > 0
