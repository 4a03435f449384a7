"""Keyed noise whose key is in a file: for streams here, and for workers elsewhere.

The key stays in its file on each machine.  Plans, logs and checkpoints hold only the file's path,
the stream, the epoch and the key's fingerprint, by which a worker checks that its file holds the
same key.  Whoever starts a stream or a job claims its name in the key's record: see `key_record`.
"""

from __future__ import annotations

import hmac
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from hushfade.check import Signed
from hushfade.crossing import key_record, noise_sources
from hushfade.crossing.key_record import JobKind, Use
from hushfade.crossing.noise_sources import Identity, KeyedNoise, NoiseSource, UnsafeSeededNoise
from hushfade.crossing.random_bits import Drawer
from hushfade.crossing.sealed_totals import table_digest
from hushfade.errors import InvalidType, InvalidValue, Refused

_FINGERPRINT = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True)
class _Place:
    path: str
    stream: str
    epoch: int
    fingerprint: str
    record: str


class KeyFile(_Place):
    """Keyed noise whose key is in a file of 32 bytes, with mode 0600, on every machine.

    `fingerprint` is read from the file unless it is given; then only the workers need the file.
    `record` is the file that records what the key is used for, on the machine that starts the job:
    PATH.uses unless given.

    `plan.start(KeyFile(...))` claims the stream name and epoch for the new stream.  A second start
    under the same name is refused, in this process and in others: it could add the same noise to
    other records.  `Stream.load` continues the stream from its saved state.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        stream: str,
        epoch: int = 0,
        fingerprint: str | None = None,
        record: str | os.PathLike[str] | None = None,
    ) -> None:
        place = str(Path(path).absolute())  # a worker's own directory is another
        name = KeyedNoise(bytes(range(32)), stream=stream, epoch=epoch)  # checks both
        if fingerprint is None:
            fingerprint = KeyedNoise(_key(place), stream=stream).fingerprint.hex()
        if not isinstance(fingerprint, str) or not _FINGERPRINT.fullmatch(fingerprint):
            raise InvalidValue("fingerprint must be 32 digits in hexadecimal, as KeyFile shows it")
        beside = f"{place}.uses" if record is None else str(Path(record).absolute())
        super().__init__(place, name.stream, name.epoch, fingerprint, beside)

    @property
    def identity(self) -> Identity:
        """What saved states record of the noise."""
        return noise_sources.keyed_identity(self.stream, self.epoch, self.fingerprint)

    def opened(self) -> KeyedNoise:
        """The noise, read from this machine's file: for workers, whose driver has claimed it."""
        noise = KeyedNoise(_key(self.path), stream=self.stream, epoch=self.epoch)
        if not hmac.compare_digest(noise.fingerprint.hex(), self.fingerprint):
            raise Refused(
                "the key file must hold the key with the fingerprint that was declared: this "
                "machine's is another"
            )
        return noise

    def claim(self, plan: bytes, kind: JobKind, job: bytes) -> None:
        """Record that this stream and epoch serve the job: digests of 32 bytes, no secrets.

        Returns when the record is on the disk.  Refused if another plan or job has the name, and
        where no record can be kept.
        """
        use = Use(self.fingerprint, self.stream, self.epoch, plan.hex(), kind, job.hex())
        key_record.claim(Path(self.record), use)


Noise: TypeAlias = NoiseSource | KeyFile
"""What a stream's noise may come from."""


def checked(noise: Noise | None) -> Noise:
    """The noise, if a stream can draw from it; fresh noise for None."""
    return noise if isinstance(noise, KeyFile) else noise_sources.checked(noise)


def drawer(noise: Noise, plan: bytes, owner: bytes) -> Drawer:
    """The noise for a plan; a key file's name is claimed for the stream with the identity `owner`.

    So a key file serves one stream under one name, and continues it from its saved states.
    """
    if not isinstance(noise, KeyFile):
        return noise.bound(plan)
    source = noise.opened()
    noise.claim(plan, "stream", owner)
    return source.bound(plan)


def for_totals(noise: Noise | None, plan: bytes, totals: Signed) -> Noise | None:
    """The noise for a whole table of totals, (steps,) or (steps, lanes), and for no other.

    A key file's name is claimed for these totals: the same table may have its noise again.
    """
    if not isinstance(noise, KeyFile):
        return noise
    source, table = noise.opened(), totals.reshape(len(totals), -1)
    noise.claim(plan, "table", table_digest(source.seal(plan).of(table), *table.shape))
    return source


def _key(path: str) -> bytes:
    """The content of a file with one name that only its owner can read (mode 0600 or 0400)."""
    if Path(path).is_symlink():
        raise InvalidValue("the key file must be a regular file", got="a link")
    # nor one that takes the file's place now; and a pipe must not wait
    plainly = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, os.O_RDONLY | plainly)
    try:  # not as a file object, which a directory refuses to be and stays open
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InvalidValue("the key file must be a regular file")
        mode = stat.S_IMODE(status.st_mode)
        if mode & 0o077:
            raise InvalidValue(
                "the key file must have mode 0600", got=f"{mode:04o}", remedy=f"chmod 600 {path}"
            )
        if status.st_nlink > 1:  # each name would have a record of its own
            raise InvalidValue(
                "the key file must have one name",
                got=f"{status.st_nlink} hard links",
                remedy="remove the others",
            )
        return os.read(descriptor, 64)
    finally:
        os.close(descriptor)


# Workers -------------------------------------------------------------------------------------

Travelling: TypeAlias = KeyFile | UnsafeSeededNoise
"""Noise that may be sent to a worker."""


def travelling(noise: object) -> Travelling:
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
