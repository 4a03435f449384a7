import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import toeplitz

from hushfade import Exponential, Guarantee, NoDecay, PowerLaw, SlidingWindow
from hushfade.baselines.bolot_exponential import bolot_exponential, decayed_tree
from hushfade.baselines.bolot_power import (
    best_beta,
    best_beta_for,
    bolot_power,
    bolot_sensitivity,
    rounded_weights,
    worst_errors,
)
from hushfade.baselines.bolot_window import bolot_window
from hushfade.errors import InvalidType, InvalidValue
from tests.loops import for_each

STEPS = [1, 2, 3, 8, 13, 33, 100, 128]
NOISES = ["gaussian", "laplace"]
WIDTHS = [1, 2, 3, 5, 7, 16, 31, 64, 100, 300]
ALPHAS = [1.001, 1.01, 1.1, 1.3, 1.49]
POWERS = [0.3, 0.5, 1, 2, 5]
BETAS = [0.03, 0.3, 0.5, 0.8]
RTOL = 1e-12  # sums of at most a few hundred products
GUARANTEE = Guarantee(epsilon=1, delta=1e-6)


def window(w):
    return lambda n, noise: bolot_window(SlidingWindow(length=w), n, noise=noise)


def exponential(alpha):
    return lambda n, noise: bolot_exponential(Exponential.from_alpha(alpha), n, noise=noise)


def tree(decay, height):
    def make(n, noise):
        fits = height is None or 2**height < 2 * n
        return decayed_tree(decay, n, height=height if fits else 0, noise=noise)

    return make


def power(c, beta):
    return lambda n, noise: bolot_power(PowerLaw(power=c), n, beta=beta, noise=noise)


CASES = {f"window {w}": window(w) for w in WIDTHS}
CASES |= {f"exponential {alpha}": exponential(alpha) for alpha in ALPHAS}
CASES |= {
    f"tree {decay!r} {height}": tree(decay, height)
    for decay in (NoDecay(), Exponential.from_alpha(1.01), Exponential.from_alpha(10))
    for height in (None, 0, 1, 2, 3, 7)
}
CASES |= {f"power {c} {beta}": power(c, beta) for c in POWERS for beta in BETAS}


def aim(mechanism):
    """The matrix that the mechanism's answers have as their mean."""
    n, f = mechanism.horizon, mechanism.decay.weights(mechanism.horizon)
    if mechanism.bias:
        f = rounded_by_search(f, mechanism.bias)
    return toeplitz(f, np.zeros(n))


def rounded_by_search(f, beta):
    """The largest power of 1 - beta that is at most each weight, up to rounding."""
    powers = np.cumprod(np.full(3000, 1 - beta)) / (1 - beta)
    return np.array([powers[np.argmax(powers <= weight * (1 + 1e-11))] for weight in f])


@for_each("make", CASES.values())
@for_each("noise", NOISES)
@for_each("n", STEPS)
def test_the_matrices_multiply_to_the_decay_and_have_the_stated_norms(make, n, noise):
    mechanism = make(n, noise)
    L, R = (part.toarray() for part in mechanism.matrices())
    assert_allclose(L @ R, aim(mechanism), rtol=RTOL, atol=1e-15)
    assert_allclose(mechanism.errors, np.linalg.norm(L, axis=1), rtol=RTOL)
    order = 1 if noise == "laplace" else 2
    assert_allclose(mechanism.sensitivity, np.max(np.linalg.norm(R, order, axis=0)), rtol=RTOL)
    assert mechanism.pure == (noise == "laplace")


@for_each("make", CASES.values())
def test_answers_add_only_sums_that_are_complete(make):
    mechanism = make(29, "gaussian")
    L, R = (part.toarray() for part in mechanism.matrices())
    last = np.where(R != 0, np.arange(29), -1).max(axis=1)
    assert all(np.max(last[L[t] != 0]) <= t for t in range(29))
    assert mechanism.online


@for_each("noise", NOISES)
@for_each("name", ["window 7", "exponential 1.1", "tree NoDecay() 3", "power 1 0.3"])
def test_simulated_errors_have_the_stated_deviation_and_no_mean_but_the_bias(name, noise):
    mechanism = CASES[name](64, noise)
    L, R = mechanism.matrices()
    draws, generator = 4000, np.random.default_rng(7)
    stddev = mechanism.noise_stddev(GUARANTEE)
    shape = (R.shape[0], draws)
    if noise == "laplace":
        z = generator.laplace(scale=stddev / math.sqrt(2), size=shape)
    else:
        z = generator.normal(scale=stddev, size=shape)
    x = generator.integers(0, 10, size=64).astype(float)
    errors = L @ ((R @ x)[:, None] + z) - (aim(mechanism) @ x)[:, None]
    stated = mechanism.stddevs(GUARANTEE)
    # 5 standard errors; of the deviation √((κ - 1)/4n), with kurtosis κ = 3, for Laplace up to 6
    kurtosis = 6 if noise == "laplace" else 3
    assert np.all(np.abs(np.mean(errors, axis=1)) <= 5 * stated / math.sqrt(draws))
    slack = 5 * math.sqrt((kurtosis - 1) / (4 * draws))
    assert_allclose(np.std(errors, axis=1), stated, rtol=slack)
    one = mechanism.simulate(x, GUARANTEE, generator=generator)
    assert np.max(np.abs(one - aim(mechanism) @ x) / stated) < 6


# Windows ------------------------------------------------------------------------------------


def halvings(start, end):
    """Every node of the tree on [start, end), as (start, end)."""
    if end - start == 1:
        return [(start, end)]
    middle = end - (end - start) // 2
    return [(start, end), *halvings(start, middle), *halvings(middle, end)]


def cover(node, start, end):
    """How many nodes of the tree below `node` make up [start, end), the fewest."""
    if start >= end:
        return 0
    if node == (start, end):
        return 1
    middle = node[1] - (node[1] - node[0]) // 2
    left = cover((node[0], middle), start, min(end, middle))
    return left + cover((middle, node[1]), max(start, middle), end)


@for_each("w", [1, 2, 3, 5, 6, 7, 8, 13, 16, 31])
def test_a_window_is_the_fewest_nodes_of_a_suffix_and_a_prefix(w):
    n = 3 * w + 2
    L, R = (part.toarray() for part in bolot_window(SlidingWindow(length=w), n).matrices())
    assert set(np.unique(L)) <= {0.0, 1.0}
    complete = {
        tuple(float(b * w + s <= j < b * w + e) for j in range(n))
        for b in range(n // w + 1)
        for s, e in halvings(0, w)
        if b * w + e <= n
    }
    assert {tuple(row) for row in R} == complete
    assert len(R) == len(complete)
    for t in range(n):
        block, place = divmod(t, w)
        fewest = cover((0, w), 0, place + 1)
        fewest += cover((0, w), place + 1, w) if block else 0
        assert np.sum(L[t]) == fewest


@for_each("w", [*range(1, 70), 1000, 1023, 1024, 1025])
def test_a_window_s_error_factor_is_one_more_than_its_levels(w):
    mechanism = bolot_window(SlidingWindow(length=w), 2 * w)
    assert_allclose(mechanism.error_factor, 1 + math.ceil(math.log2(w)), rtol=1e-15)
    # Laplace: √2 ‖L‖ ‖R‖₁→₁
    pure = bolot_window(SlidingWindow(length=w), 2 * w, noise="laplace")
    levels = 1 + math.ceil(math.log2(w))
    assert_allclose(pure.error_factor, math.sqrt(2) * levels**1.5, rtol=1e-14)


class StreamingWindow:
    """The window mechanism step by step; noise_of(start, end) gives the noise of a node."""

    def __init__(self, w, noise_of):
        self.w, self.noise_of, self.base = w, noise_of, 0
        self.stack = []  # (end, count, noise) of the nodes of the prefix, summed from the begin
        self.right, self.suffix = {}, {}  # noisy sums by where they start: this block, the last
        self.ends, self.parents = {}, {}  # of right halves: the end by the start, the node above
        for s, e in halvings(0, w):
            if e - s > 1:
                middle = e - (e - s) // 2
                self.parents[middle, e] = (s, e)
                self.ends[middle] = e

    def step(self, x):
        w, place = self.w, (self.stack[-1][0] if self.stack else 0)
        start, end = place, place + 1
        count = x + (self.stack[-1][1] if self.stack else 0)
        while (start, end) in self.parents:  # a right half: keep it noisy, join it to its left
            before = self.stack.pop()
            self.right[start] = (
                count - before[1] + self.noise_of(self.base + start, self.base + end)
            )
            start, end = self.parents[start, end]
        noise = self.noise_of(self.base + start, self.base + end)
        noise += self.stack[-1][2] if self.stack else 0
        self.stack.append((end, count, noise))
        answer = count + noise + self.suffix.pop(end, 0)
        if end == w:
            self.suffix = {}
            for b in sorted(self.right, reverse=True):
                self.suffix[b] = self.right[b] + self.suffix.get(self.ends[b], 0)
            self.stack, self.right, self.base = [], {}, self.base + w
        return answer

    @property
    def kept(self):
        return 2 * len(self.stack) + len(self.right) + len(self.suffix)


@for_each("w", [1, 2, 3, 7, 8, 20, 33])
def test_a_stream_of_windows_keeps_no_more_numbers_than_stated(w):
    n = 4 * w + 3
    mechanism = bolot_window(SlidingWindow(length=w), n)
    L, R = mechanism.matrices()
    rows = {}
    for i, row in enumerate(R.toarray()):
        held = np.flatnonzero(row)
        rows[int(held[0]), int(held[-1]) + 1] = i
    generator = np.random.default_rng(1)
    x, z = generator.normal(size=n), generator.normal(size=R.shape[0])
    stream = StreamingWindow(w, lambda start, end: z[rows[start, end]])
    answers, kept = [], []
    for total in x:
        answers.append(stream.step(total))
        kept.append(stream.kept)
    assert_allclose(answers, L @ (R @ x + z), rtol=0, atol=1e-12)
    assert max(kept) <= mechanism.memory <= max(kept) + 2 * math.ceil(math.log2(w))


@for_each("n", [1024, 4096, 65536, 2**20])
@for_each(("w", "factor"), [(16, 5), (256, 9)])
def test_the_window_column_at_every_horizon(w, factor, n):
    assert_allclose(bolot_window(SlidingWindow(length=w), n).error_factor, factor, rtol=1e-14)


def test_a_window_longer_than_the_horizon_is_a_count():
    long = bolot_window(SlidingWindow(length=10**12), 100)
    assert_allclose(long.errors**2, [t.bit_count() for t in range(1, 101)], rtol=1e-15)
    assert_allclose(long.sensitivity**2, 7, rtol=1e-15)  # 1, 2, 4, ..., 64 steps


# Exponentials and counts ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alpha", "printed"), [(1.01, "5.37"), (1.1, "2.40"), (2, "1.15"), (1.001, None)]
)
def test_the_exponential_column_and_the_best_of_all_heights(alpha, printed):
    decay = Exponential.from_alpha(alpha)
    best = decayed_tree(decay, 1024).error_factor
    every = [decayed_tree(decay, 1024, height=h).error_factor for h in range(11)]
    assert best == min(every)
    if printed:
        assert f"{best:.2f}" == printed
    if alpha < 1.5:
        assert bolot_exponential(decay, 1024).error_factor == best


@pytest.mark.parametrize("n", [4096, 65536, 2**20])
def test_the_exponential_column_stays_as_the_horizon_grows(n):
    assert f"{bolot_exponential(Exponential.from_alpha(1.01), n).error_factor:.2f}" == "5.37"


@pytest.mark.parametrize("alpha", [1.1, 2])
def test_a_fast_decay_is_best_without_a_tree_which_is_noise_on_the_inputs(alpha):
    mechanism = decayed_tree(Exponential.from_alpha(alpha), 1024)
    expected = np.cumsum(alpha ** (-2.0 * np.arange(1024)))
    assert_allclose(mechanism.errors**2, expected, rtol=1e-11)  # alpha is rounded in half_life
    assert (mechanism.sensitivity, mechanism.memory, mechanism.work) == (1.0, 1, 3.0)


@pytest.mark.parametrize(("height", "printed"), [(10, "10.49"), (16, "16.49"), (20, "20.49")])
def test_a_tree_on_all_steps_of_a_count_is_the_binary_tree(height, printed):
    n = 2**height
    mechanism = decayed_tree(NoDecay(), n, height=height)
    assert_array_equal(np.round(mechanism.errors**2), np.bitwise_count(np.arange(1, n + 1)))
    assert_allclose(mechanism.sensitivity**2, height + 1, rtol=1e-15)
    assert f"{mechanism.error_factor:.2f}" == printed


def test_a_count_is_better_off_with_four_trees_than_with_one():
    # blocks of 256: 9 levels, and 3 roots with 8 nodes at most
    assert_allclose(decayed_tree(NoDecay(), 1024).error_factor, math.sqrt(99), rtol=1e-14)


def test_the_longer_the_memory_the_higher_the_tree():
    memories = [
        bolot_exponential(Exponential(half_life=h), 2**14).memory for h in (2, 20, 200, 2000)
    ]
    assert memories == sorted(memories)
    assert memories[0] == 1
    assert memories[-1] >= 8


@for_each("decay", [NoDecay(), Exponential.from_alpha(1.05)])
@for_each("height", [0, 1, 3, 6])
def test_a_stream_of_decayed_sums_keeps_the_stated_numbers(decay, height):
    n, B = 100, 2**height
    mechanism = decayed_tree(decay, n, height=height)
    L, R = mechanism.matrices()
    generator = np.random.default_rng(2)
    x, z = generator.normal(size=n), generator.normal(size=n)
    fade = decay.weights(n)
    total, stack, answers, most = 0.0, [], [], 0
    for t in range(n):
        place = t % B + 1
        size = place & -place
        total = total * fade[1] + x[t]
        while stack and stack[-1][0] > place - size:
            stack.pop()
        noise = z[t] + (stack[-1][1] * fade[size] if stack else 0.0)
        if place == B:
            total, stack = total + noise, []
            answers.append(total)
        else:
            stack.append((place, noise))
            answers.append(total + noise)
        most = max(most, 1 + len(stack))
    assert_allclose(answers, L @ (R @ x + z), rtol=0, atol=1e-12)
    assert most == mechanism.memory


# Power laws -----------------------------------------------------------------------------------


@for_each("c", POWERS)
@for_each("beta", [0.001, *BETAS, 0.999])
def test_rounded_weights_are_the_next_lower_powers(c, beta):
    f, found = PowerLaw(power=c).weights(5000), rounded_weights(PowerLaw(power=c), 5000, beta)
    slack = 1 + 1e-12  # a weight that is a power of 1 - beta may come out an ulp or more above
    assert found[0] == 1.0
    assert np.all(found <= f * slack)
    assert np.all(found > f * (1 - beta) / slack)
    exponents = np.log(found) / math.log1p(-beta)
    assert_allclose(exponents, np.round(exponents), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("m", [2, 9, 11, 12])  # the computed exponents of the last three are high
def test_weights_that_are_powers_of_one_minus_beta_stay(m):
    f = rounded_weights(PowerLaw(power=1), m**5, 1 - 1 / m)
    assert_allclose(f[[m**i - 1 for i in range(6)]], [m**-i for i in range(6)], rtol=1e-13)


@for_each("noise", NOISES)
@for_each("beta", [0.1, 0.5, 0.9])
@for_each("c", [0.5, 1, 3])
def test_no_other_split_of_the_weights_has_less_error(c, beta, noise):
    n, order = 200, 1 if noise == "laplace" else 2
    f = rounded_weights(PowerLaw(power=c), n, beta)
    windows = np.flatnonzero(np.diff(f, append=0.0)) + 1
    d = f[windows - 1] - np.append(f[windows[1:] - 1], 0.0)
    parts = [bolot_window(SlidingWindow(length=int(b)), n, noise=noise) for b in windows]
    worst = np.array([np.max(part.errors) for part in parts])
    norms = np.array([part.sensitivity for part in parts])

    def bound(rho):
        return np.linalg.norm(rho * norms, order) * np.linalg.norm(d / rho * worst)

    mechanism = bolot_power(PowerLaw(power=c), n, beta=beta, noise=noise)
    found = mechanism.error_factor / (math.sqrt(2) if noise == "laplace" else 1.0)
    R, rows = mechanism.matrices()[1], np.cumsum([len(p.matrices()[1].indptr) - 1 for p in parts])
    rho = R.max(axis=1).toarray()[rows - 1]
    assert found <= bound(rho) * (1 + 1e-12)
    generator = np.random.default_rng(3)
    for size in (1e-3, 1e-1, 1):
        tilts = np.exp(size * generator.normal(size=(50, len(d))))
        assert bound(rho) <= np.min([bound(rho * tilt) for tilt in tilts]) * (1 + 1e-12)
    assert bound(rho) <= min(bound(np.ones(len(d))), bound(d), bound(np.sqrt(d))) * (1 + 1e-12)
    if noise == "gaussian":
        assert_allclose(bound(rho), np.sum(d * worst * norms), rtol=1e-12)


@pytest.mark.parametrize("c", [0.5, 1, 2])
def test_gaussian_additive_error_hardly_depends_on_a_small_beta(c):
    found = [bolot_power(PowerLaw(power=c), 1024, beta=b).error_factor for b in (0.01, 0.03, 0.1)]
    assert max(found) / min(found) < 1.05


@pytest.mark.parametrize("noise", NOISES)
def test_the_additive_error_falls_to_that_of_a_single_step(noise):
    found = [
        bolot_power(PowerLaw(power=1), 300, beta=b, noise=noise).error_factor
        for b in (0.9, 0.99, 0.999, 1 - 1e-12)
    ]
    assert found == sorted(found, reverse=True)
    assert_allclose(found[-1], math.sqrt(2) if noise == "laplace" else 1, rtol=1e-3)


@for_each("c", [0.5, 1, 3])
@for_each("beta", [0.05, 0.4, 0.9])
def test_the_printed_sensitivity_sums_the_windows_nodes(c, beta):
    i = np.arange(20000)
    windows_log = -(i + 1) * math.log1p(-beta) / c
    expected = np.sum((1 - beta) ** i * (1 + windows_log))
    assert_allclose(bolot_sensitivity(c, beta), expected, rtol=1e-10)


@pytest.mark.parametrize("c", [0.5, 1, 2, 10])
def test_the_best_beta_makes_the_printed_sensitivity_least(c):
    decay = PowerLaw(power=c)
    least = bolot_sensitivity(c, best_beta(decay))
    grid = [bolot_sensitivity(c, beta) for beta in np.linspace(0.001, 0.999, 999)]
    assert least <= min(grid) <= least * (1 + 1e-4)
    assert least > 1 + 1 / c  # as the paper says


@pytest.mark.parametrize("noise", NOISES)
def test_the_worst_error_is_that_of_a_full_stream(noise):
    decay, n, largest = PowerLaw(power=1), 50, 30.0
    found = worst_errors(decay, n, GUARANTEE, beta=0.3, largest=largest, change=2.0, noise=noise)
    mechanism = bolot_power(decay, n, beta=0.3, noise=noise)
    L, R = mechanism.matrices()
    off = (L @ R).toarray() - toeplitz(decay.weights(n), np.zeros(n))
    deviation = mechanism.stddevs(GUARANTEE, 2.0)
    assert_allclose(found, np.hypot(deviation, off @ np.full(n, largest)), rtol=1e-12)
    streams = np.random.default_rng(4).uniform(0, largest, size=(n, 100))
    assert np.all(np.hypot(deviation[:, None], off @ streams) <= found[:, None])


@for_each("noise", NOISES)
@for_each("largest", [1.0, 10.0, 1000.0])
def test_the_best_beta_for_a_stream_has_the_least_worst_error(largest, noise):
    decay, n = PowerLaw(power=1), 256
    options = {"largest": largest, "noise": noise}
    beta = best_beta_for(decay, n, GUARANTEE, **options)
    least = np.max(worst_errors(decay, n, GUARANTEE, beta=beta, **options))
    for odds in 2.0 ** np.arange(-6, 31):
        other = worst_errors(decay, n, GUARANTEE, beta=odds / (1 + odds), **options)
        assert least <= np.max(other)


@pytest.mark.parametrize("power", [2, 3])
def test_where_noise_outweighs_the_stream_the_best_beta_forgets_the_past(power):
    decay, n = PowerLaw(power=power), 256
    beta = best_beta_for(decay, n, GUARANTEE, largest=1.0)
    assert beta > 0.9999
    # noise of unit sensitivity on the newest step, and the whole past missing
    forgetful = math.hypot(1 / GUARANTEE.mu, np.sum(decay.weights(n)[1:]))
    errors = worst_errors(decay, n, GUARANTEE, beta=beta, largest=1.0)
    assert_allclose(np.max(errors), forgetful, rtol=1e-3)  # weights of 1 - beta are left


def test_the_larger_the_stream_the_less_bias_it_bears():
    found = [
        best_beta_for(PowerLaw(power=1), 256, GUARANTEE, largest=size) for size in (1, 10, 1000)
    ]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]


def test_a_steep_power_law_underflows_in_silence():
    mechanism = bolot_power(PowerLaw(power=200), 200, beta=0.5)  # 40^-200 is below float64
    assert np.all(np.isfinite(mechanism.errors))
    assert_allclose(mechanism.error_factor, 1.0, rtol=1e-9)


# Refusals -------------------------------------------------------------------------------------


def test_alpha_must_be_in_the_range_of_the_proof():
    for alpha in (1.5, 1.6, 2, 100):
        with pytest.raises(InvalidValue, match=r"alpha must be < 3/2 for Bolot et al., got"):
            bolot_exponential(Exponential.from_alpha(alpha), 10)
        assert decayed_tree(Exponential.from_alpha(alpha), 10).error_factor > 1
    assert bolot_exponential(Exponential.from_alpha(1.4999), 10).error_factor > 1


@for_each("beta", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf])
def test_beta_must_be_a_fraction(beta):
    with pytest.raises(InvalidValue, match="beta must be"):
        bolot_power(PowerLaw(power=1), 10, beta=beta)
    with pytest.raises(InvalidValue, match="beta must be"):
        bolot_sensitivity(1.0, beta)


def test_each_takes_its_own_decay_only():
    with pytest.raises(InvalidType, match="decay must be a SlidingWindow, got NoDecay"):
        bolot_window(NoDecay(), 10)
    with pytest.raises(InvalidType, match="decay must be an Exponential, got NoDecay"):
        bolot_exponential(NoDecay(), 10)
    with pytest.raises(InvalidType, match="decay must be an Exponential or NoDecay, got PowerLaw"):
        decayed_tree(PowerLaw(power=1), 10)
    with pytest.raises(InvalidType, match="decay must be a PowerLaw, got SlidingWindow"):
        bolot_power(SlidingWindow(length=3), 10, beta=0.5)


@pytest.mark.parametrize(
    "name", ["window 7", "exponential 1.1", "tree NoDecay() None", "power 1 0.3"]
)
def test_noise_and_horizon_must_make_sense(name):
    with pytest.raises(InvalidValue, match="noise must be 'gaussian' or 'laplace', got 'cauchy'"):
        CASES[name](10, "cauchy")
    with pytest.raises(InvalidValue, match="horizon must be an integer >= 1, got 0"):
        CASES[name](0, "gaussian")
    with pytest.raises(InvalidType, match=r"horizon must be an integer, got 2\.5"):
        CASES[name](2.5, "gaussian")


@pytest.mark.parametrize("height", [-1, 8])
def test_the_height_must_fit_the_horizon(height):
    with pytest.raises(InvalidValue, match="height must be an integer"):
        decayed_tree(NoDecay(), 128, height=height)


def test_the_stream_of_the_worst_error_must_have_a_size():
    with pytest.raises(InvalidValue, match="largest must be > 0"):
        worst_errors(PowerLaw(power=1), 10, GUARANTEE, beta=0.5, largest=0.0)
