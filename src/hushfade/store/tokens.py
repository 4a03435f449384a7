"""Tokens of the service: who may send records, read releases, or administer the store.

A token is 256 random bits.  It is shown once, and the store keeps only its SHA-256, so that a copy
of the database gives no access.

An empty file FILE.mark.tokens, outside the database, records that the store has tokens.  A database
restored from a copy without tokens is not served, because everyone on this machine would have full
access.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hushfade.atomic_files import synced
from hushfade.errors import InvalidValue, Refused

if TYPE_CHECKING:
    from hushfade.store import Reader, Store

SCOPES = ("ingest", "read", "admin")  # admin includes the others

_PREFIX = "hushfade_"  # identifies a leaked token among other secrets


@dataclass(frozen=True)
class Token:
    """A stored token: its name, scopes and digest."""

    name: str
    scopes: tuple[str, ...]
    digest: str = field(repr=False)

    def allows(self, scope: str) -> bool:
        """Whether the token has the scope."""
        return scope in self.scopes or "admin" in self.scopes


def add(store: Store, name: str, scopes: Iterable[str]) -> str:
    """Add a token with this name, and return it.  The store keeps only its digest."""
    text = new_text()
    add_all(store, {name: text}, scopes)
    return text


def new_text() -> str:
    """The text of a new token: 256 random bits."""
    return _PREFIX + secrets.token_urlsafe(32)


def add_all(store: Store, texts: Mapping[str, str], scopes: Iterable[str]) -> None:
    """Add a token for each name with the same scopes, or none if one fails."""
    for name in texts:
        if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():
            raise InvalidValue("name must be 1 to 200 printable characters")
        if "/" in name or name in (".", ".."):
            raise InvalidValue(
                "name must not contain '/', nor be '.' or '..', because it is part of a URL"
            )
    wanted = set(scopes)
    if not wanted or not wanted <= set(SCOPES):
        raise InvalidValue(f"scope must be {', '.join(SCOPES[:-1])} or {SCOPES[-1]}")
    allowed = " ".join(scope for scope in SCOPES if scope in wanted)
    with store._changing():
        remember(store)  # before the commit: a crash between the two must not open the service
        for name, text in texts.items():
            if store._database.read("SELECT 1 FROM tokens WHERE name = ?", name):
                raise Refused(f"a token with the name {name!r} already exists: revoke it first")
            store._database.write(
                "INSERT INTO tokens (name, scopes, digest) VALUES (?, ?, ?)",
                name, allowed, digest(text),
            )  # fmt: skip


def revoke(store: Store, name: str) -> None:
    """Revoke the token with this name."""
    with store._changing():
        if not store._database.read("SELECT 1 FROM tokens WHERE name = ?", name):
            raise InvalidValue(
                "the store has no token with this name", remedy="list the names with --list"
            )
        store._database.write("DELETE FROM tokens WHERE name = ?", name)
    if not kept(store):  # revoked one by one: the store is open by intention
        _file(store).unlink(missing_ok=True)
        synced(_file(store).parent)


def remember(store: Store) -> None:
    """Record outside the database that the store has tokens."""
    file = _file(store)
    if not file.exists():
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
        synced(file.parent)


def missing(store: Store) -> bool:
    """Whether the store has had tokens and has none, as after a restore of an older copy."""
    return _file(store).exists() and not kept(store)


def _file(store: Store) -> Path:
    path = store._mark.path
    return path.with_name(f"{path.name}.tokens")


def kept(store: Reader) -> list[Token]:
    """All tokens of the store, by name."""
    with store._turn:
        rows = store._database.read("SELECT name, scopes, digest FROM tokens ORDER BY name")
    return [Token(name, tuple(scopes.split()), found) for name, scopes, found in rows]


def bearer(tokens: Sequence[Token], text: str) -> Token | None:
    """The token with this text, or None.  The text is compared with all, in constant time."""
    wanted, found = digest(text), None
    for token in tokens:
        if hmac.compare_digest(token.digest, wanted):
            found = token
    return found


def digest(text: str) -> str:
    """The digest of a token's text."""
    return hashlib.sha256(text.encode("utf-8", errors="replace")).hexdigest()
