"""Joint charges over HTTP, and what a stream says of them and of its limits."""

import json
from functools import cache

import pytest

import hushfade as hf
from tests.serve.client import KEYED

pytestmark = pytest.mark.usefixtures("quick_joint_search")

ONE = hf.Guarantee(epsilon=1, delta=1e-6)


@cache
def plans():
    both = hf.plan_together([hf.SlidingWindow(length=7), hf.Exponential(half_life=24)], ONE)
    documents = [json.loads(plan.to_json()) for plan in both.plans]
    return dict(zip(("week", "day"), documents, strict=True))


def body():
    return {
        "dataset": "trains", "epsilon": 1, "delta": 1e-6,
        "streams": [{"name": name, "plan": plan} for name, plan in plans().items()],
    }  # fmt: skip


def served(make, **budget):
    client = make(plans={})
    asked = {"name": "trains", "epsilon": 1, "delta": 1e-6} | budget
    assert client.post("/v1/datasets", asked).status_code == 201
    return client


def test_streams_are_charged_together_and_created_one_by_one(make):
    client = served(make)
    charged = client.post("/v1/joint-charges", body())
    assert charged.status_code == 201
    assert (charged.json()["spent_epsilon"], charged.json()["left_epsilon"]) == (1.0, 0.0)
    assert charged.json()["reserved"] == ["week", "day"]
    for left, (name, plan) in zip((["day"], []), plans().items(), strict=True):
        made = client.post("/v1/streams", {"name": name, "dataset": "trains", "plan": plan})
        assert made.status_code == 201
        together = {"streams": ["week", "day"], "epsilon": 1.0, "delta": 1e-6}
        assert made.json()["together"] == together
        assert client.get(f"/v1/streams/{name}").json()["together"] == together
        (account,) = client.get("/v1/datasets").json()
        assert (account["reserved"], account["spent_epsilon"]) == (left, 1.0)
        assert client.close_step(1, name).status_code == 200
    client.store.verify()


def test_gaussian_streams_state_their_joint_epsilon(make):
    client = served(make)
    plan = hf.plan(hf.SlidingWindow(length=7), hf.Guarantee(0.6, 1e-6), law="gaussian")
    document = json.loads(plan.to_json())
    asked = body() | {"streams": [{"name": name, "plan": document} for name in ("a", "b")]}
    assert client.post("/v1/joint-charges", asked).status_code == 201
    made = client.post("/v1/streams", {"name": "a", "dataset": "trains", "plan": document})
    assert made.json()["together"] == {"streams": ["a", "b"], "epsilon": 1.0, "delta": 1e-6}


def test_what_is_no_joint_charge_is_refused_and_changes_nothing(make):
    client = served(make, epsilon=1.5)
    one = body()["streams"][0]
    for change, status in (
        ({"epsilon": 0.5}, 409), ({"delta": 1e-7}, 409), ({"neighbours": "replace"}, 409),
        ({"protects": {"steps": 2}}, 409), ({"epsilon": 0}, 422), ({"dataset": "nowhere"}, 422),
        ({"streams": []}, 400), ({"streams": {}}, 400), ({"streams": [one, one]}, 400),
        ({"streams": [one | {"name": "a/b"}]}, 400), ({"streams": [one | {"more": 1}]}, 400),
        ({"streams": [{"name": "a", "plan": {}}]}, 422), ({"streams": [one] * 101}, 400),
        ({"every": "1h"}, 400), ({"streams": [1]}, 400), ({"epsilon": 2, "delta": 1e-5}, 409),
    ):  # fmt: skip
        found = client.post("/v1/joint-charges", body() | change)
        assert found.status_code == status, (change, found.text)
    (account,) = client.get("/v1/datasets").json()
    assert (account["spent_epsilon"], account["reserved"]) == (0.0, [])
    assert client.post("/v1/joint-charges", body()).status_code == 201
    assert client.post("/v1/joint-charges", body()).status_code == 409
    wrong = {"name": "week", "dataset": "trains", "plan": json.loads(KEYED.to_json())}
    refused = client.post("/v1/streams", wrong)
    assert (refused.status_code, refused.json()["code"]) == (409, "refused")
    assert "joint charge 2 names" in refused.json()["error"]


def test_only_administrators_charge_together(make):
    client = make(scopes=["admin", "read", "ingest"])
    for scope in ("read", "ingest"):
        assert client.post("/v1/joint-charges", body(), as_=scope).status_code == 403


def test_a_service_that_starts_again_knows_joint_charges(make, monkeypatch):
    client = served(make)
    client.post("/v1/joint-charges", body())
    client.post("/v1/streams", {"name": "day", "dataset": "trains", "plan": plans()["day"]})
    told = client.get("/v1/streams/day").json()
    client.stop()
    monkeypatch.setattr("hushfade.stream.ownership._turns", {})
    client = make(plans={})
    assert client.get("/v1/streams/day").json() == told
    assert client.get("/v1/datasets").json()[0]["reserved"] == ["week"]


def test_a_stream_says_that_limits_per_person_are_assumed(make):
    client = served(make, protects={"steps": 3, "records_per_step": 2}, every="1h")
    person = hf.Guarantee(0.5, 1e-6, protects=hf.Person(steps=3, records_per_step=2))
    plan = hf.plan(hf.SlidingWindow(length=7), person, law="gaussian", every="1h")
    body = {"name": "p", "dataset": "trains", "plan": json.loads(plan.to_json()), "every": "1h"}
    made = client.post("/v1/streams", body | {"limits": "assumed"})
    assert made.status_code == 201
    assert made.json()["limits"] == (
        "hushfade assumes, and does not check, that no person has more records: at most 2 "
        "records per step, in at most 3 steps of 1h."
    )
