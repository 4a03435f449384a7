"""Random bits by position, and draws from them.

The bits are AES-256 of the block (step, lane, slot), under a key for one plan, stream and epoch.
No repr, error, log or pickle contains a key.
"""

from __future__ import annotations

import os
from operator import index
from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

from hushfade.check import Signed, Unsigned
from hushfade.crossing.draws import fill, loops
from hushfade.crossing.sampling_tables import Table
from hushfade.errors import InvalidType, InvalidValue

_STEPS, _LANES = 2**62, 2**47  # a block has 64 bits for the step, 48 for the lane, 16 for the slot
_KEPT = 1 << 10  # a drawer keeps buffers for this many draws between calls


class Drawer:
    """Noise by position: the draw at (step, lane) is a fixed function of the key.

    Guarantee: if AES-256 is a pseudorandom function, draws at different positions are independent,
    and each is within 2^-112 of the table's law in total variation.
    """

    __slots__ = ("_cipher", "_fresh", "_idle", "_process")

    def __init__(self, key: bytes, *, fresh: bool) -> None:
        self._fresh = fresh
        self._cipher = Cipher(algorithms.AES(key), modes.ECB())
        self._idle: list[_Words] = []  # one thread at a time uses each of them
        self._process = os.getpid()

    def draws(self, law: Table, step: int, steps: int, lanes: int, *, lane: int = 0) -> Signed:
        """The noise z of `steps` steps from `step` and `lanes` lanes from `lane`: (steps, lanes).

        Each draw is the same however the draws are grouped into calls and threads.
        Cost: about 4 µs per call and 5 to 7 ns per draw.
        """
        if not (steps >= 0 and 0 <= step <= _STEPS - steps):
            raise InvalidValue(
                "must lie within 0 to 2^62", argument="steps", got=f"{step} to {step + steps}"
            )
        if not (lanes >= 0 and 0 <= lane <= _LANES - lanes):
            raise InvalidValue(
                "must lie within 0 to 2^47", argument="lanes", got=f"{lane} to {lane + lanes}"
            )
        if self._fresh and os.getpid() != self._process:
            # a forked child must not repeat its parent's noise
            self.__init__(os.urandom(32), fresh=True)  # type: ignore[misc]
        idle = self._idle
        try:
            words = idle.pop()
        except IndexError:
            words = _Words(self._cipher.encryptor())
        out = np.empty(steps * lanes, dtype=np.int64)
        words.begin(step, lanes, lane)
        fill(out, law, words)
        words.end()
        idle.append(words)
        return out.reshape(steps, lanes)

    def __repr__(self) -> str:
        return "Drawer(...)"

    def __reduce__(self) -> NoReturn:
        raise InvalidType("noise cannot be pickled, because the pickle would contain its key")


class _Words:
    """AES of the blocks (step, lane, slot), for a grid of draws that are numbered by rows."""

    __slots__ = ("_blocks", "_encryptor", "_found", "_grid", "_read", "_written")

    def __init__(self, encryptor: CipherContext) -> None:
        self._encryptor = encryptor
        self._room(_KEPT)

    def begin(self, step: int, lanes: int, lane: int) -> None:
        self._grid = (index(step), index(lanes), index(lane))  # the loops must see signed integers

    def end(self) -> None:
        if len(self._blocks) > _KEPT:
            self._room(_KEPT)

    def first(self, start: int, count: int) -> Unsigned:
        if count > len(self._blocks):
            self._room(count)
        loops().number(self._blocks, count, start, *self._grid)
        return self._encrypted(count)

    def listed(self, places: Signed, slot: int) -> Unsigned:
        if len(places) > len(self._blocks):
            self._room(len(places))
        loops().number_listed(self._blocks, places, slot, *self._grid)
        return self._encrypted(len(places))

    def _room(self, count: int) -> None:
        self._blocks = np.empty((count, 2), dtype="<u8")
        self._found = np.empty((count + 1, 2), dtype="<u8")  # OpenSSL needs 15 more bytes
        self._read, self._written = self._blocks.data.cast("B"), self._found.data.cast("B")

    def _encrypted(self, count: int) -> Unsigned:
        self._encryptor.update_into(self._read[: 16 * count], self._written)
        return self._found
