import asyncio
from contextlib import closing

import numpy as np
import pytest

from hushfade.errors import Failed, Refused
from hushfade.serve.error_responses import Refusal
from hushfade.serve.writer import GROUP, LANES, Writer, groups_of
from hushfade.store import Batch, Closing, Store
from tests.serve.client import UNIT


def batch(sequence, *, stream="late", sender="a", step=None, lanes=1):
    units = np.full(lanes, UNIT)
    return Batch(stream, sender, sequence, 1, np.arange(lanes), units, step)


@pytest.fixture
def store(client):
    return client.store


def written(store, work, **sizes):
    """What the coroutine of a writer that has not begun returns, and the writer."""
    writer = Writer(store, **sizes)

    async def run():
        try:
            return await work(writer)
        finally:
            await asyncio.to_thread(writer.stop)

    return asyncio.run(run()), writer


def test_all_that_wait_are_committed_together(store):
    async def work(writer):
        waiting = [asyncio.ensure_future(writer.accept(batch(n, sender=f"s{n}"))) for n in range(9)]
        await asyncio.sleep(0)
        writer.start()
        return await asyncio.gather(*waiting)

    answers, writer = written(store, work)
    assert answers == ["accepted"] * 9
    assert writer.commits == 1
    assert store.live("late").totals.tolist() == [9 * UNIT]


def test_one_that_is_refused_does_not_hinder_the_others(store):
    async def work(writer):
        sent = [batch(1), batch(2, step=99), batch(3), batch(1, stream="flights", lanes=4)]
        waiting = [asyncio.ensure_future(writer.accept(x)) for x in sent]
        await asyncio.sleep(0)
        writer.start()
        return await asyncio.gather(*waiting, return_exceptions=True)

    answers, _ = written(store, work)
    assert answers[0] == answers[2] == "accepted"
    assert isinstance(answers[1], Refused)
    assert isinstance(answers[3], ValueError)
    assert store.live("late").totals.tolist() == [2 * UNIT]


def test_changes_keep_their_order(store):
    async def work(writer):
        def close(kept):
            return kept.close_step("late", kept.live("late").steps + 1, closed=0)

        waiting = [
            asyncio.ensure_future(x)
            for x in (
                writer.accept(batch(1, step=1)),
                writer.change(close),
                writer.accept(batch(2, step=1)),
                writer.accept(batch(3, step=2)),
                writer.change(close),
            )
        ]
        await asyncio.sleep(0)
        writer.start()
        return await asyncio.gather(*waiting)

    answers, _ = written(store, work)
    assert [answers[0], answers[2], answers[3]] == ["accepted", "late", "accepted"]
    assert [answers[1].step, answers[4].step] == [1, 2]


@pytest.mark.parametrize(("sizes", "fit"), [({"most": 2}, 2), ({"weight": 30}, 4)])
def test_a_full_queue_refuses_more_and_says_when_to_come_again(store, sizes, fit):
    async def work(writer):
        waiting = []
        for n in range(fit):
            waiting.append(
                asyncio.ensure_future(writer.accept(batch(n, stream="flights", lanes=3)))
            )
            await asyncio.sleep(0)
        with pytest.raises(Refusal) as refusal:
            await writer.accept(batch(fit, stream="flights", lanes=3))
        writer.start()
        answers = await asyncio.gather(*waiting)
        again = await writer.accept(batch(fit, stream="flights", lanes=3))
        return refusal.value, answers, again

    (refusal, answers, again), _ = written(store, work, **sizes)
    assert (refusal.status, refusal.code, refusal.headers) == (503, "busy", {"Retry-After": "1"})
    assert [*answers, again] == ["accepted"] * (fit + 1)


def test_a_service_under_load_refuses_and_loses_nothing_that_it_acknowledged(client):
    client.service.writer._most = 5
    with client.store._turn:  # the disk is slow
        path = "/v1/streams/late/records"
        sent = [
            client.start(
                client.requested(
                    "POST", path, json={"sender": f"s{n}", "sequence": 1, "records": [1]}
                )
            )
            for n in range(40)
        ]
        refused = [x.result(20) for x in sent if _ready(x)]
        assert all(x.status_code == 503 and x.headers["retry-after"] for x in refused)
        assert refused
    answers = [x.result(20).status_code for x in sent]
    assert set(answers) == {200, 503}
    assert client.totals() == [answers.count(200) * UNIT]


def _ready(future, seconds=0.3):
    try:
        future.result(seconds)
    except TimeoutError:
        return False
    return True


def test_what_waits_is_written_before_the_writer_ends_and_nothing_after(store):
    async def work(writer):
        waiting = [asyncio.ensure_future(writer.accept(batch(n, sender=f"s{n}"))) for n in range(5)]
        await asyncio.sleep(0)
        writer.start()
        await asyncio.to_thread(writer.stop)
        with pytest.raises(Failed, match="is stopping"):
            await writer.accept(batch(9))
        return await asyncio.gather(*waiting)

    writer = Writer(store)
    assert asyncio.run(work(writer)) == ["accepted"] * 5
    assert store.live("late").totals.tolist() == [5 * UNIT]


def test_senders_that_wait_when_the_service_stops_are_told_whether_their_batch_is_committed(make):
    """The batches before the disk is full are committed, and the others get 503."""
    client = make()
    store, where = client.store, client.store._where
    accept = store.accept

    def full(batches):
        if any(batch.sender == "s5" for batch in batches):
            store._stopped = True
            raise Failed("the database cannot be written: the disk is full; nothing was published")
        return accept(batches)

    store.accept = full
    path = "/v1/streams/late/records"
    sent = []
    with store._turn:  # the first batch is in progress, and the others wait
        for n in range(10):
            content = {"sender": f"s{n}", "sequence": 1, "records": [1]}
            sent.append(client.start(client.requested("POST", path, json=content)))
            assert not _ready(sent[-1], 0.01)
        stopping = client.start(client.service.stop())
        assert not _ready(stopping, 0.05)
    answers = [one.result(20).status_code for one in sent]
    stopping.result(20)
    client.stop()
    assert set(answers) == {200, 503}
    assert answers[5] == 503
    with closing(Store.open(where)) as kept:
        senders = kept.live("late").senders
        assert {f"s{n}" for n in range(10) if answers[n] == 200} == senders.keys()
        assert kept.live("late").totals.tolist() == [answers.count(200) * UNIT]


def test_one_that_nobody_waits_for_any_more_is_still_written(store):
    async def work(writer):
        given_up = asyncio.ensure_future(writer.accept(batch(1)))
        await asyncio.sleep(0)
        given_up.cancel()
        writer.start()
        return await writer.accept(batch(1))

    answer, _ = written(store, work)
    assert answer == "repeated"


def test_the_writer_outlives_an_error_of_its_work(store):
    async def work(writer):
        writer.start()
        with pytest.raises(ZeroDivisionError):
            await writer.change(lambda kept: 1 / 0)
        return await writer.accept(batch(1))

    answer, writer = written(store, work)
    assert answer == "accepted"
    assert not writer.failed


def test_steps_that_wait_are_closed_together_after_the_batches_before_them(store):
    async def work(writer):
        waiting = [
            asyncio.ensure_future(x)
            for x in (
                writer.accept(batch(1)),
                writer.close([Closing("late", 1, 5)]),
                writer.accept(batch(1, stream="flights", lanes=3)),
                writer.close([Closing("flights", 1, 5), Closing("wide", 1, 5)]),
                writer.accept(batch(2)),  # after the step: it belongs to the next one
                writer.close([Closing("late", 2, 6)]),
            )
        ]
        await asyncio.sleep(0)
        writer.start()
        return await asyncio.gather(*waiting)

    answers, writer = written(store, work)
    assert [answers[0], answers[2], answers[4]] == ["accepted"] * 3
    assert [(one.stream, one.step) for one in answers[1] + answers[3] + answers[5]] == [
        ("late", 1), ("flights", 1), ("wide", 1), ("late", 2),
    ]  # fmt: skip
    assert writer.commits == 4  # batches, steps, the later batch, its step
    assert store.live("late").totals.tolist() == [0]


def test_a_step_that_is_refused_does_not_hinder_others_of_its_group(store):
    async def work(writer):
        steps = [Closing("late", 1, 0), Closing("flights", 7, 0), Closing("wide", 1, 0)]
        waiting = asyncio.ensure_future(writer.close(steps))
        await asyncio.sleep(0)
        writer.start()
        return await waiting

    answers, _ = written(store, work)
    assert [answers[0].step, answers[2].step] == [1, 1]
    assert isinstance(answers[1], Refused)


def test_groups_have_bounded_sizes_and_keep_all_steps_in_order():
    steps = [Closing(f"s{n}", 1, 0, 1 + 7919 * n % 200_000) for n in range(1000)]
    groups = groups_of(steps)
    assert [step for group in groups for step in group] == steps
    for group in groups:
        assert len(group) <= GROUP
        assert len(group) == 1 or sum(step.lanes for step in group) <= LANES
    assert [len(group) for group in groups_of([Closing(f"s{n}", 1, 0) for n in range(600)])] == [
        250, 250, 100,
    ]  # fmt: skip
    assert groups_of([]) == []
