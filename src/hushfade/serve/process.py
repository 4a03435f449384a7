"""The server process, and how it stops.

no new connections → listeners closed → responses finished → queue written → store closed
"""

from __future__ import annotations

import errno
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, cast

import uvicorn

from hushfade.errors import Refused
from hushfade.serve.app import application
from hushfade.serve.connections import Connection, Pool, allowed
from hushfade.serve.error_responses import LOG
from hushfade.serve.limits import Limits
from hushfade.serve.service import Service

if TYPE_CHECKING:
    from starlette.types import ASGIApp

FINISH = 20  # seconds for responses to finish when the service stops


class Server(uvicorn.Server):
    """A server that ends its endless responses when it stops."""

    def __init__(self, service: Service, host: str, port: int) -> None:
        service.guard.may_listen(host)
        self._service = service
        config = configured(application(service), service.limits, host, port, lifespan="on")
        self.pool: Pool = config.hushfade_pool  # type: ignore[attr-defined]
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop in order at SIGINT or SIGTERM, and then end with status 0."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, self.handle_exit) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse new connections, disconnect the listeners, and finish the other responses."""
        for server in self.servers:
            server.close()
        self._service.release_listeners()
        await super().shutdown(sockets)


def configured(
    app: ASGIApp, limits: Limits, host: str, port: int, *, lifespan: Literal["on", "off"]
) -> uvicorn.Config:
    """The configuration of a server, with its pool of connections."""
    config = uvicorn.Config(
        cast("Any", app),  # Starlette and uvicorn describe the same protocol differently
        host=host,
        port=port,
        http=Connection,
        log_config=None,
        access_log=False,  # it would log queries
        server_header=False,
        proxy_headers=False,  # the guard trusts declared proxies only
        ws="none",
        lifespan=lifespan,
        timeout_keep_alive=round(limits.idle),
        timeout_graceful_shutdown=FINISH,
    )
    most = allowed(limits.connections)
    if most < limits.connections:
        LOG.warning("the limit of open files allows only %d connections", most)
    config.hushfade_pool = Pool(limits, most)  # type: ignore[attr-defined]
    return config


def serve(
    service: Service,
    host: str,
    port: int,
    *,
    sockets: list[socket.socket] | None = None,
    started: Callable[[int], object] = lambda port: None,
) -> None:
    """Serve until a signal stops the process, and close the store.

    The server calls `started` with the port when it listens, on `sockets` if they are given.
    Raise Refused if the port is not available.  If the store fails, the process keeps serving reads
    and connects again.
    """
    server = Server(service, host, port)
    sockets = sockets or listening(host, port)
    started(sockets[0].getsockname()[1])
    with suppress(KeyboardInterrupt):
        server.run(sockets)


def listening(host: str, port: int) -> list[socket.socket]:
    """Sockets on all addresses of the host; with port 0, only on the first address."""
    found: list[socket.socket] = []
    try:
        names = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in dict.fromkeys(names):
            made = socket.create_server(address[:2], family=family)
            made.setblocking(False)
            found.append(made)
            if port == 0:
                break
    except OSError as error:
        for made in found:
            made.close()
        if error.errno == errno.EADDRINUSE:
            raise Refused(f"port {port} of {host} is in use: choose another port") from None
        if error.errno == errno.EACCES:
            raise Refused(
                f"this user may not listen on port {port} of {host}: choose a port above 1023"
            ) from None
        raise Refused("host must be an address of this machine") from None
    return found
