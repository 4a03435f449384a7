"""The compiled loops of both halves: products, quotients, decayed sums; in blocks and by rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import PowerLaw, Unstable, factors
from hushfade.factors.taps import IntegerTaps, jumps_of
from hushfade.group_sizes import BLOCK, PERIOD, period_of
from hushfade.private.right_product import product_block, product_row, scaled_block
from hushfade.public.decayed_sum import Sums, decay_block, decay_row
from hushfade.public.left_quotient import Quotients, quotient_block, quotient_row
from hushfade.public.recursion import TOGETHER, grouped, parts_of
from hushfade.ring_buffers import write
from tests.decays import ALL_DECAYS

SHORT = IntegerTaps.of(np.array([5, 3, 3, 0, -2, 1]), 2)
SINGLE = {"one": IntegerTaps.of(np.array([1]), 0), "three": IntegerTaps.of(np.array([3]), 2)}


class Loop:
    """Runs a loop over any number of steps: blocks for one lane, rows for several."""

    exact = False

    def __init__(self, lanes):
        self.lanes, self.steps = lanes, 0

    def push(self, x):
        """(n, lanes) in, the same shape out."""
        out = np.empty(x.shape, dtype=np.int64 if self.exact else np.float64)
        start = 0
        while start < len(x):
            step = self.steps
            n = min(BLOCK, len(x) - start, self.period - step % self.period)
            n = n if self.lanes == 1 else 1
            rows = slice(start, start + n)
            if self.lanes == 1:
                out[rows, 0] = self.block(step, np.ascontiguousarray(x[rows, 0]))
            else:
                out[rows] = self.row(step, np.ascontiguousarray(x[start]))
            start += n
            self.steps += n
        return out


class Product(Loop):
    exact, period = True, PERIOD

    def __init__(self, taps, lanes):
        super().__init__(lanes)
        self.jumps = jumps_of(taps)
        rows = taps.support + (BLOCK if lanes == 1 else 1)
        self.ring, self.sums = np.zeros((rows, lanes), np.int64), np.zeros(lanes, np.int64)

    def block(self, step, x):
        out, ring = np.empty(len(x), np.int64), self.ring.ravel()
        if self.jumps.single:
            self.sums[0] = scaled_block(step, x, self.jumps.single, ring, out)
        else:
            self.sums[0] = product_block(step, x, self.jumps, ring, self.sums[0], out)
        return out

    def row(self, step, x):
        self.ring[step % len(self.ring)] = x
        product_row(step, 0, self.lanes, self.jumps, self.ring, self.sums)
        return self.sums


class Quotient(Loop):
    def __init__(self, taps, lanes):
        super().__init__(lanes)
        self.jumps, self.period = jumps_of(taps), period_of(taps.support)
        rows = taps.support + (BLOCK if lanes == 1 else 1)
        self.state = Quotients(np.zeros((rows, lanes)), np.zeros(lanes), np.zeros(lanes))

    def block(self, step, x):
        back, u = np.empty(BLOCK), np.empty(BLOCK)
        quotient_block(step, x.astype(float), self.period, self.jumps, self.state, back, u)
        write(self.state.ring.ravel(), step % len(self.state.ring), u[: len(x)])
        return u[: len(x)]

    def row(self, step, x):
        u = x.astype(float)
        quotient_row(step, 0, self.lanes, u, self.period, self.jumps, self.state, np.empty(len(u)))
        return u


class Decayed(Loop):
    def __init__(self, decay, lanes):
        super().__init__(lanes)
        found = grouped(decay)
        self.parts, self.period = parts_of(decay), period_of(found.memory)
        self.ring = np.zeros((found.memory + (BLOCK if lanes == 1 else 1), lanes))
        windows = len(found.windows)
        self.sums = Sums(
            np.zeros((len(found.fades), lanes)),
            np.zeros((windows, lanes)),
            np.zeros((windows, lanes)),
        )

    def block(self, step, x):
        u, out = x.astype(float), np.empty(len(x))
        decay_block(step, u, self.period, self.parts, self.ring, self.sums, out)
        write(self.ring.ravel(), step % len(self.ring), u)
        return out

    def row(self, step, x):
        u, out, partial = x.astype(float), np.empty(len(x)), np.empty((TOGETHER, len(x)))
        self.ring[step % len(self.ring)] = u
        decay_row(
            step, 0, self.lanes, u, self.period, self.parts, self.ring, self.sums, partial, out
        )
        return out


def taps_of(decay):
    try:
        return factors.square_root(decay, horizon=400).rounded(10).taps
    except Unstable:  # a cut momentum, whose root grows: a few steps of it
        return factors.square_root(decay, horizon=12).rounded(10).taps


TAPS = {repr(decay): taps_of(decay) for decay in ALL_DECAYS} | SINGLE | {"short": SHORT}
LOOPS = {  # name: how to make it for a number of lanes, the series it applies, does it divide by it
    **{f"product {n}": (lambda k, t=t: Product(t, k), t.integers, False) for n, t in TAPS.items()},
    **{
        f"quotient {n}": (lambda k, t=t: Quotient(t, k), t.integers, True)
        for n, t in TAPS.items()
        if n != "short"
    },
    **{
        f"decayed {decay!r}": (lambda k, d=decay: Decayed(d, k), decay.weights(900), False)
        for decay in ALL_DECAYS
    },
}


def inputs(n, lanes, seed=1):
    return np.random.default_rng(seed).integers(-1000, 1000, size=(n, lanes))


def test_a_loop_is_the_convolution_with_its_series():
    for name, (make, series, divides) in LOOPS.items():
        loop, x = make(1), inputs(900, 1)
        out = loop.push(x)[:, 0]
        product, wanted = (out, x[:, 0]) if divides else (x[:, 0], out)
        if loop.exact:  # by Python's own integers
            exact = np.convolve(product.astype(object), series[:900].astype(object))[:900]
            assert out.tolist() == exact.tolist(), name
        else:  # rounding, and the power law's 1e-10
            terms = np.convolve(np.abs(product), np.abs(series[:900]))[:900]
            error = np.abs(np.convolve(product, series[:900])[:900] - wanted)
            assert np.all(error <= 2e-10 * terms + 1e-14 * np.max(terms)), name


def test_any_grouping_of_steps_and_any_number_of_lanes_give_the_same_bits():
    rng = np.random.default_rng(11)
    for name, (make, _, _) in LOOPS.items():
        x = inputs(260, 3, seed=2)
        whole = make(3).push(x)
        for lane in range(3):
            alone = make(1)
            cuts = np.sort(rng.integers(0, 261, size=9))
            parts = [alone.push(part) for part in np.split(x[:, lane : lane + 1], cuts)]
            np.testing.assert_array_equal(np.concatenate(parts)[:, 0], whole[:, lane], name)


def test_the_quotient_undoes_the_product():
    for name, taps in TAPS.items():
        if name == "short":  # it has a zero inside the unit disk
            continue
        x = inputs(min(380, taps.support), 1)
        # some left factors grow to 1e3 within the horizon
        assert_allclose(
            Quotient(taps, 1).push(Product(taps, 1).push(x)), x, atol=1e-7, err_msg=name
        )


def test_quotients_do_not_drift_over_renewals():
    taps = factors.square_root(PowerLaw(power=1)).rounded(8).taps
    assert period_of(taps.support) == PERIOD
    n = 6 * PERIOD
    y = np.random.default_rng(3).normal(size=(n, 1))
    u = Quotient(taps, 1).push(y)[:, 0]
    error = np.abs(np.convolve(u, taps.integers)[:n] - y[:, 0]).reshape(6, PERIOD)
    assert np.max(error) < 1e-11
    assert np.max(error[-1]) < 3 * np.max(error[0])


@pytest.mark.parametrize(("reach", "period"), [(0, PERIOD), (PERIOD, PERIOD), (5000, 8192)])
def test_a_period_is_a_power_of_two_no_shorter_than_the_reach(reach, period):
    assert period_of(reach) == period


def test_products_near_the_limit_of_int64_are_exact():
    top = 2**62 // int(np.sum(np.abs(SHORT.integers)))
    assert Product(SHORT, 1).push(np.full((10, 1), top))[-1, 0] == 10 * top
