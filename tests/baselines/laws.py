"""Laws that every mechanism obeys, for the tests of each."""

import math

import numpy as np
from numpy.testing import assert_allclose
from scipy.linalg import toeplitz

from hushfade import Guarantee

GUARANTEE = Guarantee(epsilon=1, delta=1e-6)


def dense(mechanism):
    return tuple(part.toarray() for part in mechanism.matrices())


def decay_matrix(mechanism):
    f = mechanism.decay.weights(mechanism.horizon)
    return toeplitz(f, np.zeros(len(f)))


def matrices_give_the_decay_and_the_norms(mechanism, *, product=1e-12):
    """L R = M; errors are L's row norms, the sensitivity is R's largest column norm.

    `product` is the rounding of L R, relative to the largest product of a row and a column; the
    norms are sums of at most some hundred squares.
    """
    L, R = dense(mechanism)
    rows = np.linalg.norm(L, axis=1)
    columns = np.linalg.norm(R, axis=0)
    M = decay_matrix(mechanism)
    assert_allclose(L @ R, M, rtol=0, atol=product * np.max(rows) * np.max(columns))
    assert_allclose(mechanism.errors, rows, rtol=1e-12)
    if mechanism.releases == 1:
        column = np.sum(np.abs(R), axis=0) if mechanism.pure else columns
        assert_allclose(mechanism.sensitivity, np.max(column), rtol=1e-12)


def is_causal(mechanism):
    """Whether each step uses only noisy numbers that need no later step."""
    L, R = dense(mechanism)
    last = np.where(R != 0, np.arange(mechanism.horizon), -1).max(axis=1)
    return bool(np.all(np.where(L != 0, last, -1).max(axis=1) <= np.arange(mechanism.horizon)))


def errors_have_the_stated_deviation(mechanism, seed, draws=20_000):
    """Simulated errors L z: deviations and means within five standard errors, at each step.

    The deviation's standard error is σ √((κ - 1)/4N) with the kurtosis κ = 3 of a Gaussian, and
    at most Laplace's 6 for sums of Laplace noises.
    """
    L, R = dense(mechanism)
    generator = np.random.default_rng(seed)
    scale = mechanism.noise_stddev(GUARANTEE)
    shape = (R.shape[0], draws)
    if mechanism.pure:
        z = generator.laplace(scale=scale / math.sqrt(2), size=shape)
    else:
        z = generator.normal(scale=scale, size=shape)
    sample = L @ z
    stddevs = mechanism.stddevs(GUARANTEE)
    kurtosis = 6 if mechanism.pure else 3
    assert np.all(np.abs(sample.mean(axis=1)) <= 5 * stddevs / math.sqrt(draws))
    spread = np.abs(sample.std(axis=1) / stddevs - 1)
    assert np.all(spread <= 5 * math.sqrt((kurtosis - 1) / (4 * draws)))


def simulate_is_unbiased(mechanism, seed, runs=200):
    """`simulate` itself, on totals 0, 1, 2, ...: the mean is M x within five standard errors."""
    x = np.arange(mechanism.horizon, dtype=float)
    generator = np.random.default_rng(seed)
    run = [mechanism.simulate(x, GUARANTEE, 2.0, generator=generator) for _ in range(runs)]
    stddevs = mechanism.stddevs(GUARANTEE, 2.0)
    truth = decay_matrix(mechanism) @ x
    assert np.all(np.abs(np.mean(run, axis=0) - truth) <= 5 * stddevs / math.sqrt(runs))
    assert np.all(np.std(run, axis=0) >= 0.5 * stddevs)
