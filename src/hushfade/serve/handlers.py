"""What each route answers: a request is read strictly, the service asked, the answer written."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hushfade.errors import Failed, InvalidValue, Malformed
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
from hushfade.serve.registry import Facts
from hushfade.serve.service import (
    Service,
    budget,
    guarantee_of,
    length_text,
    plan_of,
    step_times,
    unit_of,
)
from hushfade.store import Batch
from hushfade.store.live_streams import WINDOW
from hushfade.store.tokens import SCOPES

_SMALL = 4096  # bytes of a body that is parsed at once, without a thread
_WAITING = 8  # plans that may wait until they are made
_AHEAD = (
    f"sequence must count the sender's batches: at most {WINDOW} above its last one, and below "
    f"{WINDOW} for a new sender"
)


# What is in a request -----------------------------------------------------------------------


def _facts(service: Service, request: Request) -> Facts:
    return service.registry.facts(request.path_params["name"])


def _kind(request: Request, *kinds: str) -> str:
    """The body's kind, which must be one of these."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in kinds:
        raise Refusal(415, "media_type", f"the body must be {' or '.join(kinds)}")
    return kind


async def _document(service: Service, request: Request, caller: Caller) -> Any:
    _kind(request, batches.JSON)
    async with service.guard.body(request, caller) as body:
        return await run_sync(strict_json.read, body, limiter=service.reading)


def _query(request: Request, *names: str) -> dict[str, str]:
    """The query, if it has each of these names at most once and no others."""
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
    """A new dataset: its account."""
    content = await _document(service, request, caller)
    unit = ("neighbours", "participations", "separation", "records_per_step", "every")
    asked = strict_json.fields(content, needed=("name", "epsilon", "delta"), more=unit)
    name = strict_json.name(name=asked["name"])
    every = None if asked.get("every") is None else length_text(asked["every"])
    account = await service.add_dataset(name, guarantee_of(asked, **unit_of(asked)), every)
    return answer(budget(account), 201)


async def list_datasets(service: Service, request: Request, caller: Caller) -> Response:
    """All accounts."""
    accounts = await run_sync(service.store.accounts)
    return answer([budget(account) for account in accounts.values()])


async def add_stream(service: Service, request: Request, caller: Caller) -> Response:
    """A new stream: what is public of it."""
    content = await _document(service, request, caller)
    asked = strict_json.fields(content, needed=("name", "dataset", "plan"), more=("every", "start"))
    name = strict_json.name(name=asked["name"])
    if "/" in name or name in (".", ".."):
        raise Malformed("name must be without '/', and not '.' or '..': it is part of an address")
    dataset = strict_json.name(dataset=asked["dataset"])
    every, start = step_times(asked.get("every"), asked.get("start"), service.clock())
    plan = await run_sync(plan_of, asked["plan"])
    plan.step_length(every)  # the clock closes the steps that the plan means
    if every is not None and plan.every is None and not plan.relation.single:
        raise InvalidValue(
            "plan must state its step, as with --every 1h, if a person may have several records"
        )
    facts = Facts(name, dataset, plan, every, start)
    await service.add_stream(facts)
    return answer(service.registry.described(facts), 201)


async def list_streams(service: Service, request: Request, caller: Caller) -> Response:
    """What is public of each stream."""
    return answer({"streams": await _described(service, service.registry.all(), caller)})


async def show_stream(service: Service, request: Request, caller: Caller) -> Response:
    """What is public of one stream, and its plan."""
    facts = _facts(service, request)
    (told,) = await _described(service, [facts], caller)
    return answer(told | {"plan": json.loads(facts.plan.to_json())})


async def _described(service: Service, listed: list[Facts], caller: Caller) -> list[dict[str, Any]]:
    """The streams; how many records came is told to those alone who look after them."""
    told = [service.registry.described(facts) for facts in listed]

    def count() -> None:
        for stream in told:
            live = service.store.live(stream["name"])
            dropped = {name: live.counts.get(name, 0) for name in ("late", "repeated")}
            stream["not_for_publication"] = {**dropped, "open_records": live.records}

    if caller.may("admin"):
        with suppress(Failed):  # a store that has stopped is still read
            await run_sync(count)
    return told


async def end_stream(service: Service, request: Request, caller: Caller) -> Response:
    """The stream that has ended."""
    facts = _facts(service, request)
    await service.end(facts.name)
    return answer(service.registry.described(facts))


# Records and releases -----------------------------------------------------------------------


async def take_records(service: Service, request: Request, caller: Caller) -> Response:
    """Whether the records count, when they are on the disk.

    The answer is the same for a batch and for its repetition, which changes nothing.
    """
    facts = _facts(service, request)
    kind = _kind(request, batches.JSON, batches.LINES)
    asked = _query(request, *(("sender", "sequence", "step") if kind == batches.LINES else ()))
    async with service.guard.body(request, caller) as body:
        interval = service.order.interval(facts.name)  # the last byte is here
        with interval.batch():
            batch = await _batch(service, facts, caller, kind, body, asked)
            await interval.turn()
            accepting = service.accept(batch)
    found = await accepting
    if found == "ahead":
        raise Refusal(409, "sequence", _AHEAD)
    # a repeated batch has the answer of the first one: another sender may have used its number
    status = "late" if found == "late" else "accepted"
    return answer({"status": status, "records": batch.records})


async def _batch(
    service: Service, facts: Facts, caller: Caller, kind: str, body: bytes, asked: dict[str, str]
) -> Batch:
    """The batch of a body, in the name of its caller."""
    if len(body) <= _SMALL:
        batch = batches.batch(facts, kind, body, asked)
    else:
        limiter = service.reading_small if len(body) <= guard.SMALL else service.reading
        read = partial(batches.batch, facts, kind, body, asked)
        batch = await run_sync(read, limiter=limiter)
    return replace(batch, sender=caller.sending(batch.sender))


async def close_step(service: Service, request: Request, caller: Caller) -> Response:
    """The release of the step, the same whenever it is asked for."""
    facts = _facts(service, request)
    step = strict_json.digits(step=request.path_params["step"], least=1)
    release = await service.close_step(facts.name, step)
    return answer({"stream": facts.name, **release_formats.plain(facts, release)})


async def read_releases(service: Service, request: Request, caller: Caller) -> Response:
    """The releases after a step, or the newest ones, in the form that is wanted."""
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
    """The releases after a step, and all that come."""
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
    """A new token, shown this once."""
    content = await _document(service, request, caller)
    asked = strict_json.fields(content, needed=("name", "scopes"))
    name, scopes = strict_json.name(name=asked["name"]), asked["scopes"]
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise Malformed("scopes must be a list of texts")
    text = await service.add_token(name, scopes)
    listed = [scope for scope in SCOPES if scope in scopes]
    return answer({"name": name, "scopes": listed, "token": text}, 201)


async def list_tokens(service: Service, request: Request, caller: Caller) -> Response:
    """Whose tokens there are, and what each may do."""
    return answer({"tokens": service.guard.holders()})


async def revoke_token(service: Service, request: Request, caller: Caller) -> Response:
    """The token that opens nothing more."""
    name = strict_json.name(name=request.path_params["name"])
    await service.revoke_token(name)
    return answer({"name": name, "revoked": True})


# The rest -----------------------------------------------------------------------------------


async def make_plan(service: Service, request: Request, caller: Caller) -> Response:
    """What a decay and a guarantee would cost."""
    content = await _document(service, request, caller)
    if service.planning.statistics().tasks_waiting >= _WAITING:
        raise busy()
    return answer(await run_sync(planner.answer, content, limiter=service.planning))


async def scrape(service: Service, request: Request, caller: Caller) -> Response:
    """Every stream's newest release, for Prometheus; nothing is drawn."""
    text = await run_sync(service.scraped)
    return Response(text, headers={"Content-Type": metrics.KIND})


async def health(service: Service, request: Request, caller: Caller) -> Response:
    """That the process is up."""
    return answer({"status": "up"})


async def ready(service: Service, request: Request, caller: Caller) -> Response:
    """That it takes changes."""
    if service.ready:
        return answer({"status": "ready"})
    raise Refusal(503, "stopped", "the service takes no changes", Retry_After="10")


async def interface(service: Service, request: Request, caller: Caller) -> Response:
    """The interface for machines."""
    return Response(openapi.text(), media_type="application/json")


async def page(service: Service, request: Request, caller: Caller) -> Response:
    """A file of the page."""
    path = request.path_params.get("path", "index.html")
    return service.pages.response(path, request.headers.get("if-none-match"))
