"""The record of the uses of a noise key: one line per stream name and epoch.

Keyed noise is safe as long as only one job uses a name (stream and epoch).  Two jobs under one name
may get the same noise for different records, or two draws of noise for the same records.  So each
job claims its name in a record next to the key, and the record is on disk before any noise is
drawn.  The same job may claim its name again; a job with another plan or other data may not.  The
record contains no secrets.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from hushfade import atomic_files
from hushfade.errors import Malformed, Refused
from hushfade.format_marker import check_marker

FORMAT = "hushfade key use draft"
JobKind = Literal["run", "table", "stream", "spark stream"]


_REMEDY = "restore the record from a copy, or make a new key"


@dataclass(frozen=True)
class Use:
    """One use of a key."""

    key: str  # the fingerprint of the key
    stream: str
    epoch: int
    plan: str
    kind: str  # the kind of the job; digests of different kinds never mean the same job
    job: str

    @property
    def name(self) -> tuple[str, str, int]:
        """The name that only one job may use."""
        return self.key, self.stream, self.epoch

    def line(self) -> bytes:
        """The use as a line of the record, with a checksum."""
        fields = asdict(self)
        document = {"format": FORMAT, **fields, "check": _check(fields)}
        return json.dumps(document).encode() + b"\n"


def claim(record: Path, use: Use) -> None:
    """Add the use to the record, if it is new; raises Refused if another job has its name.

    If several processes claim one name at the same time, exactly one is first.
    """
    import fcntl  # on systems without fcntl, only keyed noise from files is unavailable

    try:
        descriptor = os.open(
            record, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600
        )
    except OSError as error:
        raise Refused(
            f"the key's record {record} cannot be written ({error.strerror}), and the key cannot "
            "be used without a record: keep the key in a directory that this job may write to"
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
                    f"the key's record {record} could not be written completely: free some space, "
                    "and remove its last, incomplete line"
                )
        # also for an earlier line, whose writer may have died before the line was on disk
        os.fsync(descriptor)
        atomic_files.synced(record.parent)


def _check_same(earlier: Use, use: Use) -> None:
    """Raise Refused unless both are the same job."""
    if earlier == use:
        return
    remedy = "repeat the earlier job unchanged"
    if earlier.plan != use.plan:
        served = "another plan"
    elif earlier.kind == use.kind == "stream":
        served, remedy = "another stream", "load the saved state of the earlier stream"
    else:
        served = "other records or options"
    raise Refused(
        f"stream {use.stream!r} (epoch {use.epoch}) of this noise key was used for {served}: "
        f"give this job another stream name or epoch, or {remedy}"
    )


def _uses(content: bytes, record: Path) -> list[Use]:
    """The uses in a record; raises Malformed if a line is damaged."""
    lines = content.split(b"\n")
    if lines.pop():
        raise _damaged(record, len(lines) + 1)
    uses = []
    for number, line in enumerate(lines, start=1):
        try:
            fields: dict[str, Any] = json.loads(line)
            found, check = fields.pop("format", None), fields.pop("check")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise _damaged(record, number) from None
        what = f"line {number} of the key's record {record}"
        check_marker(what, found, FORMAT, remedy=_REMEDY, error=Malformed)
        if check != _check(fields) or fields.keys() != Use.__dataclass_fields__.keys():
            raise _damaged(record, number)
        uses.append(Use(**fields))
    return uses


def _damaged(record: Path, number: int) -> Malformed:
    return Malformed(f"line {number} of the key's record {record} is damaged", remedy=_REMEDY)


def _check(fields: dict[str, Any]) -> str:
    text = json.dumps(fields, sort_keys=True)
    return hashlib.sha256(FORMAT.encode() + text.encode()).hexdigest()[:16]
