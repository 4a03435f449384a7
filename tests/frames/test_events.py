"""A frame of events gives what `hushfade run` gives for the same file."""

import csv
import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import hushfade as hf
import hushfade.frames
from hushfade.cli import app
from hushfade.errors import InvalidType, InvalidValue, Malformed

EVENTS = {
    "at": ["2026-01-01T03:10", "2026-01-01T00:10", "2026-01-01T00:59", "2026-01-01T05:00"],
    "k": ["b", "a", "a", "x"],
    "v": [1.5, 1.0, 7.0, 1.0],
    "u": ["ann", "ann", "bob", "cy"],
}
ARGUMENTS = {
    "time": "at", "every": "1h", "start": "2026-01-01", "end": "2026-01-01T06:00",
    "half_life": "3h", "epsilon": 1, "delta": 1e-6,
}  # fmt: skip


def frames():
    text = pd.DataFrame(EVENTS)
    typed = text.assign(at=pd.to_datetime(text["at"]))
    return [text, typed, pl.DataFrame(EVENTS), pl.from_pandas(typed)]


def noisy(**more):
    return ARGUMENTS | {"noise": hf.UnsafeSeededNoise(7)} | more


@pytest.mark.parametrize(
    "frame", frames(), ids=["pandas", "pandas times", "polars", "polars times"]
)
def test_a_frame_gives_what_the_command_gives_for_its_file(frame, tmp_path):
    path = tmp_path / "events.csv"
    pd.DataFrame(EVENTS).to_csv(path, index=False)
    words = ["run", str(path), "--time", "at", "--every", "1h", "--start", "2026-01-01", "--end",
             "2026-01-01T06:00", "--half-life", "3h", "--epsilon", "1", "--delta", "1e-6",
             "--value", "v", "--low", "0", "--high", "2", "--key", "k", "--keys", "a,b",
             "--unsafe-seed", "7"]  # fmt: skip
    expected = list(csv.DictReader(io.StringIO(CliRunner().invoke(app, words).stdout)))
    bounds = {"value": "v", "low": 0, "high": 2}
    found = frame.hushfade.release_events(**noisy(key="k", keys=["a", "b"], **bounds))
    assert type(found) is type(frame)
    assert list(found.columns) == list(expected[0])
    for name in ("value", "stddev", "lower", "upper"):
        assert np.asarray(found[name]).tolist() == [float(row[name]) for row in expected]
    assert list(found["key"]) == [row["key"] for row in expected]
    assert [f"{time:%Y-%m-%dT%H:%M:%S}" for time in found["time"]] == [
        row["time"] for row in expected
    ]


def test_without_a_value_records_are_counted_and_persons_are_bounded():
    frame = pd.DataFrame(EVENTS)
    plan = hf.plan(hf.Exponential(half_life=3), hf.Guarantee(1, 1e-6), resolution=1)
    found = frame.hushfade.release_events(**noisy(user="u"))
    expected = plan.start(hf.UnsafeSeededNoise(7)).run([1, 0, 0, 1, 0, 1])
    # ann came at 03:10 first in the frame, so her record of 00:10 is left out
    assert found["value"].tolist() == expected.tolist()
    given = frame.hushfade.release_events(
        plan=plan, time="at", every="1h", start="2026-01-01", steps=6, user="u",
        noise=hf.UnsafeSeededNoise(7),
    )  # fmt: skip
    assert given["value"].tolist() == expected.tolist()


def test_what_must_be_declared_is_asked_for():
    frame = pd.DataFrame(EVENTS)
    with pytest.raises(InvalidType, match="the first and the last record would show"):
        frame.hushfade.release_events(**noisy(end=None))
    with pytest.raises(InvalidType, match="every must be given"):
        frame.hushfade.release_events(**noisy(every=None))
    with pytest.raises(InvalidType, match="low and high must be given"):
        frame.hushfade.release_events(**noisy(value="v"))
    with pytest.raises(Malformed, match="no column 'when'"):
        frame.hushfade.release_events(**noisy(time="when"))
    with pytest.raises((InvalidType, InvalidValue)):
        frame.hushfade.release_events(**noisy(key="k"))
