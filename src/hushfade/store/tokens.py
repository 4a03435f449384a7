"""Tokens of the service: who may send records, read releases, or look after the store.

A token is 256 random bits.  It is shown once; the store keeps its SHA-256, so that neither the
database nor a copy of it opens anything.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hushfade.errors import InvalidValue, Refused

if TYPE_CHECKING:
    from hushfade.store import Reader, Store

SCOPES = ("ingest", "read", "admin")  # admin includes the others

_PREFIX = "hushfade_"  # a leaked token can be told from other secrets


@dataclass(frozen=True)
class Token:
    """What is kept of a token."""

    name: str
    scopes: tuple[str, ...]
    digest: str = field(repr=False)

    def allows(self, scope: str) -> bool:
        """May its bearer do what needs this scope?"""
        return scope in self.scopes or "admin" in self.scopes


def add(store: Store, name: str, scopes: Iterable[str]) -> str:
    """A new token of that name, to be shown once: only its digest is kept."""
    text = new_text()
    add_all(store, {name: text}, scopes)
    return text


def new_text() -> str:
    """The text of a new token: 256 random bits."""
    return _PREFIX + secrets.token_urlsafe(32)


def add_all(store: Store, texts: Mapping[str, str], scopes: Iterable[str]) -> None:
    """Add the token of each name with the same scopes: all of them, or none."""
    for name in texts:
        if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():
            raise InvalidValue("name must be 1 to 200 printable characters")
        if "/" in name or name in (".", ".."):
            raise InvalidValue(
                "name must be without '/', and not '.' or '..': it is part of an address"
            )
    wanted = set(scopes)
    if not wanted or not wanted <= set(SCOPES):
        raise InvalidValue(f"scope must be {', '.join(SCOPES[:-1])} or {SCOPES[-1]}")
    allowed = " ".join(scope for scope in SCOPES if scope in wanted)
    with store._changing():
        for name, text in texts.items():
            if store._database.read("SELECT 1 FROM tokens WHERE name = ?", name):
                raise Refused(f"a token of the name {name!r} exists: revoke it first")
            store._database.write(
                "INSERT INTO tokens (name, scopes, digest) VALUES (?, ?, ?)",
                name, allowed, digest(text),
            )  # fmt: skip


def revoke(store: Store, name: str) -> None:
    """The token of that name opens nothing more."""
    with store._changing():
        if not store._database.read("SELECT 1 FROM tokens WHERE name = ?", name):
            raise InvalidValue("name must be that of a token of the store")
        store._database.write("DELETE FROM tokens WHERE name = ?", name)


def kept(store: Reader) -> list[Token]:
    """All tokens of the store, by name."""
    with store._turn:
        rows = store._database.read("SELECT name, scopes, digest FROM tokens ORDER BY name")
    return [Token(name, tuple(scopes.split()), found) for name, scopes, found in rows]


def bearer(tokens: Sequence[Token], text: str) -> Token | None:
    """The token that the text is, if it is one; every token is compared, in constant time."""
    wanted, found = digest(text), None
    for token in tokens:
        if hmac.compare_digest(token.digest, wanted):
            found = token
    return found


def digest(text: str) -> str:
    """What is kept of a token's text."""
    return hashlib.sha256(text.encode("utf-8", errors="replace")).hexdigest()
