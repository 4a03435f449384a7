"""The sliding window, printed and corrected: output, weights, error factors."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.paper import window
from lab.paper.document import QUICK, Claim, Figure, Table


@pytest.fixture(scope="module")
def found():
    return list(window.blocks(QUICK))


def table(found, name):
    return next(x for x in found if isinstance(x, Table) and x.name == name)


def test_exactly_these_claims_fail(found):
    wrong = [(x.where, x.verdict) for x in found if isinstance(x, Claim) and x.verdict != "holds"]
    assert wrong == [
        ("Section 3.6", "false"),  # the output
        ("Section 3.6", "false"),  # n < w
        ("Section 3.6", "false"),  # the energy
        ("Section 3.6", "false"),  # the sensitivity's sum to T
        ("Theorem 7", "false"),  # largest deviation
        ("Theorem 7", "false"),  # mean square
        ("Section 1.2", "false"),  # tight constants
    ]


def test_every_wrong_claim_says_what_holds(found):
    assert all(x.instead for x in found if isinstance(x, Claim) and x.verdict != "holds")


def test_the_first_windows_that_fail_are_those_of_a_plain_search(found):
    def promise(w):
        return 1 + math.log(w) / math.pi + 2 / w

    r = np.ones(64)  # C(2n, n)/4^n
    for n in range(1, 64):
        r[n] = r[n - 1] * (2 * n - 1) / (2 * n)
    S = np.cumsum(r**2)
    largest, mean = {}, {}
    for w in range(1, 65):
        rows = np.array([np.concatenate([r[: j + 1][::-1], np.zeros(w - 1 - j)]) for j in range(w)])
        v = np.sum(rows**2, axis=1) + np.sum((rows[-1] - rows) ** 2, axis=1)
        # the last row of L is the block's own end
        largest[w], mean[w] = math.sqrt(S[w - 1] * max(v)), S[w - 1] * np.mean(v)
    energy = next(w for w in range(1, 65) if S[w - 1] > promise(w))
    first = next(w for w in largest if largest[w] > math.sqrt(2) * promise(w))
    square = next(w for w in mean if mean[w] > 2 * promise(w) ** 2)
    assert (energy, first, square) == (32, 14, 23)
    words = [x.printed for x in found if isinstance(x, Claim) and " at w = " in x.printed]
    for w in (energy, first, square):
        assert any(text.endswith(f" at w = {w}") for text in words)


def test_the_factors_are_the_known_ones(found):
    rows = {row[0]: row for row in table(found, "window-error-factors").rows}
    assert_allclose(
        [rows[w][i] for w in (16, 256, 4096) for i in (1, 2)],
        [2.891, 2.113, 4.439, 3.237, 5.974, 4.360],
        atol=6e-4,  # four digits are known
    )


def test_the_printed_output_is_that_of_the_paper_and_the_mended_one_the_truth():
    x = np.arange(1.0, 10.0)
    u = window.block_counts(x, 3)
    assert window.printed_output(u, 3).tolist() == [1, 3, 6, 3, 6, 9, 3, 6, 9]
    assert window.mended_output(u, 3).tolist() == [1, 3, 6, 9, 12, 15, 18, 21, 24]


def test_the_mended_output_is_the_truth_when_the_last_block_is_cut_short():
    x = np.random.default_rng(3).integers(0, 9, 23).astype(float)
    truth = np.convolve(x, np.ones(5))[:23]
    assert_allclose(window.mended_output(window.block_counts(x, 5), 5), truth, atol=1e-9)


def test_the_mean_square_of_two_steps_is_known_by_hand():
    # w = 2: S = 5/4, variances 1 + 5/4 and 5/4
    assert_allclose(window.steady_square(2), 1.25 * (2.25 + 1.25) / 2)


def test_a_window_that_keeps_the_promise_would_hold(monkeypatch):
    monkeypatch.setattr(window, "promised", lambda w: 2 + math.log(w))
    kept = [x for x in window._theorem(QUICK) if x.where == "Theorem 7"]
    assert {x.verdict for x in kept} == {"holds"}


def test_names_are_of_the_chapter_and_unique(found):
    names = [x.name for x in found if isinstance(x, Table | Figure)]  # each is a CSV file
    assert len(set(names)) == len(names)
    assert all(name.startswith("window-") for name in names)
