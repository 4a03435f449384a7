"""A hash of integers that nobody can predict without its key: the CBC-MAC of AES-256.

    F(b_1, ..., b_m) = E(... E(E(b_1) ⊕ b_2) ... ⊕ b_m)

E is AES-256 under a key that serves one purpose.  All inputs of a key have the same number m of
blocks, so F is a pseudorandom function.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from hushfade.check import Signed
from hushfade.errors import InvalidType


class KeyedHash:
    """Hashes of rows of integers under one key, which must always get the same number of columns.

    >>> rows = [np.array([5, 6]), np.array([7, 7]), np.array([0, 0])]
    >>> KeyedHash(bytes(range(32))).of(*rows).shape
    (2, 2)
    """

    __slots__ = ("_cipher",)

    def __init__(self, key: bytes) -> None:
        self._cipher = Cipher(algorithms.AES(key), modes.ECB())

    def of(self, *columns: Signed) -> NDArray[np.uint64]:
        """128 bits (n, 2) for each of n rows, given by columns of 64-bit integers.

        Two columns make a block; a 0 fills the last one.  Cost: an AES block per two integers.
        """
        hashed = np.zeros((len(columns[0]), 2), dtype="<u8")
        for first in range(0, len(columns), 2):
            for half, column in enumerate(columns[first : first + 2]):
                hashed[:, half] ^= column.astype("<i8").view("<u8")
            encrypted = self._cipher.encryptor().update(hashed.tobytes())
            hashed = np.frombuffer(encrypted, dtype="<u8").reshape(-1, 2).copy()
        return hashed

    def __reduce__(self) -> NoReturn:
        raise InvalidType(
            "a keyed hash cannot be pickled, because the pickle would contain its key"
        )
