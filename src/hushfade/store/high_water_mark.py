"""The high-water mark: a file next to the database with the last entry of its ledger.

A database restored from an older copy lacks entries that the mark knows.  It would draw steps a
second time, so the store refuses it, or opens it as a new epoch and charges all streams again.  The
mark also records the budgets spent since the copy, so that no budget is spent twice.

    slot, slot, accounts, accounts, ...       two slots in turn; then a line whenever budgets change

A line contains the budgets that changed, and the last line of each budget counts.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from hushfade.atomic_files import synced
from hushfade.errors import Malformed
from hushfade.format_marker import check_marker
from hushfade.privacy.account import Account, Total
from hushfade.privacy.unit import Relation
from hushfade.store import process_lock

FORMAT = "hushfade mark draft"
_LONG = 1 << 20  # bytes; a longer file is replaced when the store is opened
_SLOT = 256  # bytes; two slots are written in turn, so a torn write leaves the other


@dataclass(frozen=True)
class Mark:
    """The number and the digest of a ledger's last entry, and the store that it belongs to."""

    store: str
    number: int
    digest: str

    def line(self) -> bytes:
        """The mark as a line with a checksum."""
        text = f"{FORMAT} {self.store} {self.number} {self.digest}"
        check = hashlib.sha256(text.encode()).hexdigest()
        return f"{text} {check}\n".encode().ljust(_SLOT, b" ")


class MarkFile:
    """The mark on the disk: written in place, synced before anything is published.

    Cost: one write and one sync, of a file whose size does not change.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._lock: int | None = None

    def lock(self) -> None:
        """Lock the mark, so that two copies of a store cannot use it at the same time."""
        self._lock = process_lock.locked(self.path)

    def release(self) -> None:
        """Close the file, and release the lock."""
        self.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def read(self) -> Mark | None:
        """The newest intact mark, or None if the file does not exist."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        found = [_read(content[at : at + _SLOT]) for at in range(0, len(content), _SLOT)]
        marks = [mark for mark in found if mark is not None]
        if not marks:
            words = content[:_SLOT].decode("ascii", errors="replace").split()
            check_marker(
                self.path.name,
                " ".join(words[:3]),
                FORMAT,
                remedy="restore the mark that belongs to the store",
                error=Malformed,
            )
            raise Malformed(f"{self.path.name} must be a mark, as a store wrote it")
        return max(marks, key=lambda mark: mark.number)

    def accounts(self) -> dict[str, Account]:
        """The budgets that the mark recorded last: the largest known spending of each."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        known: dict[str, Account] = {}
        for line in content[2 * _SLOT :].split(b"\n"):
            text, _, check = line.rpartition(b" ")
            if text and hashlib.sha256(text).hexdigest().encode() == check:
                known |= self._read_accounts(text)
        return known

    @property
    def long(self) -> bool:
        """Whether the file is long enough to be replaced."""
        return self.path.exists() and self.path.stat().st_size > _LONG

    def _read_accounts(self, text: bytes) -> dict[str, Account]:
        try:
            return {name: _account(told) for name, told in json.loads(text).items()}
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        ):
            raise Malformed(f"{self.path.name} must be a mark, as a store wrote it") from None

    def write(self, mark: Mark, accounts: Mapping[str, Account] | None = None) -> None:
        """Write the changed budgets, if any, and then the mark to disk.

        Raise OSError if this fails.
        """
        if self._descriptor is None:
            self._descriptor = self._made()
        if accounts:
            end = max(2 * _SLOT, os.fstat(self._descriptor).st_size)
            _put(self._descriptor, _line(accounts), end)
        _put(self._descriptor, mark.line(), mark.number % 2 * _SLOT)

    def replace(self, mark: Mark, accounts: Mapping[str, Account]) -> None:
        """Replace the file with this mark.  A crash leaves the old or the new file."""
        self.close()
        beside = MarkFile(self.path.with_name(f".{self.path.name}.new"))
        beside.path.unlink(missing_ok=True)
        beside.write(mark, accounts)
        beside.close()
        beside.path.replace(self.path)
        synced(self.path.parent)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _made(self) -> int:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        synced(self.path.parent)  # the name of a new file must survive a crash too
        return descriptor


def _put(descriptor: int, content: bytes, place: int) -> None:
    if os.pwrite(descriptor, content, place) != len(content):
        raise OSError(errno.ENOSPC, "the disk wrote only a part")
    os.fdatasync(descriptor)


def _line(accounts: Mapping[str, Account]) -> bytes:
    """The budgets on a new line with a checksum, after any torn line."""
    text = json.dumps({name: _document(account) for name, account in accounts.items()}).encode()
    return b"\n" + text + b" " + hashlib.sha256(text).hexdigest().encode() + b"\n"


def _document(account: Account) -> dict[str, Any]:
    """The account as plain data; sums of losses are exact fractions."""
    total = account.losses
    losses = None if total is None else {"epsilon": str(total.epsilon), "delta": str(total.delta)}
    document = asdict(account) | {"losses": losses}
    del document["last"]  # it has no effect
    return document


def _account(told: dict[str, Any]) -> Account:
    losses, total = told["losses"], None
    if losses is not None:
        total = Total(Fraction(losses["epsilon"]), Fraction(losses["delta"]))
    return Account(**told | {"relation": Relation.of_list(told["relation"]), "losses": total})


def _read(slot: bytes) -> Mark | None:
    words = slot.decode("ascii", errors="replace").split()
    if len(words) != 7 or " ".join(words[:3]) != FORMAT or not words[4].isdecimal():
        return None
    mark = Mark(words[3], int(words[4]), words[5])
    return mark if mark.line() == slot else None
