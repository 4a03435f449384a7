"""w = R⁻¹ z.  Most laws run in float64, where rounding is far below what is compared."""

import copy
import functools
import hashlib
import itertools
import json
import math
import os
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from threading import Thread

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from numpy.testing import assert_allclose

from hushfade import (
    CustomDecay,
    Diverges,
    Exponential,
    FreshNoise,
    Guarantee,
    InvalidType,
    InvalidValue,
    KeyedNoise,
    NoDecay,
    Person,
    PowerLaw,
    Refused,
    SlidingWindow,
    UnsafeSeededNoise,
    plan,
)
from hushfade.baselines.banded import banded_root
from hushfade.crossing.sampling_tables import table
from hushfade.factors import factorization
from hushfade.laws import Gaussian
from hushfade.training.compact_taps import compact
from hushfade.training.correlated_noise import CorrelatedNoise
from tests.decays import ALL_DECAYS

ONE = Guarantee(epsilon=1, delta=1e-6)
SEEDED = UnsafeSeededNoise(7)
STEPS = 150

COMPACT = [d for d in ALL_DECAYS if d.completely_monotone or isinstance(d, SlidingWindow)]
MAKERS = {f"compact {decay!r}": functools.partial(compact, decay, horizon=300) for decay in COMPACT}
MAKERS |= {
    f"ending {decay!r}": lambda decay=decay: factorization.square_root(decay, 300).rounded(12)
    for decay in ALL_DECAYS
    if decay.horizon_free or not isinstance(decay, CustomDecay)  # the square root of the rest grows
}
MAKERS |= {
    "a gain": lambda: factorization.normalized(NoDecay(), 300).rounded(12),
    "a gain over exponentials": lambda: factorization.Factorization(
        NoDecay(), compact(NoDecay(), horizon=300).taps, 300, np.linspace(0.5, 2.0, 300)
    ),
    "bands": lambda: banded_root(NoDecay(), 300, bands=9).pair(),
    "taps beyond the horizon": lambda: factorization.from_right(
        NoDecay(), 1 / np.arange(1.0, 300.0), STEPS
    ),
    "independent": lambda: factorization.from_right(NoDecay(), [2.0], 300),
    "two rings": lambda: compact(SlidingWindow(length=7), loss=1.2e-4),
}


@functools.cache
def pair_named(name):
    return MAKERS[name]()


def start(factors, width=1, noise=SEEDED, **changed):
    arguments = {"guarantee": ONE, "norm": 1.0, "dtype": np.float64} | changed
    return CorrelatedNoise(factors, width, noise=noise, **arguments)


def assert_level(found, exact):
    """A sensitivity is rounded up: by 2^-30 for its own error, then to 24 bits."""
    assert exact * (1 + 2.0**-31) < found <= exact * (1 + 2.0**-30) * (1 + 2.0**-23) * (1 + 1e-12)


def innovations(noise, n):
    """z as it was drawn, from the noise source itself."""
    drawer, law = SEEDED.bound(b""), table(Gaussian(2.0**34))
    lanes = math.prod(noise.shape)
    z = drawer.draws(law, 0, n, lanes) * 2.0**-34
    if noise.dtype == np.float64:
        z += drawer.draws(law, 0, n, lanes, lane=lanes) * 2.0**-64
    return z * noise.stddev


# Laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", MAKERS)
def test_the_right_factor_gives_the_independent_noise_back(name, dtype):
    pair = pair_named(name)
    noise = start(pair, 3, dtype=dtype)
    w = noise.next_many(STEPS).astype(float)
    z = innovations(noise, STEPS)
    R = pair.matrices(STEPS)[1]
    # R's entries are a few units and fall, so rounding is that of some tens of terms
    assert_allclose(R @ w, z, rtol=0, atol=noise.stddev * (1e-12 if dtype == np.float64 else 1e-5))


@pytest.mark.parametrize("name", MAKERS)
def test_any_split_gives_the_same_bits(name):
    whole = start(pair_named(name), 2, dtype=np.float32).next_many(STEPS)
    noise = start(pair_named(name), 2, dtype=np.float32)
    parts = [noise.next()[None], noise.next_many(70)]
    parts += [noise.next()[None] for _ in range(9)]
    parts.append(noise.next_many(STEPS - 80))
    assert np.array_equal(np.concatenate(parts), whole)
    assert noise.steps == STEPS


@pytest.mark.parametrize("name", MAKERS)
def test_saved_and_loaded_it_goes_on_with_the_same_bits(name):
    whole = start(pair_named(name), (2, 2)).next_many(STEPS)
    noise = start(pair_named(name), (2, 2))
    noise.next_many(40)
    noise.next()
    again = CorrelatedNoise.load(noise.save(), noise=SEEDED)
    assert np.array_equal(again.next_many(STEPS - 41), whole[41:])
    assert (again.stddev, again.memory, again.horizon) == (
        noise.stddev,
        noise.memory,
        noise.horizon,
    )
    assert_allclose(again.pair.errors(50), noise.pair.errors(50), rtol=0)


@hypothesis.given(
    st.lists(st.integers(1, 70), min_size=1, max_size=6),
    st.sampled_from([1, 7, 513, 1027]),
    st.sampled_from([Exponential(half_life=5), SlidingWindow(length=7)]),
)
@hypothesis.settings(deadline=None, max_examples=20)
def test_every_split_gives_the_same_bits_at_every_width(lengths, width, decay):
    """Of 1027 lanes the last three are a narrow tile in a block, and part of a wide one else."""
    noise = start(compacted(decay), width, dtype=np.float32)
    parts = [noise.next_many(n) if n > 1 else noise.next()[None] for n in lengths]
    whole = start(compacted(decay), width, dtype=np.float32).next_many(sum(lengths))
    assert np.array_equal(np.concatenate(parts), whole)


@functools.cache
def compacted(decay):
    return compact(decay)


def test_a_wide_step_is_the_same_in_tiles_on_threads():
    """150,000 lanes are five tiles of a single step, and 147 tiles of a block."""
    pair, width = compacted(Exponential(half_life=5)), 150_000
    noise = start(pair, width, dtype=np.float32)
    one_by_one = np.stack([noise.next() for _ in range(40)])
    assert np.array_equal(start(pair, width, dtype=np.float32).next_many(40), one_by_one)
    z = innovations(noise, 40)
    r = pair.right(40)
    last = sum(r[n] * one_by_one[39 - n].astype(float) for n in range(40))
    assert_allclose(last, z[39], rtol=0, atol=1e-5 * noise.stddev)


@pytest.mark.parametrize(
    "name", ["compact NoDecay()", "compact SlidingWindow(length=7)", "a gain", "bands"]
)
def test_decayed_sums_have_the_covariance_of_the_left_factor(name):
    n, lanes = 12, 40_000
    pair = pair_named(name)
    noise = start(pair, lanes, dtype=np.float32)
    L, R = pair.matrices(n)
    sums = (L @ R) @ noise.next_many(n).astype(float)
    found = sums @ sums.T / lanes
    expected = noise.stddev**2 * L @ L.T
    size = np.diag(expected)
    error = np.sqrt((np.outer(size, size) + expected**2) / lanes)
    # 78 correlated numbers within 4.5 standard errors: fails by chance once in 2,000 seeds
    assert np.all(np.abs(found - expected) <= 4.5 * error)


@pytest.mark.parametrize("decay", [NoDecay(), Exponential(half_life=1000), SlidingWindow(32)])
def test_float32_hardly_changes_the_sums(decay):
    """The state is float32 too: at 20,000 steps the sums' variance is within 1e-5."""
    n = 20_000
    pair = compact(decay, horizon=n)

    def scaled(dtype):
        noise = start(pair, 16, dtype=dtype)
        return noise.next_many(n).astype(float) / noise.stddev

    single, double = scaled(np.float32), scaled(np.float64)
    from scipy.signal import fftconvolve

    f = decay.weights(n)[:, None]
    kept, moved = (fftconvolve(w, f, axes=0)[:n] for w in (double, single - double))
    assert np.sqrt(np.mean(moved**2) / np.mean(kept**2)) < 1e-5
    assert abs(np.mean((kept + moved) ** 2) / np.mean(kept**2) - 1) < 1e-5


def test_float64_has_bits_below_the_first_grid_and_float32_has_not():
    pair = factorization.from_right(NoDecay(), [1.0], 10)
    for dtype, share in [(np.float64, 0.99), (np.float32, 0.0)]:
        noise = start(pair, 5000, dtype=dtype)
        w = noise.next().astype(float)
        units = w[np.abs(w) > noise.stddev / 64] / (noise.stddev * 2.0**-34)
        # float32's own spacing at 1/64 of the deviation is 16 units
        assert np.mean(np.abs(units - np.rint(units)) > 1e-3) >= share
        if dtype == np.float32:
            assert len(np.unique(w)) > 4900  # and yet the noise is as fine as float32 holds


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize(("k", "b"), [(1, 1), (2, 1), (3, 2), (4, 3)])
@pytest.mark.parametrize(
    "name", ["compact NoDecay()", "compact PowerLaw(power=1.0)", "compact SlidingWindow(length=2)"]
)
def test_the_sensitivity_is_that_of_the_worst_steps(name, k, b, neighbours):
    n = 9
    guarantee = Guarantee(
        epsilon=1, delta=1e-6, neighbours=neighbours, protects=Person(steps=k, apart=b)
    )
    noise = start(pair_named(name), guarantee=guarantee, norm=0.3, horizon=n)
    R = noise.pair.matrices(n)[1]
    worst = max(
        np.linalg.norm(R[:, list(steps)] @ signs)
        for size in range(1, k + 1)
        for steps in itertools.combinations(range(n), size)
        if size == 1 or min(np.diff(steps)) >= b
        for signs in itertools.product([1, -1], repeat=size)
    )
    change = 0.3 if neighbours == "add_remove" else 0.6
    if "Window" in name and k > 1:  # taps with signs have a bound
        assert change * worst <= noise.sensitivity < 1.5 * change * worst
    else:
        assert_level(noise.sensitivity, change * worst)
    assert_allclose(noise.stddev, noise.sensitivity / guarantee.mu, rtol=1e-15)


def their_sensitivity(right, k, b):
    import jax

    jax.config.update("jax_enable_x64", True)
    from jax_privacy.matrix_factorization import toeplitz

    coefficients = jax.numpy.array(right)
    return math.sqrt(toeplitz.minsep_sensitivity_squared(coefficients, b, max_participations=k))


def test_jax_privacy_computes_the_same_sensitivity():
    """In a process of its own: JAX starts threads, after which a process should not fork."""
    steps = 240
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for decay, (k, b) in itertools.product(
            [NoDecay(), Exponential(half_life=24)], [(1, 1), (4, 60), (12, 20), (240, 1)]
        ):
            guarantee = Guarantee(epsilon=2, delta=1e-6, protects=Person(steps=k, apart=b))
            noise = start(decay, guarantee=guarantee, horizon=steps)
            right = noise.pair.right(steps)
            theirs = pool.submit(their_sensitivity, right, k, b).result()
            assert_level(noise.sensitivity, theirs)


def test_keyed_noise_of_another_series_is_independent():
    key = KeyedNoise(bytes(range(32)), stream="training")
    pair = factorization.from_right(NoDecay(), [1.0, 0.5], 100)

    def scaled(pair=pair, width=4, **changed):
        noise = start(pair, width, key, **changed)
        return noise.next_many(20).reshape(20, -1)[:, :4].astype(float) / noise.stddev

    first = scaled()
    assert np.array_equal(scaled(), first)
    others = [
        scaled(factorization.from_right(NoDecay(), [1.0, 0.51], 100)),
        scaled(factorization.from_right(NoDecay(), [1.0, 0.5], 101)),
        scaled(norm=2.0),
        scaled(width=5),
        scaled(width=(2, 2)),
        scaled(dtype=np.float32),
        scaled(replace(pair, decay=10 * NoDecay() - 9 * Exponential.from_alpha(1 / 0.9))),
        scaled(norm=0.5, guarantee=Guarantee(epsilon=1, delta=1e-6, neighbours="replace")),
    ]
    for other in others:
        assert abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 0.4  # 80 numbers: 3.5 / √80


# Known values --------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "b"), [(1, 1), (3, 4)])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_the_loss_so_far_is_that_of_the_dense_factor(k, b, neighbours):
    """Where the right factor falls, the worst participations are the first, b apart."""
    guarantee = replace(ONE, protects=Person(steps=k, apart=b), neighbours=neighbours)
    for name in ("compact NoDecay()", "a gain", "independent"):
        noise = start(pair_named(name), guarantee=guarantee)
        assert noise.privacy_so_far.epsilon(1e-6) == 0.0
        for n in (1, 5, 40, 300):
            noise.next_many(n - noise.steps)
            right = noise.pair.matrices(n)[1]
            first = min(k, -(-n // b))
            worst = np.linalg.norm(sum(right[:, i * b] for i in range(first)))
            mu = worst * guarantee.vector_change(1.0) / noise.stddev
            (case,) = noise.privacy_so_far.cases
            assert case.mu >= mu
            assert case.mu <= guarantee.mu
            if noise.pair.gain is None:  # sensitivities are rounded up to 24 bits
                assert_allclose(case.mu, mu, rtol=2.0**-21)
            assert noise.privacy_so_far.relation == guarantee.relation
        assert noise.privacy_so_far.epsilon(1e-6) == pytest.approx(guarantee.epsilon, rel=1e-9)


def test_a_loaded_series_has_the_same_loss_so_far():
    noise = start(Exponential(half_life=5))
    noise.next_many(3)
    again = CorrelatedNoise.load(noise.save(), noise=SEEDED)
    assert again.privacy_so_far == noise.privacy_so_far
    long = start(Exponential(half_life=5))
    long.next_many(10_000)
    assert long.privacy_so_far.epsilon(1e-6) == pytest.approx(1.0, rel=1e-6)


def test_a_series_by_hand():
    """r = 2 + x: w_0 = z_0 / 2, w_1 = (z_1 - w_0) / 2; ‖r‖ = √5, and 7 for three in a row."""
    pair = factorization.from_right(NoDecay(), [2.0, 1.0], 10)
    noise = start(pair)
    z = innovations(noise, 3)[:, 0]
    w = noise.next_many(3)[:, 0]
    assert_allclose(w[0], z[0] / 2, rtol=1e-14)
    assert_allclose(w[1], z[1] / 2 - z[0] / 4, rtol=1e-12)
    assert_allclose(w[2], z[2] / 2 - z[1] / 4 + z[0] / 8, rtol=1e-12)
    assert_level(noise.stddev * ONE.mu, math.sqrt(5))
    thrice = Guarantee.from_mu(0.5, neighbours="replace", protects=Person(steps=3))
    # 2, 3, 3, 1 in a replaced gradient of norm 10: 20 √23
    assert_level(start(pair, guarantee=thrice, norm=10.0).sensitivity, 20 * math.sqrt(23))


def test_the_memory_is_that_of_the_state():
    window = compact(SlidingWindow(length=7))
    for pair, rows in [
        (compacted(Exponential(half_life=5)), len(compacted(Exponential(half_life=5)).taps.fading)),
        (window, len(window.taps.fading) + 7 * len(window.taps.comb)),
        (factorization.from_right(NoDecay(), [1.0, 0.5, 0.25]), 2),
        (factorization.from_right(NoDecay(), [1.0]), 0),
        (factorization.from_right(NoDecay(), 1 / np.arange(1.0, 300.0), 50), 49),
    ]:
        for dtype, size in [(np.float32, 4), (np.float64, 8)]:
            noise = start(pair, (10, 10), dtype=dtype)
            noise.next_many(40)
            assert noise.memory == rows * 100 * size == noise._state.nbytes


# Edges ---------------------------------------------------------------------------------------


def test_the_noise_is_written_to_memory_that_is_given():
    buffer = np.empty((3, 2), dtype=np.float32)
    noise = start(NoDecay(), (3, 2), horizon=9, dtype="float32")
    assert noise.next(out=buffer) is buffer
    assert np.array_equal(buffer, start(NoDecay(), (3, 2), horizon=9, dtype="float32").next())
    assert noise.next().dtype == np.float32
    assert noise.next_many(2).shape == (2, 3, 2)


def test_fresh_noise_is_new_each_time_and_goes_on_from_a_saved_state():
    first, second = (start(Exponential(half_life=5), 50, noise=None) for _ in range(2))
    assert not np.any(first.next() == second.next())
    again = CorrelatedNoise.load(first.save())
    assert again.steps == 1
    assert repr(again).startswith("CorrelatedNoise(steps=1, shape=(50,), stddev=")
    assert np.all(np.isfinite(again.next()))


def test_a_guarantee_made_from_mu_is_kept():
    guarantee = Guarantee.from_mu(0.7, delta=1e-5, protects=Person(steps=2, apart=3))
    noise = start(NoDecay(), guarantee=guarantee, horizon=30)
    again = CorrelatedNoise.load(noise.save(), noise=SEEDED)
    assert again.guarantee == guarantee
    assert again.stddev == noise.stddev


def test_threads_take_turns():
    noise = start(Exponential(half_life=5), 3)
    rows = []
    threads = [
        Thread(target=lambda: rows.extend([*noise.next_many(5).tolist(), noise.next().tolist()]))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(rows) == sorted(start(Exponential(half_life=5), 3).next_many(48).tolist())


def test_a_forked_child_may_not_go_on():
    noise = start(Exponential(half_life=5), 3, FreshNoise())
    noise.next()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            noise.next()
            os.write(writer, b"handed out")
        except Refused:
            os.write(writer, b"refused")
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    assert os.read(reader, 100) == b"refused"
    os.close(reader)
    assert noise.next().shape == (3,)


# Refusals ------------------------------------------------------------------------------------


def test_a_step_beyond_the_horizon_is_refused():
    noise = start(NoDecay(), 2, horizon=5)
    noise.next_many(4)
    for take in (lambda: noise.next_many(2), lambda: noise.next_many(10**15)):
        with pytest.raises(Refused, match="within the horizon 5"):
            take()
    noise.next()
    with pytest.raises(Refused, match="within the horizon 5"):
        noise.next()
    assert noise.steps == 5


def test_a_second_copy_is_refused_once_the_first_has_gone_on():
    noise = start(Exponential(half_life=5), 2)
    data = noise.save()
    twin = CorrelatedNoise.load(data, noise=SEEDED)
    noise.next()
    with pytest.raises(Refused, match="another copy"):
        twin.next()
    with pytest.raises(Refused, match="older"):
        CorrelatedNoise.load(data, noise=SEEDED)


def test_an_interrupted_step_ends_the_series_but_not_what_was_saved():
    noise = start(Exponential(half_life=5), 2)
    noise.next()
    data = noise.save()

    def interrupted(*_):
        raise KeyboardInterrupt

    mix, noise._mix = noise._mix, interrupted
    with pytest.raises(KeyboardInterrupt):
        noise.next_many(3)
    noise._mix = mix
    for act in (noise.next, noise.save):
        with pytest.raises(Refused, match="interrupted"):
            act()
    whole = start(Exponential(half_life=5), 2).next_many(4)
    assert np.array_equal(CorrelatedNoise.load(data, noise=SEEDED).next_many(3), whole[1:])


@pytest.mark.parametrize(
    ("error", "changed", "message"),
    [
        (InvalidType, {"factors": "exponential"}, "factors must be a decay or a Factorization"),
        (InvalidValue, {"factors": factorization.square_root(NoDecay(), 9)}, "training.compact"),
        (InvalidValue, {"factors": factorization.unbounded_counting()}, "got CountingTaps"),
        (InvalidValue, {"factors": 2 * NoDecay() - Exponential(half_life=1)}, "completely"),
        (Diverges, {"horizon": None}, "horizon must be given"),
        (InvalidValue, {"horizon": 0}, "horizon must be an integer >= 1"),
        (InvalidType, {"horizon": 2.5}, "horizon must be an integer"),
        (
            InvalidValue,
            {"factors": factorization.from_right(NoDecay(), [1.0], 9), "horizon": 10},
            "horizon must be an integer <= 9",
        ),
        (InvalidValue, {"width": 0}, "width must be an integer >= 1"),
        (InvalidValue, {"width": (3, -1)}, "width must be an integer >= 1"),
        (InvalidValue, {"width": ()}, "width must be an integer >= 1 or several"),
        (InvalidValue, {"width": 2**34 + 1}, "width must be an integer <="),
        (InvalidType, {"width": 3.0}, "width must be an integer"),
        (InvalidType, {"width": True}, "width must be an integer"),
        (InvalidType, {"width": "3"}, "width must be an integer"),
        (InvalidType, {"guarantee": 1.0}, "guarantee must be a Guarantee"),
        (InvalidValue, {"norm": float("nan")}, "norm must be > 0, got nan"),
        (InvalidValue, {"norm": 0}, "norm must be > 0"),
        (InvalidValue, {"norm": float("inf")}, "norm must be finite"),
        (InvalidValue, {"norm": 1e30, "dtype": np.float32}, "noise that float32 can hold"),
        (InvalidValue, {"norm": 1e-35, "dtype": np.float32}, "noise that float32 can hold"),
        (InvalidType, {"dtype": np.float16}, "dtype must be float32 or float64, got"),
        (InvalidType, {"dtype": int}, "dtype must be float32 or float64"),
        (InvalidType, {"dtype": None}, "dtype must be float32 or float64"),
        (InvalidType, {"dtype": "floating"}, "dtype must be float32 or float64, got floating"),
        (InvalidType, {"noise": 3}, "noise must be a noise source, got int"),
    ],
)
def test_what_cannot_be_is_refused(error, changed, message):
    arguments = {"factors": NoDecay(), "width": 3, "horizon": 50} | changed
    with pytest.raises(error, match=message):
        start(**arguments)


def test_repeated_participation_for_ever_is_refused():
    twice = Guarantee(epsilon=1, delta=1e-6, protects=Person(steps=2))
    with pytest.raises(
        InvalidValue, match="horizon must be given if a person has records in several"
    ):
        start(PowerLaw(power=1), guarantee=twice)
    start(PowerLaw(power=1), guarantee=twice, horizon=100)
    start(factorization.from_right(PowerLaw(power=1), [1.0, 0.3]), guarantee=twice)


def test_memory_that_does_not_fit_is_refused():
    noise = start(Exponential(half_life=5), (4, 4), dtype=np.float32)
    for error, out in [
        (InvalidType, [0.0] * 16),
        (InvalidType, np.empty((4, 4))),
        (InvalidValue, np.empty(16, dtype=np.float32)),
        (InvalidValue, np.empty((4, 4), dtype=np.float32).T[::-1]),
        (InvalidValue, np.frombuffer(bytes(64), dtype=np.float32).reshape(4, 4)),
    ]:
        with pytest.raises(error, match="out must be"):
            noise.next(out=out)
    for error, n in [(InvalidValue, 0), (InvalidValue, -1), (InvalidType, 2.0)]:
        with pytest.raises(error, match="n must be an integer"):
            noise.next_many(n)
    assert noise.steps == 0


def test_noise_is_not_pickled_or_copied():
    noise = start(Exponential(half_life=5))
    for act in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(InvalidType, match="save and load"):
            act(noise)


def test_changed_bytes_are_refused():
    noise = start(Exponential(half_life=5), 2)
    noise.next()
    data = noise.save()
    rng = np.random.default_rng(0)
    for at in rng.integers(0, len(data), size=200):
        changed = bytearray(data)
        changed[at] ^= 1 << int(rng.integers(8))
        with pytest.raises(Refused, match="the saved noise"):
            CorrelatedNoise.load(bytes(changed), noise=SEEDED)
    for cut in (0, 5, 30, len(data) - 1):
        with pytest.raises(Refused, match="the saved noise"):
            CorrelatedNoise.load(data[:cut], noise=SEEDED)
    with pytest.raises(Refused, match="must be bytes, got str"):
        CorrelatedNoise.load("text", noise=SEEDED)


def test_the_end_of_a_very_long_horizon_does_not_matter():
    window = SlidingWindow(length=3)
    near = start(window, horizon=10**6).sensitivity
    assert start(window, horizon=10**12).sensitivity == pytest.approx(near, rel=1e-9)
    twice = Guarantee(1, 1e-6, protects=Person(steps=2, apart=10))
    bands = factorization.square_root(Exponential(half_life=5)).rounded(12)
    endless = start(bands, guarantee=twice).sensitivity
    assert start(bands, horizon=10**15, guarantee=twice).sensitivity == endless
    with pytest.raises(InvalidValue, match="n must be given for repeated"):
        start(window, horizon=10**12, guarantee=twice)


@pytest.mark.parametrize("forged", [b"1e308", b"5e-324"])
def test_forged_numbers_that_overflow_are_refused_without_a_warning(forged):
    pair = plan(NoDecay(), ONE, horizon=8, method="normalized").pair
    data = start(pair, 1).save()
    body = data[data.index(b"{") : -32]  # the state, of no steps yet, is zeros
    gain = json.loads(body.rstrip(b"\0"))["series"]["gain"]
    text = body.replace(repr(gain[2]).encode(), forged, 1)
    head = data[: data.index(b"\n") + 1] + (text.rindex(b"}") + 1).to_bytes(8, "little")
    forged = head + text + hashlib.sha256(head + text).digest()
    with pytest.raises(InvalidValue, match="norm must give noise that"):
        CorrelatedNoise.load(forged, noise=SEEDED)


def test_another_kind_of_noise_is_refused_when_loading():
    keyed = KeyedNoise(bytes(range(32)), stream="training")
    data = start(Exponential(half_life=5), noise=keyed).save()
    assert bytes(range(32)) not in data
    others = [
        KeyedNoise(bytes(range(32)), stream="another"),
        KeyedNoise(bytes(range(1, 33)), stream="training"),
    ]
    for other in (None, SEEDED, *others):
        with pytest.raises(Refused, match=r"noise must be KeyedNoise\(stream='training'"):
            CorrelatedNoise.load(data, noise=other)
