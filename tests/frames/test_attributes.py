"""What a released frame states about itself, and what it must not state in a file."""

import json
import warnings

import pandas as pd
import polars as pl
import pytest

import hushfade as hf
import hushfade.frames
from hushfade.errors import InvalidType

EVENTS = pd.DataFrame(
    {
        "at": pd.to_datetime(["2026-01-01", "2026-01-01", "2026-01-02", "2026-03-01"]),
        "u": ["ann", "ann", "bob", "ann"],
    }
)
SAID = {"time": "at", "every": "1d", "start": "2026-01-01", "steps": 7, "window": 7}
WEEK = {"user": "u", "protects": hf.Person(within=7), "epsilon": 1, "delta": 0}


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings(action="ignore"):
        yield


def test_a_released_frame_states_its_guarantee_its_plan_and_its_counts():
    for frame in (EVENTS, pl.DataFrame(EVENTS)):
        found = frame.hushfade.release_events(**SAID, **WEEK).attrs
        assert found["guarantee"].startswith(
            "Adding or removing any one person's records from any seven consecutive days changes"
        )
        assert found["unit"] == "person"
        assert found["limits"].endswith("at most 1 record per step.")
        assert hf.Plan.from_json(found["plan"]).guarantee.protects == hf.Person(within=7)
        counts = found["not_for_publication"].counts
        assert (counts.records, counts.over_limit, counts.outside) == (4, 1, 1)


def test_counts_are_in_no_file_and_in_no_text(tmp_path):
    found = EVENTS.hushfade.release_events(**SAID, **WEEK)
    found.to_parquet(tmp_path / "released.parquet")
    kept = pd.read_parquet(tmp_path / "released.parquet").attrs["not_for_publication"]
    assert kept == "not for publication: see .counts"
    for text in (str(found.attrs["not_for_publication"]), json.dumps(found.attrs), repr(kept)):
        assert "over_limit" not in text
        assert "records=" not in text
    assert found.head(2).attrs["not_for_publication"].counts.records == 4


def test_releases_of_rows_state_that_limits_are_assumed():
    said = {"window": 3, "low": 0, "high": 1, "mu": 0.5, "protects": hf.Person(steps=2)}
    for column in (pd.Series([1.0, 0.0]), pl.Series([1.0, 0.0])):
        found = column.hushfade.release(**said).attrs
        assert found["unit"] == "record"
        assert "assumes, and does not enforce" in found["limits"]
        assert "not_for_publication" not in found


def test_a_guarantee_is_given_in_one_of_four_ways():
    one = hf.Guarantee.from_rho(0.1, protects=hf.Person(within=2))
    for said in ({"rho": 0.1, "protects": hf.Person(within=2)}, {"guarantee": one}):
        found = EVENTS.hushfade.release_events(**SAID, user="u", **said)
        assert hf.Plan.from_json(found.attrs["plan"]).guarantee == one
    for said, error in (
        ({"guarantee": one, "mu": 1}, "guarantee and mu cannot be combined"),
        ({"mu": 1, "rho": 1}, "mu and rho cannot be combined"),
        ({"guarantee": 1}, "guarantee must be a Guarantee"),
        ({"epsilon": 1}, "a guarantee must be given"),
    ):
        with pytest.raises(InvalidType, match=error):
            EVENTS.hushfade.release_events(**SAID, **said)
    with pytest.raises(InvalidType, match="protects must be hf"):
        EVENTS.hushfade.release_events(**SAID, user="u", guarantee=hf.Guarantee(1, 0))
