"""Chance: the randomness of one audit, fresh or from a seed that repeats a failure."""

from __future__ import annotations

import hashlib
import secrets

import numpy as np

from hushfade import check
from hushfade.crossing.noise_sources import UnsafeSeededNoise


class Chance:
    """Noise sources, keys and inputs, each used once.

    >>> one, other = Chance(7), Chance(7)
    >>> first = one.key()
    >>> other.key() == first, one.key() == first
    (True, False)
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = secrets.randbits(48) if seed is None else check.count(seed=seed, least=0)
        self._used = 0

    def noise(self) -> UnsafeSeededNoise:
        """A new seeded source.  Streams share it only if a check needs equal noise."""
        return UnsafeSeededNoise(int.from_bytes(self._next(), "big"))

    def key(self) -> bytes:
        """A new key of 32 bytes."""
        return self._next()

    def inputs(self) -> np.random.Generator:
        """A generator for totals and positions, never for noise."""
        return np.random.default_rng(int.from_bytes(self._next(), "big"))

    def _next(self) -> bytes:
        self._used += 1
        return hashlib.sha256(b"hushfade audit %d %d" % (self.seed, self._used)).digest()
