"""Connections: idle and slow ones time out, and idle ones make room for new ones.

A request that proposes another protocol, such as HTTP/2, is served over HTTP/1.1.

A connection is idle while no request is in progress.  At the limit the service closes the one that
has been idle for the longest time.  Only if every connection has a request in progress does it turn
a new one away.
"""

from __future__ import annotations

import asyncio
import resource
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from hushfade.serve.guard import PATIENCE
from hushfade.serve.limits import Limits

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

HEAD = 1 << 16  # bytes of the head of a request, at most
PIPELINED = 16  # requests of a connection that wait for the response to an earlier one
PROGRESS = 1 << 14  # bytes that a client reads within the limit, or it is stalled
LINGER = 60.0  # seconds for the rest of a response to leave after the service closed a connection
RESERVE = 100  # file descriptors for the store, the listening sockets and the log

_REFUSED = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nretry-after: 1\r\n"
    b"content-length: 19\r\nconnection: close\r\n\r\nService Unavailable"
)
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain\r\n"
    b"content-length: 31\r\nconnection: close\r\n\r\nRequest Header Fields Too Large"
)


def allowed(wanted: int) -> int:
    """The number of connections that the operating system allows, at most `wanted`.

    It raises the limit of open files as far as this process may.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + RESERVE
    if soft != resource.RLIM_INFINITY and soft < needed:
        most = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
        soft = max(soft, most)
    return wanted if soft == resource.RLIM_INFINITY else max(10, min(wanted, soft - RESERVE))


class Pool:
    """All connections of a server, the idle ones in order."""

    def __init__(self, limits: Limits, most: int) -> None:
        self.limits, self._most = limits, most
        self._open = 0
        self._idle: OrderedDict[Connection, None] = OrderedDict()

    def enter(self, connection: Connection) -> bool:
        """Count a new connection; whether there is room for it."""
        self._open += 1
        if self._open > self._most and self._idle:
            oldest, _ = self._idle.popitem(last=False)
            oldest.transport.abort()
            return True
        return self._open <= self._most

    def leave(self, connection: Connection) -> None:
        """Forget a connection that is closed."""
        self._open -= 1
        self._idle.pop(connection, None)

    def rest(self, connection: Connection) -> None:
        """Count a connection as idle from now on."""
        self._idle[connection] = None

    def work(self, connection: Connection) -> None:
        """Count a connection as in use."""
        self._idle.pop(connection, None)

    @property
    def open(self) -> int:
        """The number of open connections."""
        return self._open


class Connection(HttpToolsProtocol):
    """A connection with time limits for whatever the client owes.

    head      from the first byte of a request, or from the start, to the end of its head
    body      from the end of the head to the last byte of the body
    idle      between two requests (uvicorn's own limit)
    stalled   for reading a part of what waits for it, also if the response is small
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._pool: Pool = self.config.hushfade_pool  # type: ignore[attr-defined]
        self._timer: asyncio.TimerHandle | None = None
        self._head = 0  # bytes of the current head so far
        self._in_head = True
        self._running: RequestResponseCycle | None = None  # the request whose response is next
        self._stall: asyncio.TimerHandle | None = None
        self._unread = 0  # bytes that waited for the client when the timer began

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if not self._pool.enter(self):
            transport.write(_REFUSED)
            transport.close()
            return
        self._pool.rest(self)
        self._await(self._pool.limits.head)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self._reads()
        self._pool.leave(self)
        super().connection_lost(exc)
        self.pipeline.clear()
        if self._running is not None and not self._running.response_complete:
            # uvicorn notifies only the last request, and others may wait behind a response
            self._running.disconnected = True
            self._running.message_event.set()

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            if self._timer is None:
                self._await(self._pool.limits.head)
            self._head += len(data)
        self._unset_keepalive_if_required()
        try:
            self._parse(data)
        except httptools.HttpParserError:
            problem = "Invalid HTTP request received."
            self.logger.warning(problem)
            self.send_400_response(problem)
        if self._in_head and self._head > HEAD and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def _parse(self, data: bytes) -> None:
        """Feed the parser, and feed it the head of a request with an Upgrade field a second time.

        A client may propose another protocol, and a server may ignore that (RFC 9110, section 7.8).
        The parser cannot: it ends the request with the head, and the body would be lost, or read as
        the next request.  So a new parser reads the head without the field, and then the body.
        """
        while data:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as stopped:
                data = data[stopped.args[0] :]
                head = self._head_without_upgrade()
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as in uvicorn
            self.parser.feed_data(head)

    def _head_without_upgrade(self) -> bytes:
        """The head that the parser has read.  Raise if the request is a CONNECT."""
        method = self.parser.get_method()
        if method == b"CONNECT":  # what follows it is in another protocol in any case
            raise httptools.HttpParserError
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (method, self.url, version)]
        lines += [b"%b: %b" % field for field in self.headers if field[0] != b"upgrade"]
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["hushfade.abort"] = self.transport.abort  # type: ignore[typeddict-unknown-key]

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # a trailer is no part of the head, which decides about the request
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # the next parser reads the head again
        self._in_head, self._head = False, 0
        self._pool.work(self)
        self._await(PATIENCE + self._pool.limits.head)
        super().on_headers_complete()
        if len(self.pipeline) > PIPELINED:
            self.transport.abort()
            raise ConnectionAbortedError  # ends the parser
        if self.pipeline:
            self.flow.resume_reading()  # or the end of the connection would go unnoticed

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._in_head = True
        self._stop()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.pipeline and not self.transport.is_closing():
            self._pool.rest(self)

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._linger()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reading()

    def resume_writing(self) -> None:
        self._reads()
        super().resume_writing()

    def _watch_reading(self) -> None:
        self._unread = self.transport.get_write_buffer_size()
        self._stall = self.loop.call_later(self._pool.limits.stalled, self._stalled)

    def _stalled(self) -> None:
        """Cut the connection if the client has hardly read anything since the timer began."""
        if self.transport.get_write_buffer_size() > self._unread - PROGRESS:
            self.transport.abort()
        else:
            self._watch_reading()

    def _reads(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _await(self, seconds: float) -> None:
        """Close the connection if the client does not send what it owes in time."""
        self._stop()
        self._timer = self.loop.call_later(seconds, self._late)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()
            self._linger()

    def _linger(self) -> None:
        """Cut the connection if the client does not read the rest of a response."""
        if self.transport.get_write_buffer_size():
            self.loop.call_later(LINGER, self.transport.abort)
