"""The server's process: it listens, and stops in order.

no new connections → listeners let go → answers finished → queue written → store closed
"""

from __future__ import annotations

import socket
from contextlib import suppress

import uvicorn

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

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take nothing new, let the listeners go, finish the rest."""
        for server in self.servers:
            server.close()
        self._service.release_listeners()
        await super().shutdown(sockets)


def serve(service: Service, host: str, port: int) -> None:
    """Serve until the process is told to stop.  The store is closed then."""
    server = Server(service, host, port)
    with suppress(KeyboardInterrupt):
        server.run()
