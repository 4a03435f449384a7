"""Decimal texts are read exactly, by comparison with Python's own exact numbers."""

import itertools
import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushfade.records import decimal_texts, texts
from hushfade.records.faults import EMPTY, NOT_A_NUMBER

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
PARTS = st.tuples(
    st.sampled_from(["", "-", "+"]),
    st.text("0123456789", max_size=25),
    st.sampled_from(["", "."]),
    st.text("0123456789", max_size=25),
    st.sampled_from(["", "e5", "E-3", "e+20", "e-40", "e99", "e-99999999999"]),
)


def codes_of(rows):
    column = texts.of_list(rows)
    codes = np.zeros(len(rows), dtype=np.uint8)
    decimal_texts.check(*texts.parts(column), codes)
    return codes.tolist()


def floors_of(rows, places):
    codes, found = np.zeros(len(rows), dtype=np.uint8), np.zeros(len(rows), dtype=np.int64)
    decimal_texts.floors(*texts.parts(texts.of_list(rows)), places, found, codes)
    return found.tolist(), codes.tolist()


def test_the_grammar_is_that_of_a_regular_expression():
    """Every text of up to five of these characters."""
    rows = ["".join(row) for size in range(6) for row in itertools.product("+-.e0 9", repeat=size)]
    expected = [EMPTY if not row else 0 if NUMBER.fullmatch(row) else NOT_A_NUMBER for row in rows]
    assert codes_of(rows) == expected
    assert floors_of(rows, 0)[1] == expected


@settings(deadline=None, derandomize=True, max_examples=1000)
@given(PARTS, st.sampled_from([0, 3, 6, 9]))
def test_a_number_is_rounded_down_exactly(parts, places):
    text = "".join(parts)
    ((found,), (code,)) = floors_of([text], places)
    try:
        exact = Decimal(text)
    except InvalidOperation:
        assert code in (EMPTY, NOT_A_NUMBER)
        return
    assert code == 0
    if exact and not -60 < exact.adjusted() < 60:  # far beyond int64, or next to 0
        exact = Decimal(0 if exact.adjusted() < 0 else 10**30).copy_sign(exact)
        floor = -1 if text.startswith("-") and not exact else int(exact)
    else:
        floor = Fraction(exact) * 10**places // 1
    assert found == max(-(2**63), min(2**63 - 1, floor))


@pytest.mark.parametrize(
    ("text", "places", "found"),
    [
        ("1767225600000000000.0", 0, 1767225600000000000),
        ("1767229199999999999", 0, 1767229199999999999),
        ("1.767229199999999999e18", 0, 1767229199999999999),
        ("1700000000.25", 9, 1700000000250000000),
        ("-0.0000000001", 9, -1),
        ("-0", 9, 0),
        ("9223372036854775807", 0, 2**63 - 1),
        ("9223372036854775808", 0, 2**63 - 1),
        ("-9223372036854775808", 0, -(2**63)),
        ("-9223372036854775809", 0, -(2**63)),
        ("1e400", 9, 2**63 - 1),
        ("-1e99999999999999999999", 9, -(2**63)),
        ("0e99999999999999999999", 9, 0),
        ("0." + "0" * 5000 + "7e5001", 0, 7),
        ("7" + "0" * 5000 + "e-5000", 0, 7),
    ],
)
def test_values_by_hand(text, places, found):
    assert floors_of([text], places) == ([found], [0])
