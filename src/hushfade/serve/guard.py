"""The door: who asks, may they, how often, how much; and the headers that every answer has.

Without tokens in the store all is allowed, to this machine alone.  A browser that was led here by
another page is turned away, with tokens or without.  Where reading is public, what is read without
a token is for every page.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request

from hushfade import check
from hushfade.errors import Refused
from hushfade.serve.error_responses import Refusal, busy
from hushfade.store.tokens import SCOPES, Token, bearer

MAX_BODY = 8 << 20  # bytes
RATE = 1000.0  # requests a second, for each token or address
PATIENCE = 30.0  # seconds for a body to arrive

SMALL = 1 << 16  # bytes of a small body
_EACH, LARGE = 8, 64  # large bodies and answers at a time: of one caller, and of all
_ALWAYS = ("/health", "/ready")  # whoever watches the service is told, however often others ask
_CALLERS = 10_000  # whose rates are remembered

_ALL = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_PAGE = [
    *_ALL,
    (
        b"content-security-policy",
        b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"cache-control", b"no-cache"),
]
_DATA = [
    *_ALL,
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
]
_CORP = b"cross-origin-resource-policy"
_SHARED = [
    *(pair for pair in _DATA if pair[0] != _CORP),
    (_CORP, b"cross-origin"),
    (b"access-control-allow-origin", b"*"),  # and never that credentials may be sent
]


@dataclass(frozen=True)
class Caller:
    """Who asks, as far as it matters."""

    name: str
    scopes: frozenset[str] = field(default_factory=frozenset)
    token: Token | None = None

    def sending(self, sender: str) -> str:
        """The sender as the store knows it: those of a token's name are its own.

        So no token can use up the sequence numbers of another's senders.
        """
        return sender if self.token is None else f"{self.token.name}\n{sender}"

    def may(self, scope: str) -> bool:
        """Is that allowed?"""
        return scope in self.scopes or "admin" in self.scopes


class Guard:
    """Admits requests, or refuses them with a reason."""

    def __init__(
        self,
        tokens: Sequence[Token] = (),
        *,
        max_body: int = MAX_BODY,
        rate: float = RATE,
        public: bool = False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._tokens = tuple(tokens)
        self.max_body = check.count(max_body=max_body, least=1024)
        self._public = public
        self._large: Counter[str] = Counter()  # what is in memory and not small, by caller
        self._rates = Rates(check.positive(rate=rate), clock)

    @property
    def open(self) -> bool:
        """Are there no tokens, so that all is allowed?"""
        return not self._tokens

    def use(self, tokens: Sequence[Token]) -> None:
        """From now on these tokens are the ones that open."""
        self._tokens = tuple(tokens)

    def knows(self, caller: Caller) -> bool:
        """Would the caller still be let in?"""
        if caller.token is None:
            return self.open or self._public  # who has none was let in to read
        return caller.token in self._tokens

    def holders(self) -> list[dict[str, Any]]:
        """The names of all tokens, and what each may do."""
        return [{"name": token.name, "scopes": list(token.scopes)} for token in self._tokens]

    def may_listen(self, host: str) -> None:
        """Refused, if others than this machine could ask without a token."""
        if self.open and not local(host):
            raise Refused(
                "host must be this machine's own, such as 127.0.0.1, as long as the store has no "
                "tokens: make one with hushfade token"
            )
        if self.open and self._public:
            raise Refused(
                "a public service must have tokens, or readers could do everything: make one with "
                "hushfade token"
            )

    def shares(self, request: Request, scope: str | None) -> bool:
        """Is this public: to read, without a token, where reading needs none?

        What is asked with a token is not: its answer may hold more.
        """
        if not self._public or self.open:
            return False
        reading = scope == "read" and request.method in ("GET", "HEAD")
        return reading and "authorization" not in request.headers

    def admit(self, request: Request, scope: str | None) -> Caller:
        """The caller, if they may do what needs the scope; None: what everybody may."""
        shared = self.shares(request, scope)
        if not shared:
            self._refuse_others(request)
        caller = self._caller(request)
        if request.scope["path"] not in _ALWAYS:
            self._rates.take(caller.name)
        if scope is None or shared or caller.may(scope):
            return caller
        if not caller.scopes:
            raise _unknown(sent=bool(_bearer(request)))
        raise Refusal(403, "forbidden", f"the token must have the scope {scope}")

    @asynccontextmanager
    async def body(self, request: Request, caller: Caller) -> AsyncIterator[bytes]:
        """The body, as long as it is used; of those that are not small only a few at a time."""
        length = request.headers.get("content-length", "")
        large = not length.isdecimal() or len(length) > 15 or int(length) > SMALL
        with self.room(caller) if large else nullcontext():
            body = await self._read(request)
            if not self.knows(caller):  # revoked while it was sent
                raise _unknown(sent=True)
            yield body

    @contextmanager
    def room(self, caller: Caller) -> Iterator[None]:
        """Room for something large of the caller; refused if they have no more, or nobody has."""
        if self._large[caller.name] >= _EACH or self._large.total() >= LARGE:
            raise busy()
        self._large[caller.name] += 1
        try:
            yield
        finally:
            self._large[caller.name] -= 1
            if not self._large[caller.name]:
                del self._large[caller.name]

    async def _read(self, request: Request) -> bytes:
        """The body, if it is not too large and does not dawdle."""
        too_large = Refusal(413, "too_large", f"the body must be at most {self.max_body} bytes")
        length = request.headers.get("content-length", "0")
        if len(length) > 15 or (length.isdecimal() and int(length) > self.max_body):
            raise too_large
        parts, size = [], 0
        try:
            async with asyncio.timeout(PATIENCE):
                more = True
                while more:
                    message = await request.receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    part = message.get("body", b"")
                    more = message.get("more_body", False)
                    size += len(part)
                    if size > self.max_body:
                        raise too_large
                    parts.append(part)
        except TimeoutError:
            raise Refusal(408, "timeout", "the body must arrive sooner") from None
        return b"".join(parts)

    def _caller(self, request: Request) -> Caller:
        address = "address " + (request.client.host if request.client else "")
        if self.open:
            return Caller(address, frozenset(SCOPES))
        text = _bearer(request)
        token = bearer(self._tokens, text) if text else None
        if token is None:
            return Caller(address)
        return Caller(f"token {token.name}", frozenset(token.scopes), token)

    def _refuse_others(self, request: Request) -> None:
        """A foreign page cannot read answers, but could have them made: it is refused."""
        host = request.headers.get("host", "")
        if self.open and not _here(host):  # a name that somebody points here
            raise Refusal(403, "host", "without tokens the service must be asked as 127.0.0.1")
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            raise Refusal(403, "origin", "a request of another page is refused")


class Rates:
    """For each caller a bucket of one second's requests, which fills steadily."""

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self._rate, self._clock = rate, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """One request of the caller; refused if the bucket is empty."""
        now, most = self._clock(), max(1.0, self._rate)
        left, then = self._buckets.pop(caller, (most, now))
        left = min(most, left + max(0.0, now - then) * self._rate)
        allowed = left >= 1.0
        self._buckets[caller] = left - 1.0 if allowed else left, now
        if len(self._buckets) > _CALLERS:
            self._buckets.popitem(last=False)
        if not allowed:
            wait = str(max(1, round(1.0 / self._rate)))
            raise Refusal(429, "too_many", "requests must be fewer a second", Retry_After=wait)


def headers(path: str, *, shared: bool = False) -> list[tuple[bytes, bytes]]:
    """What every answer says to a browser; pages may load their own files, data nothing.

    What is `shared` may be read by every page.
    """
    if shared:
        return _SHARED
    return _PAGE if path == "/" or path.startswith("/page/") else _DATA


def local(host: str) -> bool:
    """Does the address lead to this machine alone?

    >>> local("localhost"), local("127.0.0.1"), local("0.0.0.0")
    (True, True, False)
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _bearer(request: Request) -> str:
    """The text that was sent as a token, or nothing."""
    kind, _, text = request.headers.get("authorization", "").partition(" ")
    return text.strip() if kind.lower() == "bearer" else ""


def _unknown(*, sent: bool) -> Refusal:
    """That a token is missing, or that there is none like it."""
    realm = 'Bearer realm="hushfade"'
    if not sent:
        return Refusal(401, "unauthorised", "a token is needed", WWW_Authenticate=realm)
    said = f'{realm}, error="invalid_token"'
    return Refusal(401, "unauthorised", "this token is not known", WWW_Authenticate=said)


@lru_cache(100)
def _here(host: str) -> bool:
    """Does a Host header, which may have a port, name this machine alone?"""
    try:
        return local(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False
