"""Digests of totals under the key, against the definition in plain Python."""

import hmac
import pickle

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from hushfade import InvalidType, KeyedNoise
from hushfade.crossing.sealed_totals import TotalsSeal

KEY = bytes(range(1, 33))
SEAL = TotalsSeal(KEY)


def by_definition(totals, step=0, lane=0):
    """⊕ E(E(step, lane) ⊕ (total, 0)), one total after the other."""

    def encrypted(block):
        return Cipher(algorithms.AES(KEY), modes.ECB()).encryptor().update(block)

    seal = 0
    for i, row in enumerate(totals.tolist()):
        for j, total in enumerate(row):
            if total:
                place = (i + step).to_bytes(8, "little") + (j + lane).to_bytes(8, "little")
                first = int.from_bytes(encrypted(place), "little") ^ (total % 2**64)
                seal ^= int.from_bytes(encrypted(first.to_bytes(16, "little")), "little")
    return seal


def random_totals(seed, shape):
    rng = np.random.default_rng(seed)
    totals = rng.integers(-(2**62), 2**62, size=shape)
    return np.where(rng.random(shape) < 0.5, totals, 0)


def test_the_seal_is_the_exclusive_or_of_a_function_of_each_total():
    for shape in ((1, 1), (5, 1), (7, 3)):
        totals = random_totals(1, shape)
        assert SEAL.of(totals) == by_definition(totals)
        assert SEAL.of(totals, step=2**40, lane=10**6) == by_definition(totals, 2**40, 10**6)
    assert SEAL.of(np.zeros((3, 2), dtype=np.int64)) == 0


def test_any_cut_of_a_table_has_the_seal_of_the_whole():
    totals = random_totals(2, (9, 6))
    for rows, lanes in ((1, 1), (4, 6), (9, 2), (5, 4)):
        parts = [
            SEAL.of(totals[i : i + rows, j : j + lanes], step=i, lane=j)
            for i in range(0, 9, rows)
            for j in range(0, 6, lanes)
        ]
        assert int(np.bitwise_xor.reduce(np.array(parts, dtype=object))) == SEAL.of(totals)


def test_any_other_total_place_or_key_has_another_seal():
    """2,000 seals of 128 bits: two would be equal by chance once in 10^32 runs."""
    totals = random_totals(3, (20, 10))
    seals = {SEAL.of(totals)}
    others = 0
    for i in range(20):
        for j in range(10):
            for changed in (totals[i, j] + 1, totals[i, j] - 1, -totals[i, j]):
                other = totals.copy()
                other[i, j] = changed
                if changed != totals[i, j]:
                    seals.add(SEAL.of(other))
                    others += 1
    seals |= {SEAL.of(totals, step=1), SEAL.of(totals, lane=1), SEAL.of(totals.T.copy())}
    seals |= {SEAL.of(totals[::-1]), TotalsSeal(bytes(range(32))).of(totals)}
    assert len(seals) == 1 + others + 5


def test_each_name_plan_and_purpose_has_a_key_of_its_own():
    totals = random_totals(4, (3, 3))
    noise = KeyedNoise(KEY, stream="visits")
    context = b"hushfade totals 1" + b"plan" + bytes(8) + b"visits"
    known = TotalsSeal(hmac.digest(KEY, context, "sha256"))
    assert noise.seal(b"plan").of(totals) == known.of(totals)
    seals = {
        source.seal(plan).of(totals)
        for source, plan in (
            (noise, b"plan"), (noise, b"other"), (KeyedNoise(KEY, stream="others"), b"plan"),
            (KeyedNoise(KEY, stream="visits", epoch=1), b"plan"), (noise.of_job(KEY), b"plan"),
        )
    }  # fmt: skip
    assert len(seals) == 5


def test_a_seal_does_not_travel():
    with pytest.raises(InvalidType, match="would contain its key"):
        pickle.dumps(SEAL)
