import logging
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from hushfade import FreshNoise, InvalidType, InvalidValue, KeyedNoise, UnsafeSeededNoise
from hushfade.crossing import random_bits
from hushfade.crossing.sampling_tables import table
from hushfade.laws import Gaussian, Huber, Laplace

KEY = bytes(range(32))
LAW = table(Gaussian(700.0))
# by entries of a table and by cells
POSITIONED = [
    Gaussian(300.0), Gaussian(1e6), Laplace(0.05), Laplace(1.9e-6),
    Huber(0.1, 20), Huber(1e-6, 10**6),
]  # fmt: skip


def draws(source, step=0, steps=20, lanes=3, digest=b"plan"):
    return source.bound(digest).draws(LAW, step, steps, lanes)


SOURCES = [KeyedNoise(KEY, stream="s"), UnsafeSeededNoise(4)]


@pytest.mark.parametrize("source", SOURCES, ids=repr)
@pytest.mark.parametrize("lanes", [1, 3])
def test_a_draw_is_a_function_of_its_position(source, lanes):
    whole = draws(source, 0, 70_000 // lanes, lanes)
    assert np.array_equal(draws(source, 33, 5, lanes), whole[33:38])
    assert np.array_equal(draws(source, 20_000, 1, lanes), whole[20_000:20_001])


@pytest.mark.parametrize("noise_law", POSITIONED, ids=repr)
@pytest.mark.parametrize(("steps", "lanes"), [(200_000, 1), (1, 200_000), (7, 30_000), (30_000, 7)])
def test_any_grouping_gives_the_same_draws(noise_law, steps, lanes):
    # up to 4 · 4 tiles with edges anywhere, those of the compiled loops' pieces left unaligned
    law, drawer = table(noise_law), KeyedNoise(KEY, stream="s").bound(b"plan")
    whole = drawer.draws(law, 1000, steps, lanes, lane=50)
    rng = np.random.default_rng(steps)
    rows, columns = (np.unique([0, n, *rng.integers(0, n + 1, 3)]).tolist() for n in (steps, lanes))
    for top, bottom in pairwise(rows):
        for left, right in pairwise(columns):
            tile = drawer.draws(law, 1000 + top, bottom - top, right - left, lane=50 + left)
            assert np.array_equal(tile, whole[top:bottom, left:right])
    for step, lane in zip(rng.integers(0, steps, 20), rng.integers(0, lanes, 20), strict=True):
        assert drawer.draws(law, 1000 + step, 1, 1, lane=50 + lane) == whole[step, lane]


@pytest.mark.parametrize("noise_law", POSITIONED, ids=repr)
def test_threads_that_share_a_drawer_get_the_draws_of_one(noise_law):
    law, drawer = table(noise_law), KeyedNoise(KEY, stream="s").bound(b"plan")

    def many(steps):
        return np.vstack([drawer.draws(law, step, 1, 8000) for step in steps])

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(many, np.arange(400).reshape(4, 100)))
    assert np.array_equal(np.vstack(found), drawer.draws(law, 0, 400, 8000))


def test_listed_words_are_those_of_the_grid_in_any_number():
    words = random_bits._Words(Cipher(algorithms.AES(KEY), modes.ECB()).encryptor())
    words.begin(step=9, lanes=7, lane=4)
    whole = words.first(0, 5000)[:5000].copy()
    words.end()
    places = np.random.default_rng(1).permutation(5000)
    assert np.array_equal(words.listed(places, 0)[:5000], whole[places])
    assert np.array_equal(words.listed(places[:3], 0)[:3], whole[places[:3]])


def test_the_farthest_steps_and_lanes_have_draws_of_their_own():
    drawer = KeyedNoise(KEY, stream="s").bound(b"plan")
    corners = [
        drawer.draws(LAW, step, 20, 5, lane=lane)
        for step in (0, 2**32, 2**62 - 20)
        for lane in (0, 2**16, 2**32, 2**47 - 5)
    ]
    for first, second in combinations(corners, 2):
        assert np.mean(first == second) < 0.2


@pytest.mark.parametrize(("steps", "lanes"), [(0, 3), (3, 0), (0, 0)])
def test_no_steps_or_lanes_give_no_draws(steps, lanes):
    assert draws(SOURCES[0], 0, steps, lanes).shape == (steps, lanes)


def test_each_part_of_the_position_matters():
    base = draws(KeyedNoise(KEY, stream="s"))
    others = [
        draws(KeyedNoise(KEY, stream="t")),
        draws(KeyedNoise(KEY, stream="s", epoch=1)),
        draws(KeyedNoise(bytes(range(1, 33)), stream="s")),
        draws(KeyedNoise(KEY, stream="s"), digest=b"other"),
        draws(KeyedNoise(KEY, stream="s"), step=1),
    ]
    for other in others:
        assert np.mean(other == base) < 0.2
    assert len(np.unique(base)) > 50  # steps and lanes differ


def test_keyed_noise_is_the_same_in_another_process():
    code = (
        "from tests.crossing.test_noise_sources import *;"
        "print(draws(KeyedNoise(KEY, stream='s')).tobytes().hex())"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert found == draws(KeyedNoise(KEY, stream="s")).tobytes().hex()


def test_fresh_noise_is_never_the_same():
    assert not np.array_equal(draws(FreshNoise()), draws(FreshNoise()))
    source = FreshNoise()
    assert not np.array_equal(draws(source), draws(source))


def test_forked_workers_share_nothing():
    drawer = FreshNoise().bound(b"plan")
    drawer.draws(LAW, 0, 1, 1)
    found = []
    for _ in range(2):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, drawer.draws(LAW, 1, 50, 1).tobytes())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(writer)
        found.append(np.frombuffer(os.read(reader, 4000), dtype=np.int64))
        os.close(reader)
    found.append(drawer.draws(LAW, 1, 50, 1)[:, 0])
    assert all(len(part) == 50 for part in found)
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        assert np.mean(found[a] == found[b]) < 0.2


def test_neighbouring_draws_are_uncorrelated():
    z = draws(UnsafeSeededNoise(9), 0, 100_000, 2) / 700.0
    assert abs(np.mean(z[:, 0] * z[:, 1])) < 5 / np.sqrt(1e5)
    assert abs(np.mean(z[1:, 0] * z[:-1, 0])) < 5 / np.sqrt(1e5)


def test_keys_appear_nowhere(caplog):
    source = KeyedNoise(KEY, stream="s")
    with caplog.at_level(logging.DEBUG):
        drawer = source.bound(b"plan")
        drawer.draws(LAW, 0, 1, 1)
    shown = f"{source!r} {source} {drawer!r} {caplog.text}"
    assert KEY.hex() not in shown
    assert repr(KEY)[2:-1] not in shown
    assert not hasattr(source, "__dict__")
    for thing in (source, drawer, FreshNoise().bound(b"")):
        with pytest.raises(InvalidType, match="cannot be pickled"):
            pickle.dumps(thing)


def test_a_refused_key_is_not_echoed():
    secret = b"hunter2-hunter2-hunter2"
    with pytest.raises(InvalidValue) as caught:
        KeyedNoise(secret, stream="s")
    assert "hunter2" not in str(caught.value)


def test_bad_sources_are_refused():
    with pytest.raises(InvalidType, match="key must be bytes, got str"):
        KeyedNoise("k" * 32, stream="s")
    with pytest.raises(InvalidValue, match="key must have 32 bytes, got 16"):
        KeyedNoise(KEY[:16], stream="s")
    with pytest.raises(InvalidValue, match="key must be random"):
        KeyedNoise(bytes(32), stream="s")
    with pytest.raises(InvalidValue, match="stream must have a name"):
        KeyedNoise(KEY, stream="")
    with pytest.raises(InvalidValue, match="UTF-8"):
        KeyedNoise(KEY, stream="\ud800")
    with pytest.raises(InvalidType, match="stream must be a str"):
        KeyedNoise(KEY, stream=3)
    with pytest.raises(InvalidValue, match="reserved for the jobs of `hushfade run`"):
        KeyedNoise(KEY, stream=f"visits {bytes(32).hex()}")
    with pytest.raises(InvalidValue, match="epoch must be an integer >= 0"):
        KeyedNoise(KEY, stream="s", epoch=-1)
    with pytest.raises(InvalidValue, match="seed must be an integer >= 0"):
        UnsafeSeededNoise(-1)
    assert len(KeyedNoise.new_key()) == 32


@pytest.mark.parametrize(
    ("position", "problem"),
    [
        ((-1, 1, 1, 0), "steps must lie within 0 to 2^62, got -1 to 0"),
        ((2**62, 1, 1, 0), f"steps must lie within 0 to 2^62, got {2**62} to {2**62 + 1}"),
        ((5, -1, 1, 0), "steps must lie within 0 to 2^62, got 5 to 4"),
        ((0, 1, 1, -1), "lanes must lie within 0 to 2^47, got -1 to 0"),
        ((0, 1, 2, 2**47 - 1), f"lanes must lie within 0 to 2^47, got {2**47 - 1} to {2**47 + 1}"),
        ((0, 1, -3, 4), "lanes must lie within 0 to 2^47, got 4 to 1"),
    ],
)
def test_positions_that_have_no_block_are_refused(position, problem):
    step, steps, lanes, lane = position
    drawer = SOURCES[0].bound(b"plan")
    with pytest.raises(InvalidValue) as caught:
        drawer.draws(LAW, step, steps, lanes, lane=lane)
    assert str(caught.value) == problem
