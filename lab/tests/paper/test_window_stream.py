"""The sliding window on a simulated stream."""

import pytest

from lab.paper import window_stream
from lab.paper.document import QUICK, Claim, Figure, Table


@pytest.fixture(scope="module")
def found():
    return list(window_stream.blocks(QUICK))


def table(found, name):
    return next(x for x in found if isinstance(x, Table) and x.name == name)


def test_exactly_these_claims_fail(found):
    wrong = [(x.where, x.verdict) for x in found if isinstance(x, Claim) and x.verdict != "holds"]
    assert wrong == [("Section 3.6", "false")]  # the simulated output


def test_every_wrong_claim_says_what_holds(found):
    assert all(x.instead for x in found if isinstance(x, Claim) and x.verdict != "holds")


def test_the_measured_errors_are_the_stated_ones(found):
    rows = {row[0]: row[1:] for row in table(found, "window-stream-simulated").rows}
    for name in (window_stream.MENDED, window_stream.ROOT):
        measured, stated, _ = rows[name]
        assert abs(measured / stated - 1) < 0.1  # 20 streams of some dozen independent errors
    assert rows[window_stream.PRINTED][0] > 5 * rows[window_stream.MENDED][0]


def test_names_are_of_the_chapter_and_unique(found):
    names = [x.name for x in found if isinstance(x, Table | Figure)]  # each is a CSV file
    assert len(set(names)) == len(names)
    assert all(name.startswith("window-stream-") for name in names)
