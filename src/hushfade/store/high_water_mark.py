"""The high-water mark: a file beside the database that says how far its ledger had come.

A database that was restored from an older copy lacks entries that the mark knows.  Its steps would
be drawn a second time, so it is refused, or opened as a new epoch that is charged again.  What was
spent since the copy was made is in the mark too: else a restored budget would be spent twice.

    slot, slot, accounts, accounts, ...       two slots in turn; then a line whenever budgets change
"""

from __future__ import annotations

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
from hushfade.privacy.account import Account, Total
from hushfade.privacy.unit import Relation
from hushfade.store import process_lock

_SLOT = 256  # bytes; two slots are written in turn, so a torn write leaves the other


@dataclass(frozen=True)
class Mark:
    """The number and the digest of a ledger's last entry, and the store that it belongs to."""

    store: str
    number: int
    digest: str

    def line(self) -> bytes:
        """The mark as a line with a checksum."""
        text = f"hushfade mark 1 {self.store} {self.number} {self.digest}"
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
        """Nobody else goes by this mark until it is let go: two copies of a store would."""
        self._lock = process_lock.locked(self.path)

    def release(self) -> None:
        """Close the file, and let others go by it."""
        self.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def read(self) -> Mark | None:
        """The newest mark that is whole; None if there is no file."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        found = [_read(content[at : at + _SLOT]) for at in range(0, len(content), _SLOT)]
        marks = [mark for mark in found if mark is not None]
        if not marks:
            raise Malformed(f"{self.path.name} must be a mark, as a store wrote it")
        return max(marks, key=lambda mark: mark.number)

    def accounts(self) -> dict[str, Account]:
        """The budgets as they were last told: of what was spent, the most that is known."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        for line in reversed(content[2 * _SLOT :].split(b"\n")):
            text, _, check = line.rpartition(b" ")
            if text and hashlib.sha256(text).hexdigest().encode() == check:
                return self._read_accounts(text)
        return {}

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
        """Put the mark on the disk, and before it the budgets if they are given; OSError if that
        fails."""
        if self._descriptor is None:
            self._descriptor = self._made()
        if accounts is not None:
            end = max(2 * _SLOT, os.fstat(self._descriptor).st_size)
            _put(self._descriptor, _line(accounts), end)
        _put(self._descriptor, mark.line(), mark.number % 2 * _SLOT)

    def replace(self, mark: Mark, accounts: Mapping[str, Account]) -> None:
        """Only this mark, whatever stood there: a crash leaves the old one or the new one."""
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
        synced(self.path.parent)  # a new file's name must outlive a crash too
        return descriptor


def _put(descriptor: int, content: bytes, place: int) -> None:
    if os.pwrite(descriptor, content, place) != len(content):
        raise OSError("the disk took a part only")
    os.fdatasync(descriptor)


def _line(accounts: Mapping[str, Account]) -> bytes:
    """The budgets on a line of their own with a checksum, after whatever was torn off before."""
    text = json.dumps({name: _document(account) for name, account in accounts.items()}).encode()
    return b"\n" + text + b" " + hashlib.sha256(text).hexdigest().encode() + b"\n"


def _document(account: Account) -> dict[str, Any]:
    """The account as plain data; sums of losses as fractions, which are exact."""
    total = account.losses
    losses = None if total is None else {"epsilon": str(total.epsilon), "delta": str(total.delta)}
    document = asdict(account) | {"losses": losses}
    del document["last"]  # it decides nothing
    return document


def _account(told: dict[str, Any]) -> Account:
    relation, losses = told["relation"], told.get("losses")
    total = None
    if losses is not None:
        total = Total(Fraction(losses["epsilon"]), Fraction(losses["delta"]))
    return Account(
        **told
        | {"relation": None if relation is None else Relation.of_list(relation), "losses": total}
    )


def _read(slot: bytes) -> Mark | None:
    words = slot.decode("ascii", errors="replace").split()
    if len(words) != 7 or words[:3] != ["hushfade", "mark", "1"] or not words[4].isdecimal():
        return None
    mark = Mark(words[3], int(words[4]), words[5])
    return mark if mark.line() == slot else None
