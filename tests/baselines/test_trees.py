import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import toeplitz

from hushfade import Exponential, Guarantee, NoDecay, PowerLaw, SlidingWindow
from hushfade.baselines.binary_tree import binary_tree
from hushfade.baselines.honaker import honaker_full, honaker_online
from hushfade.baselines.smooth_binary import smooth_binary
from hushfade.errors import InvalidType, InvalidValue
from tests.decays import ALL_DECAYS
from tests.loops import for_each

STEPS = [1, 2, 3, 8, 13, 33, 127, 128]
MANY_STEPS = [*range(1, 40), 64, 127, 128]
COUNTING = [binary_tree, honaker_online, honaker_full, smooth_binary]
HONAKER = [honaker_online, honaker_full]
CASES = [(make, NoDecay()) for make in (binary_tree, smooth_binary)]
CASES += [(make, decay) for make in HONAKER for decay in ALL_DECAYS]
NAMES = [f"{make.__name__}-{decay!r}" for make, decay in CASES]
NOISES = ["gaussian", "laplace"]
RTOL = 1e-12  # sums of at most 128 products, and the inverses below have a condition under 300


def matrix(decay, n):
    return toeplitz(decay.weights(n), np.zeros(n))


def dyadic_sums(n):
    """Every dyadic interval in [0, n) as a row, small ones first."""
    rows = []
    for size in (2**level for level in range(n.bit_length())):
        for start in range(0, n - size + 1, size):
            rows.append([float(start <= j < start + size) for j in range(n)])
    return np.array(rows)


@for_each(("make", "decay"), CASES)
@for_each("n", STEPS)
def test_the_matrices_multiply_to_the_decay_and_have_the_stated_norms(make, decay, n):
    mechanism = make(decay, n)
    L, R = (part.toarray() for part in mechanism.matrices())
    M = matrix(decay, n)
    assert_allclose(L @ R, M, rtol=0, atol=RTOL * np.max(np.abs(M)))
    assert_allclose(mechanism.errors, np.linalg.norm(L, axis=1), rtol=RTOL)
    assert_allclose(mechanism.sensitivity, np.max(np.linalg.norm(R, axis=0)), rtol=RTOL)
    laplace = make(decay, n, noise="laplace")
    assert_array_equal(laplace.errors, mechanism.errors)
    assert laplace.sensitivity == np.max(np.sum(np.abs(R), axis=0))
    assert laplace.pure
    assert not mechanism.pure


@for_each(("make", "decay"), CASES)
def test_only_online_mechanisms_answer_from_the_past(make, decay):
    mechanism = make(decay, 29)
    L, R = (part.toarray() for part in mechanism.matrices())
    # the last step that each noisy sum holds; -1 for those of padding, known from the start
    last = np.where(R != 0, np.arange(29), -1).max(axis=1)
    causal = all(np.max(last[L[t] != 0]) <= t for t in range(29))
    assert causal == mechanism.online
    assert mechanism.online == (make is not honaker_full)


@for_each("n", MANY_STEPS)
def test_the_binary_tree_adds_a_dyadic_interval_for_each_bit(n):
    L, R = (part.toarray() for part in binary_tree(NoDecay(), n).matrices())
    every = {tuple(row) for row in dyadic_sums(n)}
    assert {tuple(row) for row in R} <= every
    assert set(np.unique(L)) <= {0.0, 1.0}
    assert_array_equal(L.sum(axis=1), [t.bit_count() for t in range(1, n + 1)])
    # all dyadic intervals together have no greater sensitivity
    assert np.max(np.sum(dyadic_sums(n), axis=0)) == np.max(np.sum(R, axis=0))


@for_each("decay", ALL_DECAYS)
@for_each("n", STEPS)
def test_honaker_online_is_least_squares_on_the_intervals_complete_so_far(decay, n):
    mechanism = honaker_online(decay, n)
    L, R = (part.toarray() for part in mechanism.matrices())
    every = dyadic_sums(n)
    assert_array_equal(R, every)
    M = matrix(decay, n)
    for t in range(n):
        done = ~np.any(every[:, t + 1 :] != 0, axis=1)
        past = every[done, : t + 1]
        best = M[t, : t + 1] @ np.linalg.inv(past.T @ past) @ past.T
        assert_allclose(L[t, done], best, rtol=0, atol=RTOL * np.max(M))
        assert_allclose(mechanism.errors[t], np.linalg.norm(best), rtol=RTOL)


@for_each("decay", ALL_DECAYS)
@for_each("n", STEPS)
def test_honaker_full_is_least_squares_on_the_padded_tree(decay, n):
    mechanism = honaker_full(decay, n)
    L, R = (part.toarray() for part in mechanism.matrices())
    leaves = 2 ** math.ceil(math.log2(n))
    every = dyadic_sums(leaves)
    assert_array_equal(R, every[:, :n])
    padded = np.hstack([matrix(decay, n), np.zeros((n, leaves - n))])
    best = padded @ np.linalg.inv(every.T @ every) @ every.T
    assert_allclose(L, best, rtol=0, atol=RTOL * np.max(padded))
    assert_allclose(mechanism.errors, np.linalg.norm(best, axis=1), rtol=RTOL)


@for_each("decay", ALL_DECAYS)
@for_each("n", [1, 2, 64, 1024])
def test_later_sums_never_harm(decay, n):
    online, full = honaker_online(decay, n), honaker_full(decay, n)
    assert online.sensitivity == full.sensitivity
    assert np.all(full.errors <= online.errors * (1 + RTOL))


@for_each("n", MANY_STEPS)
def test_honaker_never_loses_to_the_binary_tree(n):
    plain, refined = binary_tree(NoDecay(), n), honaker_online(NoDecay(), n)
    assert plain.sensitivity == refined.sensitivity
    assert np.all(refined.errors <= plain.errors * (1 + RTOL))


@for_each("n", MANY_STEPS)
def test_the_smooth_tree_adds_and_holds_the_same_number_of_sums_at_every_step(n):
    mechanism = smooth_binary(NoDecay(), n)
    L, R = (part.toarray() for part in mechanism.matrices())
    half = next(k for k in range(1, 99) if math.comb(2 * k, k) > n)
    assert set(np.unique(L)) | set(np.unique(R)) <= {0.0, 1.0}
    assert_array_equal(L.sum(axis=1), half)
    assert_array_equal(R.sum(axis=0), half)
    # the work: sums that the answer before did not have
    fresh = [np.sum((L[t] == 1) & ((L[t - 1] == 0) | (t == 0))) for t in range(n)]
    assert_allclose(mechanism.work, 2 + np.mean(fresh), rtol=RTOL)


@for_each("n", MANY_STEPS[1:])
def test_the_smooth_tree_needs_less_noise_only_while_its_highest_sum_is_unused(n):
    mechanism = smooth_binary(NoDecay(), n)
    L, R = (part.toarray() for part in mechanism.matrices())
    used = R[np.any(L != 0, axis=0)]
    half = round(mechanism.sensitivity**2)
    spared = 2 * n < math.comb(2 * half, half)
    assert np.max(used.sum(axis=0)) == half - spared


def streamed(decay, n):
    """The answers' noises of `honaker_online` as rows over z, and the most blocks ever kept.

    A block keeps its noise p (of its plain sum); leaves keep their estimates' noise.  When two
    blocks merge, the residual of the new node moves every leaf below it by the same amount.
    """
    f = decay.weights(n)
    unit = np.eye(sum(n >> level for level in range(n.bit_length())))
    starts = np.cumsum([0, *(n >> level for level in range(n.bit_length()))])
    leaves, blocks, answers, most = np.zeros((n, len(unit))), [], [], 0
    for t in range(1, n + 1):
        leaves[t - 1] = unit[t - 1]
        blocks.append((0, unit[t - 1]))
        while len(blocks) > 1 and blocks[-1][0] == blocks[-2][0]:
            (h, p), (_, q) = blocks.pop(), blocks.pop()
            h, size = h + 1, 2 ** (h + 1)
            residual = unit[starts[h] + t // size - 1] - (p + q)
            moved = residual / (2 * size - 1)
            leaves[t - size : t] += moved
            blocks.append((h, p + q + size * moved))
        most = max(most, len(blocks))
        answers.append(f[:t][::-1] @ leaves[:t])
    return np.array(answers), most


@for_each("decay", ALL_DECAYS)
@for_each("n", [1, 2, 3, 6, 7, 40])
def test_honaker_online_runs_in_the_memory_it_states(decay, n):
    mechanism = honaker_online(decay, n)
    answers, most = streamed(decay, n)
    assert_allclose(mechanism.matrices()[0].toarray(), answers, rtol=0, atol=1e-12 * answers.max())
    if isinstance(decay, NoDecay):
        assert mechanism.memory == binary_tree(decay, n).memory == 1 + most
    elif not isinstance(decay, Exponential):
        assert mechanism.memory == 1 + np.flatnonzero(decay.weights(n))[-1] + most


@pytest.mark.parametrize("half_life", [1, 24])
def test_an_exponential_needs_two_noises_for_each_block(half_life):
    n, decay = 40, Exponential(half_life=half_life)
    beta = 2.0 ** (-1 / half_life)
    mechanism = honaker_online(decay, n)
    L = mechanism.matrices()[0].toarray()
    unit = np.eye(L.shape[1])
    starts = np.cumsum([0, *(n >> level for level in range(n.bit_length()))])
    blocks, most = [], 0  # height, last step, plain noise, weighted noise at that step
    for t in range(1, n + 1):
        blocks.append((0, t, unit[t - 1], unit[t - 1]))
        while len(blocks) > 1 and blocks[-1][0] == blocks[-2][0]:
            (h, _, p, w), (_, end, q, v) = blocks.pop(), blocks.pop()
            h, size = h + 1, 2 ** (h + 1)
            moved = (unit[starts[h] + t // size - 1] - (p + q)) / (2 * size - 1)
            weight = (1 - beta**size) / (1 - beta)
            w = w + beta ** (t - end) * v + weight * moved
            blocks.append((h, t, p + q + size * moved, w))
        most = max(most, len(blocks))
        answer = sum(beta ** (t - end) * w for _, end, _, w in blocks)
        assert_allclose(L[t - 1], answer, rtol=0, atol=RTOL)
    assert mechanism.memory == 1 + 2 * most


@for_each("noise", NOISES)
@for_each(
    ("make", "decay"),
    [(make, NoDecay()) for make in COUNTING]
    + [(make, decay) for make in HONAKER for decay in (PowerLaw(0.5), SlidingWindow(7))],
)
def test_simulated_errors_have_the_stated_deviations(make, decay, noise):
    n, draws = 41, 20_000
    mechanism = make(decay, n, noise=noise)
    guarantee = Guarantee(epsilon=0.7, delta=1e-6)
    rng = np.random.default_rng(20)
    L, R = mechanism.matrices()
    scale = mechanism.noise_stddev(guarantee, 3.0)
    draw = rng.normal if noise == "gaussian" else rng.laplace
    z = draw(scale=scale if noise == "gaussian" else scale / math.sqrt(2), size=(R.shape[0], draws))
    x = rng.integers(0, 9, n).astype(float)
    error = L @ ((R @ x)[:, None] + z) - (matrix(decay, n) @ x)[:, None]
    stated = mechanism.stddevs(guarantee, 3.0)
    # five standard errors: a sum of Laplace variables has kurtosis at most 6, a normal one 3
    kurtosis = 3 if noise == "gaussian" else 6
    assert np.all(np.abs(error.mean(axis=1)) <= 5 * stated / math.sqrt(draws))
    found = error.std(axis=1)
    assert np.all(np.abs(found / stated - 1) <= 5 * math.sqrt((kurtosis - 1) / (4 * draws)))


@for_each("noise", NOISES)
@for_each("make", COUNTING)
def test_simulate_is_unbiased_with_the_stated_deviation(make, noise):
    n, draws = 11, 300
    mechanism = make(NoDecay(), n, noise=noise)
    guarantee = Guarantee(epsilon=1, delta=1e-6)
    rng, x = np.random.default_rng(7), np.arange(n, dtype=float)
    error = np.array(
        [mechanism.simulate(x, guarantee, generator=rng) - np.cumsum(x) for _ in range(draws)]
    )
    stated = mechanism.stddevs(guarantee)
    assert np.all(np.abs(error.mean(axis=0)) <= 5 * stated / math.sqrt(draws))
    assert np.all(np.abs(error.std(axis=0) / stated - 1) <= 5 * math.sqrt(5 / (4 * draws)))


@pytest.mark.parametrize(
    ("make", "known"),
    [
        (binary_tree, {1024: "10.49", 65536: "16.49", 2**20: "20.49"}),
        (honaker_online, {1024: "7.99", 65536: "12.23", 2**20: "15.06"}),
        (smooth_binary, {1024: "7.00", 65536: "10.00", 2**20: "12.00"}),
    ],
)
def test_counting_has_the_known_error_factors(make, known):
    assert {n: f"{make(NoDecay(), n).error_factor:.2f}" for n in known} == known


@for_each(
    ("decay", "known"),
    [
        (Exponential.from_alpha(1.01), "5.98"),
        (Exponential.from_alpha(1.1), "4.53"),
        (Exponential.from_alpha(2), "3.53"),
        (PowerLaw(power=0.5), "4.05"),
        (PowerLaw(power=1), "3.57"),
        (PowerLaw(power=2), "3.37"),
        (SlidingWindow(length=16), "6.10"),
        (SlidingWindow(length=256), "7.71"),
    ],
)
def test_honaker_online_has_the_known_error_factors(decay, known):
    assert f"{honaker_online(decay, 1024).error_factor:.2f}" == known


def test_honaker_online_follows_the_recursion_of_variances_at_a_million_steps():
    # Honaker's weights: a node's own noise of variance 1 against twice its child's variance
    variance = [Fraction(1)]
    for _ in range(20):
        variance.append(1 / (1 + 1 / (2 * variance[-1])))
    found = honaker_online(NoDecay(), 2**20).errors
    for t in [1, 2, 3, 4, 1023, 1024, 54321, 699_050, 2**20 - 1, 2**20]:
        exact = sum(variance[h] for h in range(21) if t >> h & 1)
        assert_allclose(found[t - 1] ** 2, float(exact), rtol=1e-14)


def refined(w):
    """w (RᵀR)⁻¹ w of a perfect tree by merging: (A₁ ⊕ A₂ + 1 1ᵀ)⁻¹, after Sherman and Morrison.

    Arrays of w A⁻¹ w and 1 A⁻¹ w; 1 A⁻¹ 1 is one number a level.
    """
    own, cross, ones = w * w, w, 1.0
    while len(own) > 1:
        own, cross, ones = own[0::2] + own[1::2], cross[0::2] + cross[1::2], 2 * ones
        own = own - cross**2 / (1 + ones)
        cross, ones = cross / (1 + ones), ones / (1 + ones)
    return own[0]


@for_each("decay", ALL_DECAYS)
def test_honaker_agrees_with_merged_inverses_at_many_steps(decay):
    n = 2**14
    f = decay.weights(n)
    online, full = honaker_online(decay, n), honaker_full(decay, n)
    for t in [1, 1000, 8191, 8192, 13_107, n - 1, n]:
        past = np.concatenate([f[:t][::-1], np.zeros(n - t)])
        # merging subtracts from Σ f² down to about 1: 1e-16 · 2^14, a few times over
        assert_allclose(full.errors[t - 1] ** 2, refined(past), rtol=1e-10)
        blocks, start = 0.0, 0
        for h in reversed(range(15)):
            if t >> h & 1:
                blocks += refined(past[start : start + 2**h])
                start += 2**h
        assert_allclose(online.errors[t - 1] ** 2, blocks, rtol=1e-10)


def test_one_step_is_one_noisy_number():
    for make in COUNTING:
        mechanism = make(NoDecay(), 1)
        assert_array_equal(mechanism.errors, [1.0])
        assert mechanism.sensitivity == mechanism.error_factor == 1.0


@for_each("make", [binary_tree, smooth_binary])
@for_each("decay", [decay for decay in ALL_DECAYS if decay != NoDecay()])
def test_sums_of_whole_intervals_refuse_other_decays(make, decay):
    with pytest.raises(InvalidValue, match=r"decay must be NoDecay\(\)"):
        make(decay, 8)


@pytest.mark.parametrize("make", HONAKER)
def test_honaker_refuses_what_is_no_decay(make):
    with pytest.raises(InvalidType, match="decay must be a decay, got list"):
        make([1.0, 0.5], 8)


@pytest.mark.parametrize("make", COUNTING)
def test_wrong_horizons_and_noises_are_refused(make):
    with pytest.raises(InvalidValue, match="horizon must be an integer >= 1, got 0"):
        make(NoDecay(), 0)
    with pytest.raises(InvalidType, match="horizon must be an integer"):
        make(NoDecay(), 8.5)
    with pytest.raises(InvalidValue, match="noise must be 'gaussian' or 'laplace', got 'none'"):
        make(NoDecay(), 8, noise="none")
