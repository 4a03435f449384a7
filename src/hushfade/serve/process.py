"""The server's process: it listens, and stops in order.

no new connections → listeners let go → answers finished → queue written → store closed
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
FINISH = 30  # seconds that answers may take when the service stops


class Server(uvicorn.Server):
    """A server whose endless answers end when it stops."""

    def __init__(self, service: Service, host: str, port: int) -> None:
        service.guard.may_listen(host)
        self._service = service
        super().__init__(
            uvicorn.Config(
                application(service),
                host=host,
                port=port,
                log_config=None,
                access_log=False,  # its lines would have queries
                server_header=False,
                proxy_headers=False,  # whoever asks could say to be somebody else
                ws="none",
                lifespan="on",
                limit_concurrency=CONNECTIONS,
                timeout_graceful_shutdown=FINISH,
            )
        )

    async def on_tick(self, counter: int) -> bool:
        """Is it over?  It is when the store has failed too: whoever started us starts us again."""
        return self._service.writer.failed or await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take nothing new, let the listeners go, finish the rest."""
        for server in self.servers:
            server.close()
        self._service.release_listeners()
        await super().shutdown(sockets)


def serve(
    service: Service, host: str, port: int, *, started: Callable[[int], object] = lambda port: None
) -> None:
    """Serve until the process is told to stop, and close the store.

    `started` is called with the port once it is ours.  Refused if it cannot be had.  Failed if the
    store has failed: what was acknowledged is there, and the next process goes on.
    """
    server = Server(service, host, port)
    sockets = listening(host, port)
    started(sockets[0].getsockname()[1])
    with suppress(KeyboardInterrupt):
        server.run(sockets)
    if service.writer.failed:
        raise Failed("the store has stopped: see the log, and start the service again")


def listening(host: str, port: int) -> list[socket.socket]:
    """Sockets on all addresses of the host; of a free port on the first alone."""
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
            raise Refused(f"port {port} of {host} is in use") from None
        if error.errno == errno.EACCES:
            raise Refused(f"port {port} of {host} must be one that this user may have") from None
        raise Refused("host must be an address of this machine") from None
    return found
