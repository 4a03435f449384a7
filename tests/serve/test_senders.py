"""Senders of one token: what each is told depends on nobody else, and nobody can use up a number.

A token is a trust domain.  Whoever has it and knows the name of a sender can still send in that
name.  What can be prevented is that an answer tells about others, and that one odd number makes all
later batches of a sender look repeated.
"""

import numpy as np
import pytest

from hushfade.serve.strict_json import LARGEST
from hushfade.store import Batch, live_streams
from hushfade.store.live_streams import WINDOW
from tests.serve.client import UNIT

LINES = {"Content-Type": "application/x-ndjson"}


@pytest.fixture
def used(client):
    """A service with a closed step, to which patient-17 has sent batches 0 to 4."""
    client.send([1], 0, sender="patient-17")
    client.close_step(1)
    for sequence in range(1, 5):
        assert client.send([1], sequence, sender="patient-17").status_code == 200
    return client


def test_no_answer_tells_whether_somebody_used_a_name_or_a_number(used):
    """Probed with a name that is in use and with a name that is not."""
    for records in ([], [1], [0.5, 0.25]):
        for more in ({}, {"step": 1}, {"step": 2}, {"step": 3}):
            for sequence in range(7):
                known, unknown = (
                    used.send(records, sequence, sender=f"patient-{number}", **more)
                    for number in (17, 18 + sequence)
                )
                assert (known.status_code, known.content) == (unknown.status_code, unknown.content)
                assert b"repeated" not in known.content
                assert b"last" not in known.content
    path = "/v1/streams/late/records?sender=patient-{}&sequence=2"
    known, unknown = (
        used.request("POST", path.format(number), content=b"1\n", headers=LINES)
        for number in (17, 99)
    )
    assert known.content == unknown.content == b'{"status":"accepted","records":1}'


def disabled(client):
    """Does the largest number, sent in the name of a sender, discard what it sends next?"""
    client.send([], LARGEST, sender="patient-17")
    before = client.totals()
    assert client.send([1], 5, sender="patient-17").json()["status"] == "accepted"
    return client.totals() == before


def test_no_number_discards_what_a_sender_sends_later(used):
    assert not disabled(used)


def test_the_test_notices_a_window_without_an_end(used, monkeypatch):
    """The bug: a sequence only has to rise."""
    monkeypatch.setattr(live_streams, "WINDOW", LARGEST + 1)
    assert disabled(used)


def test_a_sequence_is_at_most_the_window_above_the_last_one(client):
    last = -1  # of a new sender
    for ahead in (WINDOW, 1, WINDOW, 17):
        state = client.state()
        for too_far in (last + WINDOW + 1, last + 10**6, LARGEST):
            found = client.send([1], too_far)
            assert found.status_code == 409
            assert found.json() == {
                "error": f"sequence must count the sender's batches: at most {WINDOW} above its "
                f"last one, and below {WINDOW} for a new sender",
                "code": "sequence",
            }
        assert client.state() == state
        last += ahead
        assert client.send([1], last).json() == {"status": "accepted", "records": 1}
    assert client.totals() == [4 * UNIT]


def test_a_sender_that_repeats_until_it_is_acknowledged_counts_once(start):
    """Over restarts of the service, and with a step that closes in between."""
    client = start()
    for sequence in range(6):
        for _ in range(3):
            assert client.send([1], sequence).json() == {"status": "accepted", "records": 1}
        if sequence % 2:
            client = start()
        if sequence == 3:
            client.close_step(1)
    assert client.totals() == [2 * UNIT]
    private = client.get("/v1/streams/late").json()["not_for_publication"]
    assert private == {"late": 0, "repeated": 12, "open_records": 2}


def test_a_repeated_batch_of_a_step_that_has_closed_is_late_and_stays_counted(client):
    """Its first answer may be lost: whether it counts cannot be told without telling of others."""
    client.send([1], 0, step=1)
    client.close_step(1)
    for sequence in (0, 1):
        found = client.send([1], sequence, step=1).json()
        assert found == {"status": "late", "records": 1}
    private = client.get("/v1/streams/late").json()["not_for_publication"]
    assert private == {"late": 1, "repeated": 1, "open_records": 0}


def test_one_batch_that_is_too_far_ahead_leaves_the_others_of_a_commit_as_they_are(client):
    store = client.store
    one = np.array([0]), np.array([UNIT])
    batches = [
        Batch("late", name, at, 1, *one) for name, at in (("a", 0), ("b", LARGEST), ("c", 9))
    ]
    assert store.accept(batches) == ["accepted", "ahead", "accepted"]
    assert store.live("late").senders == {"a": 0, "c": 9}
    assert client.totals() == [2 * UNIT]
