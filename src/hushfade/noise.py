"""Where the noise comes from.  This module and `gaussian` are the only ones that draw it.

    FreshNoise            a key from the operating system, in memory only: the default
    KeyedNoise            a pure function of (key, plan, stream, epoch, step, lane): for engines
                          that run a task again and must get the same bytes
    UnsafeSeededNoise     repeatable, for tests and pictures; anyone who knows the seed can
                          subtract the noise

Bits are AES-256 of the block (step, lane, slot), under a key derived for one plan, stream and
epoch.  Keys appear in no repr, error, log or pickle.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from hushfade import check, gaussian
from hushfade.check import Signed
from hushfade.errors import InvalidType, InvalidValue
from hushfade.gaussian import Table, Unsigned

_SLOTS = 16  # bits of the block's second word below the lane
_CHUNK = 1 << 15  # draws at a time, so that their words stay in the cache


class NoiseSource(Protocol):
    """What a plan is started with.  Its `repr` is written into saved states and holds no secret."""

    def bound(self, plan_digest: bytes) -> Drawer:
        """The source's noise for one plan."""


class Drawer:
    """Noise by position: the draw at (step, lane) is a fixed function of the key.

    Guarantee: draws at different positions are independent, as far as AES-256 is a pseudorandom
    function, each within 2^-113 of round(N(0, sigma²)).
    """

    __slots__ = ("_cipher", "_fresh", "_process")

    def __init__(self, key: bytes, *, fresh: bool) -> None:
        self._fresh = fresh
        self._process = os.getpid()
        self._cipher = Cipher(algorithms.AES(key), modes.ECB())

    def draws(self, law: Table, step: int, steps: int, lanes: int) -> Signed:
        """z for `steps` steps from `step` on, as (steps, lanes)."""
        if self._fresh and os.getpid() != self._process:
            # a forked child must not repeat its parent's noise
            self.__init__(os.urandom(32), fresh=True)  # type: ignore[misc]
        encryptor = self._cipher.encryptor()
        out = np.empty(steps * lanes, dtype=np.int64)
        for start in range(0, len(out), _CHUNK):
            part = out[start : start + _CHUNK]

            def words(within: Signed, slot: int, start: int = start) -> Unsigned:
                blocks = np.empty((len(within), 2), dtype="<u8")
                if lanes == 1:
                    np.add(within, start + step, out=blocks[:, 0], casting="unsafe")
                    blocks[:, 1] = slot
                else:
                    row, lane = np.divmod(within + start, lanes)
                    blocks[:, 0] = row + step
                    blocks[:, 1] = (lane << _SLOTS) | slot
                found = np.empty(16 * len(within) + 15, dtype=np.uint8)  # OpenSSL wants the 15
                encryptor.update_into(blocks.data.cast("B"), found.data)
                return found[:-15].view("<u8").reshape(-1, 2)

            gaussian.draws(law, words, part)
        return out.reshape(steps, lanes)

    def __repr__(self) -> str:
        return "Drawer(...)"

    def __reduce__(self) -> NoReturn:
        raise InvalidType("noise cannot be pickled: it would carry its key")


@dataclass(frozen=True, slots=True)
class FreshNoise:
    """Noise that nobody can draw again: the key is random, stays in memory and dies with it.

    A forked process draws its own.
    """

    def bound(self, plan_digest: bytes) -> Drawer:
        return Drawer(os.urandom(32), fresh=True)


class KeyedNoise:
    """Noise that the key's holder can draw again, byte for byte, in any process.

    The same key, stream, epoch and plan must never serve two different inputs: the difference of
    the two releases would be the difference of the inputs, without noise.  Whoever has the key can
    subtract the noise; keep it as you keep the data.
    """

    __slots__ = ("_key", "epoch", "stream")

    def __init__(self, key: bytes, *, stream: str, epoch: int = 0) -> None:
        if not isinstance(key, bytes | bytearray):
            raise InvalidType(f"key must be bytes, got {type(key).__name__}")
        if len(key) != 32:
            raise InvalidValue(f"key must have 32 bytes, got {len(key)}")
        if len(set(key)) < 8:
            raise InvalidValue("key must be random: use KeyedNoise.new_key() or secrets")
        if not isinstance(stream, str):
            raise InvalidType(f"stream must be a str, got {type(stream).__name__}")
        if not stream:
            raise InvalidValue("stream must have a name, got ''")
        try:
            stream.encode()
        except UnicodeEncodeError:
            raise InvalidValue("stream must be text that UTF-8 can hold") from None
        self._key = bytes(key)
        self.stream = stream
        self.epoch = check.count(epoch=epoch, least=0, most=2**63 - 1)

    @staticmethod
    def new_key() -> bytes:
        """32 random bytes from the operating system."""
        return os.urandom(32)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, stream: str, epoch: int = 0) -> KeyedNoise:
        """The key in a file of 32 bytes that only its owner can read (mode 0600 or 0400)."""
        descriptor = os.open(Path(path), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise InvalidValue(f"the key file must have mode 0600, got {mode:04o}")
            return cls(file.read(64), stream=stream, epoch=epoch)

    def bound(self, plan_digest: bytes) -> Drawer:
        name = self.stream.encode()
        context = b"hushfade noise 1" + plan_digest + self.epoch.to_bytes(8, "little") + name
        return Drawer(hmac.digest(self._key, context, hashlib.sha256), fresh=False)

    def __repr__(self) -> str:
        return f"KeyedNoise(key=..., stream={self.stream!r}, epoch={self.epoch})"

    def __reduce__(self) -> NoReturn:
        raise InvalidType("noise cannot be pickled: it would carry its key")


class UnsafeSeededNoise:
    """Noise from a number, for tests and pictures.  Not private: the seed takes it off again."""

    __slots__ = ("seed",)

    def __init__(self, seed: int) -> None:
        self.seed = check.count(seed=seed, least=0)

    def bound(self, plan_digest: bytes) -> Drawer:
        seed: Any = str(self.seed).encode()
        return Drawer(hashlib.sha256(b"hushfade unsafe" + seed).digest(), fresh=False)

    def __repr__(self) -> str:
        return f"UnsafeSeededNoise({self.seed})"
