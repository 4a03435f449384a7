"""Objects become texts one by one, and what a role admits depends on the object alone."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from hushfade.frames.object_columns import text_column
from hushfade.records.faults import FLOAT_NANOSECONDS, NOT_A_NAME, NOT_A_NUMBER, NOT_A_TIME

NAME, NUMBER, TIME = NOT_A_NAME, NOT_A_NUMBER, NOT_A_TIME
# the object, its text, and its codes as value, time, time in s, time in ns, key
CASES = [
    ("é", "é", (0, 0, 0, 0, 0)),
    (2**80, str(2**80), (0, TIME, 0, 0, 0)),
    (np.int8(-7), "-7", (0, TIME, 0, 0, 0)),
    (0.1, "0.1", (0, TIME, 0, FLOAT_NANOSECONDS, NAME)),
    (np.float64(1e22), "1e+22", (0, TIME, 0, FLOAT_NANOSECONDS, NAME)),
    (float("inf"), "inf", (0, TIME, 0, FLOAT_NANOSECONDS, NAME)),  # the parser rejects the text
    (Decimal("1.10"), "1.10", (0, TIME, 0, 0, NAME)),
    (date(2026, 1, 31), "2026-01-31", (NUMBER, 0, NUMBER, NUMBER, NAME)),
    (datetime(2026, 1, 31, 1), "2026-01-31T01:00:00", (NUMBER, 0, NUMBER, NUMBER, NAME)),
    (
        datetime(2026, 1, 31, 1, tzinfo=timezone(timedelta(hours=2, seconds=1))),
        "2026-01-30T22:59:59+00:00",
        (NUMBER, 0, NUMBER, NUMBER, NAME),
    ),
    (pd.Timestamp(7), "1970-01-01T00:00:00.000000007", (NUMBER, 0, NUMBER, NUMBER, NAME)),
    (np.datetime64(7, "ns"), "1970-01-01T00:00:00.000000007", (NUMBER, 0, NUMBER, NUMBER, NAME)),
    (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00+00:00", (NUMBER, 0, NUMBER, NUMBER, NAME)),
    (True, "", (NUMBER, TIME, NUMBER, NUMBER, NAME)),
    (np.bool_(0), "", (NUMBER, TIME, NUMBER, NUMBER, NAME)),
    (b"at", "", (NUMBER, TIME, NUMBER, NUMBER, NAME)),
    ([1], "", (NUMBER, TIME, NUMBER, NUMBER, NAME)),
    (1j, "", (NUMBER, TIME, NUMBER, NUMBER, NAME)),
    ("\ud800", "", (NUMBER, TIME, NUMBER, NUMBER, NAME)),
    (10**5000, "", (NUMBER, TIME, NUMBER, NUMBER, NAME)),
    (timedelta(1), "", (NUMBER, TIME, NUMBER, NUMBER, NAME)),
]
ROLES = [("value", None), ("time", None), ("time", "s"), ("time", "ns"), ("key", None)]


def test_texts_and_codes_do_not_depend_on_the_company():
    objects = [one for one, _, _ in CASES]
    for place, (role, unit) in enumerate(ROLES):
        for order in (objects, objects[::-1]):
            column, codes = text_column(order, role, unit)
            for one, text, expected in CASES:
                at = next(row for row, other in enumerate(order) if other is one)
                assert column[at].as_py() == text, one
                assert codes[at] == expected[place], (one, role, unit)
                alone, code = text_column([one], role, unit)
                assert (alone[0].as_py(), code.tolist()) == (text, [expected[place]])


@pytest.mark.parametrize(
    "null", [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT")], ids=repr
)
def test_nulls_are_nulls_in_every_role(null):
    for role, unit in ROLES:
        column, codes = text_column(["a", null], role, unit)
        assert column.to_pylist() == ["a", None]
        assert codes.tolist() == [0, 0]


def test_foreign_objects_are_asked_nothing():
    class Silent:
        def refuse(self):
            raise AssertionError

        __repr__ = __str__ = __float__ = __int__ = __index__ = __bytes__ = __len__ = refuse

    column, codes = text_column([Silent()], "user", None)
    assert (column.to_pylist(), codes.tolist()) == ([""], [NOT_A_NAME])
