"""The handlers of records and releases: send, close a step, read, follow."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hushfade.errors import Malformed
from hushfade.serve import (
    batches,
    guard,
    release_formats,
    server_sent_events,
    statistic_formats,
    strict_json,
)
from hushfade.serve.error_responses import Refusal, answer, busy
from hushfade.serve.guard import Caller
from hushfade.serve.large_answers import Held
from hushfade.serve.registry import Facts
from hushfade.serve.request_parts import facts_of, media_type, query_of
from hushfade.serve.service import Service
from hushfade.store import Batch
from hushfade.store.live_streams import WINDOW

_SMALL = 4096  # bytes of a body that is parsed in the event loop, without a thread
_BELOW = "suppress_below"
_AHEAD = (
    f"sequence must count the sender's batches: at most {WINDOW} above its last one, and below "
    f"{WINDOW} for a new sender"
)


async def take_records(service: Service, request: Request, caller: Caller) -> Response:
    """Store a batch, and return whether its records count, after they are on disk.

    A repeated batch changes nothing and has the same response.
    """
    facts = facts_of(service, request)
    kind = media_type(request, batches.JSON, batches.LINES)
    asked = query_of(request, *(("sender", "sequence", "step") if kind == batches.LINES else ()))
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
    facts = facts_of(service, request)
    step = strict_json.digits(step=request.path_params["step"], least=1)
    release = await service.close_step(facts.name, step)
    below = facts.suppress_below
    shown = await run_sync(partial(release_formats.plain, facts, release, below))
    return answer({"stream": facts.name, **shown})


def _below(facts: Facts, asked: dict[str, str]) -> float | None:
    """The noisy count below which values are suppressed: the stream's, or a larger one."""
    text = asked.pop(_BELOW, None)
    if text is None:
        return facts.suppress_below
    if facts.plan.statistic is None:
        raise Malformed(f"{_BELOW} is for streams with a statistic, such as a mean")
    return statistic_formats.minimum(facts, strict_json.decimal(suppress_below=text))


async def read_releases(service: Service, request: Request, caller: Caller) -> Response:
    """The releases after a step, or the newest releases, in the accepted format."""
    facts = facts_of(service, request)
    asked = query_of(request, "after", "limit", "last", _BELOW)
    below = _below(facts, asked)
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
        newest = service.registry.step(facts.name)
        return release_formats.response(facts, found, newest, kind, below)

    return Held(service.guard.room(caller), partial(run_sync, read))


async def follow(service: Service, request: Request, caller: Caller) -> Response:
    """The releases after a step, and all later releases as events."""
    facts = facts_of(service, request)
    asked = query_of(request, "after", _BELOW)
    below = _below(facts, asked)
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
    lines = server_sent_events.events(
        service.hub, service.registry, facts, after, read, may=may, below=below
    )
    return StreamingResponse(lines, media_type=server_sent_events.KIND)
