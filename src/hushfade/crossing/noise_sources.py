"""Noise sources for `plan.start`.

FreshNoise            a key from the operating system, in memory only: the default
KeyedNoise            a pure function of (key, plan, stream, epoch, step, lane), for engines
                      that may repeat a task and must get the same bytes
UnsafeSeededNoise     repeatable, for tests and pictures; anyone who knows the seed can
                      subtract the noise

`key_file.KeyFile` is keyed noise whose key is in a file, with a record of the key's uses.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TypeAlias

from hushfade import check
from hushfade.crossing.keyed_hash import KeyedHash
from hushfade.crossing.random_bits import Drawer
from hushfade.crossing.sealed_totals import TotalsSeal
from hushfade.errors import InvalidType, InvalidValue

Identity: TypeAlias = dict[str, str | int]
"""The public facts by which a saved state recognises its noise source.  They contain no secret."""

_JOB = re.compile(r" [0-9a-f]{64}\Z")  # `hushfade run` ends the name of a job's noise like this


class NoiseSource(Protocol):
    """The interface of a noise source for `plan.start`."""

    @property
    def identity(self) -> Identity:
        """The public identity of the source, which saved states record."""

    def bound(self, plan_digest: bytes) -> Drawer:
        """The source's noise for one plan."""


@dataclass(frozen=True, slots=True)
class FreshNoise:
    """Noise that nobody can draw again.  Its random key exists only in memory.

    A forked process draws its own key.
    """

    @property
    def identity(self) -> Identity:
        return {"kind": "fresh"}

    def bound(self, plan_digest: bytes) -> Drawer:
        return Drawer(os.urandom(32), fresh=True)


class KeyedNoise:
    """Noise that the owner of the key can draw again, byte for byte, in any process.

    Never use the same key, stream, epoch and plan for two different inputs.  The difference of the
    two releases would be the difference of the inputs, without noise.  A KeyedNoise keeps no record
    of its uses, so the caller must give every input its own name; `KeyFile` keeps a record.  Anyone
    with the key can subtract the noise, so protect the key like the data.
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
                "stream must not end in a space and 64 hexadecimal digits: these names are "
                "reserved for the jobs of `hushfade run`"
            )
        try:
            self._name = stream.encode()
        except UnicodeEncodeError:
            raise InvalidValue("stream must be text that UTF-8 can encode") from None
        self._key = bytes(key)
        self.stream = stream
        self.epoch = check.count(epoch=epoch, least=0, most=2**63 - 1)

    @staticmethod
    def new_key() -> bytes:
        """32 random bytes from the operating system."""
        return os.urandom(32)

    def of_job(self, job: bytes) -> KeyedNoise:
        """The noise of one job of the stream; `job` is a digest of everything that the job reads.

        Jobs with different digests have independent noise.  The name of a job is not a valid name
        of a stream.
        """
        noise = KeyedNoise(self._key, stream=self.stream, epoch=self.epoch)
        noise._name = f"{self.stream} {job.hex()}".encode()
        return noise

    @property
    def fingerprint(self) -> bytes:
        """16 bytes that identify the key and reveal nothing else about it.

        They are a pseudorandom function of the key, at a point where no noise is derived.
        """
        return hmac.digest(self._key, b"hushfade fingerprint 1", hashlib.sha256)[:16]

    @property
    def identity(self) -> Identity:
        return keyed_identity(self.stream, self.epoch, self.fingerprint.hex())

    def sealed(self, digest: bytes) -> bytes:
        """32 bytes that identify a digest of private data and reveal nothing without the key.

        They are a pseudorandom function of the digest, at points where no noise is derived.
        """
        return hmac.digest(self._key, b"hushfade sealed 1" + digest, hashlib.sha256)

    def bound(self, plan_digest: bytes) -> Drawer:
        return Drawer(self._derived(b"hushfade noise 1", plan_digest), fresh=False)

    def seal(self, plan_digest: bytes) -> TotalsSeal:
        """A keyed digest for this stream's totals, which reveals nothing without the key."""
        return TotalsSeal(self._derived(b"hushfade totals 1", plan_digest))

    def record_order(self, plan_digest: bytes) -> KeyedHash:
        """The hash by which a repeated task chooses the same records of a person again."""
        return KeyedHash(self._derived(b"hushfade record order 1", plan_digest))

    def _derived(self, label: bytes, plan_digest: bytes) -> bytes:
        """A separate key for each purpose, plan, epoch and name."""
        context = label + plan_digest + self.epoch.to_bytes(8, "little") + self._name
        return hmac.digest(self._key, context, hashlib.sha256)

    def __repr__(self) -> str:
        return described(self.identity)

    def __reduce__(self) -> NoReturn:
        raise InvalidType("noise cannot be pickled, because the pickle would contain its key")


class UnsafeSeededNoise:
    """Noise from a seed, for tests and pictures.  Not private: the seed reveals the noise.

    One seed gives every plan the same random bits.  For different noise, use different seeds.
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

    def record_order(self, plan_digest: bytes) -> KeyedHash:
        """As for keyed noise: one seed gives every plan the same order."""
        return KeyedHash(hashlib.sha256(b"hushfade unsafe order %d" % self.seed).digest())

    def __repr__(self) -> str:
        return described(self.identity)


def checked(noise: NoiseSource | None) -> NoiseSource:
    """The noise source; fresh noise if it is None."""
    if noise is None:
        return FreshNoise()
    if not (hasattr(noise, "bound") and hasattr(noise, "identity")):
        raise InvalidType("must be a noise source", argument="noise", got=type(noise).__name__)
    return noise


def keyed_identity(stream: str, epoch: int, fingerprint: str) -> Identity:
    """The identity of keyed noise in saved states; 16 digits of the fingerprint suffice."""
    return {"kind": "keyed", "stream": stream, "epoch": epoch, "fingerprint": fingerprint[:16]}


def described(identity: Identity) -> str:
    """The noise source in words for messages, without a secret."""
    match identity:
        case {"kind": "keyed", "stream": stream, "epoch": epoch, "fingerprint": fingerprint}:
            return f"KeyedNoise(stream={stream!r}, epoch={epoch}, fingerprint={fingerprint!r})"
        case {"kind": "seeded", "seed": seed}:
            return f"UnsafeSeededNoise({seed})"
        case {"kind": "fresh"}:
            return "FreshNoise()"
        case _:
            return ""
