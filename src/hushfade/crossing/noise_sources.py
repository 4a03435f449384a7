"""Where the noise of a stream comes from: what `plan.start` takes.

FreshNoise            a key from the operating system, in memory only: the default
KeyedNoise            a pure function of (key, plan, stream, epoch, step, lane): for engines
                      that run a task again and must get the same bytes
UnsafeSeededNoise     repeatable, for tests and pictures; anyone who knows the seed can
                      subtract the noise

`key_file.KeyFile` is keyed noise whose key is in a file, with a record of what the key has served.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TypeAlias

from hushfade import check
from hushfade.crossing.random_bits import Drawer
from hushfade.crossing.sealed_totals import TotalsSeal
from hushfade.errors import InvalidType, InvalidValue

Identity: TypeAlias = dict[str, str | int]
"""Public facts by which a saved state recognises its noise source; no secret."""

_JOB = re.compile(r" [0-9a-f]{64}\Z")  # how `hushfade run` names the noise of a job


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
    the two releases would be the difference of the inputs, without noise.  A KeyedNoise keeps no
    record of its uses, so the caller must give every input a name of its own; `KeyFile` keeps one.
    Whoever has the key can subtract the noise; keep it as you keep the data.
    """

    __slots__ = ("_key", "_name", "epoch", "stream")

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
        if _JOB.search(stream):
            raise InvalidValue(
                "stream must not end in a space and 64 hexadecimal digits: such names belong to "
                "the jobs of `hushfade run`"
            )
        try:
            self._name = stream.encode()
        except UnicodeEncodeError:
            raise InvalidValue("stream must be text that UTF-8 can hold") from None
        self._key = bytes(key)
        self.stream = stream
        self.epoch = check.count(epoch=epoch, least=0, most=2**63 - 1)

    @staticmethod
    def new_key() -> bytes:
        """32 random bytes from the operating system."""
        return os.urandom(32)

    def of_job(self, job: bytes) -> KeyedNoise:
        """The noise of one job of the stream, known by a digest of all that the job reads.

        Jobs with different digests have independent noise.  No stream has such a name.
        """
        noise = KeyedNoise(self._key, stream=self.stream, epoch=self.epoch)
        noise._name = f"{self.stream} {job.hex()}".encode()
        return noise

    @property
    def fingerprint(self) -> bytes:
        """16 bytes that tell keys apart, and nothing else about them: a pseudorandom function of
        the key, at a point where no noise is derived."""
        return hmac.digest(self._key, b"hushfade fingerprint 1", hashlib.sha256)[:16]

    @property
    def identity(self) -> Identity:
        return keyed_identity(self.stream, self.epoch, self.fingerprint.hex())

    def sealed(self, digest: bytes) -> bytes:
        """32 bytes that stand for a digest of private data, and reveal nothing without the key: a
        pseudorandom function of the digest, at points where no noise is derived."""
        return hmac.digest(self._key, b"hushfade sealed 1" + digest, hashlib.sha256)

    def bound(self, plan_digest: bytes) -> Drawer:
        return Drawer(self._derived(b"hushfade noise 1", plan_digest), fresh=False)

    def seal(self, plan_digest: bytes) -> TotalsSeal:
        """Digests of this stream's totals that reveal nothing without the key."""
        return TotalsSeal(self._derived(b"hushfade totals 1", plan_digest))

    def _derived(self, label: bytes, plan_digest: bytes) -> bytes:
        """A key of its own for each purpose, plan, epoch and name."""
        context = label + plan_digest + self.epoch.to_bytes(8, "little") + self._name
        return hmac.digest(self._key, context, hashlib.sha256)

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


def keyed_identity(stream: str, epoch: int, fingerprint: str) -> Identity:
    """What saved states record of keyed noise; 16 digits of the fingerprint are enough."""
    return {"kind": "keyed", "stream": stream, "epoch": epoch, "fingerprint": fingerprint[:16]}


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
