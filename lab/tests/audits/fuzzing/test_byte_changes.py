"""Changes depend on numbers alone, and repairs correct only the checksums."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushfade as hf
from lab.audits.fuzzing import checksum_repairs
from lab.audits.fuzzing.byte_changes import CHANGES, LONGEST, any_change, changed
from lab.audits.fuzzing.documents import PLANS, marks, plans, series, streams, traces

SEED = b'{"a": [1, 2.5], "b": {"c": "text"}}\nline,2\n'
BYTES = st.integers(0, (1 << 16) - 1)
STEPS = st.lists(st.tuples(st.integers(0, len(CHANGES) - 1), BYTES, BYTES), max_size=4)


@settings(deadline=None, max_examples=200)
@given(st.one_of(st.just(SEED), st.binary(max_size=60)), STEPS)
def test_the_same_changes_make_the_same_bytes_and_not_too_many(data, steps):
    found = changed(data, steps)
    assert found == changed(data, steps)
    assert len(found) <= max(LONGEST, len(data))


@pytest.mark.parametrize("which", range(len(CHANGES)), ids=lambda which: CHANGES[which].__name__)
def test_every_change_changes_something(which):
    document = json.dumps({"a": [1, 2.5], "b": {"c": "text"}}, indent=1).encode()
    rng = random.Random(1)
    found = {changed(document, [(which, *any_change(rng)[1:])]) for _ in range(60)}
    assert len(found - {document}) >= 5


@pytest.mark.parametrize("opened", [plans, streams, traces, series, marks])
def test_right_bytes_need_no_repair_and_wrong_checksums_get_it(tmp_path, opened):
    with opened(tmp_path) as target:
        for seed in target.seeds:
            assert target.repair(seed) == seed
            broken = bytearray(seed)
            broken[-2 if opened is marks else -1] ^= 1  # within the checksum
            if opened is plans:
                broken = seed.replace(json.loads(seed)["digest"].encode(), b"0" * 64)
            assert bytes(broken) != seed
            assert target.repair(bytes(broken)) == seed


def test_a_repaired_plan_is_read_as_far_as_its_fields():
    text = PLANS[0].to_json().replace('"epsilon": 1.0', '"epsilon": -1.0')
    with pytest.raises(hf.InvalidValue, match="digest"):
        hf.Plan.from_json(text)
    with pytest.raises(hf.InvalidValue, match="epsilon must be"):
        hf.Plan.from_json(checksum_repairs.plan(text.encode()))
