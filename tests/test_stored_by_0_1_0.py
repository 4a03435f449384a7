"""What 0.1.0 has written stays readable, and keyed streams continue with the noise they had.

The files are in tests/fixtures/0.1.0, whose README states how they were made.
"""

import base64
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hushfade import CorrelatedNoise, FreshNoise, KeyedNoise, Plan, Stream, UnsafeSeededNoise
from hushfade.privacy import ledger
from hushfade.store import Batch, Store
from hushfade.stream.partition import Mechanism, Part

FOLDER = Path(__file__).parent / "fixtures" / "0.1.0"
NOISES = {
    "seeded": UnsafeSeededNoise(7),
    "keyed": KeyedNoise(bytes(range(1, 33)), stream="visits", epoch=2),
    "fresh": FreshNoise(),
}
# In the public half of these plans no constant comes from a library's exp or log: the releases of
# every machine agree to the last bit.  Elsewhere a pole may differ in its last bit.
EXACT = {"none", "window-7", "custom", "normalized"}


def contents(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def plan_named(name):
    return Plan.from_json(contents("plans")[name]["document"])


def assert_released(values, case, plan):
    """The releases of 0.1.0, exactly or up to the rounding of the public half.

    Rounding changes a release by less than 1e-9 of its noise; other noise by about all of it.
    """
    expected = np.array(case["values"])
    if case["plan"] in EXACT:
        assert_array_equal(values, expected)
    else:
        assert_allclose(values, expected, rtol=0, atol=1e-9 * plan.noise_stddev)


def test_plans_keep_their_digest_their_noise_and_their_document():
    plans = contents("plans")
    assert len(plans) == 37
    for name, stored in plans.items():
        plan = Plan.from_json(stored["document"])
        assert plan.digest.hex() == stored["digest"], name
        assert plan.sigma == stored["sigma"], name
        assert plan.to_json() == stored["document"], name


def test_saved_streams_continue_with_the_same_releases():
    for number, (name, case) in enumerate(contents("streams").items()):
        if case["noise"] == "fresh":
            continue
        plan, noise = plan_named(case["plan"]), NOISES[case["noise"]]
        traced = 5 * (number % 2)  # a stream is loaded once in a process: with traces or without
        traces = [base64.b64decode(trace) for trace in case["traces"][:traced]]
        state = base64.b64decode(case["state"])
        stream = Stream.load(state, plan=plan, noise=noise, traces=traces)
        assert stream.steps == case["steps"] + traced, name
        totals = np.array(case["units"][traced:]) * plan.grid.resolution
        if traced:
            releases = [
                stream.step_total(float(row[0]) if plan.grid.scalar else row) for row in totals
            ]
            values = np.array([np.atleast_1d(release.value) for release in releases])
            stddevs = [release.stddev for release in releases]
            assert_allclose(stddevs, case["stddevs"][traced:], rtol=1e-12, err_msg=name)
        else:
            values = stream.run(totals)
        assert_released(values, {**case, "values": case["values"][traced:]}, plan)


def test_saved_streams_of_fresh_noise_load_with_their_traces():
    for name, case in contents("streams").items():
        if case["noise"] != "fresh":
            continue
        plan = plan_named(case["plan"])
        traces = [base64.b64decode(trace) for trace in case["traces"][:3]]
        stream = Stream.load(base64.b64decode(case["state"]), plan=plan, traces=traces)
        assert stream.steps == case["steps"] + 3, name
        total = np.array(case["units"][3]) * plan.grid.resolution
        release = stream.step_total(float(total[0]) if plan.grid.scalar else total)
        assert release.step == case["steps"] + 4, name
        assert release.stddev == pytest.approx(case["stddevs"][3], rel=1e-12), name
        # other noise than 0.1.0 would have drawn: 100 deviations are never reached
        away = np.abs(np.atleast_1d(release.value) - case["values"][3])
        assert np.all(away < 100 * release.stddev), name
        assert np.all(away > 0), name


def test_saved_parts_continue_with_the_same_releases():
    for case in contents("parts").values():
        plan = plan_named(case["plan"])
        mechanism = Mechanism(case["document"], plan.digest, plan.grid.lanes)
        assert mechanism == Mechanism.of(plan)
        part = Part(mechanism, case["first"], case["lanes"])
        running = part.resumed(NOISES[case["noise"]], base64.b64decode(case["state"]))
        assert_released(running.run(np.array(case["units"])), case, plan)


def test_saved_correlated_noise_continues_with_the_same_values():
    for name, case in contents("correlated_noise").items():
        noise = CorrelatedNoise.load(base64.b64decode(case["state"]), noise=NOISES[case["noise"]])
        assert noise.stddev == case["stddev"], name
        values, expected = noise.next_many(50), np.array(case["values"])
        # the loop's constants come from an eigenvalue problem, right to a few last bits; in
        # float32 each step rounds by 2^-24
        close = 1e-5 if values.dtype == np.float32 else 1e-12
        assert_allclose(values, expected, rtol=0, atol=close * noise.stddev, err_msg=name)


def test_a_ledger_verifies_and_adds_up():
    stored = contents("ledger")
    entries = [ledger.Entry(*entry) for entry in stored["entries"]]
    assert ledger.verified(entries) == entries[-1]
    account = ledger.accounts(entries)["clinics"]
    # since 0.1.0 what is spent is rounded up and what is left down: by a last bit at most
    assert account.spent == pytest.approx(stored["spent"], rel=2.0**-52)
    assert account.left == pytest.approx(stored["left"], rel=2.0**-52)
    assert account.left <= stored["left"]


def test_a_store_opens_verifies_and_goes_on(tmp_path):
    for file in (FOLDER / "store").iterdir():
        shutil.copy(file, tmp_path)
    stored, store = contents("store"), Store.open(tmp_path / "releases.db")
    try:
        store.verify()
        assert set(store.accounts()) == {"clinics", "roads"}
        for name, plan in stored["plans"].items():
            published = [
                [each.step, each.closed, each.values.tolist(), each.stddev]
                for each in store.releases(name, after=0)
            ]
            assert published == stored["released"][name]
            live = store.live(name)
            assert live.plan.digest == plan_named(plan).digest
            assert (live.steps, live.ended) == (10, name == "cars")
        for name in ("tests", "regions"):
            live, lanes = store.live(name), np.arange(store.live(name).plan.grid.lanes)
            assert live.counts == {"late": 5}
            assert_array_equal(live.totals, np.ones(len(lanes), dtype=np.int64))
            again = Batch(name, "sender", 11, 2, lanes, lanes)
            assert store.accept([again]) == ["repeated"]
            assert store.close_step(name, 11, closed=11 * 10**9).step == 11
        store.verify()
    finally:
        store.close()
