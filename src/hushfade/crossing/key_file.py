"""A noise key in a file: where workers find it, and the record of what it has been used for.

The key stays in its file on each machine.  Plans, logs and checkpoints hold only the file's path,
the stream, the epoch and the key's fingerprint, by which a worker checks that its file holds the
same key.

Keyed noise is safe as long as a name (stream and epoch) serves one job: two jobs under one name may
get the same noise for different records, or two draws of noise for the same records.  So each job
claims its name in a record beside the key, on the disk before any noise is drawn.  The same job may
claim its name again; another plan or other data may not.  The record holds no secret.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from hushfade import atomic_files
from hushfade.crossing.noise_sources import KeyedNoise, UnsafeSeededNoise
from hushfade.errors import InvalidType, InvalidValue, Malformed, Refused

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
    PATH.uses unless given.  The same key, stream, epoch and plan must never serve two different
    inputs.
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
        KeyedNoise(bytes(range(32)), stream=stream, epoch=epoch)  # are these a stream and an epoch?
        if fingerprint is None:
            fingerprint = KeyedNoise.from_file(place, stream=stream).fingerprint.hex()
        if not isinstance(fingerprint, str) or not _FINGERPRINT.fullmatch(fingerprint):
            raise InvalidValue("fingerprint must be 32 digits in hexadecimal, as KeyFile shows it")
        beside = f"{place}.uses" if record is None else str(Path(record).absolute())
        super().__init__(place, stream, epoch, fingerprint, beside)

    def opened(self) -> KeyedNoise:
        """The noise, read from this machine's file."""
        noise = KeyedNoise.from_file(self.path, stream=self.stream, epoch=self.epoch)
        if not hmac.compare_digest(noise.fingerprint.hex(), self.fingerprint):
            raise Refused(
                "the key file must hold the key with the fingerprint that was declared: this "
                "machine's is another"
            )
        return noise

    def claim(self, plan: bytes, job: bytes) -> None:
        """Record that this stream and epoch serve the job: digests of 32 bytes, no secrets.

        Returns when the record is on the disk.  Refused if another plan or job has the name, and
        where no record can be kept.
        """
        claim(
            Path(self.record),
            Use(self.fingerprint, self.stream, self.epoch, plan.hex(), job.hex()),
        )


@dataclass(frozen=True)
class Use:
    """What a key has been used for."""

    key: str  # its fingerprint
    stream: str
    epoch: int
    plan: str
    job: str

    @property
    def name(self) -> tuple[str, str, int]:
        """What may serve one job only."""
        return self.key, self.stream, self.epoch

    def line(self) -> bytes:
        """The use as a line of the record, with a checksum."""
        fields = asdict(self)
        return json.dumps({**fields, "check": _check(fields)}).encode() + b"\n"


def claim(record: Path, use: Use) -> None:
    """Add the use to the record, unless it is there; Refused if its name serves another job.

    Of processes that claim one name at once exactly one is first.
    """
    try:
        descriptor = os.open(
            record, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600
        )
    except OSError as error:
        raise Refused(
            f"the key's record {record} cannot be written ({error.strerror}), and without a record "
            "the key cannot be used: keep the key in a directory that this job may write to"
        ) from None
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode) or stat.S_IMODE(mode) & 0o077:
            raise Refused(
                f"the key's record must be a regular file with mode 0600: chmod 600 {record}"
            )
        earlier = [each for each in _uses(file.read(), record) if each.name == use.name]
        for each in earlier:
            _check_same(each, use)
        if not earlier:
            line = use.line()
            if file.write(line) != len(line):
                raise Refused(
                    f"the key's record {record} could not be written whole: free some space, and "
                    "remove its last, incomplete line"
                )
        # also for an earlier line: whoever wrote it may have died before it was on the disk
        os.fsync(descriptor)
        atomic_files.synced(record.parent)


def _check_same(earlier: Use, use: Use) -> None:
    """Raise Refused unless both are the same job."""
    if earlier != use:
        other = "another plan" if earlier.plan != use.plan else "other records or options"
        raise Refused(
            f"stream {use.stream!r} (epoch {use.epoch}) of this noise key has served {other}: "
            "give this job another stream name or epoch, or repeat the earlier job as it was"
        )


def _uses(content: bytes, record: Path) -> list[Use]:
    """The uses of a record; each line must be whole."""
    lines = content.split(b"\n")
    if lines.pop():
        raise _damaged(record, len(lines) + 1)
    uses = []
    for number, line in enumerate(lines, start=1):
        try:
            fields: dict[str, Any] = json.loads(line)
            check = fields.pop("check")
            use = Use(**fields)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise _damaged(record, number) from None
        if check != _check(fields):
            raise _damaged(record, number)
        uses.append(use)
    return uses


def _damaged(record: Path, number: int) -> Malformed:
    return Malformed(
        f"line {number} of the key's record {record} is damaged: restore the record from a copy, "
        "or make a new key"
    )


def _check(fields: dict[str, Any]) -> str:
    text = json.dumps(fields, sort_keys=True)
    return hashlib.sha256(b"hushfade key use 1" + text.encode()).hexdigest()[:16]


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
