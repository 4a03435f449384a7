"""The start of the process, until its store is open.

A store that opens soon is open before the process listens.  If the checks of the store take long,
or the store cannot be opened for a reason that can pass, the process listens meanwhile:

    /health 200, everything else 503 → attempts, with longer and longer pauses → the service
"""

from __future__ import annotations

import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from hushfade.errors import Unavailable
from hushfade.serve.app import waiting_application
from hushfade.serve.error_responses import LOG
from hushfade.serve.process import configured, listening
from hushfade.serve.recovery import FIRST, LONGEST
from hushfade.store.database import passes
from hushfade.store.statement_deadline import interruptible

if TYPE_CHECKING:
    from hushfade.serve.limits import Limits
    from hushfade.serve.service import Service

SOON = 5.0  # seconds in which most stores open
_PATIENCE = 3.0  # seconds for an attempt to end after a signal; then the process ends without it
_LOOK = 0.05  # seconds between two looks at whether a signal has arrived


class Opening:
    """Attempts to open the store, in a thread."""

    def __init__(self, begin: Callable[[], Service], *, repeat: bool) -> None:
        self._begin, self._repeat = begin, repeat
        self._given_up = threading.Event()
        self._server: _Waiting | None = None
        self._thread = threading.Thread(target=self._work, name="hushfade opening", daemon=True)
        self._service: Service | None = None
        self._error: BaseException | None = None
        self._first = threading.Event()  # the first attempt has ended
        self._signalled = False

    def wait(
        self, host: str, port: int, limits: Limits
    ) -> tuple[Service, list[socket.socket] | None] | None:
        """The service, and the sockets if they already listen; None after SIGINT or SIGTERM.

        Raise the error of an attempt whose reason cannot pass.
        """
        sockets: list[socket.socket] = []
        with self._signals():
            self._thread.start()
            for _ in range(round(SOON / _LOOK)):
                if self._signalled or self._first.wait(_LOOK):
                    break
            try:
                if self._thread_works() and not self._signalled:
                    sockets += listening(host, port)
                    self._listen(sockets, host, limits)
            finally:
                self._given_up.set()
                self._thread.join(_PATIENCE)
                useful = not self._signalled and sys.exception() is None
                if self._service is None or not useful:
                    for one in sockets:
                        one.close()
                if self._service is not None and not useful:
                    self._service.store.close()
        if self._signalled:
            return None
        if self._error is not None:
            raise self._error
        assert self._service is not None
        return self._service, sockets or None

    def _thread_works(self) -> bool:
        return self._service is None and self._error is None

    def _listen(self, sockets: list[socket.socket], host: str, limits: Limits) -> None:
        """Serve until the attempts or the process end.  The sockets stay open."""
        port = sockets[0].getsockname()[1]
        LOG.warning("the store is not open yet: /ready is 503 on port %d", port)
        config = configured(waiting_application(), limits, host, port, lifespan="off")
        self._server = _Waiting(config)
        if self._thread_works() and not self._signalled:
            self._server.run([one.dup() for one in sockets])

    def _work(self) -> None:
        pause = FIRST
        try:
            with interruptible(self._given_up):
                while not self._given_up.is_set():
                    try:
                        self._service = self._begin()
                        return
                    except (Unavailable, OSError) as error:
                        passing = isinstance(error, Unavailable) or passes(error.errno)
                        if not passing or not self._repeat:
                            raise
                        reason = error if isinstance(error, Unavailable) else error.strerror
                        LOG.warning("the store cannot be opened yet: %s", reason)
                    self._first.set()
                    self._given_up.wait(pause)
                    pause = min(2 * pause, LONGEST)
        except BaseException as error:
            self._error = error
        finally:
            self._first.set()
            if self._server is not None:
                self._server.should_exit = True

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Give up at SIGINT or SIGTERM."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, self._leave) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    def _leave(self, *_: object) -> None:
        self._signalled = True
        if self._server is not None:
            self._server.should_exit = True


class _Waiting(uvicorn.Server):
    """A server that leaves the signals to the opening."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
