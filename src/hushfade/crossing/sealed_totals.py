"""A keyed digest of exact totals, which identifies them and reveals nothing about them.

    seal = ⊕ F(step, lane, total) over all totals ≠ 0

F is a `KeyedHash` under a separate key.  If two tables of totals differ, the exclusive-or of their
seals is an exclusive-or of independent random numbers, so the seals are equal with probability
2^-128.  The seal of a table does not depend on the order of its totals, nor on their division into
pieces.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

from hushfade.check import Signed
from hushfade.crossing.keyed_hash import KeyedHash


class TotalsSeal:
    """Seals of totals under one key; the seals of several sets combine by exclusive-or."""

    __slots__ = ("_hash",)

    def __init__(self, key: bytes) -> None:
        self._hash = KeyedHash(key)

    def of(self, totals: Signed, *, step: int = 0, lane: int = 0) -> int:
        """The 128-bit seal of totals (steps, lanes), the first of which is at `step` and `lane`.

        Cost: two AES blocks per total that is not 0.
        """
        steps, lanes = np.nonzero(totals)
        if not len(steps):
            return 0
        sealed = self._hash.of(steps + step, lanes + lane, totals[steps, lanes])
        low, high = np.bitwise_xor.reduce(sealed, axis=0).tolist()
        return int(high) << 64 | int(low)


def table_digest(seal: int, steps: int, lanes: int) -> bytes:
    """The SHA-256 that identifies a whole table of totals in the record of a key."""
    text = json.dumps({"steps": steps, "lanes": lanes, "totals": f"{seal:032x}"})
    return hashlib.sha256(text.encode()).digest()
