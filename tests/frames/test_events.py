"""A frame of events gives what `hushfade run` gives for the same file."""

import csv
import io
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

import hushfade as hf
import hushfade.frames
from hushfade import Person
from hushfade.errors import DroppedRecords, InvalidType, InvalidValue, Malformed
from hushfade.frames import events
from tests.cli.command import invoke
from tests.loops import for_each

ignored = pytest.mark.filterwarnings("ignore::hushfade.errors.DroppedRecords")
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


class Telling:
    """Tells its content when it is asked what it is."""

    def __repr__(self):
        return "secret"


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
    expected = list(csv.DictReader(io.StringIO(invoke(*words).stdout)))
    bounds = {"value": "v", "low": 0, "high": 2}
    with pytest.warns(DroppedRecords, match=r"^3 of 4 records counted; dropped: 1 of other keys"):
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
    with pytest.warns(DroppedRecords, match="1 beyond a person's limits"):
        found = frame.hushfade.release_events(**noisy(user="u", protects=Person(steps=1)))
    expected = plan.start(hf.UnsafeSeededNoise(7)).run([1, 0, 0, 1, 0, 1])
    # ann came at 03:10 first in the frame, so her record of 00:10 is left out
    assert found["value"].tolist() == expected.tolist()
    with pytest.warns(DroppedRecords):
        given = frame.hushfade.release_events(
            plan=plan, time="at", every="1h", start="2026-01-01", steps=6, user="u",
            noise=hf.UnsafeSeededNoise(7),
        )  # fmt: skip
    assert given["value"].tolist() == expected.tolist()


def test_a_record_of_another_key_moves_nobody_elses_step():
    """By hand, with weights that sum one step: two totals change.  Where a key's rows are its steps
    all later rows of both keys move, so `release` promises nothing for another key."""
    frame = pd.DataFrame({"at": pd.date_range("2026", periods=6, freq="h"), "k": [*"aabbab"]})
    frame["v"] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    moved = frame.assign(k=[*"babbab"])
    said = {"weights": [1], "epsilon": 1, "delta": 1e-6, "neighbours": "replace", "value": "v"}
    said |= {"low": 0, "high": 8, "key": "k", "keys": ["a", "b"], "noise": hf.UnsafeSeededNoise(7)}
    hours = {"time": "at", "every": "1h", "start": "2026-01-01", "steps": 6}
    events = [x.hushfade.release_events(**said, **hours)["value"] for x in (frame, moved)]
    assert np.rint(events[1] - events[0]).tolist() == [-1, 1] + [0] * 10
    rows = [x.hushfade.release(**said)["value"].to_numpy() for x in (frame, moved)]
    assert np.rint(rows[1][:6] - rows[0]).tolist() == [1, -2, 3, -1, -5, -2]


@ignored
def test_a_person_is_there_or_not_with_all_their_records():
    """By hand: ann's first record displaces her second, so one record changes two steps; without
    her only what she had counted is missing."""
    records = {"at": ["2026-01-01T03:10", "2026-01-01T00:10", "2026-01-01T00:59"]}
    frame = pd.DataFrame(records | {"u": ["ann", "ann", "bob"]})
    said = noisy(user="u", protects=Person(steps=1), half_life=None, weights=[1])

    def totals(rows):
        found = frame.iloc[rows].hushfade.release_events(**said)["value"]
        nobody = frame.iloc[[]].hushfade.release_events(**said)["value"]
        return np.rint(found - nobody).tolist()

    assert totals([0, 1, 2]) == [1, 0, 0, 1, 0, 0]
    assert totals([1, 2]) == [2, 0, 0, 0, 0, 0]
    assert totals([2]) == [1, 0, 0, 0, 0, 0]


@for_each(
    ("start", "end"),
    [
        (date(2026, 1, 1), datetime(2026, 1, 1, 6)),
        (pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-01 06:00")),
        (datetime(2026, 1, 1), "2026-01-01T06:00"),
    ],
)
@for_each("every", [timedelta(hours=1), pd.Timedelta("1h")])
def test_times_and_lengths_may_be_objects(start, end, every):
    frame = pd.DataFrame(EVENTS)
    expected = frame.hushfade.release_events(**noisy())
    pd.testing.assert_frame_equal(
        frame.hushfade.release_events(**noisy(start=start, end=end, every=every)), expected
    )


@pytest.mark.parametrize(
    "start",
    [
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1, 9, tzinfo=ZoneInfo("Asia/Tokyo")),
        pd.Timestamp("2026-01-01 09:00", tz="Asia/Tokyo"),
    ],
    ids=repr,
)
def test_a_start_keeps_its_zone(start):
    frame = pd.DataFrame(EVENTS)
    zoned = frame.assign(at=pd.to_datetime(frame["at"], utc=True))
    said = noisy(start=start, end=None, steps=6)
    found = zoned.hushfade.release_events(**said)
    assert found["value"].tolist() == frame.hushfade.release_events(**noisy())["value"].tolist()
    with pytest.raises(Malformed, match="zone"):
        frame.hushfade.release_events(**said)


@ignored
def test_a_start_is_exact_to_the_nanosecond():
    """By hand: the step from 1 ns on holds the second of two records, 1 ns apart."""
    frame = pd.DataFrame({"at": pd.to_datetime([0, 1])})
    said = noisy(half_life=None, weights=[1], end=None, steps=1)
    values = [
        frame.hushfade.release_events(**said | {"start": pd.Timestamp(first)})["value"][0]
        for first in (0, 1, 2)
    ]
    assert np.diff(values).tolist() == [-1, -1]


@for_each(
    ("column", "value", "user", "time"),
    [
        (["secret", 1.0, 2.0, 3.0], 1, 2, 1),
        ([1.0, "secret", 2.0, 3.0], 2, 1, 1),
        ([2**80, 1, 2, 3], None, None, 1),
        ([{"secret": 1}, "secret", 1, 2], 1, 1, 1),
        (["\ud800secret", "a", "b", "c"], 1, 1, 1),
        ([Telling()] * 4, 1, 1, 1),
        ([True, 1, 2, 3], 1, 1, 1),
        ([b"1", 1, 2, 3], 1, 1, 1),
    ],
)
def test_an_object_that_cannot_be_read_is_refused_with_its_row_and_without_its_content(
    column, value, user, time
):
    frames = [
        pd.DataFrame(EVENTS).assign(bad=pd.Series(column, dtype=object)),
        pl.DataFrame(EVENTS).with_columns(bad=pl.Series(column, dtype=pl.Object)),
    ]
    for frame in frames:
        for row, named in (
            (value, {"value": "bad", "low": 0, "high": 1}),
            (user, {"user": "bad", "protects": Person(steps=4)}),
            (time, {"time": "bad"}),
        ):
            if row is None:
                frame.hushfade.release_events(**noisy(**named))
                continue
            with pytest.raises(Malformed, match=f"frame, row {row}, column 'bad': must be") as no:
                frame.hushfade.release_events(**noisy(**named))
            assert "secret" not in str(no.value)
            assert no.value.__context__ is None


def test_columns_of_other_types_are_refused():
    frame = pd.DataFrame(EVENTS).assign(bad=np.array([1j] * 4))
    with pytest.raises(InvalidType, match="column 'bad' must have numbers, text or times: cast"):
        frame.hushfade.release_events(**noisy(value="bad", low=0, high=1))
    other = pl.DataFrame(EVENTS).with_columns(bad=pl.Series([[1]] * 4))
    with pytest.raises(Malformed, match="column 'bad' must be numbers"):
        other.hushfade.release_events(**noisy(value="bad", low=0, high=1))


def totals_of(frame, **said):
    """The totals of two hours, which the noise of a seed leaves where it found them."""
    said = {
        "half_life": None,
        "weights": [1],
        "start": "2026-01-01Z",
        "end": None,
        "steps": 2,
    } | said
    found = frame.hushfade.release_events(**noisy(**said))["value"]
    nobody = frame[:0].hushfade.release_events(**noisy(**said))["value"]
    return np.rint(np.asarray(found) - np.asarray(nobody)).tolist()


HOUR_END = 1767229199999999999  # the last nanosecond of the hour from 2026-01-01T00:00Z
ODD_TIMES = [1767225600000000000.0, Decimal("1767225600000000000.0"), 1767225600000000000, 2**70,
             "1767225600000000000.0", np.float64(1767225600000000000), None]  # fmt: skip


@ignored
@for_each("odd", ODD_TIMES)
def test_one_time_never_moves_the_others(odd):
    """A float among integers of nanoseconds turned all of them into floats, 256 ns apart, and moved
    a thousand records to the next hour."""
    many = [HOUR_END] * 1000
    for column in ([odd, *many], [*many, odd]):
        for frame in (
            pd.DataFrame({"at": pd.Series(column, dtype=object)}),
            pl.DataFrame({"at": pl.Series(column, dtype=pl.Object)}),
        ):
            if isinstance(odd, float | None):
                with pytest.raises(Malformed, match=r"'at': (is empty|must be an integer: floats)"):
                    totals_of(frame, time_unit="ns")
            else:
                inside = odd != 2**70
                assert totals_of(frame, time_unit="ns") == [1000 + inside, 0]


def test_a_column_of_floats_cannot_hold_nanoseconds():
    """pandas makes floats of integers where one is missing."""
    for frame in (
        pd.DataFrame({"at": [HOUR_END, None]}),
        pd.DataFrame({"at": [HOUR_END, 1767225600000000000.0]}),
        pl.DataFrame({"at": [float(HOUR_END)]}),
    ):
        with pytest.raises(InvalidValue, match=r"must have integers, got .*: cast it to int64"):
            totals_of(frame, time_unit="ns")
    assert totals_of(pd.DataFrame({"at": [1767229199.999999, 1767229200.0]}), time_unit="s") == [
        1,
        1,
    ]


@ignored
def test_objects_of_every_kind_are_read_each_for_itself():
    """By hand: all are in the first hour but the last two."""
    times = [
        "2026-01-01T00:59:59.999999999Z", pd.Timestamp(HOUR_END, tz="UTC"),
        datetime(2026, 1, 1, 1, 30, tzinfo=ZoneInfo("Europe/Vienna")),
        pd.Timestamp("3000-01-01", tz="UTC").as_unit("us"), "2026-01-01T01:00Z",
    ]  # fmt: skip
    for order in (times, times[::-1]):
        frame = pd.DataFrame({"at": pd.Series(order, dtype=object)})
        assert totals_of(frame) == [3, 1]
        kinds = frame.assign(at=frame["at"].astype("category"))
        assert totals_of(kinds) == [3, 1]
    naive = [
        date(2026, 1, 1),
        np.datetime64(HOUR_END, "ns"),
        datetime(2026, 1, 1, 1),
        "2026-01-01T01",
    ]
    frame = pd.DataFrame({"at": pd.Series(naive, dtype=object)})
    assert totals_of(frame, start="2026-01-01") == [2, 2]
    with pytest.raises(Malformed, match="row 1, column 'at': must have a time zone"):
        totals_of(frame)


def test_numbers_outside_the_bounds_are_clipped_whatever_their_size():
    for huge in (2**70, -(2**70), 10**300, Decimal(10) ** 30, 1e308, str(2**70)):
        column = pd.Series([huge, 1, 2.0, "1"], dtype=object)
        objects = pl.Series(column.tolist(), dtype=pl.Object)
        for frame in (
            pd.DataFrame(EVENTS).assign(w=column),
            pl.DataFrame(EVENTS).with_columns(w=objects),
        ):
            found = totals_of(frame, value="w", low=-4, high=4, start="2026-01-01", steps=6)
            assert found == [3, 0, 0, 4.0 if "-" not in str(huge) else -4.0, 0, 1], huge
    wide = pl.DataFrame(EVENTS).with_columns(w=pl.Series([2**70, 1, 1, 1], dtype=pl.Int128))
    found = totals_of(wide, value="w", low=-4, high=4, start="2026-01-01", steps=6)
    assert found == [2, 0, 0, 4, 0, 1]


def test_a_person_is_the_same_as_text_and_as_number_and_is_never_blank():
    frame = pd.DataFrame(EVENTS).assign(u=pd.Series([7, "7", "07", 7], dtype=object))
    said = {"user": "u", "protects": Person(steps=1), "start": "2026-01-01", "steps": 6}
    with pytest.warns(DroppedRecords, match="2 of 4 records counted; dropped: 2 beyond a person's"):
        assert totals_of(frame, **said) == [1, 0, 0, 1, 0, 0]
    for nobody in ("", "  ", "\u3000", None):
        bad = frame.assign(u=pd.Series(["a", "b", nobody, "c"]))
        with pytest.raises(
            Malformed, match="row 3, column 'u': is empty, but must name the person"
        ):
            totals_of(bad, **said)


def test_long_frames_are_read_in_pieces_and_rows_keep_their_numbers(monkeypatch):
    said = noisy(value="v", low=0, high=9, user="u", protects=Person(steps=2))
    for frame in frames():
        expected = frame.hushfade.release_events(**said)["value"]
        with monkeypatch.context() as patched:
            patched.setattr(events, "_ROWS", 1)
            assert list(frame.hushfade.release_events(**said)["value"]) == list(expected)
    bad = pd.DataFrame(EVENTS).assign(u=["a", "b", "c", " "]).set_axis([3, 2, 1, 0])
    for rows in (1, 2, 4):
        monkeypatch.setattr(events, "_ROWS", rows)
        with pytest.raises(Malformed, match="frame, row 4, column 'u'"):
            bad.hushfade.release_events(**said)


def test_dropped_records_are_reported():
    frame = pd.DataFrame(EVENTS)
    with pytest.warns(
        DroppedRecords, match=r"2 of 4 .* 2 outside the steps \(not for pub"
    ) as caught:
        frame.hushfade.release_events(**noisy(end="2026-01-01T03:00"))
    assert caught[0].filename == __file__


def test_a_plan_brings_its_keys():
    plan = hf.plan(hf.Exponential(half_life=3), hf.Guarantee(1, 1e-6), keys=["a", "b", "x"])
    hours = {"time": "at", "every": "1h", "start": "2026-01-01", "steps": 6, "key": "k"}
    for frame in (pd.DataFrame(EVENTS), pl.DataFrame(EVENTS)):
        found = frame.hushfade.release_events(plan=plan, **hours)
        assert list(found["key"])[:3] == ["a", "b", "x"]
        found = frame.hushfade.release(plan=plan, value="v", key="k")
        assert list(found["k"])[:3] == ["a", "b", "x"]
        with pytest.raises(InvalidValue, match="plan must have the given keys"):
            frame.hushfade.release_events(plan=plan, keys=["a"], **hours)
        single = hf.plan(plan.decay, plan.guarantee)
        with pytest.raises(InvalidType, match="keys must be declared"):
            frame.hushfade.release_events(plan=single, **hours)


def test_columns_that_are_not_asked_for_are_not_read():
    expected = pd.DataFrame(EVENTS).hushfade.release_events(**noisy())["value"].tolist()
    bad = pd.Series([1.0, "x", Telling(), 2**80], dtype=object)
    frame = pd.DataFrame(EVENTS).assign(bad=bad)
    twice = pd.concat([frame, frame[["bad"]]], axis=1)
    others = pl.DataFrame(EVENTS).with_columns(bad=pl.Series(bad.tolist(), dtype=pl.Object))
    for found in (frame, twice, others, others.with_columns(bad=pl.lit(1, pl.Int128))):
        assert found.hushfade.release_events(**noisy())["value"].to_list() == expected


def test_a_column_must_be_there_once():
    frame = pd.DataFrame(EVENTS)
    twice = pd.concat([frame, frame[["at"]]], axis=1)
    with pytest.raises(Malformed, match="2 columns 'at' for the time"):
        twice.hushfade.release_events(**noisy())
    for found in (frame, pl.DataFrame(EVENTS)):
        with pytest.raises(Malformed, match="no column 'when' for the time"):
            found.hushfade.release_events(**noisy(time="when"))
        with pytest.raises(Malformed, match="no column 'who' for the user"):
            found.hushfade.release_events(**noisy(user="who", protects=Person(steps=1)))


@for_each(
    ("said", "error", "words"),
    [
        ({"confidence": 0}, InvalidValue, "confidence must be"),
        ({"confidence": 1}, InvalidValue, "confidence must be"),
        ({"confidence": False}, InvalidType, "confidence must be"),
        ({"every": 3600}, InvalidType, "every must be text .*, got int"),
        ({"start": 0}, InvalidType, "start must be a string, a date or a datetime, got int"),
        ({"start": pd.NaT}, InvalidValue, "start must be a time"),
        (
            {"end": np.datetime64("2026-01-02")},
            InvalidType,
            "end must be a string, .* got datetime64",
        ),
        (
            {"end": datetime(2026, 1, 2, tzinfo=UTC)},
            InvalidValue,
            "end must have a time zone if and only if the start has one",
        ),
        ({"skip_empty": "no"}, InvalidType, "skip_empty must be a bool, got str"),
        ({"time": None}, InvalidType, "time must be the name of a column, got None"),
        ({"time": 0}, InvalidType, "time must be the name of a column, got int"),
        (
            {"user": 0, "protects": Person(steps=1)},
            InvalidType,
            "user must be the name of a column, got int",
        ),
    ],
)
def test_arguments_that_break_a_rule_are_refused(said, error, words):
    for frame in (pd.DataFrame(EVENTS), pl.DataFrame(EVENTS)):
        with pytest.raises(error, match=words):
            frame.hushfade.release_events(**noisy(**said))


def test_the_confidence_is_the_one_that_is_given():
    """By hand: ± 1 standard deviation holds 68.27 % of normal errors."""
    said = noisy(confidence=0.6826894921370859, method="square_root")
    found = pd.DataFrame(EVENTS).hushfade.release_events(**said)
    # Φ⁻¹ of a rounded number, and a difference: off by a few of the last bits
    assert_allclose(found["upper"] - found["value"], found["stddev"], rtol=1e-12)


def test_what_must_be_declared_is_asked_for():
    frame = pd.DataFrame(EVENTS)
    with pytest.raises(InvalidType, match=r"protects must be hf\.Person"):
        frame.hushfade.release_events(**noisy(user="u"))
    with pytest.raises(InvalidType, match="the times of the first and the last record"):
        frame.hushfade.release_events(**noisy(end=None))
    with pytest.raises(InvalidType, match="every must be given"):
        frame.hushfade.release_events(**noisy(every=None))
    with pytest.raises(InvalidType, match="low and high must be given"):
        frame.hushfade.release_events(**noisy(value="v"))
    with pytest.raises((InvalidType, InvalidValue)):
        frame.hushfade.release_events(**noisy(key="k"))
