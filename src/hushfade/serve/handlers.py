"""The handlers of the routes: each checks a request, calls the service, and makes a response."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hushfade.errors import Failed, Malformed
from hushfade.planning.joint_charge import JointCharge
from hushfade.planning.joint_loss import MOST
from hushfade.serve import (
    batches,
    guard,
    metrics,
    openapi,
    planner,
    release_formats,
    server_sent_events,
    strict_json,
)
from hushfade.serve.error_responses import Refusal, answer, busy
from hushfade.serve.guard import Caller
from hushfade.serve.large_answers import Held
from hushfade.serve.registry import BY_HAND, Facts
from hushfade.serve.service import (
    Service,
    budget,
    check_step,
    guarantee_of,
    length_text,
    neighbours_of,
    plan_of,
    step_times,
)
from hushfade.store import Batch
from hushfade.store.live_streams import WINDOW
from hushfade.store.tokens import SCOPES

_SMALL = 4096  # bytes of a body that is parsed in the event loop, without a thread
_WAITING = 8  # requests for plans that may wait
_AHEAD = (
    f"sequence must count the sender's batches: at most {WINDOW} above its last one, and below "
    f"{WINDOW} for a new sender"
)


# Requests -----------------------------------------------------------------------------------


def _facts(service: Service, request: Request) -> Facts:
    return service.registry.facts(request.path_params["name"])


def _kind(request: Request, *kinds: str) -> str:
    """The media type of the body.  Raise unless it is one of these."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in kinds:
        raise Refusal(415, "media_type", f"the body must be {' or '.join(kinds)}")
    return kind


async def _document(service: Service, request: Request, caller: Caller) -> Any:
    _kind(request, batches.JSON)
    async with service.guard.body(request, caller) as body:
        return await run_sync(strict_json.read, body, limiter=service.reading)


def _query(request: Request, *names: str) -> dict[str, str]:
    """The query.  Raise unless it has each of these names at most once, and no others."""
    if not request.scope["query_string"]:
        return {}
    pairs = request.query_params.multi_items()
    found = dict(pairs)
    if len(found) < len(pairs) or not found.keys() <= set(names):
        rule = f"must have each of {', '.join(names)} at most once" if names else "must be empty"
        raise Malformed(f"the query {rule}")
    return found


# Datasets and streams -----------------------------------------------------------------------


async def add_dataset(service: Service, request: Request, caller: Caller) -> Response:
    """Add a dataset, and return its account."""
    content = await _document(service, request, caller)
    unit = ("neighbours", "protects", "every")
    asked = strict_json.fields(content, needed=("name", "epsilon", "delta"), more=unit)
    name = strict_json.name(name=asked["name"])
    every = None if asked.get("every") is None else length_text(asked["every"])
    account = await service.add_dataset(name, guarantee_of(asked, **neighbours_of(asked)), every)
    return answer(budget(account, {}), 201)


async def list_datasets(service: Service, request: Request, caller: Caller) -> Response:
    """All accounts."""
    accounts = await run_sync(service.store.accounts)
    reserved = await run_sync(service.store.reserved)
    return answer([budget(account, reserved) for account in accounts.values()])


async def charge_together(service: Service, request: Request, caller: Caller) -> Response:
    """Charge several streams together, and return the dataset's budget."""
    content = await _document(service, request, caller)
    unit = ("neighbours", "protects")
    asked = strict_json.fields(
        content, needed=("dataset", "epsilon", "delta", "streams"), more=unit
    )
    dataset = strict_json.name(dataset=asked["dataset"])
    guarantee = guarantee_of(asked, **neighbours_of(asked))
    listed = asked["streams"]
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST:
        raise Malformed(
            f"streams must be a list of 1 to {MOST} streams, each with a name and a plan"
        )
    if service.planning.statistics().tasks_waiting >= _WAITING:
        raise busy()

    def charge() -> JointCharge:
        plans = {}
        for one in listed:
            stream = strict_json.fields(one, needed=("name", "plan"))
            plans[_place(stream["name"])] = plan_of(stream["plan"])
        if len(plans) < len(listed):
            raise Malformed("streams must have different names")
        return JointCharge.of(plans, guarantee)

    joint = await run_sync(charge, limiter=service.planning)
    return answer(await service.charge_together(joint, dataset), 201)


async def add_stream(service: Service, request: Request, caller: Caller) -> Response:
    """Add a stream, and return its public description."""
    content = await _document(service, request, caller)
    asked = strict_json.fields(content, needed=("name", "dataset", "plan"), more=("every", "start"))
    name = _place(asked["name"])
    dataset = strict_json.name(dataset=asked["dataset"])
    every, start = step_times(asked.get("every"), asked.get("start"), service.clock())
    plan = await run_sync(plan_of, asked["plan"])
    check_step(plan, asked.get("every"))
    by_hand = asked.get("every") == BY_HAND
    facts = await service.add_stream(Facts(name, dataset, plan, every, start, by_hand=by_hand))
    return answer(service.registry.described(facts), 201)


def _place(given: Any) -> str:
    """The name of a stream, which must be usable in a URL."""
    name = strict_json.name(name=given)
    if "/" in name or name in (".", ".."):
        raise Malformed(
            "name must not contain '/', nor be '.' or '..', because it is part of a URL"
        )
    return name


async def list_streams(service: Service, request: Request, caller: Caller) -> Response:
    """The public descriptions of all streams."""
    return answer({"streams": await _described(service, service.registry.all(), caller)})


async def show_stream(service: Service, request: Request, caller: Caller) -> Response:
    """The public description of a stream, with its plan."""
    facts = _facts(service, request)
    (told,) = await _described(service, [facts], caller)
    return answer(told | {"plan": json.loads(facts.plan.to_json())})


async def _described(service: Service, listed: list[Facts], caller: Caller) -> list[dict[str, Any]]:
    """The descriptions of the streams.  Only administrators see counts of records."""
    told = [service.registry.described(facts) for facts in listed]

    def count() -> None:
        for stream in told:
            live = service.store.live(stream["name"])
            dropped = {name: live.counts.get(name, 0) for name in ("late", "repeated")}
            stream["not_for_publication"] = {**dropped, "open_records": live.records}

    if caller.may("admin"):
        with suppress(Failed):  # a stopped store can still be read
            await run_sync(count)
    return told


async def end_stream(service: Service, request: Request, caller: Caller) -> Response:
    """End a stream, and return its description."""
    facts = _facts(service, request)
    await service.end(facts.name)
    return answer(service.registry.described(facts))


# Records and releases -----------------------------------------------------------------------


async def take_records(service: Service, request: Request, caller: Caller) -> Response:
    """Store a batch, and return whether its records count, after they are on disk.

    A repeated batch changes nothing and has the same response.
    """
    facts = _facts(service, request)
    kind = _kind(request, batches.JSON, batches.LINES)
    asked = _query(request, *(("sender", "sequence", "step") if kind == batches.LINES else ()))
    async with service.guard.body(request, caller) as body:
        interval = service.order.interval(facts.name)  # the last byte has arrived
        with interval.batch():
            batch = await _batch(service, facts, caller, kind, body, asked)
            await interval.turn()
            accepting = service.accept(batch)
    found = await accepting
    if found == "ahead":
        raise Refusal(409, "sequence", _AHEAD)
    # a repeated batch gets the response of the first: another sender may have used its number
    status = "late" if found == "late" else "accepted"
    return answer({"status": status, "records": batch.records})


async def _batch(
    service: Service, facts: Facts, caller: Caller, kind: str, body: bytes, asked: dict[str, str]
) -> Batch:
    """The batch in a body, with the caller's name for the sender."""
    if len(body) <= _SMALL:
        batch = batches.batch(facts, kind, body, asked)
    else:
        limiter = service.reading_small if len(body) <= guard.SMALL else service.reading
        read = partial(batches.batch, facts, kind, body, asked)
        batch = await run_sync(read, limiter=limiter)
    return replace(batch, sender=caller.sending(batch.sender))


async def close_step(service: Service, request: Request, caller: Caller) -> Response:
    """Close a step, and return its release.  A closed step has the same release every time."""
    facts = _facts(service, request)
    step = strict_json.digits(step=request.path_params["step"], least=1)
    release = await service.close_step(facts.name, step)
    return answer({"stream": facts.name, **release_formats.plain(facts, release)})


async def read_releases(service: Service, request: Request, caller: Caller) -> Response:
    """The releases after a step, or the newest releases, in the accepted format."""
    facts = _facts(service, request)
    asked = _query(request, "after", "limit", "last")
    if "last" in asked and len(asked) > 1:
        raise Malformed("last must be given without after and limit")
    after = strict_json.digits(after=asked.get("after", "0"))
    limit = strict_json.digits(limit=asked.get("limit", "1000"), least=1, most=release_formats.MOST)
    if "last" in asked:
        limit = strict_json.digits(last=asked["last"], least=1, most=release_formats.MOST)
    kind = release_formats.wanted(",".join(request.headers.getlist("accept")))
    most = release_formats.most(facts, limit)
    if "last" in asked:
        after = max(0, service.registry.step(facts.name) - most)

    def read() -> Response:
        found = service.releases(facts.name, after=after, most=most)
        return release_formats.response(facts, found, service.registry.step(facts.name), kind)

    return Held(service.guard.room(caller), partial(run_sync, read))


async def follow(service: Service, request: Request, caller: Caller) -> Response:
    """The releases after a step, and all later releases as events."""
    facts = _facts(service, request)
    asked = _query(request, "after")
    said = request.headers.get("last-event-id", asked.get("after"))
    after = service.registry.step(facts.name) if said is None else strict_json.digits(after=said)
    if service.hub.full:
        raise busy()

    async def read(last: int) -> list[Any]:
        most = release_formats.most(facts, server_sent_events.PIECE)
        return await run_sync(partial(service.releases, facts.name, after=last, most=most))

    if request.method == "HEAD":
        return Response(media_type=server_sent_events.KIND)
    may = partial(service.guard.knows, caller)
    lines = server_sent_events.events(service.hub, service.registry, facts, after, read, may=may)
    return StreamingResponse(lines, media_type=server_sent_events.KIND)


# Tokens -------------------------------------------------------------------------------------


async def add_token(service: Service, request: Request, caller: Caller) -> Response:
    """Create a token, and return it this one time."""
    content = await _document(service, request, caller)
    asked = strict_json.fields(content, needed=("name", "scopes"))
    name, scopes = strict_json.name(name=asked["name"]), asked["scopes"]
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise Malformed("scopes must be a list of strings")
    text = await service.add_token(name, scopes)
    listed = [scope for scope in SCOPES if scope in scopes]
    return answer({"name": name, "scopes": listed, "token": text}, 201)


async def list_tokens(service: Service, request: Request, caller: Caller) -> Response:
    """The names and scopes of all tokens."""
    return answer({"tokens": service.guard.holders()})


async def revoke_token(service: Service, request: Request, caller: Caller) -> Response:
    """Revoke a token, and return its name."""
    name = strict_json.name(name=request.path_params["name"])
    await service.revoke_token(name)
    return answer({"name": name, "revoked": True})


# The rest -----------------------------------------------------------------------------------


async def make_plan(service: Service, request: Request, caller: Caller) -> Response:
    """The accuracy of a plan for a decay and a guarantee."""
    content = await _document(service, request, caller)
    if service.planning.statistics().tasks_waiting >= _WAITING:
        raise busy()
    return answer(await run_sync(planner.answer, content, limiter=service.planning))


async def scrape(service: Service, request: Request, caller: Caller) -> Response:
    """The newest release of every stream for Prometheus.  Nothing is drawn."""
    text = await run_sync(service.scraped)
    return Response(text, headers={"Content-Type": metrics.KIND})


async def health(service: Service, request: Request, caller: Caller) -> Response:
    """The response of a running process."""
    return answer({"status": "up"})


async def ready(service: Service, request: Request, caller: Caller) -> Response:
    """Whether the service accepts changes."""
    if service.ready:
        return answer({"status": "ready"})
    raise Refusal(503, "stopped", "the service does not accept changes now", Retry_After="10")


async def interface(service: Service, request: Request, caller: Caller) -> Response:
    """The OpenAPI document."""
    return Response(openapi.text(), media_type="application/json")


async def page(service: Service, request: Request, caller: Caller) -> Response:
    """A file of the page."""
    path = request.path_params.get("path", "index.html")
    return service.pages.response(path, request.headers.get("if-none-match"))
