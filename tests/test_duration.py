from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushfade.duration import nanoseconds, shown, steps, whole_steps
from hushfade.errors import InvalidValue

HOUR = 3600 * 10**9


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 2**62))
def test_what_is_shown_is_read_back(length):
    assert nanoseconds(shown(length)) == length


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 7000), st.sampled_from(["w", "d", "h", "min", "s", "ms", "us", "ns"]))
def test_a_duration_is_so_many_steps_of_its_unit(count, unit):
    assert steps(f"{count}{unit}", nanoseconds(f"1{unit}"), name="x") == count


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1h", 3600), ("90min", 5400), ("90m", 5400), ("1h30m", 5400), ("1d 12h", 129600),
     ("2w", 1209600), ("1.5h", 5400), ("0.25s", Fraction(1, 4)), ("500ms", Fraction(1, 2)),
     (" 7d ", 604800)],
)  # fmt: skip
def test_known_durations(text, seconds):
    assert nanoseconds(text) == seconds * 10**9


def test_a_plain_number_is_steps_whatever_a_step_is():
    assert steps("24", None, name="x") == steps("24", HOUR, name="x") == 24
    assert steps("1.5", HOUR, name="x") == Fraction(3, 2)


def test_fractions_of_steps_are_exact_or_refused():
    assert steps("20min", HOUR, name="x") == Fraction(1, 3)
    with pytest.raises(InvalidValue, match=r"window must be a whole number of steps, got 1\.5"):
        whole_steps("90min", HOUR, name="window")


@pytest.mark.parametrize(
    "text",
    ["", " ", "h", "1", "1x", "1mo", "1y", "-1h", "1h-", "1_0h", "１h", "nan", "inf", "1e3h", "0h",
     "1hh", "1 h 2", "99999999999999d", "0.0000000001s", "1h" * 10**4 + "x"],
)  # fmt: skip
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(InvalidValue):
        nanoseconds(text)


@pytest.mark.parametrize("text", ["0", "0.0", "-1", "nan", "1e3", "1_000", "inf", "٣"])
def test_what_is_no_number_of_steps_is_refused(text):
    with pytest.raises(InvalidValue):
        steps(text, HOUR, name="x")


def test_a_duration_needs_the_length_of_a_step():
    with pytest.raises(InvalidValue, match="x must be in steps"):
        steps("24h", None, name="x")
