"""What may be a dataset or a stream."""

import copy
import json
import math
import shutil
from contextlib import closing

import pytest

import hushfade as hf
from hushfade.store import Store
from tests.serve.client import KEYED, PLAN


def document():
    return json.loads(PLAN.to_json())


def changed(path, value):
    """The plan with one field changed."""
    found = copy.deepcopy(json.loads(KEYED.to_json()))
    *outer, last = path.split(".")
    inner = found
    for name in outer:
        inner = inner[name]
    inner[last] = value
    return found


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"name": "a/b"}, 400), ({"name": ".."}, 400), ({"name": ""}, 400), ({"name": 1}, 400),
        ({"name": "a\n"}, 400), ({"name": "\ud800"}, 400), ({"name": "x" * 201}, 400),
        ({"dataset": "nowhere"}, 422), ({"dataset": None}, 400), ({"dataset": "\ud800"}, 400),
        ({"plan": None}, 400), ({"plan": []}, 400), ({"plan": {}}, 422), ({"plan": "x"}, 400),
        ({"more": 1}, 400), ({"name": "late"}, 409),
    ],
)  # fmt: skip
def test_what_is_no_stream_is_refused(client, more, status):
    content = {"name": "new", "dataset": "clinics", "plan": document(), **more}
    before = client.store.streams()
    spent = client.store.accounts()["clinics"].spent
    body = json.dumps(content).encode()
    headers = {"Content-Type": "application/json"}
    found = client.request("POST", "/v1/streams", content=body, headers=headers)
    assert found.status_code == status, found.text
    assert client.store.streams() == before
    assert client.store.accounts()["clinics"].spent == spent


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("guarantee.epsilon", 2.0), ("guarantee.mu", 1.0), ("noise.scale", 1), ("digest", "0" * 64),
        ("taps.support", 2**40), ("taps.support", -1), ("taps.support", "1"), ("taps.value", []),
        ("taps.bits", 10**6), ("records.width", 10**9), ("records.keys", ["a"] * 3),
        ("records.keys", ["\ud800", "b", "c"]), ("records.keys", 7), ("records", None),
        ("taps", None), ("gain", [1] * 5), ("horizon", -3), ("method", {}), ("reported.loss", None),
        ("decay.length", 10**400), ("decay", {"kind": "mixture", "parts": [[[]]]}),
        ("guarantee.epsilon", 1e308), ("guarantee.delta", 5e-324), ("records.resolution", 1e-320),
    ],
)  # fmt: skip
def test_a_plan_that_hushfade_did_not_write_is_refused(client, path, value):
    content = {"name": "new", "dataset": "clinics", "plan": changed(path, value)}
    found = client.post("/v1/streams", content)
    assert found.status_code == 422, found.text
    assert "new" not in client.store.streams()


def test_a_plan_that_hushfade_wrote_is_taken(client):
    content = {"name": "new", "dataset": "clinics", "plan": json.loads(KEYED.to_json())}
    assert client.post("/v1/streams", content).status_code == 201
    assert client.store.live("new").plan.digest == KEYED.digest
    assert client.send([{"key": "at"}], stream="new").status_code == 200


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"epsilon": 0}, 422), ({"epsilon": -1}, 422), ({"epsilon": "1"}, 422),
        ({"epsilon": True}, 422), ({"epsilon": 1e300}, 422), ({"epsilon": 1e-300}, 422),
        ({"epsilon": 10**400}, 422), ({"epsilon": None}, 422), ({"delta": 1e-31}, 422),
        ({"delta": 1}, 422), ({"delta": 1e-320}, 422), ({"delta": []}, 422),
        ({"name": ""}, 400), ({"name": None}, 400), ({"name": "clinics"}, 409), ({"x": 1}, 400),
    ],
)  # fmt: skip
def test_what_is_no_dataset_is_refused(client, more, status):
    content = {"name": "new", "epsilon": 1, "delta": 1e-6, **more}
    assert client.post("/v1/datasets", content).status_code == status
    assert list(client.store.accounts()) == ["clinics"]


@pytest.mark.parametrize("epsilon", [1e-3, 1, 100])
@pytest.mark.parametrize("delta", [1e-30, 1e-6, 0.5])
def test_every_budget_that_may_be_asked_for_can_be_told(client, epsilon, delta):
    found = client.post("/v1/datasets", {"name": "new", "epsilon": epsilon, "delta": delta})
    assert found.status_code == 201
    assert math.isclose(found.json()["epsilon"], epsilon, rel_tol=1e-5)
    assert client.get("/v1/datasets").status_code == 200


def test_after_a_new_epoch_a_stream_reports_all_its_epochs_composed(tmp_path, monkeypatch, make):
    """Its steps were drawn twice, so the epsilon of its plan alone no longer holds."""
    path, old = tmp_path / "releases.db", tmp_path / "old.db"
    with closing(Store.open(path)) as store:
        store.add_dataset("clinics", hf.Guarantee(epsilon=5, delta=1e-6))
        store.add_stream("late", PLAN, dataset="clinics")
    shutil.copy(path, old)
    with closing(Store.open(path)) as store:
        store.close_step("late", 1, closed=0)
    shutil.copy(old, path)
    monkeypatch.setattr("hushfade.stream.ownership._turns", {})  # as in a new process
    with closing(Store.open(path, new_epoch=True)) as store:
        store.add_stream("new", PLAN, dataset="clinics")
    client = make(plans={})
    streams = {stream["name"]: stream for stream in client.get("/v1/streams").json()["streams"]}
    twice = hf.Guarantee.from_mu(math.sqrt(2) * PLAN.guarantee.mu, delta=1e-6)
    assert streams["late"]["epoch"] == 1
    assert streams["late"]["epsilon"] == pytest.approx(twice.epsilon, rel=1e-12)
    assert streams["late"]["guarantee"] == twice.sentence()
    assert (streams["new"]["epoch"], streams["new"]["epsilon"]) == (0, 1.0)
    assert streams["new"]["guarantee"] == PLAN.guarantee.sentence()
    alone = client.get("/v1/streams/late").json()
    assert alone["epsilon"] == streams["late"]["epsilon"]
    assert alone["plan"]["guarantee"]["epsilon"] == 1  # the plan of one epoch is as it was


def test_streams_of_every_law_are_charged_over_http(make):
    client = make(plans={})
    half = hf.Guarantee(epsilon=0.5, delta=1e-7)
    client.post("/v1/datasets", {"name": "clinics", "epsilon": 2, "delta": 1e-6})
    for law in ("huber", "laplace", "gaussian"):
        plan = json.loads(hf.plan(hf.Exponential(half_life=3), half, law=law).to_json())
        found = client.post("/v1/streams", {"name": law, "dataset": "clinics", "plan": plan})
        assert found.status_code == 201, found.text
    (account,) = client.get("/v1/datasets").json()
    assert account == {
        "name": "clinics", "epsilon": 2.0, "delta": 1e-6, "spent_epsilon": 1.5, "left_epsilon": 0.5,
        "spent_delta": 2e-7, "left_delta": 8e-7, "composition": "basic", "mu": None, "spent": None,
        "left": None, "next_epsilon": 2.0, "unit": "one record, added or removed",
        "reserved": [],
    }  # fmt: skip


def test_a_dataset_without_delta_is_served(make):
    client = make(plans={})
    made = client.post("/v1/datasets", {"name": "clinics", "epsilon": 1, "delta": 0}).json()
    assert (made["delta"], made["composition"], made["mu"]) == (0.0, "basic", None)
    assert (made["left_epsilon"], made["left_delta"]) == (1.0, 0.0)
    for delta, status in ((0, 201), (1e-6, 409)):
        guarantee = hf.Guarantee(epsilon=0.5, delta=delta)
        law = "huber" if delta else None
        plan = json.loads(hf.plan(hf.Exponential(half_life=3), guarantee, law=law).to_json())
        content = {"name": f"{delta}", "dataset": "clinics", "plan": plan}
        found = client.post("/v1/streams", content)
        assert found.status_code == status, found.text
    assert client.get("/v1/streams/0").json()["delta"] == 0
    assert client.close_step(1, "0").status_code == 200


def test_a_stream_of_block_sums_is_served(make):
    client = make(plans={})
    client.post("/v1/datasets", {"name": "clinics", "epsilon": 1, "delta": 0})
    made = hf.plan(hf.NoDecay(), hf.Guarantee(epsilon=1, delta=0), horizon=100)
    plan = json.loads(made.to_json())
    assert plan["blocks"] == {"depth": 2, "period": 101}
    content = {"name": "visits", "dataset": "clinics", "plan": plan}
    assert client.post("/v1/streams", content).status_code == 201
    assert client.close_step(1, "visits").status_code == 200
    assert client.get("/v1/streams/visits").json()["plan"] == plan
    asked = {"decay": {"kind": "counting"}, "epsilon": 1, "delta": 0, "horizon": 100}
    answer = client.post("/v1/plan", asked).json()
    assert answer["mechanism"] == "Laplace noise on block sums", answer
