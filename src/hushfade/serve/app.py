"""The routes with their scopes, and the common handling of all requests."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hushfade.serve import guard, handlers, record_handlers, status_handlers
from hushfade.serve.error_responses import LOG, Refusal, answer, answer_to
from hushfade.serve.guard import Caller
from hushfade.serve.service import Service

Handler = Callable[[Service, Request, Caller], Awaitable[Response]]

_ROUTE, _SHARED = "hushfade.route", "hushfade.shared"  # a request's route; whether it is public
_FILES = "/page/{path:path}"  # not logged: the page loads dozens of files
_RECORDS = "/v1/streams/{name}/records"  # not logged if accepted: it would flood the log


@dataclass(frozen=True)
class Way:
    """A route, and the scope that it requires."""

    method: str
    path: str
    scope: str | None  # None: no token required
    handler: Handler


def application(service: Service) -> Starlette:
    """The service as an ASGI application, which starts and stops it."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    routes = [Route(way.path, _Endpoint(service, way), methods=[way.method]) for way in WAYS]
    app = _Application(routes=routes, lifespan=lifespan)
    app.router.redirect_slashes = False
    return app


def waiting_application() -> ASGIApp:
    """The application of a process whose store is not open yet: only /health has a result."""

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in ("/health", "/ready"):
            scope[_ROUTE] = scope["path"]
        if scope["path"] == "/health":
            response = answer({"status": "up"})
        else:
            problem = "the store is not open yet: send the request again later"
            response = answer_to(Refusal(503, "stopped", problem, Retry_After="10"))
        await response(scope, receive, send)

    return Frame(respond)


class _Application(Starlette):
    """The routes as one ASGI application, without Starlette's own error handling."""

    def build_middleware_stack(self) -> ASGIApp:
        return Frame(self.router)


class Frame:
    """Add the headers to a response, and log a line without any content of the request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.monotonic()

        async def framed(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = guard.headers(scope["path"], shared=scope.get(_SHARED, False))
                message["headers"] = [*message["headers"], *own]
                took = 1000 * (time.monotonic() - began)
                route = scope.get(_ROUTE, "no route")
                common = route == _FILES or (route == _RECORDS and message["status"] == 200)
                level = logging.DEBUG if common else logging.INFO
                said = scope["method"], route, message["status"], took
                LOG.log(level, "%s %s %d %.1f ms", *said)
            await send(message)

        try:
            await self._app(scope, receive, framed)
        except HTTPException as error:  # no route matches
            await answer_to(error)(scope, receive, framed)


class _Endpoint:
    """A route as an ASGI application that responds to every request, even after an error."""

    def __init__(self, service: Service, way: Way) -> None:
        self._service, self._way = service, way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[_ROUTE] = self._way.path
        request = Request(scope, receive)
        scope[_SHARED] = self._service.guard.shares(request, self._way.scope)
        try:
            caller = self._service.guard.admit(request, self._way.scope)
            response = await self._way.handler(self._service, request, caller)
        except Exception as error:
            response = answer_to(error)
        await response(scope, receive, send)


WAYS = (
    # the most frequent routes come first
    Way("POST", _RECORDS, "ingest", record_handlers.take_records),
    Way("POST", "/v1/datasets", "admin", handlers.add_dataset),
    Way("GET", "/v1/datasets", "read", handlers.list_datasets),
    Way("POST", "/v1/joint-charges", "admin", handlers.charge_together),
    Way("POST", "/v1/streams", "admin", handlers.add_stream),
    Way("GET", "/v1/streams", "read", status_handlers.list_streams),
    Way("GET", "/v1/streams/{name}", "read", status_handlers.show_stream),
    Way("GET", "/v1/streams/{name}/keys", "read", status_handlers.list_keys),
    Way("DELETE", "/v1/streams/{name}", "admin", handlers.end_stream),
    Way("POST", "/v1/streams/{name}/steps/{step}/close", "admin", record_handlers.close_step),
    Way("GET", "/v1/streams/{name}/releases", "read", record_handlers.read_releases),
    Way("GET", "/v1/streams/{name}/events", "read", record_handlers.follow),
    Way("POST", "/v1/tokens", "admin", handlers.add_token),
    Way("GET", "/v1/tokens", "admin", handlers.list_tokens),
    Way("DELETE", "/v1/tokens/{name}", "admin", handlers.revoke_token),
    Way("POST", "/v1/clock/confirm", "admin", status_handlers.confirm_clock),
    Way("POST", "/v1/plan", "read", handlers.make_plan),
    Way("GET", "/health", None, handlers.health),
    Way("GET", "/ready", None, status_handlers.ready),
    Way("GET", "/openapi.json", None, handlers.interface),
    Way("GET", "/metrics", "read", status_handlers.scrape),
    Way("GET", "/", None, handlers.page),
    Way("GET", _FILES, None, handlers.page),
)
