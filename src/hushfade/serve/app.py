"""The routes, and what each answers."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hushfade.errors import Failed, Malformed
from hushfade.serve import document, events, guard, intake, metrics, planner, published, strict
from hushfade.serve.guard import Caller
from hushfade.serve.refusals import LOG, Refusal, answer, answer_to, busy, unrouted
from hushfade.serve.registry import Facts
from hushfade.serve.service import Service, budget, guarantee_of, plan_of, step_times

Handler = Callable[[Service, Request, Caller], Awaitable[Response]]

_ROUTE = "hushfade.route"  # where a request keeps its route's pattern
_SMALL = 4096  # bytes of a body that are read at once, without a thread
_WAITING = 8  # plans that may wait until they are made


@dataclass(frozen=True)
class Way:
    """A route: what is asked for, and who may."""

    method: str
    path: str
    scope: str | None  # None: everybody
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

    routes = [Route(way.path, _endpoint(service, way), methods=[way.method]) for way in WAYS]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: unrouted})
    app.router.redirect_slashes = False
    app.add_middleware(Frame)
    return app


class Frame:
    """Around every answer: its headers, and a line in the log without anything that was sent."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.monotonic()

        async def framed(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(scope=message)
                for name, value in guard.headers(scope["path"]).items():
                    found[name] = value
                took = 1000 * (time.monotonic() - began)
                route = scope.get(_ROUTE, "no route")
                LOG.info("%s %s %d %.1f ms", scope["method"], route, message["status"], took)
            await send(message)

        await self._app(scope, receive, framed)


def _endpoint(service: Service, way: Way) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        request.scope[_ROUTE] = way.path
        try:
            caller = service.guard.admit(request, way.scope)
            return await way.handler(service, request, caller)
        except Exception as error:
            return answer_to(error)

    return endpoint


# What is in a request -----------------------------------------------------------------------


def _facts(service: Service, request: Request) -> Facts:
    return service.registry.facts(request.path_params["name"])


def _kind(request: Request, *kinds: str) -> str:
    """The body's kind, which must be one of these."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in kinds:
        raise Refusal(415, "media_type", f"the body must be {' or '.join(kinds)}")
    return kind


async def _document(service: Service, request: Request) -> Any:
    _kind(request, intake.JSON)
    async with service.guard.body(request) as body:
        return await run_sync(strict.read, body, limiter=service.reading)


def _query(request: Request, *names: str) -> dict[str, str]:
    """The query, if it has each of these names at most once and no others."""
    pairs = request.query_params.multi_items()
    found = dict(pairs)
    if len(found) < len(pairs) or not found.keys() <= set(names):
        raise Malformed(f"the query must have each of {', '.join(names)} at most once")
    return found


# Datasets and streams -----------------------------------------------------------------------


async def _add_dataset(service: Service, request: Request, caller: Caller) -> Response:
    content = await _document(service, request)
    asked = strict.fields(content, needed=("name", "epsilon", "delta"))
    name = strict.name(name=asked["name"])
    account = await service.add_dataset(name, guarantee_of(asked))
    return answer(budget(account), 201)


async def _datasets(service: Service, request: Request, caller: Caller) -> Response:
    accounts = await run_sync(service.store.accounts)
    return answer([budget(account) for account in accounts.values()])


async def _add_stream(service: Service, request: Request, caller: Caller) -> Response:
    content = await _document(service, request)
    asked = strict.fields(content, needed=("name", "dataset", "plan"), more=("every", "start"))
    name = strict.name(name=asked["name"])
    if "/" in name or name in (".", ".."):
        raise Malformed("name must be without '/', and not '.' or '..': it is part of an address")
    dataset = strict.name(dataset=asked["dataset"])
    every, start = step_times(asked.get("every"), asked.get("start"), service.clock())
    plan = await run_sync(plan_of, asked["plan"])
    facts = Facts(name, dataset, plan, every, start)
    await service.add_stream(facts)
    return answer(service.registry.described(facts), 201)


async def _streams(service: Service, request: Request, caller: Caller) -> Response:
    return answer({"streams": await _described(service, service.registry.all(), caller)})


async def _stream(service: Service, request: Request, caller: Caller) -> Response:
    facts = _facts(service, request)
    (told,) = await _described(service, [facts], caller)
    return answer(told | {"plan": json.loads(facts.plan.to_json())})


async def _described(service: Service, listed: list[Facts], caller: Caller) -> list[dict[str, Any]]:
    """The streams; how many records came is told to those alone who look after them."""
    told = [service.registry.described(facts) for facts in listed]

    def count() -> None:
        for stream in told:
            live = service.store.live(stream["name"])
            private = {"late": live.counts.get("late", 0), "open_records": live.records}
            stream["not_for_publication"] = private

    if caller.may("admin"):
        with suppress(Failed):  # a store that has stopped is still read
            await run_sync(count)
    return told


async def _end(service: Service, request: Request, caller: Caller) -> Response:
    facts = _facts(service, request)
    await service.end(facts.name)
    return answer(service.registry.described(facts))


# Records and releases -----------------------------------------------------------------------


async def _records(service: Service, request: Request, caller: Caller) -> Response:
    facts = _facts(service, request)
    kind = _kind(request, intake.JSON, intake.LINES)
    asked = _query(request, *(("sender", "sequence", "step") if kind == intake.LINES else ()))
    async with service.guard.body(request) as body:
        if len(body) <= _SMALL:
            batch = intake.batch(facts, kind, body, asked)
        else:
            read = partial(intake.batch, facts, kind, body, asked)
            batch = await run_sync(read, limiter=service.reading)
    status = await service.accept(batch)
    return answer({"status": status, "records": batch.records})


async def _close(service: Service, request: Request, caller: Caller) -> Response:
    facts = _facts(service, request)
    step = strict.digits(step=request.path_params["step"], least=1)
    release = await service.close_step(facts.name, step)
    return answer({"stream": facts.name, **published.plain(facts, release)})


async def _releases(service: Service, request: Request, caller: Caller) -> Response:
    facts = _facts(service, request)
    asked = _query(request, "after", "limit")
    after = strict.digits(after=asked.get("after", "0"))
    limit = strict.digits(limit=asked.get("limit", "1000"), least=1, most=published.MOST)
    kind = published.wanted(request.headers.get("accept", ""))

    def read() -> Response:
        found = service.releases(facts.name, after=after, most=published.most(facts, limit))
        return published.response(facts, found, kind)

    return await run_sync(read)


async def _events(service: Service, request: Request, caller: Caller) -> Response:
    facts = _facts(service, request)
    asked = _query(request, "after")
    said = request.headers.get("last-event-id", asked.get("after"))
    after = service.registry.step(facts.name) if said is None else strict.digits(after=said)
    if service.hub.full:
        raise busy()

    async def read(last: int) -> list[Any]:
        most = published.most(facts, events.PIECE)
        return await run_sync(partial(service.releases, facts.name, after=last, most=most))

    if request.method == "HEAD":
        return Response(media_type=events.KIND)
    lines = events.events(service.hub, service.registry, facts, after, read)
    return StreamingResponse(lines, media_type=events.KIND)


# The rest -----------------------------------------------------------------------------------


async def _plan(service: Service, request: Request, caller: Caller) -> Response:
    content = await _document(service, request)
    if service.planning.statistics().tasks_waiting >= _WAITING:
        raise busy()
    return answer(await run_sync(planner.answer, content, limiter=service.planning))


async def _metrics(service: Service, request: Request, caller: Caller) -> Response:
    return Response(metrics.text(service.registry), headers={"Content-Type": metrics.KIND})


async def _health(service: Service, request: Request, caller: Caller) -> Response:
    return answer({"status": "up"})


async def _ready(service: Service, request: Request, caller: Caller) -> Response:
    if service.ready:
        return answer({"status": "ready"})
    raise Refusal(503, "stopped", "the service takes no changes", Retry_After="10")


async def _openapi(service: Service, request: Request, caller: Caller) -> Response:
    return answer(document.openapi())


async def _page(service: Service, request: Request, caller: Caller) -> Response:
    path = request.path_params.get("path", "index.html")
    return service.pages.response(path, request.headers.get("if-none-match"))


WAYS = (
    Way("POST", "/v1/datasets", "admin", _add_dataset),
    Way("GET", "/v1/datasets", "read", _datasets),
    Way("POST", "/v1/streams", "admin", _add_stream),
    Way("GET", "/v1/streams", "read", _streams),
    Way("GET", "/v1/streams/{name}", "read", _stream),
    Way("DELETE", "/v1/streams/{name}", "admin", _end),
    Way("POST", "/v1/streams/{name}/records", "ingest", _records),
    Way("POST", "/v1/streams/{name}/steps/{step}/close", "admin", _close),
    Way("GET", "/v1/streams/{name}/releases", "read", _releases),
    Way("GET", "/v1/streams/{name}/events", "read", _events),
    Way("POST", "/v1/plan", "read", _plan),
    Way("GET", "/health", None, _health),
    Way("GET", "/ready", None, _ready),
    Way("GET", "/openapi.json", None, _openapi),
    Way("GET", "/metrics", "read", _metrics),
    Way("GET", "/", None, _page),
    Way("GET", "/page/{path:path}", None, _page),
)
