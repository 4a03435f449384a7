"""Errata: the lower bound."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import zeta

from hushfade import PowerLaw
from lab.paper.theory.bounds import for_ever, two_steps
from lab.paper.theory.families import (
    mathias_lower,
    power_sum,
    power_zeta,
)
from tests.loops import for_each
from tests.theory import brute
from tests.theory.brute import powers


@pytest.mark.parametrize("f2", [0.05, 0.5, 1.0])
def test_the_lower_bound_is_the_exact_value_of_two_steps_and_no_more(f2):
    lower, upper = brute.gamma2([1.0, f2])
    assert_allclose([lower, upper], 2 / math.sqrt(4 - f2**2), atol=1e-6)
    assert brute.gamma2([1.0, f2, f2])[0] > upper + 1e-6


@for_each("a", [-1.0, 0.0, 0.3, 1.0, 1.2, 1.414])
def test_claim_22_holds_for_every_a_up_to_root_two(a):
    # Claim 22 asks |a| < 1 and so leaves out f(2) = 1, the count; its norm is right beyond
    sine = math.sqrt((4 - 2 * a * a) / (4 - a * a))
    cosine = math.sqrt(1 - sine**2)
    assert_allclose(cosine, abs(a) / math.sqrt(4 - a * a), atol=1e-8)
    Q = np.array([[sine, cosine], [-cosine, sine]])
    norm = np.linalg.norm(np.array([[1, 0], [a, 1]]) * Q, 2)
    assert_allclose(norm, 2 / math.sqrt(4 - a * a), rtol=1e-12)


GAPS = {1: 0.1284, 2: 0.01268, 3: 0.00238, 4: 5.31e-4, 5: 1.266e-4}
CLAIMS = {1: 0.13, 2: 0.0125, 3: 0.003, 4: 5e-4, 5: 1.25e-4}


@pytest.mark.parametrize("c", GAPS)
def test_the_gap_between_upper_and_lower_bound(c):
    # Section 1.1: at most .13, .0125, .003, 5e-4, 1.25e-4 for c = 1, ..., 5 and all T
    decay = PowerLaw(power=c)
    lower = 2 / math.sqrt(4 - 4.0**-c)
    gap = 1 + (float(zeta(2 * c)) - 1) / 4 - lower
    assert_allclose(gap, GAPS[c], rtol=3e-3)
    assert_allclose(power_zeta(decay).value - two_steps(decay, 2).value, gap, rtol=1e-9)
    first = {2: 8, 4: 3, 5: 3}  # the first T at which the claim is violated
    if c in first:
        assert power_sum(decay, first[c]).value - lower > CLAIMS[c]
        assert power_sum(decay, first[c] - 1).value - lower < CLAIMS[c]
    else:
        assert gap < CLAIMS[c]
    # with the bound of Theorem 2 in place of Theorem 3, c = 2 is saved; 4 and 5 are not
    assert (for_ever(decay).value - lower > CLAIMS[c]) == (c in {4, 5})


def test_the_maximum_over_q_need_not_exist_for_operators_and_is_weak():
    # Theorem 21: γ2(A) = max ‖A∘Q‖/‖Q‖ for any complex linear operator; of the count it is infinite
    values = [mathias_lower(2**k).value for k in (4, 8, 16, 20)]
    assert np.all(np.diff(values) > 0.8)


def test_lemma_26_needs_the_trace_norm_and_the_spectral_norm_and_is_weak():
    # Lemma 26 writes ‖·‖_1, its proof ‖·‖_2, and names neither
    C = brute.matrix(np.ones(8))
    lower, upper = brute.gamma2(np.ones(8))
    H = np.linalg.qr(np.random.default_rng(3).normal(size=(8, 8)))[0]
    P = np.outer(H[0], H[1])
    assert np.linalg.norm(C * P, "nuc") / np.linalg.norm(P, "nuc") <= upper
    # as sums of squares (‖·‖_2 beside a trace norm ‖·‖_1) the most is the largest entry
    assert np.linalg.norm(C * H) / np.linalg.norm(H) < 1 < lower
    # so it is as largest sums of a column (‖·‖_1 as in ‖·‖_{1→1})
    assert np.linalg.norm(C * H, 1) / np.linalg.norm(H, 1) <= 1


@pytest.mark.parametrize(("c", "bound", "printed"), [(1, 1.0772, 1.0328), (2, 1.0160, 1.0079)])
def test_the_trace_norm_was_a_nontrivial_lower_bound_and_calling_ours_the_first_is_weak(
    c, bound, printed
):
    # abstract, Section 1.1: the first nontrivial lower bound for f not constant.  ‖M‖_*/T ≤ γ2 is
    # the dual (Lemma 26) at P = 1/T; above 1 from T = 2 on, above the printed bound at T = 8
    for T in (2, 8):
        M = brute.matrix(powers(float(c), T))
        trace = np.linalg.norm(M, "nuc") / T
        assert 1 < trace <= brute.gamma2(powers(float(c), T))[1]
    assert (f"{trace:.4f}", f"{two_steps(PowerLaw(power=c), 8).value:.4f}") == (
        f"{bound:.4f}",
        f"{printed:.4f}",
    )
    f_2 = 2.0**-c
    pair = np.linalg.norm(brute.matrix([1, f_2]), "nuc") / 2
    assert_allclose(pair, math.sqrt(1 + f_2**2 / 4), rtol=1e-12)
