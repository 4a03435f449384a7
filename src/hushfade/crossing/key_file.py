"""Keyed noise whose key is in a file, for local streams and for workers on other machines.

The key stays in its file on each machine.  Plans, logs and checkpoints contain only the file's
path, the stream, the epoch and the key's fingerprint.  With the fingerprint a worker checks that
its file contains the same key.  Starting a stream or a job claims its name in the key's record: see
`key_record`.
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

    If `fingerprint` is given, only the workers need the file; otherwise it is read from the file.
    `record` is the file that records the uses of the key on the machine that starts the job, by
    default PATH.uses.

    `plan.start(KeyFile(...))` claims the stream name and epoch for the new stream.  A second start
    under the same name raises Refused in every process, because it could add the same noise to
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
        place = str(Path(path).absolute())  # a worker has another working directory
        name = KeyedNoise(bytes(range(32)), stream=stream, epoch=epoch)  # checks both names
        if fingerprint is None:
            fingerprint = KeyedNoise(_key(place), stream=stream).fingerprint.hex()
        if not isinstance(fingerprint, str) or not _FINGERPRINT.fullmatch(fingerprint):
            raise InvalidValue("fingerprint must be 32 hexadecimal digits, as KeyFile shows it")
        beside = f"{place}.uses" if record is None else str(Path(record).absolute())
        super().__init__(place, name.stream, name.epoch, fingerprint, beside)

    @property
    def identity(self) -> Identity:
        """The public identity of the noise, which saved states record."""
        return noise_sources.keyed_identity(self.stream, self.epoch, self.fingerprint)

    def opened(self) -> KeyedNoise:
        """The noise with the key in the local file, for workers whose driver has claimed it."""
        noise = KeyedNoise(_key(self.path), stream=self.stream, epoch=self.epoch)
        if not hmac.compare_digest(noise.fingerprint.hex(), self.fingerprint):
            raise Refused(
                "the key file must contain the key with the declared fingerprint, but this "
                "machine's file contains another key"
            )
        return noise

    def claim(self, plan: bytes, kind: JobKind, job: bytes) -> None:
        """Record that the job uses this stream and epoch; `plan` and `job` are public digests.

        Returns when the record is on disk.  Raises Refused if another plan or job has claimed the
        name, or if the record cannot be written.
        """
        use = Use(self.fingerprint, self.stream, self.epoch, plan.hex(), kind, job.hex())
        key_record.claim(Path(self.record), use)


Noise: TypeAlias = NoiseSource | KeyFile
"""The noise sources of a stream."""


def checked(noise: Noise | None) -> Noise:
    """The noise, if a stream can draw from it; fresh noise if it is None."""
    return noise if isinstance(noise, KeyFile) else noise_sources.checked(noise)


def drawer(noise: Noise, plan: bytes, owner: bytes) -> Drawer:
    """The noise for a plan.  With a key file, claims its name for the stream with this identity.

    So a key file serves one stream per name, and continues this stream from its saved states.
    """
    if not isinstance(noise, KeyFile):
        return noise.bound(plan)
    source = noise.opened()
    noise.claim(plan, "stream", owner)
    return source.bound(plan)


def for_totals(noise: Noise | None, plan: bytes, totals: Signed) -> Noise | None:
    """The noise for one table of totals, (steps,) or (steps, lanes).

    With a key file, claims its name for these totals.  Only the same table gets this noise again.
    """
    if not isinstance(noise, KeyFile):
        return noise
    source, table = noise.opened(), totals.reshape(len(totals), -1)
    noise.claim(plan, "table", table_digest(source.seal(plan).of(table), *table.shape))
    return source


def _key(path: str) -> bytes:
    """The content of a key file, which must have one name and mode 0600 or 0400."""
    if Path(path).is_symlink():
        raise InvalidValue("the key file must be a regular file", got="a link")
    # reject a link that replaces the file now; and do not wait for a pipe
    plainly = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, os.O_RDONLY | plainly)
    try:  # not with a file object, which raises for a directory and leaves it open
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InvalidValue("the key file must be a regular file")
        mode = stat.S_IMODE(status.st_mode)
        if mode & 0o077:
            raise InvalidValue(
                "the key file must have mode 0600", got=f"{mode:04o}", remedy=f"chmod 600 {path}"
            )
        if status.st_nlink > 1:  # each name would have its own record
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
    """The noise, if a repeated task draws the same noise and no key is sent to the worker."""
    if isinstance(noise, KeyFile | UnsafeSeededNoise):
        return noise
    if isinstance(noise, KeyedNoise):
        raise InvalidType(
            "noise must be a KeyFile: a KeyedNoise would copy its key into plans and checkpoints"
        )
    if isinstance(noise, str | os.PathLike):
        raise InvalidType("noise must be a KeyFile: KeyFile(path, stream=...)")
    raise InvalidType(
        "noise must be a KeyFile if a task may run again: fresh noise would be drawn twice for "
        "one step",
        got=type(noise).__name__,
    )


def opened(noise: Travelling) -> KeyedNoise | UnsafeSeededNoise:
    """The noise on this machine."""
    return noise.opened() if isinstance(noise, KeyFile) else noise
