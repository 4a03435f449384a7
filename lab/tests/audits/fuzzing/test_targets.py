"""Every target satisfies the invariants for a few inputs, and the engines find planted faults."""

import importlib.util

import pytest

from lab.audits.fuzzing import grammar, run
from lab.audits.fuzzing.invariants import Watch
from lab.audits.fuzzing.targets import CONTROLS, TARGETS

PLANTED = {name: kind for name, kind in run.FAULTS.items() if name != "hangs"}
# Inputs that once violated an invariant.
FOUND = {
    "plans": [b'{"format": "hushfade plan draft", "digest": []}'],
    "calendars": [b"2026-01-0\xb5|1h|2026-01-08", b"\xed\xa0\x80"],
    "options": [b"weights=1_000,.5\nmu=1", "weights=１,.5\nmu=1".encode()],
    "keys": [b"\x05\x00", b"\x06\x00", b"\x04\x01"],
    "lines": [
        b'{"at": "2026-01-01T00:10", "amount": null, "country": "at", "person": "zq0001ed"}\n',
        b"2026-01-01T00:10,0.5,at\n2026-01-01T00:10,zq0002ed,at,zq0001ed\n",
        b"2026-01-01T00:10,0.5,at,\n",
    ],
    "commas": [b'at,amount,country,person\n"2026-01-01T00:10,1,at,zq0001ed\n'],
}


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_reads_what_is_right_and_keeps_the_law(tmp_path, name):
    opened, _ = TARGETS[name]
    with opened(tmp_path) as target:
        watch = Watch(target)
        for seed in target.seeds:
            watch.judge(seed)
        assert watch.accepted >= 1
        read = watch.accepted
        for data in FOUND.get(name, []):
            watch.judge(data)
        assert watch.accepted == read
        grammar.fed(watch, watch.inputs + 40, number=5)
        assert watch.examples == []
        assert watch.refused >= 1


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found_by_grammars(tmp_path, name):
    with CONTROLS[name](tmp_path) as target:
        watch = Watch(target)
        grammar.fed(watch, 250, number=5)
        assert watch.faults[PLANTED[name]] > 0
        assert {kind for kind, count in watch.faults.items() if count} == {PLANTED[name]}


def test_the_same_number_makes_the_same_inputs(tmp_path):
    def judged(number):
        with TARGETS["durations"][0](tmp_path) as target:
            watch = Watch(target)
            grammar.fed(watch, 60, number=number)
            return watch.accepted, watch.refused

    assert judged(1) == judged(1)
    assert sum(judged(1)) == 60


def test_the_shares_are_of_a_thousand():
    assert sum(run.shares().values()) == 1000
    assert sum(run.SHARES.values()) == pytest.approx(1.0)


def test_a_process_that_dies_of_an_input_is_a_fault_with_that_input(tmp_path):
    (tmp_path / "output").write_text("died")
    (tmp_path / "code").write_text("-11")
    with CONTROLS["crashes"](tmp_path) as target:
        Watch(target, tmp_path / "last").judge(b"deadly")
    found = run._read("grammar", tmp_path)
    assert found.faults == 1
    assert bytes.fromhex(found.results["examples"][0][1]) == b"deadly"


def test_runs_become_findings():
    runs = run.ran(["grammar"], {"durations": 400, "keys": 400}, planted=False)
    assert [(found.target, found.results["inputs"], found.faults) for found in runs] == [
        ("durations", 40, 0),
        ("keys", 40, 0),
    ]
    assert not run._whole(runs, 1000).passed  # too few


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
def test_what_is_hidden_behind_four_bytes_is_found_by_coverage(monkeypatch):
    monkeypatch.setattr(run, "PLANTED", {"guided": {"passages": 20_000, "changes": 5_000}})
    runs = {found.target: found for found in run.ran(["guided"], {"durations": 300})}
    assert runs["durations"].results["faults"] == {}
    assert runs["durations"].edges[1] > 20
    assert runs["passages"].results["faults"]["crash"] > 0
    assert runs["changes"].results["faults"]["change"] > 0
