"""Where the noise of a stream comes from: what `plan.start` takes.

FreshNoise            a key from the operating system, in memory only: the default
KeyedNoise            a pure function of (key, plan, stream, epoch, step, lane): for engines
                      that run a task again and must get the same bytes
UnsafeSeededNoise     repeatable, for tests and pictures; anyone who knows the seed can
                      subtract the noise
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeAlias

from hushfade import check
from hushfade.crossing.random_bits import Drawer
from hushfade.errors import InvalidType, InvalidValue

Identity: TypeAlias = dict[str, str | int]
"""Public facts by which a saved state recognises its noise source; no secret."""


class NoiseSource(Protocol):
    """Where the noise of a stream comes from; `plan.start` takes one."""

    @property
    def identity(self) -> Identity:
        """What saved states record of the source."""

    def bound(self, plan_digest: bytes) -> Drawer:
        """The source's noise for one plan."""


@dataclass(frozen=True, slots=True)
class FreshNoise:
    """Noise that nobody can draw again: the key is random, stays in memory and dies with it.

    A forked process draws its own.
    """

    @property
    def identity(self) -> Identity:
        return {"kind": "fresh"}

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
            raise InvalidType("key must be bytes", got=type(key).__name__)
        if len(key) != 32:
            raise InvalidValue("key must have 32 bytes", got=len(key))
        if len(set(key)) < 8:
            raise InvalidValue("key must be random: use KeyedNoise.new_key() or secrets")
        if not isinstance(stream, str):
            raise InvalidType("stream must be a str", got=type(stream).__name__)
        if not stream:
            raise InvalidValue("stream must have a name", got="''")
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
            raise InvalidValue("the key file must be a regular file", got="a link")
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
                    "the key file must have mode 0600",
                    got=f"{mode:04o}",
                    remedy=f"chmod 600 {path}",
                )
            return cls(os.read(descriptor, 64), stream=stream, epoch=epoch)
        finally:
            os.close(descriptor)

    @property
    def fingerprint(self) -> bytes:
        """16 bytes that tell keys apart, and nothing else about them: a pseudorandom function of
        the key, at a point where no noise is derived."""
        return hmac.digest(self._key, b"hushfade fingerprint 1", hashlib.sha256)[:16]

    @property
    def identity(self) -> Identity:
        fingerprint = self.fingerprint.hex()[:16]
        return {
            "kind": "keyed", "stream": self.stream, "epoch": self.epoch, "fingerprint": fingerprint,
        }  # fmt: skip

    def sealed(self, digest: bytes) -> bytes:
        """32 bytes that stand for a digest of private data, and reveal nothing without the key: a
        pseudorandom function of the digest, at points where no noise is derived."""
        return hmac.digest(self._key, b"hushfade sealed 1" + digest, hashlib.sha256)

    def bound(self, plan_digest: bytes) -> Drawer:
        name = self.stream.encode()
        context = b"hushfade noise 1" + plan_digest + self.epoch.to_bytes(8, "little") + name
        return Drawer(hmac.digest(self._key, context, hashlib.sha256), fresh=False)

    def __repr__(self) -> str:
        return legacy_name(self.identity)

    def __reduce__(self) -> NoReturn:
        raise InvalidType("noise cannot be pickled: it would carry its key")


class UnsafeSeededNoise:
    """Noise from a number, for tests and pictures.  Not private: the seed takes it off again.

    One seed gives every plan the same bits, so streams that must differ need seeds that differ.
    """

    __slots__ = ("seed",)

    def __init__(self, seed: int) -> None:
        self.seed = check.count(seed=seed, least=0)

    @property
    def identity(self) -> Identity:
        return {"kind": "seeded", "seed": self.seed}

    def bound(self, plan_digest: bytes) -> Drawer:
        seed: Any = str(self.seed).encode()
        return Drawer(hashlib.sha256(b"hushfade unsafe" + seed).digest(), fresh=False)

    def __repr__(self) -> str:
        return legacy_name(self.identity)


def checked(noise: NoiseSource | None) -> NoiseSource:
    """The noise source: fresh noise for None."""
    if noise is None:
        return FreshNoise()
    if not (hasattr(noise, "bound") and hasattr(noise, "identity")):
        raise InvalidType("must be a noise source", argument="noise", got=type(noise).__name__)
    return noise


def legacy_name(identity: Identity) -> str:
    """The text by which version 0.1.0 identified a noise source in saved states."""
    match identity:
        case {"kind": "keyed", "stream": stream, "epoch": epoch, "fingerprint": fingerprint}:
            return f"KeyedNoise(stream={stream!r}, epoch={epoch}, fingerprint={fingerprint!r})"
        case {"kind": "seeded", "seed": seed}:
            return f"UnsafeSeededNoise({seed})"
        case {"kind": "fresh"}:
            return "FreshNoise()"
        case _:
            return ""
