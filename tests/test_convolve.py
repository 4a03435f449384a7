import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import InvalidType, InvalidValue, Unstable
from hushfade.convolve import PERIOD, period_of
from hushfade.convolve.online import Online, OnlineInverse
from hushfade.convolve.recursive import Recursive
from hushfade.convolve.stepped import Stepped, SteppedInverse
from hushfade.factors import factorization
from hushfade.factors.taps import IntegerTaps
from tests.decays import ALL_DECAYS

RNG = np.random.default_rng(5)


def taps_of(decay):
    try:
        return factorization.square_root(decay, horizon=400).rounded(10).taps
    except Unstable:  # a cut momentum, whose root grows: a few steps of it
        return factorization.square_root(decay, horizon=12).rounded(10).taps


STEPPED = {repr(decay): taps_of(decay) for decay in ALL_DECAYS}
SHORT = IntegerTaps(np.array([5, 3, 3, 0, -2, 1]), 2)
IRREGULAR = RNG.integers(-300, 300, size=700)
IRREGULAR[0] = 900
SMOOTH = np.exp(-np.arange(3000) / 400.0) * (1 + 0.1 * np.cos(np.arange(3000.0)))

# a name, the kernel for so many lanes, its taps for the first n steps, is it a quotient, exact
KERNELS = [
    *(
        (f"stepped {name}", lambda lanes, t=taps: Stepped(t, lanes), taps.integers, False)
        for name, taps in STEPPED.items()
    ),
    *(
        (f"inverse {name}", lambda lanes, t=taps: SteppedInverse(t, lanes), taps.integers, True)
        for name, taps in STEPPED.items()
    ),
    *(
        (f"recursive {decay!r}", lambda lanes, d=decay: Recursive(d, lanes), decay.weights(900), 0)
        for decay in ALL_DECAYS
    ),
    ("stepped short", lambda lanes: Stepped(SHORT, lanes), SHORT.integers, False),
    ("online integers", lambda lanes: Online(IRREGULAR, lanes), IRREGULAR, False),
    ("online floats", lambda lanes: Online(SMOOTH, lanes), SMOOTH, False),
    ("online one tap", lambda lanes: Online(np.array([3]), lanes), np.array([3]), False),
    ("online inverse", lambda lanes: OnlineInverse(SMOOTH, lanes), SMOOTH, True),
]
EACH = pytest.mark.parametrize(
    ("make", "taps", "divides"), [k[1:] for k in KERNELS], ids=[k[0] for k in KERNELS]
)


def given(kernel, n, seed=1):
    shape = (n,) if kernel.lanes == 1 else (n, kernel.lanes)
    return np.random.default_rng(seed).integers(-1000, 1000, size=shape)


@EACH
def test_a_kernel_is_the_convolution(make, taps, divides):
    kernel = make(1)
    x = given(kernel, 900)
    found = kernel.push_many(x)
    product, wanted = (found, x) if divides else (x, found)
    if kernel.kind is np.int64:  # by Python's own integers
        exact = np.convolve(product.astype(object), taps[:900].astype(object))[:900]
        assert found.tolist() == exact.tolist()
    else:  # rounding, and the power law's 1e-10
        terms = np.convolve(np.abs(product), np.abs(taps[:900]))[:900]
        error = np.abs(np.convolve(product, taps[:900])[:900] - wanted)
        assert np.all(error <= 2e-10 * terms + 1e-14 * np.max(terms))


@EACH
@pytest.mark.parametrize("lanes", [1, 3])
def test_single_steps_blocks_and_a_restored_state_give_the_same_bits(make, taps, divides, lanes):
    whole, pushed, again = make(lanes), make(lanes), make(lanes)
    x = given(whole, 260)
    expected = whole.push_many(x)
    singles = np.array([pushed.push(row) for row in x[:70]])
    assert np.array_equal(singles, expected[:70])
    again.restore(pushed.state())
    assert np.array_equal(again.push_many(x[70:]), expected[70:])
    assert np.array_equal(pushed.push_many(x[70:]), expected[70:])
    assert again.steps == 260


@EACH
def test_every_lane_is_alone(make, taps, divides):
    x = given(make(3), 300)
    many = make(3).push_many(x)
    for lane in range(3):
        assert np.array_equal(make(1).push_many(x[:, lane]), many[:, lane])


@hypothesis.given(
    st.integers(0, len(KERNELS) - 1), st.lists(st.integers(0, 150), max_size=12), st.integers(1, 2)
)
@hypothesis.settings(deadline=None, max_examples=120)
def test_any_split_gives_the_same_bits(which, lengths, lanes):
    make = KERNELS[which][1]
    split = make(lanes)
    x = given(split, sum(lengths), seed=which)
    parts = [split.push_many(part) for part in np.split(x, np.cumsum(lengths))]
    assert np.array_equal(np.concatenate(parts), make(lanes).push_many(x))


@pytest.mark.parametrize("name", list(STEPPED))
def test_the_inverse_undoes_the_product(name):
    taps = STEPPED[name]
    x = given(Stepped(taps), min(380, taps.support))
    found = SteppedInverse(taps).push_many(Stepped(taps).push_many(x))
    assert_allclose(found, x, atol=1e-7)  # some lefts grow to 1e3 within the horizon


def test_quotients_do_not_drift_over_renewals():
    taps = factorization.square_root(ALL_DECAYS[2]).rounded(8).taps
    assert period_of(taps.support) == PERIOD
    n = 6 * PERIOD
    y = np.random.default_rng(3).normal(size=n)
    u = SteppedInverse(taps).push_many(y)
    error = np.abs(np.convolve(u, taps.integers)[:n] - y).reshape(6, PERIOD)
    assert np.max(error) < 1e-12
    assert np.max(error[-1]) < 3 * np.max(error[0])
    assert np.max(error[1:, : PERIOD // 64]) < 0.5 * np.max(error[:, -PERIOD // 64 :])  # renewed


def test_integers_near_the_limit_are_exact():
    taps = np.full(300, 7)
    x = np.full(1000, int(Online(taps).largest))
    found = Online(taps).push_many(x)
    assert found[-1] == 300 * 7 * int(x[0])
    assert found[150] == 151 * 7 * int(x[0])
    top = int(Stepped(SHORT).largest)
    assert Stepped(SHORT).push_many([top] * 10)[-1] == 10 * top


def test_refusals():
    for kernel in (Stepped(SHORT, 2), Recursive(ALL_DECAYS[1], 2), Online(IRREGULAR, 2)):
        before = kernel.state()
        with pytest.raises(InvalidValue, match=r"shape \(n, 2\), got \(3, 3\)"):
            kernel.push_many(np.zeros((3, 3), dtype=int))
        with pytest.raises(InvalidValue, match="shape"):
            kernel.push(1)
        with pytest.raises(InvalidType, match="x must be of"):
            kernel.push_many(np.array([["a", "b"]]))
        with pytest.raises(InvalidValue, match="state must have arrays"):
            kernel.restore((3, before[1][:-1]))
        assert kernel.steps == 0
    with pytest.raises(InvalidType, match="of int64, got float64"):
        Stepped(SHORT).push(1.0)
    with pytest.raises(InvalidValue, match="at most"):
        Stepped(SHORT).push(2**62)
    with pytest.raises(InvalidValue, match="at most"):
        Online(IRREGULAR).push(2**58)
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(InvalidValue, match="finite"):
            Recursive(ALL_DECAYS[1]).push_many([1.0, bad])
    assert Online(np.array([0, 0])).push(7) == 0
    with pytest.raises(InvalidValue, match="at most"):
        Stepped(IntegerTaps(np.array([2**62] * 4 + [1]), 0)).push(4)
    with pytest.raises(InvalidValue, match="must start with a tap != 0"):
        OnlineInverse(np.array([0.0, 1.0]))
    with pytest.raises(InvalidValue, match="taps must"):
        Online(np.zeros((2, 2), dtype=int))
    with pytest.raises(InvalidValue, match="lanes must be"):
        Recursive(ALL_DECAYS[1], 0)
