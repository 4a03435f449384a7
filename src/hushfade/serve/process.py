"""The server process, and how it stops.

no new connections → listeners closed → responses finished → queue written → store closed
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from hushfade.errors import Failed, Refused
from hushfade.serve.app import application
from hushfade.serve.service import Service

CONNECTIONS = 2000
FINISH = 30  # seconds for responses to finish when the service stops


class Server(uvicorn.Server):
    """A server that ends its endless responses when it stops."""

    def __init__(self, service: Service, host: str, port: int) -> None:
        service.guard.may_listen(host)
        self._service = service
        super().__init__(
            uvicorn.Config(
                application(service),
                host=host,
                port=port,
                log_config=None,
                access_log=False,  # it would log queries
                server_header=False,
                proxy_headers=False,  # clients could forge their address
                ws="none",
                lifespan="on",
                limit_concurrency=CONNECTIONS,
                timeout_graceful_shutdown=FINISH,
            )
        )

    async def on_tick(self, counter: int) -> bool:
        """Whether the server must stop.  It also stops if the store has failed, to be restarted."""
        return self._service.writer.failed or await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse new connections, disconnect the listeners, and finish the other responses."""
        for server in self.servers:
            server.close()
        self._service.release_listeners()
        await super().shutdown(sockets)


def serve(
    service: Service, host: str, port: int, *, started: Callable[[int], object] = lambda port: None
) -> None:
    """Serve until a signal stops the process, and close the store.

    The server calls `started` with the port when it listens.  Raise Refused if the port is not
    available.  Raise Failed if the store has failed: acknowledged records are on disk, and the next
    process continues.
    """
    server = Server(service, host, port)
    sockets = listening(host, port)
    started(sockets[0].getsockname()[1])
    with suppress(KeyboardInterrupt):
        server.run(sockets)
    if service.writer.failed:
        raise Failed("the store has stopped: see the log, and start the service again")


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
