"""Written times, by comparison with Python's datetime and with Arrow."""

import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushfade.records import texts, time_texts
from hushfade.records.arrow import pa
from hushfade.records.faults import EMPTY, NOT_A_TIME, WITH_ZONE, WITHOUT_ZONE

EPOCH = datetime.datetime(1970, 1, 1)
ZONES = st.sampled_from(["", "Z", "+00", "+01:00", "-0530", "+23:59", "-23:59"])


def read(rows, zoned=False):
    codes, found = np.zeros(len(rows), dtype=np.uint8), np.zeros(len(rows), dtype=np.int64)
    time_texts.nanoseconds(*texts.parts(texts.of_list(rows)), zoned, found, codes)
    return found.tolist(), codes.tolist()


def within_int64(number):
    return max(-(2**63), min(2**63 - 1, number))


@settings(deadline=None, derandomize=True, max_examples=1000)
@given(
    st.datetimes(),
    st.sampled_from(["T", " "]),
    st.sampled_from(["hours", "minutes", "seconds"]),
    st.text("0123456789", max_size=9),
    ZONES,
)
def test_a_time_is_what_python_says(moment, between, precision, fraction, zone):
    text = moment.replace(microsecond=0).isoformat(between, precision)
    if fraction and precision == "seconds":
        text += "." + fraction
    whole = datetime.datetime.fromisoformat(moment.replace(microsecond=0).isoformat(" ", precision))
    offset = datetime.timedelta(0)
    if zone not in ("", "Z"):
        offset = datetime.datetime.strptime(zone.replace(":", "").ljust(5, "0"), "%z").utcoffset()
    seconds = (whole - EPOCH) // datetime.timedelta(seconds=1) - offset // datetime.timedelta(
        seconds=1
    )
    rest = int(fraction.ljust(9, "0")) if fraction and precision == "seconds" else 0
    assert read([text + zone], bool(zone)) == ([within_int64(seconds * 10**9 + rest)], [0])
    other = WITH_ZONE if zone else WITHOUT_ZONE
    assert read([text + zone], not zone)[1] == [other]
    assert time_texts.has_zone(texts.read_only((text + zone).encode())) == bool(zone)


@settings(deadline=None, derandomize=True, max_examples=2000)
@given(st.text(alphabet="0129-:.TZ +", max_size=8), st.integers(0, 29), st.booleans())
def test_what_is_a_time_is_what_arrow_says(noise, at, zoned):
    text = "2024-02-29T12:34:56.789+01:30"
    text = text[:at] + noise + text[at + len(noise) :]
    kind = pa.timestamp("us", "UTC" if zoned else None)
    try:
        expected = pa.array([text]).cast(kind).cast(pa.int64())[0].as_py()
    except pa.ArrowInvalid:
        expected = None
    ((found,), (code,)) = read([text], zoned)
    if expected is not None:
        assert code == 0
        assert found == within_int64(expected * 1000)
    elif code == 0:  # nanoseconds, and a date in UTC, which Arrow does not read here
        assert len(text.partition(".")[2].rstrip("Z").partition("+")[0]) > 6 or text[10:] == "Z"


def test_one_time_changes_no_other():
    """A year that nanoseconds do not reach, beside nine digits of a second."""
    alone = read(["2026-01-01T00:00:00.123456789"])
    for other in ("3000-01-01", "0001-01-01", "2026-01-01T00:00Z", "x", ""):
        found, codes = read([other, "2026-01-01T00:00:00.123456789"])
        assert (found[1:], codes[1:]) == alone


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1970-01-01", 0),
        ("1969-12-31T23:59:59.999999999", -1),
        ("2000-02-29", 951782400 * 10**9),
        ("2262-04-11T23:47:16.854775807", 2**63 - 1),
        ("2262-04-11T23:47:16.854775808", 2**63 - 1),
        ("1677-09-21T00:12:43.145224192", -(2**63)),
        ("1677-09-21T00:12:43.145224193", -(2**63) + 1),
        ("1677-09-21T00:12:43.145224191", -(2**63)),
        ("3000-01-01", 2**63 - 1),
        ("0001-01-01", -(2**63)),
    ],
)
def test_values_by_hand(text, found):
    assert read([text]) == ([found], [0])


@pytest.mark.parametrize(
    "text",
    ["2026", "2026-01", "2026-1-1", "2026-13-01", "2026-00-01", "2026-02-29", "1900-02-29",
     "0000-01-01", "2026-01-31T", "2026-01-31T1", "2026-01-31T24:00", "2026-01-31T12:60",
     "2026-01-31T12:00:60", "2026-01-31T12:00:00.", "2026-01-31T12:00:00.1234567890",
     "2026-01-31t12:00", "2026-01-31T1200", "2026-01-31T12:00:00,5", " 2026-01-31", "2026-01-31 ",
     "２０２６-01-31", "yesterday", "1767225600", "2026-01-31T12:00z", "2026-01-31T12:00+24:00",
     "2026-01-31T12:00+01:60", "2026-01-31T12:00+1", "2026-01-31T12:00+01:",
     "2026-01-31T12:00+01:00:00", "2026-01-31+01:00", "2026-01-31T12:00ZZ"],
)  # fmt: skip
def test_what_is_no_time_is_a_fault(text):
    for zoned in (False, True):
        assert read([text], zoned)[1] == [NOT_A_TIME]


def test_an_empty_text_is_empty_and_a_date_may_be_in_utc():
    assert read(["", "2026-01-31Z"], True) == ([0, 1769817600 * 10**9], [EMPTY, 0])
