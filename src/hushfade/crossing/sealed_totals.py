"""A keyed digest of exact totals, which identifies them and reveals nothing about them.

    seal = ⊕ F(step, lane, total) over all totals ≠ 0,  F(a, b) = E(E(a) ⊕ b)

E is AES-256 under a separate key, so F, the CBC-MAC of two blocks, is a pseudorandom function.  If
two tables of totals differ, the exclusive-or of their seals is an exclusive-or of independent
random numbers, so the seals are equal with probability 2^-128.  The seal of a table does not depend
on the order of its totals, nor on their division into pieces.
"""

from __future__ import annotations

import hashlib
import json
from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from hushfade.check import Signed
from hushfade.errors import InvalidType


class TotalsSeal:
    """Seals of totals under one key; the seals of several sets combine by exclusive-or."""

    __slots__ = ("_cipher",)

    def __init__(self, key: bytes) -> None:
        self._cipher = Cipher(algorithms.AES(key), modes.ECB())

    def of(self, totals: Signed, *, step: int = 0, lane: int = 0) -> int:
        """The 128-bit seal of totals (steps, lanes), the first of which is at `step` and `lane`.

        Cost: two AES blocks per total that is not 0.
        """
        steps, lanes = np.nonzero(totals)
        if not len(steps):
            return 0
        place = np.stack([steps + step, lanes + lane], axis=1).astype("<u8")
        sealed = self._encrypted(place)
        sealed[:, 0] ^= totals[steps, lanes].astype("<i8").view("<u8")
        low, high = np.bitwise_xor.reduce(self._encrypted(sealed), axis=0).tolist()
        return int(high) << 64 | int(low)

    def _encrypted(self, blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
        encrypted = self._cipher.encryptor().update(blocks.tobytes())
        return np.frombuffer(encrypted, dtype="<u8").reshape(-1, 2).copy()

    def __reduce__(self) -> NoReturn:
        raise InvalidType("a seal cannot be pickled, because the pickle would contain its key")


def table_digest(seal: int, steps: int, lanes: int) -> bytes:
    """The SHA-256 that identifies a whole table of totals in the record of a key."""
    text = json.dumps({"steps": steps, "lanes": lanes, "totals": f"{seal:032x}"})
    return hashlib.sha256(text.encode()).digest()
