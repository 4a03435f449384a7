"""A disk that fails on demand, below SQLite and below the mark.

full       the n-th write and all later writes fail: no space is left
sync       the n-th sync fails, later syncs do not
power      the machine stops at the n-th write or sync; unsynced data are lost, all or in part
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import apsw

KINDS = ("full", "sync", "power at a write", "power at a sync")


@dataclass
class Disk:
    """A disk: the unsynced writes of each file, and the fault to come."""

    kind: str = ""  # one of KINDS; empty: nothing fails
    at: int = 1  # the number of the write or the sync that fails
    kept: float = 0.0  # the share of unsynced writes that survive a loss of power
    counts: Counter[str] = field(default_factory=Counter)
    broken: bool = False
    pending: dict[str, list[tuple[int, bytes]]] = field(default_factory=dict)

    def arm(self, kind: str, at: int = 1, kept: float = 0.0) -> None:
        """Start to count, and fail in this way."""
        self.counts.clear()
        self.broken = False
        self.kind, self.at, self.kept = kind, at, kept

    def reached(self, what: str) -> None:
        """Count a write or a sync; raises OSError if it is to fail."""
        self.counts[what] += 1
        hit = bool(self.kind) and what == failing(self.kind) and self.counts[what] == self.at
        self.broken |= hit and self.kind != "sync"
        if hit or (self.broken and (what == "write" or self.lost)):
            raise OSError(28, "the disk fails on purpose")

    @property
    def lost(self) -> bool:
        """True after a loss of power."""
        return self.broken and self.kind.startswith("power")

    def written(self, path: str, offset: int, content: bytes) -> None:
        """Record a write that is not synced yet."""
        self.pending.setdefault(path, []).append((offset, content))

    def synced(self, path: str) -> None:
        """Record a sync: all writes of the file are durable."""
        self.pending.pop(path, None)
        shutil.copyfile(path, path + ".durable")

    def settle(self, rng: random.Random) -> None:
        """After a loss of power, restore the synced files with some of the later writes."""
        for path, writes in self.pending.items() if self.lost else ():
            durable = Path(path + ".durable")
            content = bytearray(durable.read_bytes() if durable.exists() else b"")
            for offset, data in writes:
                if rng.random() < self.kept:
                    content.extend(bytes(max(0, offset + len(data) - len(content))))
                    content[offset : offset + len(data)] = data
            Path(path).write_bytes(content)


def failing(kind: str) -> str:
    """The operation that fails: 'write' or 'sync'."""
    return "sync" if "sync" in kind else "write"


@contextmanager
def mounted(disk: Disk, name: str = "failing") -> Iterator[str]:
    """The name of an SQLite file system on this disk; the mark is on the disk too."""
    system = _file_system(disk, name)
    descriptors: dict[int, str] = {}
    pwrite, sync = os.pwrite, os.fdatasync

    def write_mark(descriptor: int, content: bytes, offset: int) -> int:
        disk.reached("write")
        path = descriptors.setdefault(descriptor, os.readlink(f"/proc/self/fd/{descriptor}"))
        disk.written(path, offset, content)
        return pwrite(descriptor, content, offset)

    def sync_mark(descriptor: int) -> None:
        disk.reached("sync")
        sync(descriptor)
        disk.synced(descriptors[descriptor])

    with patch("os.pwrite", write_mark), patch("os.fdatasync", sync_mark):
        try:
            yield name
        finally:
            system.unregister()


def _file_system(disk: Disk, name: str) -> apsw.VFS:
    """An SQLite file system (VFS) on this disk."""

    def write(self: apsw.VFSFile, data: bytes, offset: int) -> None:
        try:
            disk.reached("write")
        except OSError:
            raise apsw.FullError("write") from None
        disk.written(paths[id(self)], offset, bytes(data))
        apsw.VFSFile.xWrite(self, data, offset)

    def sync(self: apsw.VFSFile, flags: int) -> None:
        try:
            disk.reached("sync")
        except OSError:
            raise apsw.IOError("sync") from None
        apsw.VFSFile.xSync(self, flags)
        disk.synced(paths[id(self)])

    def truncate(self: apsw.VFSFile, size: int) -> None:
        if disk.lost:
            raise apsw.IOError("truncate")
        apsw.VFSFile.xTruncate(self, size)

    def delete(self: apsw.VFS, filename: str, sync_directory: bool) -> None:
        if disk.lost:
            raise apsw.IOError("delete")
        apsw.VFS.xDelete(self, filename, sync_directory)

    def opened(self: apsw.VFS, filename: Any, flags: list[int]) -> Any:
        found = file("", filename, flags)
        paths[id(found)] = filename if isinstance(filename, str) else filename.filename()
        return found

    paths: dict[int, str] = {}
    file: Any = type(
        "File", (apsw.VFSFile,), {"xWrite": write, "xSync": sync, "xTruncate": truncate}
    )
    system: Any = type("System", (apsw.VFS,), {"xOpen": opened, "xDelete": delete})
    made: apsw.VFS = system(name, "")
    return made
