import math

import pytest

import hushfade as hf
from hushfade.cli.bounds import row_of
from hushfade.theory.bounds import bounds
from tests.cli.command import document, run
from tests.decays import ALL_DECAYS


@pytest.mark.parametrize("decay", ALL_DECAYS, ids=repr)
@pytest.mark.parametrize("n", [1, 2, 20])
def test_what_is_proven_is_in_order(decay, n):
    row = row_of(decay, n)
    assert 0 < row.lower <= row.upper
    for value in (row.square_root, row.normalized):
        assert value is None or value >= row.lower * (1 - 1e-12)
    low, high = row.paper("lower"), row.paper("upper")
    # formulas are rounded like any sum in float64
    assert low.value <= row.upper * (1 + 1e-12)
    assert high is None or high.value >= row.lower * (1 - 1e-12)
    assert row.mean_lower <= row.upper


def test_the_document_has_the_library_s_numbers():
    found = document("bounds --power 1 --horizon 300 --horizon 20 --horizon 300")
    decay = hf.PowerLaw(1)
    assert [row["steps"] for row in found["rows"]] == [20, 300]
    few, many = found["rows"]
    exact = hf.theory.gamma2(decay, 20)
    assert (few["lower"], few["upper"]) == (exact.lower, exact.upper)
    assert many["square_root"] == hf.factors.square_root(decay).error_factor(300)
    assert many["normalized"] == hf.factors.normalized(decay, 300).error_factor(300)
    assert few["mean_lower"] == hf.theory.gamma_f(decay, 20).lower / math.sqrt(20)
    assert many["mean_lower"] is None
    assert [bound["value"] for bound in many["bounds"]] == [b.value for b in bounds(decay, 300)]
    assert found["limit"] == hf.theory.gamma2_limit(decay).value


def test_two_steps_of_counting_are_known_by_hand():
    (row,) = document("bounds --decay none --horizon 2")["rows"]
    assert row["square_root"] == pytest.approx(1.25, rel=1e-12)  # rounded taps
    assert row["lower"] == pytest.approx(2 / math.sqrt(3), rel=1e-4)  # gamma2's own gap
    assert row["upper"] == pytest.approx(2 / math.sqrt(3), rel=1e-4)


def test_the_paper_s_best_bounds_are_taken():
    row = row_of(hf.PowerLaw(1), 1000)
    assert row.paper("lower").value == pytest.approx(2 / math.sqrt(4 - 1 / 4), rel=1e-12)
    harmonic = math.fsum(k**-2 for k in range(2, 1001))
    assert row.paper("upper").value == pytest.approx(1 + harmonic / 4, rel=1e-12)


def test_durations_equal_steps():
    in_time = document("bounds --half-life 6h --every 1h --horizon 1d")
    assert in_time == document("bounds --half-life 6 --horizon 24")
    assert "1d" in run("bounds --half-life 6h --every 1h --horizon 1d").stdout


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("--decay none --horizon 8", "limit: infinite"),
        ("--window 3 --horizon 8", "half weights (Theorem 3): decay must have"),
        ("--power 0.4 --horizon 8", "zeta function (Theorem 3): the power must be above 0.5"),
        ("--power 1 --horizon 1", "two steps (Theorem 2): this bound needs at least two"),
        ("--power 1 --horizon 300", "least mean: left out from 257 to 1024"),
        ("--weights 1,3 --horizon 2000", "square root, normalized: left out"),
        ("--weights 1,3 --horizon 2000", "paper's upper: the paper has no closed form"),
    ],
)
def test_what_does_not_apply_has_a_note(line, note):
    assert any(text.startswith(note) for text in document(f"bounds {line}")["notes"])
    shown = " ".join(run(f"bounds {line}").stdout.split())
    assert f"- {note}" in shown


def test_the_conclusion_is_on_the_safe_side():
    found = document("bounds --half-life 12 --horizon 100")
    (row,) = found["rows"]
    share = float(found["conclusion"].partition("has at most ")[2].partition(" %")[0])
    more = 100 * (min(row["square_root"], row["normalized"]) / row["lower"] - 1)
    assert more <= share <= more + 0.01


@pytest.mark.parametrize("text", ["0", "-4", "nan", "2.5", "1h"])
def test_wrong_horizons_are_refused(text):
    result = run(f"bounds --power 1 --horizon={text}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: --horizon must be")
