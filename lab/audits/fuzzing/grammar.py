"""Inputs by hypothesis: well-formed inputs changed in up to four ways, and texts made of words."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from lab.audits.fuzzing.byte_changes import CHANGES, changed
from lab.audits.fuzzing.invariants import Target, Watch

BATCH = 1000  # inputs per run of hypothesis, whose memory of them grows


def inputs(target: Target) -> st.SearchStrategy[bytes]:
    """Bytes for the target, most of them malformed."""
    where = st.integers(0, (1 << 16) - 1)
    change = st.tuples(st.integers(0, len(CHANGES) - 1), where, where)
    chosen = st.sampled_from(target.seeds)
    found = st.builds(
        lambda data, changes, repaired: _finished(target, changed(data, changes), repaired),
        chosen,
        st.lists(change, max_size=4),
        st.integers(0, 3),
    )
    if not target.words:
        return found
    words = st.lists(st.sampled_from(target.words), max_size=8).map(b"".join)
    return st.one_of(found, words)


def fed(watch: Watch, count: int, *, number: int) -> None:
    """Judge `count` inputs; the same `number` gives the same inputs."""

    def judge(data: bytes) -> None:
        if watch.inputs < count:
            watch.judge(data)

    again = 0
    while watch.inputs < count:
        plain = settings(
            max_examples=min(BATCH, count), database=None, deadline=None,
            phases=[Phase.generate], suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        seed(number + again)(plain(given(inputs(watch.target))(judge)))()
        again += 1


def _finished(target: Target, data: bytes, repaired: int) -> bytes:
    return target.repair(data) if repaired else data
