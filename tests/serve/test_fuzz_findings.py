"""Requests that the fuzzer once found to be handled wrongly."""

import json

import pytest

import hushfade as hf
from tests.serve.client import PLAN


@pytest.mark.parametrize("horizon", [None, 64])
def test_a_plan_that_would_take_minutes_is_refused(client, horizon):
    asked = {
        "decay": {"kind": "counting"}, "epsilon": 1, "delta": 1e-6, "horizon": horizon,
        "protects": {"steps": 1000, "apart": 65536},
    }  # fmt: skip
    assert client.post("/v1/plan", asked).status_code == (422 if horizon is None else 200)
    made = hf.plan(hf.NoDecay(), PLAN.guarantee, method="unbounded")
    plan = json.loads(made.to_json())
    for times, apart in ((10**6, 1), (1000, 65536)):
        plan["guarantee"] |= {"protects": {"steps": times, "apart": apart}}
        found = client.post("/v1/streams", {"name": "a", "dataset": "clinics", "plan": plan})
        assert "a person of the plan must have at most" in found.json()["error"]


def test_a_length_of_a_step_is_short(client):
    plan = json.loads(PLAN.to_json())
    for every, status in (("1h" * 50, 201), ("1h" * 51, 400)):
        asked = {"name": f"a{status}", "dataset": "clinics", "plan": plan, "every": every}
        assert client.post("/v1/streams", asked).status_code == status


def test_senders_that_are_no_utf_8_are_not_taken_for_each_other(client):
    kind = {"Content-Type": "application/x-ndjson"}
    for sender in ("%ff", "%fe", "%ED%A0%80", "%EF%BF%BD", "a%ff"):
        path = f"/v1/streams/late/records?sender={sender}&sequence=1"
        assert client.request("POST", path, content=b"1\n", headers=kind).status_code == 400
    assert client.store.live("late").records == 0


def test_a_stream_that_has_ended_forgets_who_sent(client):
    client.send([1], sender="gate")
    assert client.store.live("late").senders
    client.request("DELETE", "/v1/streams/late")
    assert not client.store.live("late").senders
