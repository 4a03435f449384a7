"""Where workers find the noise's key.  The key itself stays in a file on each machine.

What travels, and shows in plans, logs and checkpoints, is the file's path, the stream, the epoch
and the key's fingerprint, by which a worker knows that its file holds the same key.
"""

from __future__ import annotations

import hmac
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from hushfade.crossing.noise_sources import KeyedNoise, UnsafeSeededNoise
from hushfade.errors import InvalidType, InvalidValue, Refused

_FINGERPRINT = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True)
class KeyFile:
    """Keyed noise whose key is in a file of 32 bytes, with mode 0600, on every machine.

    `fingerprint` is read from the file here unless it is given: then only workers need the file.
    The same key, stream, epoch and plan must never serve two different inputs.
    """

    path: str
    stream: str
    epoch: int = 0
    fingerprint: str = ""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        stream: str,
        epoch: int = 0,
        fingerprint: str | None = None,
    ) -> None:
        place = str(Path(path).absolute())  # a worker's own directory is another
        KeyedNoise(bytes(range(32)), stream=stream, epoch=epoch)  # are these a stream and an epoch?
        if fingerprint is None:
            found = KeyedNoise.from_file(place, stream=stream, epoch=epoch)
            fingerprint = found.fingerprint.hex()
        if not isinstance(fingerprint, str) or not _FINGERPRINT.fullmatch(fingerprint):
            raise InvalidValue("fingerprint must be 32 digits in hexadecimal, as KeyFile shows it")
        for name, value in {
            "path": place, "stream": stream, "epoch": epoch, "fingerprint": fingerprint,
        }.items():  # fmt: skip
            object.__setattr__(self, name, value)

    def opened(self) -> KeyedNoise:
        """The noise, read from this machine's file."""
        found = KeyedNoise.from_file(self.path, stream=self.stream, epoch=self.epoch)
        if not hmac.compare_digest(found.fingerprint.hex(), self.fingerprint):
            raise Refused(
                "the key file must hold the key with the fingerprint that was declared: this "
                "machine's is another"
            )
        return found


Travelling: TypeAlias = KeyFile | UnsafeSeededNoise
"""Noise that may be sent to a worker."""


def checked(noise: object) -> Travelling:
    """The noise, if a task that runs again draws it again, and it carries no key."""
    if isinstance(noise, KeyFile | UnsafeSeededNoise):
        return noise
    if isinstance(noise, KeyedNoise):
        raise InvalidType(
            "noise must be a KeyFile: a KeyedNoise would carry its key into plans and checkpoints"
        )
    if isinstance(noise, str | os.PathLike):
        raise InvalidType("noise must be a KeyFile: KeyFile(path, stream=...)")
    raise InvalidType(
        "noise must be a KeyFile where a task may run again: fresh noise would be drawn twice for "
        "one step",
        got=type(noise).__name__,
    )


def opened(noise: Travelling) -> KeyedNoise | UnsafeSeededNoise:
    """The noise on this machine."""
    return noise.opened() if isinstance(noise, KeyFile) else noise
