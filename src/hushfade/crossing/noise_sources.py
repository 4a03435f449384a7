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
from operator import index
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

from hushfade import check
from hushfade.check import Signed
from hushfade.crossing.laws import gaussian
from hushfade.crossing.laws.gaussian import Table, Unsigned
from hushfade.errors import InvalidType, InvalidValue

_STEPS, _LANES = 2**62, 2**47  # a block has 64 bits for the step, 48 for the lane, 16 for the slot
_KEPT = 1 << 10  # draws whose room a drawer keeps between calls


class NoiseSource(Protocol):
    """What a plan is started with.  Its `repr` is written into saved states and holds no secret."""

    def bound(self, plan_digest: bytes) -> Drawer:
        """The source's noise for one plan."""


class Drawer:
    """Noise by position: the draw at (step, lane) is a fixed function of the key.

    Guarantee: draws at different positions are independent, as far as AES-256 is a pseudorandom
    function, each within 2^-113 of round(N(0, sigma²)).
    """

    __slots__ = ("_cipher", "_fresh", "_idle", "_process")

    def __init__(self, key: bytes, *, fresh: bool) -> None:
        self._fresh = fresh
        self._cipher = Cipher(algorithms.AES(key), modes.ECB())
        self._idle: list[_Words] = []  # each serves one thread at a time
        self._process = os.getpid()

    def draws(self, law: Table, step: int, steps: int, lanes: int, *, lane: int = 0) -> Signed:
        """z for `steps` steps from `step` on and `lanes` lanes from `lane` on, as (steps, lanes).

        However the draws are grouped into calls, in one thread or several, each is the same.
        Cost: about 4 µs a call and 5 to 7 ns a draw.
        """
        if not (steps >= 0 and 0 <= step <= _STEPS - steps):
            raise InvalidValue(f"steps must lie within 0 to 2^62, got {step} to {step + steps}")
        if not (lanes >= 0 and 0 <= lane <= _LANES - lanes):
            raise InvalidValue(f"lanes must lie within 0 to 2^47, got {lane} to {lane + lanes}")
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
        gaussian.draws(law, words, out)
        words.end()
        idle.append(words)
        return out.reshape(steps, lanes)

    def __repr__(self) -> str:
        return "Drawer(...)"

    def __reduce__(self) -> NoReturn:
        raise InvalidType("noise cannot be pickled: it would carry its key")


class _Words:
    """AES of the blocks (step, lane, slot), for a grid of draws counted by rows."""

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
        gaussian.loops().number(self._blocks, count, start, *self._grid)
        return self._encrypted(count)

    def listed(self, places: Signed, slot: int) -> Unsigned:
        if len(places) > len(self._blocks):
            self._room(len(places))
        gaussian.loops().number_listed(self._blocks, places, slot, *self._grid)
        return self._encrypted(len(places))

    def _room(self, count: int) -> None:
        self._blocks = np.empty((count, 2), dtype="<u8")
        self._found = np.empty((count + 1, 2), dtype="<u8")  # OpenSSL asks for 15 bytes more
        self._read, self._written = self._blocks.data.cast("B"), self._found.data.cast("B")

    def _encrypted(self, count: int) -> Unsigned:
        self._encryptor.update_into(self._read[: 16 * count], self._written)
        return self._found


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
        if Path(path).is_symlink():
            raise InvalidValue("the key file must be a regular file, got a link")
        # nor one that takes the file's place now; and a pipe must not wait
        plainly = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(Path(path), os.O_RDONLY | plainly)
        try:  # not as a file object, which a directory refuses to be and stays open
            status = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(status):
                raise InvalidValue("the key file must be a regular file")
            mode = stat.S_IMODE(status)
            if mode & 0o077:
                raise InvalidValue(
                    f"the key file must have mode 0600, got {mode:04o}: chmod 600 {path}"
                )
            return cls(os.read(descriptor, 64), stream=stream, epoch=epoch)
        finally:
            os.close(descriptor)

    @property
    def fingerprint(self) -> bytes:
        """16 bytes that tell keys apart, and nothing else about them: a pseudorandom function of
        the key, at a point where no noise is derived."""
        return hmac.digest(self._key, b"hushfade fingerprint 1", hashlib.sha256)[:16]

    def sealed(self, digest: bytes) -> bytes:
        """32 bytes that stand for a digest of private data, and reveal nothing without the key: a
        pseudorandom function of the digest, at points where no noise is derived."""
        return hmac.digest(self._key, b"hushfade sealed 1" + digest, hashlib.sha256)

    def bound(self, plan_digest: bytes) -> Drawer:
        name = self.stream.encode()
        context = b"hushfade noise 1" + plan_digest + self.epoch.to_bytes(8, "little") + name
        return Drawer(hmac.digest(self._key, context, hashlib.sha256), fresh=False)

    def __repr__(self) -> str:
        key = self.fingerprint.hex()[:16]
        return f"KeyedNoise(stream={self.stream!r}, epoch={self.epoch}, fingerprint={key!r})"

    def __reduce__(self) -> NoReturn:
        raise InvalidType("noise cannot be pickled: it would carry its key")


class UnsafeSeededNoise:
    """Noise from a number, for tests and pictures.  Not private: the seed takes it off again.

    One seed gives every plan the same bits, so streams that must differ need seeds that differ.
    """

    __slots__ = ("seed",)

    def __init__(self, seed: int) -> None:
        self.seed = check.count(seed=seed, least=0)

    def bound(self, plan_digest: bytes) -> Drawer:
        seed: Any = str(self.seed).encode()
        return Drawer(hashlib.sha256(b"hushfade unsafe" + seed).digest(), fresh=False)

    def __repr__(self) -> str:
        return f"UnsafeSeededNoise({self.seed})"
