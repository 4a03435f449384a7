"""The watch detects every violation of an invariant, and nothing else."""

import os
from pathlib import Path

import numpy as np
import pytest

from hushfade.errors import InvalidValue, Malformed
from lab.audits.fuzzing import invariants
from lab.audits.fuzzing.invariants import Target, Watch, in_hand, repeats

FILE = Path(__file__).name


def watched(read, *inputs, **told):
    watch = Watch(Target("a target", (b"",), read, **told))
    for data in inputs:
        watch.judge(data)
    return watch


def refuse(data):
    raise InvalidValue("data must be others")


def faults(watch):
    return {kind: count for kind, count in watch.faults.items() if count}


def test_values_and_refusals_are_no_faults():
    watch = watched(lambda data: refuse(data) if data else None, b"", b"a", b"b")
    assert (watch.inputs, watch.accepted, watch.refused, faults(watch)) == (3, 1, 2, {})
    assert watch.kinds == {"InvalidValue": 2}


@pytest.mark.parametrize("error", [ValueError, KeyError, RecursionError, MemoryError, SystemExit])
def test_any_other_error_is_a_crash_with_its_place(error):
    def read(data):
        raise error("zq0001ed")

    watch = watched(read, b"a", b"b")
    assert faults(watch) == {"crash": 2}
    assert watch.inputs == 2
    assert watch.examples == [(f"crash: {error.__name__} in {FILE}, read", b"a")]


def test_a_warning_is_a_crash():
    watch = watched(lambda data: np.float64(1e308) * 10.0, b"a")
    assert faults(watch) == {"crash": 1}


def test_a_refusal_that_changes_something_is_a_fault_and_a_value_may():
    seen = []

    def read(data):
        seen.append(data)
        if data == b"late":
            raise Malformed("too late")
        if data == b"early":
            seen.pop()
            raise Malformed("in time")

    watch = watched(read, b"a", b"early", b"b", b"late", b"c", state=lambda: b"".join(seen))
    assert faults(watch) == {"change": 1}
    assert watch.examples == [("change: Malformed", b"late")]


def test_a_refusal_that_repeats_a_record_is_a_fault_also_where_its_cause_does():
    def read(data):
        try:
            raise ValueError(data)
        except ValueError as error:
            raise Malformed("line 1 must be a number") from (error if data[:1] == b"1" else None)

    secret = b"a,zq0001ed,73000137"
    assert faults(watched(read, b"1" + secret, records=True)) == {"leak": 1}
    assert faults(watched(read, b"0" + secret, records=True)) == {}
    assert faults(watched(read, b"1" + secret, records=False)) == {}
    assert repeats(ValueError("got 73000137"), secret)
    assert not repeats(ValueError("got 73000138"), secret)


def test_an_input_without_end_is_a_hang():
    def read(data):
        while data == b"on":
            pass

    watch = watched(read, b"", b"on", b"", seconds=0.05)
    assert faults(watch) == {"hang": 1}
    assert (watch.inputs, watch.accepted) == (3, 2)


def test_memory_without_end_is_a_fault(monkeypatch):
    monkeypatch.setattr(invariants, "MEMORY", -1)
    assert faults(watched(lambda data: None, b"a")) == {"memory": 1}


def test_the_input_in_hand_outlives_the_process(tmp_path):
    path = tmp_path / "last"
    process = os.fork()
    if process == 0:
        Watch(Target("", (), lambda data: os._exit(3)), path).judge(b"deadly")
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 3
    assert in_hand(path) == b"deadly"
