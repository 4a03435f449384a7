"""Oracles: jax-privacy (Google DeepMind, Apache-2.0), an independent implementation of matrix
factorization mechanisms, must agree with ours wherever both can compute a number.

Functions named `their_...` call it, in a process of their own: JAX starts threads, after which a
process should not fork, and other tests fork.  Everything runs in float64.  Their recursions and
sums are plain, so 1e-12 is rounding; a looser tolerance has its reason where it stands.
"""

import functools
import itertools
import math
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import Exponential, NoDecay, PowerLaw, SlidingWindow, theory
from hushfade.baselines.banded import banded_inverse_root, banded_root
from hushfade.baselines.independent_noise import input_noise, output_noise
from hushfade.baselines.square_roots import (
    column_normalized_root,
    max_optimum,
    mean_optimum,
    normalized_root,
    square_root,
)
from hushfade.factors import factorization, power_series
from tests.baselines import laws
from tests.loops import for_each

DECAYS = [
    NoDecay(),
    Exponential(half_life=24),
    PowerLaw(0.5),
    PowerLaw(2),
    SlidingWindow(16),
    10 * NoDecay() - 9 * Exponential.from_alpha(1 / 0.9),  # momentum
]


@pytest.fixture(scope="module")
def ask():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield lambda work, *arguments: pool.submit(work, *arguments).result()


@functools.cache
def library():
    # what is compiled runs once: no time for making it fast
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
    import jax

    jax.config.update("jax_enable_x64", True)
    from jax_privacy import matrix_factorization

    return matrix_factorization


# Toeplitz factors ----------------------------------------------------------------------------


@functools.cache
def compiled_errors():
    import jax

    return jax.jit(
        lambda right, f: library().toeplitz.per_query_error(
            strategy_coef=right, n=len(f), workload_coef=f, skip_checks=True
        )
    )


def their_squared_errors(right, f):
    """‖L_t‖² of L = M R⁻¹, by a recursion."""
    library()
    return np.array(compiled_errors()(right, f))


def their_counting_root(n):
    toeplitz = library().toeplitz
    strategy = toeplitz.optimal_max_error_strategy_coefs(n)
    noising = toeplitz.optimal_max_error_noising_coefs(n)
    return np.array(strategy), np.array(noising), their_loss(strategy, n)


def their_loss(right, n):
    """(‖L‖₂→∞ ‖R‖₁→₂)² for counting."""
    from jax import numpy as jnp

    return float(library().toeplitz.loss(jnp.array(right), n, jnp.max))


def their_inverse_errors(inverse, f):
    """‖L_t‖² of L = M C for C = R⁻¹ given."""
    from jax import numpy as jnp

    toeplitz = library().toeplitz
    return np.array(
        toeplitz.per_query_error(noising_coef=jnp.array(inverse), workload_coef=jnp.array(f))
    )


def their_best_bands(n, bands):
    from jax import numpy as jnp

    found = library().toeplitz.optimize_banded_toeplitz(
        n, bands, reduction_fn=jnp.max, max_optimizer_steps=100
    )
    return np.array(found), their_loss(found, n)


@pytest.mark.parametrize("n", [2, 4096])
def test_the_square_root_of_counting_and_its_inverse(ask, n):
    strategy, noising, loss = ask(their_counting_root, n)
    assert_allclose(factorization.square_root(NoDecay()).right(n), strategy, rtol=1e-12)
    # theirs is a difference of neighbours: absolute rounding
    assert_allclose(
        power_series.inverse(power_series.square_root(np.ones(n))), noising, rtol=0, atol=1e-15
    )
    assert_allclose(square_root(NoDecay(), n).error_factor ** 2, loss, rtol=1e-12)


@for_each("decay", DECAYS)
def test_the_errors_of_toeplitz_factors_for_any_decay(ask, decay):
    n, bands = 300, 9
    f = decay.weights(n)
    a = power_series.square_root(f)
    one = np.eye(1, n)[0]
    for mechanism, right in [
        (square_root(decay, n), a),
        (banded_root(decay, n, bands=bands), a[:bands]),
        (input_noise(decay, n), one),
        (output_noise(decay, n), f),
    ]:
        assert_allclose(mechanism.errors**2, ask(their_squared_errors, right, f), rtol=1e-12)


@for_each("decay", DECAYS)
@for_each("bands", [2, 9, 64])
def test_the_banded_inverse_square_root(ask, decay, bands):
    n = 300
    f = decay.weights(n)
    c = np.where(np.arange(n) < bands, power_series.inverse(power_series.square_root(f)), 0.0)
    ours = banded_inverse_root(decay, n, bands=bands)
    assert_allclose(ours.errors**2, ask(their_inverse_errors, c, f), rtol=1e-11)
    # ‖R‖² = ‖1/c‖² is the last squared error of the strategy c for the workload 1
    energy = ask(their_squared_errors, c, np.eye(1, n)[0])[-1]
    assert_allclose(ours.sensitivity**2, energy, rtol=1e-12)


def test_their_optimizer_finds_no_better_toeplitz_pair_than_the_square_root(ask):
    """Dvijotham et al. 2024: the square root is the best Toeplitz pair for the largest error."""
    n = 24
    _, loss = ask(their_best_bands, n, n)
    ours = square_root(NoDecay(), n).error_factor
    assert ours * (1 - 1e-12) <= math.sqrt(loss) <= ours * (1 + 1e-6)


@pytest.mark.slow
def test_their_optimized_bands_are_better_than_the_cut_root(ask):
    """Cutting √g is not the best pair with 8 bands: optimized ones have 5 % less error."""
    n, bands = 64, 8
    right, loss = ask(their_best_bands, n, bands)
    own = factorization.from_right(NoDecay(), right, n).error_factor(n)
    assert_allclose(own**2, loss, rtol=1e-12)
    cut = banded_root(NoDecay(), n, bands=bands).error_factor
    assert square_root(NoDecay(), n).error_factor < own < 0.96 * cut


# Participation -------------------------------------------------------------------------------


def their_squared_sensitivity(right, k, b):
    from jax import numpy as jnp

    toeplitz = library().toeplitz
    return float(toeplitz.minsep_sensitivity_squared(jnp.array(right), b, max_participations=k))


def their_banded_sensitivity(R, k, b):
    from jax import numpy as jnp

    return library().sensitivity.get_sensitivity_banded(jnp.array(R), b, k)


def their_sensitivity_bound(R, k, b):
    from jax import numpy as jnp

    return library().sensitivity.get_min_sep_sensitivity_upper_bound(jnp.array(R), b, k)


@for_each("decay", [d for d in DECAYS if d.completely_monotone])
@for_each(("k", "b"), [(3, 7), (200, 1), (12, 25)])
def test_repeated_participation_of_falling_taps(ask, decay, k, b):
    n = 200
    pair = factorization.square_root(decay)
    ours = pair.sensitivity(n, participations=k, separation=b)
    assert ours.exact
    assert_allclose(ours.value**2, ask(their_squared_sensitivity, pair.right(n), k, b), rtol=1e-12)


def test_bands_that_never_overlap(ask):
    """Records apart by more than the bands: √k times one participation."""
    n, bands, k, b = 60, 6, 3, 7
    pair = factorization.from_right(NoDecay(), power_series.square_root(np.ones(n))[:bands], n)
    theirs = ask(their_banded_sensitivity, pair.matrices(n)[1], k, b)
    assert_allclose(pair.sensitivity(n, participations=k, separation=b).value, theirs, rtol=1e-12)
    assert_allclose(theirs, math.sqrt(k) * pair.sensitivity(n).value, rtol=1e-12)


def test_for_taps_with_signs_both_bounds_hold(ask):
    """No formula is exact there; both are above the worst choice of steps, found by trying all."""
    n, k, b = 14, 3, 2
    pair = factorization.square_root(SlidingWindow(3))
    R = pair.matrices(n)[1]
    worst = max(
        np.linalg.norm(R[:, list(steps)] @ signs)
        for steps in itertools.combinations(range(n), k)
        if min(np.diff(steps)) >= b
        for signs in itertools.product([1, -1], repeat=k)
    )
    theirs = ask(their_sensitivity_bound, R, k, b)
    ours = pair.sensitivity(n, participations=k, separation=b)
    assert not ours.exact
    assert worst <= min(theirs, ours.value) * (1 + 1e-12)
    assert max(theirs, ours.value) < 1.5 * worst


# Column normalization ------------------------------------------------------------------------


def their_column_normalized_root(n):
    banded = library().banded
    strategy = banded.ColumnNormalizedBanded.default(n, n)
    return np.array(banded.per_query_error(strategy)), np.array(strategy.materialize())


def test_the_column_normalized_root(ask):
    n = 100
    ours = column_normalized_root(NoDecay(), n)
    errors, R = ask(their_column_normalized_root, n)
    assert_allclose(ours.errors**2, errors, rtol=1e-11)
    assert_allclose(laws.dense(ours)[1], R, rtol=0, atol=1e-14)


# Buffered linear Toeplitz --------------------------------------------------------------------


def their_buffered_factor(theta, omega, n):
    """‖R‖² and (‖L‖ ‖R‖)² for counting and r_0 = 1, r_k = Σ_j ω_j θ_j^(k-1), in closed form."""
    blts = library().buffered_toeplitz
    blt = blts.BufferedToeplitz.build(theta, omega)
    return float(blts.sensitivity_squared(blt, n)), float(blts.max_loss(blt, n))


@pytest.mark.parametrize("n", [2, 100, 10_000])
def test_buffered_linear_toeplitz_factors(ask, n):
    theta, omega = np.array([0.999, 0.9, 0.3]), np.array([0.02, 0.08, 0.3])
    taps = np.append(1.0, (omega * theta ** np.arange(n - 1)[:, None]).sum(axis=1))
    pair = factorization.from_right(NoDecay(), taps, n)
    energy, loss = ask(their_buffered_factor, theta, omega, n)
    assert_allclose(pair.sensitivity(n).value ** 2, energy, rtol=1e-12)
    # the closed form for the errors subtracts terms of order n from each other
    assert_allclose(pair.error_factor(n) ** 2, loss, rtol=1e-9)


# Dense factors -------------------------------------------------------------------------------


def their_dense_factor(R, M):
    """‖L_t‖² of L = M R⁻¹ by LU, and ‖R‖₁→₂."""
    from jax import numpy as jnp

    R = jnp.array(R)
    errors = library().dense.per_query_error(strategy_matrix=R, workload_matrix=jnp.array(M))
    return np.array(errors), float(library().sensitivity.single_participation_sensitivity(R))


def their_mean_optimum(n):
    """‖L‖_F ‖R‖₁→₂ of the pair that their L-BFGS finds for counting."""
    C = library().dense.optimize(n)
    errors, largest = their_dense_factor(C, np.tri(n))
    return math.sqrt(np.sum(errors)) * largest


@for_each("decay", DECAYS)
@for_each("make", [normalized_root, column_normalized_root, max_optimum, mean_optimum])
def test_the_errors_of_any_right_factor(ask, make, decay):
    mechanism = make(decay, 60)
    errors, largest = ask(
        their_dense_factor, laws.dense(mechanism)[1], laws.decay_matrix(mechanism)
    )
    # R's condition number is a few hundred
    assert_allclose(mechanism.errors**2, errors, rtol=1e-10)
    assert_allclose(mechanism.sensitivity, largest, rtol=1e-12)


def test_their_optimum_of_the_mean_error_lies_in_our_bracket(ask):
    """It cannot be below our lower bound, and their search stops near the optimum."""
    n = 24
    bracket = theory.gamma_f(NoDecay(), n, gap=1e-6)
    assert bracket.lower <= ask(their_mean_optimum, n) <= bracket.upper * (1 + 1e-4)
