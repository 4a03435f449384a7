"""Read access to the store on a connection of its own.

Readers do not wait for the writer, and can read while the store does not accept changes.  After an
error a later reader connects again.  Those who wait meanwhile get the same error, or each of them
would wait for a database that hangs, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from hushfade.errors import Failed, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hushfade.privacy.account import Account
    from hushfade.store import Published, Reader, Store

PAUSE = 1.0  # seconds after an error in which the service does not try again

Result = TypeVar("Result")


class ReadAccess:
    """Reads releases and budgets.  Threads take turns."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._reader: Reader | None = None
        self._turn = Lock()
        self._failed: Failed | None = None
        self._again = 0.0  # when to try again, on the monotonic clock

    def releases(self, name: str, *, after: int, most: int) -> list[Published]:
        """The committed releases after a step."""
        return self._read(lambda reader: reader.releases(name, after=after, most=most))

    def accounts(self) -> tuple[Mapping[str, Account], Mapping[str, str]]:
        """The accounts, and the streams that joint charges have paid for."""
        return self._read(lambda reader: (reader.accounts(), reader.reserved()))

    def close(self) -> None:
        """Close the connection."""
        with self._turn:
            self._drop()

    def _read(self, read: Callable[[Reader], Result]) -> Result:
        with self._turn:
            if self._failed is not None and monotonic() < self._again:
                raise Failed(self._failed.rule)
            try:
                if self._reader is None:
                    self._reader = self._opened()
                found = read(self._reader)
            except Failed as error:
                self._drop()
                self._failed, self._again = error, monotonic() + PAUSE
                raise
            self._failed = None
            return found

    def _opened(self) -> Reader:
        try:
            return self._store.reader()
        except Refused as error:  # another version of the store: nothing that a reader did
            raise Failed(error.rule) from None

    def _drop(self) -> None:
        if self._reader is not None:
            with suppress(Exception):
                self._reader.close()
            self._reader = None
