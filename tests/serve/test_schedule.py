import json
from dataclasses import replace

import pytest

import hushfade as hf
from hushfade.serve.declarations import step_times
from hushfade.serve.registry import shown
from tests.serve.client import ONE, PLAN

HOUR = 3600 * 10**9
DAY = 24 * HOUR
NOON = 1_800_000_000 * 10**9


class Clock:
    """A wall clock that the test sets.  The monotonic clock follows, except in a jump."""

    def __init__(self):
        self.now = NOON
        self.jumped = 0

    def __call__(self):
        return self.now

    def monotonic(self):
        return self.now - self.jumped

    def jump(self, nanoseconds):
        """Set the wall clock alone."""
        self.now += nanoseconds
        self.jumped += nanoseconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ticking(make, clock, monkeypatch):
    """A service whose clock the test sets, with an hourly stream; it looks when it is told to."""
    monkeypatch.setattr("hushfade.serve.schedule.Schedule._pause", lambda self: 10**6)
    client = make(clock=clock)
    added(client, "hourly", PLAN, every="1h")
    return client


def added(client, name, plan, **more):
    content = {"name": name, "dataset": "clinics", "plan": json.loads(plan.to_json()), **more}
    found = client.post("/v1/streams", content)
    assert found.status_code == 201, found.text
    return found.json()


def tick(client, times=1):
    for _ in range(times):
        client.run(client.service.schedule.round())
    return len(client.store.releases("hourly"))


def closed(client, stream="hourly"):
    return len(client.store.releases(stream))


def test_a_clock_of_another_step_than_the_plan_s_is_refused(ticking):
    daily = replace(PLAN, every="1d")
    added(ticking, "daily", daily, every="24h")
    content = {"name": "hours", "dataset": "clinics", "plan": json.loads(daily.to_json())}
    refused = ticking.post("/v1/streams", content | {"every": "1h"})
    assert refused.status_code == 422
    assert refused.json()["error"] == "every must be 1d, the plan's step"


def test_a_plan_with_a_clock_is_closed_by_the_clock_or_by_a_declared_hand(ticking):
    """A plan in days would otherwise be closed after hours, and nobody would notice."""
    for number, every in enumerate(("1d", "month UTC")):
        plan = hf.plan(hf.SlidingWindow(2), hf.Guarantee(0.1, 1e-6), law="gaussian", every=every)
        content = {"name": f"s{number}", "dataset": "clinics", "plan": json.loads(plan.to_json())}
        for wrong in ({}, {"every": None}):
            refused = ticking.post("/v1/streams", content | wrong)
            assert refused.status_code == 422
            assert f"every must be {every}, the plan's step" in refused.json()["error"]
            assert "'by hand' if an operator closes them" in refused.json()["error"]
        refused = ticking.post("/v1/streams", content | {"every": "month"})
        assert refused.status_code == 422
        assert "the clock cannot close rows or calendar steps" in refused.json()["error"]
        start = {"every": "by hand", "start": "2026-01-01T00:00:00Z"}
        assert ticking.post("/v1/streams", content | start).status_code == 422
        made = ticking.post("/v1/streams", content | {"every": "by hand"})
        assert (made.status_code, made.json()["every"]) == (201, "by hand")
        assert ticking.close_step(1, content["name"]).status_code == 200
    rows = hf.plan(hf.SlidingWindow(2), hf.Guarantee(0.1, 1e-6), law="gaussian", every="rows")
    added(ticking, "rows", rows)


def test_a_plan_for_persons_must_state_its_step(ticking):
    person = hf.Guarantee(epsilon=0.1, delta=1e-6, protects=hf.Person(steps=3))
    plan = hf.plan(hf.SlidingWindow(7), person, law="gaussian")
    content = {"name": "p", "dataset": "clinics", "plan": json.loads(plan.to_json())}
    refused = ticking.post("/v1/streams", content | {"every": "1h"})
    assert refused.status_code == 422
    assert "plan must state its step" in refused.json()["error"]


def test_a_step_closes_when_its_time_is_over(ticking, clock):
    assert ticking.get("/v1/streams/hourly").json()["every"] == "1h"
    clock.now = NOON + HOUR - 1
    assert tick(ticking) == 0
    clock.now = NOON + HOUR
    assert tick(ticking) == tick(ticking) == 1
    clock.now = NOON + 3 * HOUR - 1
    assert tick(ticking, 2) == 2
    assert [x.closed for x in ticking.store.releases("hourly")] == [
        NOON + HOUR,
        NOON + 3 * HOUR - 1,
    ]


def test_a_clock_that_jumps_back_a_year_closes_nothing_and_none_twice(ticking, clock):
    clock.now = NOON + 2 * HOUR
    assert tick(ticking, 2) == 2
    clock.jump(-365 * DAY)
    assert tick(ticking, 3) == 2
    clock.jump(365 * DAY)
    clock.now += HOUR
    assert tick(ticking) == 3


def test_a_round_closes_one_step_of_each_stream_however_far_one_is_behind(ticking, clock):
    """Before, one stream closed up to 50 steps before the next had its turn."""
    for name in ("b", "c"):
        added(ticking, name, PLAN, every="1h")
    added(ticking, "rare", PLAN, every="40h")
    clock.now = NOON + 100 * HOUR
    for rounds in range(1, 6):
        tick(ticking)
        assert [closed(ticking, name) for name in ("hourly", "b", "c")] == [rounds] * 3
    assert closed(ticking, "rare") == 2
    commits = ticking.service.writer.commits
    tick(ticking)
    assert ticking.service.writer.commits == commits + 1  # one transaction for all
    assert ticking.store.verify() > 3 * 6


def test_the_releases_of_a_round_are_published_after_their_commit(ticking, clock, monkeypatch):
    added(ticking, "b", PLAN, every="1h")
    clock.now = NOON + HOUR
    seen = []
    mark = ticking.store._mark.write

    def written(*given):
        seen.append([ticking.service.registry.step(name) for name in ("hourly", "b")])
        mark(*given)
        seen.append([ticking.service.registry.step(name) for name in ("hourly", "b")])

    monkeypatch.setattr(ticking.store._mark, "write", written)
    tick(ticking)
    assert seen == [[0, 0], [0, 0]]
    assert [ticking.service.registry.step(name) for name in ("hourly", "b")] == [1, 1]


def test_a_stream_whose_body_is_being_parsed_delays_no_other(ticking, clock):
    added(ticking, "b", PLAN, every="1h")
    clock.now = NOON + HOUR
    order = ticking.service.order

    async def arrived():
        batch = order.interval("hourly").batch()
        batch.__enter__()
        return batch

    batch = ticking.run(arrived())
    assert (tick(ticking), closed(ticking, "b")) == (0, 1)
    assert (tick(ticking), closed(ticking, "b")) == (0, 1)

    async def parsed():
        batch.__exit__(None, None, None)
        await ticking.service.schedule._waiting["hourly"]

    ticking.run(parsed())
    assert closed(ticking) == 1


def test_a_full_queue_of_batches_does_not_stop_the_clock(ticking, clock):
    clock.now = NOON + HOUR
    ticking.service.writer._most = 0
    assert tick(ticking) == 1


def test_the_lag_of_each_stream_is_shown_and_logged(ticking, clock, caplog):
    clock.now = NOON + 5 * HOUR
    with caplog.at_level("INFO", logger="hushfade.serve"):
        tick(ticking)
    assert "1 streams are behind the clock, stream 'hourly' by 4 steps" in caplog.text
    assert ticking.get("/v1/streams/hourly").json()["lag"] == 4
    assert ticking.get("/v1/streams/late").json()["lag"] is None
    assert 'hushfade_lag_steps{stream="hourly"} 4\n' in ticking.get("/metrics").text
    assert ticking.get("/ready").json()["streams_behind"] == 1
    ticking.close_step(2, "hourly")
    tick(ticking, 3)
    ticking.close_step(6, "hourly")
    assert ticking.get("/v1/streams/hourly").json()["lag"] == -1
    assert ticking.get("/ready").json()["streams_ahead"] == 1


def test_a_jump_of_ten_years_holds_all_steps_until_the_clock_agrees(ticking, clock, caplog):
    clock.now = NOON + HOUR
    tick(ticking)
    clock.jump(3652 * DAY)
    with caplog.at_level("WARNING", logger="hushfade.serve"):
        assert tick(ticking, 5) == 1
        held = ticking.get("/ready")
        assert (held.status_code, held.json()["code"]) == (503, "clock")
        assert "315532800 s ahead of its expected time" in held.json()["error"]
        assert "hushfade_clock_held 1\n" in ticking.get("/metrics").text
        clock.jump(-3652 * DAY)
        clock.now += HOUR
        assert tick(ticking) == 2
    assert ticking.get("/ready").status_code == 200
    assert [r.levelname for r in caplog.records if "clock" in r.message] == ["ERROR", "WARNING"]


def test_an_administrator_can_confirm_a_jump_and_a_restart_remembers_that(ticking, clock, make):
    clock.jump(90 * DAY)
    assert tick(ticking) == 0
    assert ticking.post("/v1/clock/confirm").json() == {"status": "confirmed"}
    assert tick(ticking) == 1
    ticking.stop()
    again = make(clock=clock, plans={})
    assert again.service.watch.hold is None


def test_a_restart_during_a_jump_does_not_hide_it(ticking, clock, make):
    ticking.stop()
    clock.jump(DAY)
    again = make(clock=clock, plans={})
    assert tick(again, 2) == 0
    assert again.get("/ready").status_code == 503


def test_a_control_without_the_watch_closes_the_steps_of_a_jump(ticking, clock, monkeypatch):
    """What a service that trusts any clock would do."""

    def trusting(watch):
        watch.now = clock.now

    monkeypatch.setattr("hushfade.serve.clock_watch.ClockWatch.look", trusting)
    clock.jump(3652 * DAY)
    assert tick(ticking, 5) == 5


def test_a_step_that_was_closed_by_hand_is_not_closed_again(ticking, clock):
    ticking.close_step(1, "hourly")
    ticking.close_step(2, "hourly")
    clock.now = NOON + 2 * HOUR
    assert tick(ticking, 2) == 2
    clock.now = NOON + 3 * HOUR
    assert tick(ticking) == 3


def test_other_streams_and_those_that_ended_are_left_alone(ticking, clock):
    ticking.request("DELETE", "/v1/streams/hourly")
    clock.now = NOON + DAY
    assert tick(ticking) == 0
    assert ticking.store.releases("late") == []


def test_a_stream_at_its_horizon_takes_no_more_steps_and_hinders_no_other(ticking, clock):
    short = hf.plan(hf.SlidingWindow(length=2), ONE, horizon=3, method="square_root")
    added(ticking, "short", short, every="1h")
    added(ticking, "after", PLAN, every="2h")
    clock.now = NOON + 10 * HOUR
    assert tick(ticking, 11) == 10
    assert len(ticking.store.releases("short")) == 3
    assert len(ticking.store.releases("after")) == 5


def test_the_service_looks_at_the_clock_by_itself(make, clock):
    client = make(clock=clock)
    added(client, "hourly", PLAN, every="1h", start=shown(NOON - HOUR))

    async def closed():
        import asyncio

        while client.service.registry.step("hourly") < 1:
            await asyncio.sleep(0.005)

    client.run(closed())
    assert len(client.store.releases("hourly")) == 1


def test_times_are_kept_over_a_start(ticking, clock):
    from hushfade.serve.registry import Registry

    facts = Registry.of(ticking.store).facts("hourly")
    assert (facts.every, facts.start, facts.dataset) == (HOUR, NOON, "clinics")


def test_a_step_s_times_are_read():
    assert step_times(None, None, NOON) == (None, None)
    assert step_times("90min", None, NOON) == (90 * 60 * 10**9, NOON)
    for text in ("2027-01-15T08:00:00Z", "2027-01-15T09:00:00+01:00"):
        assert step_times("1h", text, NOON) == (HOUR, NOON)
    assert step_times("1h", "2030-01-01T00:00:00Z", NOON)[1] > NOON


@pytest.mark.parametrize(
    ("every", "start", "status"),
    [
        (None, "2027-01-15T08:00:00Z", 422),
        (3600, None, 400),
        ("1 month", None, 422),
        ("0s", None, 422),
        ("10ms", None, 422),
        ("1h", 5, 400),
        ("1h", "noon", 422),
        ("1h", "2027-01-15T08:00:00", 422),
        ("1h", "0001-01-01T00:00:00Z", 422),
        ("1h", "9999-12-31T23:59:59-12:00", 422),
        ("1s", "2027-01-14T08:00:00Z", 422),  # a day of seconds would be closed at once
    ],
)
def test_times_that_no_clock_has_are_refused(ticking, every, start, status):
    content = {
        "name": "x", "dataset": "clinics", "plan": json.loads(PLAN.to_json()),
        "every": every, "start": start,
    }  # fmt: skip
    assert ticking.post("/v1/streams", content).status_code == status
    assert "x" not in ticking.store.streams()
