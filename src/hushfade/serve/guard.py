"""Access control: tokens, scopes, rates and sizes of requests, and the headers of every response.

If the store never had tokens, this machine has full access, and no other machine has access.  If
the store had tokens and has none, as after a restore, nobody has access.  The guard always refuses
requests that a browser sends for another website.  If reading is public, every website may read
responses to requests without a token.
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
from hushfade.errors import Malformed, Refused
from hushfade.serve.client_address import Proxies, named
from hushfade.serve.error_responses import Refusal, busy
from hushfade.serve.limits import SMALL
from hushfade.store.tokens import SCOPES, Token, bearer

MAX_BODY = 8 << 20  # bytes
RATE = 1000.0  # requests per second, for each token or address
PATIENCE = 30.0  # seconds for a body to arrive

_EACH, LARGE = 8, 64  # simultaneous large bodies: per caller, and in total
_ALWAYS = ("/health", "/ready")  # without a rate limit, so that monitoring always works
_CALLERS = 10_000  # callers whose rates are remembered

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
    (b"access-control-allow-origin", b"*"),  # never with credentials
]


@dataclass(frozen=True)
class Caller:
    """The sender of a request: its token or address."""

    name: str
    scopes: frozenset[str] = field(default_factory=frozenset)
    token: Token | None = None

    def sending(self, sender: str) -> str:
        """The sender's name in the store, which contains the name of the token.

        So no token can use up the sequence numbers of another token's senders.
        """
        return sender if self.token is None else f"{self.token.name}\n{sender}"

    def may(self, scope: str) -> bool:
        """Whether the caller has the scope."""
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
        proxies: Sequence[str] = (),
        required: bool = False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._tokens = tuple(tokens)
        self._required = required or bool(tokens)
        self.max_body = check.count(max_body=max_body, least=1024)
        self._public = public
        self._proxies = Proxies(proxies)
        self._large: Counter[str] = Counter()  # large bodies in memory, by caller
        self._rates = Rates(check.positive(rate=rate), clock)

    @property
    def open(self) -> bool:
        """Whether the store never had tokens, so that this machine has full access."""
        return not self._tokens and not self._required

    def use(self, tokens: Sequence[Token]) -> None:
        """Replace the valid tokens."""
        self._tokens = tuple(tokens)
        self._required = self._required or bool(tokens)

    def knows(self, caller: Caller) -> bool:
        """Whether the caller still has access."""
        if caller.token is None:
            return self.open or self._public  # a caller without a token has access to read
        return caller.token in self._tokens

    def holders(self) -> list[dict[str, Any]]:
        """The names and scopes of all tokens."""
        return [{"name": token.name, "scopes": list(token.scopes)} for token in self._tokens]

    def may_listen(self, host: str) -> None:
        """Raise Refused if others would have access without a token, or nobody with one."""
        if not self._tokens and self._required:
            raise Refused(
                "the store had tokens and has none, as after a restore of an older copy: create "
                "one with hushfade token"
            )
        if self.open and not local(host):
            raise Refused(
                "host must be a loopback address such as 127.0.0.1, because the store has no "
                "tokens: create one with hushfade token"
            )
        if self.open and self._proxies:
            raise Refused(
                "a service behind a proxy must have tokens, or its readers would have full access: "
                "create one with hushfade token"
            )
        if self.open and self._public:
            raise Refused(
                "a public service must have tokens, or readers would have full access: create one "
                "with hushfade token"
            )

    def shares(self, request: Request, scope: str | None) -> bool:
        """Whether the request is a public read without a token.

        The response to a request with a token is not public: it may contain more.
        """
        if not self._public or self.open:
            return False
        reading = scope == "read" and request.method in ("GET", "HEAD")
        return reading and "authorization" not in request.headers

    def admit(self, request: Request, scope: str | None) -> Caller:
        """The caller, if it has the scope.  The scope None needs no token."""
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
        """The body, while the block uses it.  Only a few large bodies are in memory at a time."""
        length = request.headers.get("content-length", "")
        large = not length.isdecimal() or len(length) > 15 or int(length) > SMALL
        with self.room(caller) if large else nullcontext():
            body = await self._read(request)
            if not self.knows(caller):  # the token was revoked while the body arrived
                raise _unknown(sent=True)
            yield body

    @contextmanager
    def room(self, caller: Caller) -> Iterator[None]:
        """Memory for a large body; refused if the caller or the service has no room."""
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
        """The body.  Raise if it is too large or too slow, or its declared length is wrong."""
        too_large = Refusal(413, "too_large", f"the body must be at most {self.max_body} bytes")
        length = request.headers.get("content-length", "")
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
            raise Refusal(
                408, "timeout", "the body took too long to arrive: send it again"
            ) from None
        if length.isdecimal() and int(length) != size:  # a part would be lost without a trace
            raise Malformed("the body must be as long as Content-Length states: send it again")
        return b"".join(parts)

    def _caller(self, request: Request) -> Caller:
        peer = request.client.host if request.client else ""
        if self._proxies:
            peer = self._proxies.client(peer, request.headers.getlist("x-forwarded-for"))
        address = f"address {named(peer)}"
        if self.open:
            return Caller(address, frozenset(SCOPES))
        text = _bearer(request)
        token = bearer(self._tokens, text) if text else None
        if token is None:
            return Caller(address)
        return Caller(f"token {token.name}", frozenset(token.scopes), token)

    def _refuse_others(self, request: Request) -> None:
        """Raise if another website sent the request.  It cannot read responses, but could act."""
        host = request.headers.get("host", "")
        if self.open and not _here(host):  # another host name that points to this machine
            raise Refusal(
                403, "host", "a store without tokens is served to 127.0.0.1 only: use this address"
            )
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            raise Refusal(403, "origin", "requests from other websites are refused")


class Rates:
    """Rate limits: a token bucket per caller with the requests of one second."""

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self._rate, self._clock = rate, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Count one request of the caller.  Raise if the bucket is empty."""
        now, most = self._clock(), max(1.0, self._rate)
        left, then = self._buckets.pop(caller, (most, now))
        left = min(most, left + max(0.0, now - then) * self._rate)
        allowed = left >= 1.0
        self._buckets[caller] = left - 1.0 if allowed else left, now
        if len(self._buckets) > _CALLERS:
            self._buckets.popitem(last=False)
        if not allowed:
            wait = str(max(1, round(1.0 / self._rate)))
            raise Refusal(
                429,
                "too_many",
                "too many requests per second: wait a second, then send it again",
                Retry_After=wait,
            )


def headers(path: str, *, shared: bool = False) -> list[tuple[bytes, bytes]]:
    """The security headers of a response: the page may load its own files, data may load nothing.

    Every website may read a `shared` response.
    """
    if shared:
        return _SHARED
    return _PAGE if path == "/" or path.startswith("/page/") else _DATA


def local(host: str) -> bool:
    """Whether the address is a loopback address.

    >>> local("localhost"), local("127.0.0.1"), local("0.0.0.0")
    (True, True, False)
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _bearer(request: Request) -> str:
    """The token in the header, or an empty string."""
    kind, _, text = request.headers.get("authorization", "").partition(" ")
    return text.strip() if kind.lower() == "bearer" else ""


def _unknown(*, sent: bool) -> Refusal:
    """The refusal of a missing or unknown token."""
    realm = 'Bearer realm="hushfade"'
    if not sent:
        return Refusal(
            401,
            "unauthorised",
            "the request needs a token: send it in the header Authorization: Bearer TOKEN",
            WWW_Authenticate=realm,
        )
    said = f'{realm}, error="invalid_token"'
    return Refusal(
        401,
        "unauthorised",
        "the token is unknown: it is wrong, or was revoked",
        WWW_Authenticate=said,
    )


@lru_cache(100)
def _here(host: str) -> bool:
    """Whether a Host header, which may have a port, names a loopback address."""
    try:
        return local(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False
