"""The handlers that show what there is: streams, their keys, metrics, readiness, the clock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from hushfade.errors import Failed, Malformed
from hushfade.serve import json_pieces, key_selection, limits, metrics, strict_json
from hushfade.serve.error_responses import answer
from hushfade.serve.guard import Caller
from hushfade.serve.large_answers import Pieces
from hushfade.serve.registry import Facts
from hushfade.serve.request_parts import facts_of, query_of, query_with_lists
from hushfade.serve.service import Service

_JSON = "application/json"
_DESCRIPTION = 2048  # bytes of a description without keys, at most
_MOST = 1000  # keys in a page of keys, and streams that a scrape selects


async def list_streams(service: Service, request: Request, caller: Caller) -> Response:
    """The public descriptions of all streams."""
    listed = service.registry.all()

    def make() -> Iterator[bytes]:
        return json_pieces.gathered(_listed(service, listed, caller))

    size = sum(_DESCRIPTION + 16 * min(1000, key_selection.cells(facts)) for facts in listed)
    return _pieces(service, caller, make, size)


async def show_stream(service: Service, request: Request, caller: Caller) -> Response:
    """The public description of a stream, with its plan."""
    facts = facts_of(service, request)

    def make() -> Iterator[bytes]:
        told = _described(service, facts, caller) | {"plan": json.loads(facts.plan.to_json())}
        return json_pieces.gathered(json_pieces.texts(told))

    return _pieces(service, caller, make, _DESCRIPTION + 32 * key_selection.cells(facts))


def _pieces(service: Service, caller: Caller, make: Any, size: int) -> Response:
    """The response; a large one waits for room."""
    large = size > limits.SMALL
    held = min(size, 4 * json_pieces.PIECE)
    room = service.responses.room(caller.name, held) if large else None
    limiter = service.formatting if large else service.lookups
    waits = caller.may("admin") and not large  # for the writer, and must not hold up others
    limited = None if waits else limiter
    return Pieces(make, media_type=_JSON, room=room, limiter=limited)


def _listed(service: Service, listed: Sequence[Facts], caller: Caller) -> Iterator[str]:
    yield '{"streams":['
    for at, facts in enumerate(listed):
        yield ("," if at else "") + "".join(json_pieces.texts(_described(service, facts, caller)))
    hold = service.watch.hold
    yield f'],"clock":{json_pieces.dumps(None if hold is None else hold.sentence)}}}'


def _described(service: Service, facts: Facts, caller: Caller) -> dict[str, Any]:
    """The description of a stream.  Only administrators see counts of records."""
    told = service.described(facts)
    if caller.may("admin") and not service.writer.failed:
        with suppress(Failed):  # a stopped store can still be read
            live = service.store.live(facts.name)
            names = ("late", "repeated", *(("over_limit",) if facts.enforced else ()))
            dropped = {name: live.counts.get(name, 0) for name in names}
            told["not_for_publication"] = {**dropped, "open_records": live.records}
    return told


async def list_keys(service: Service, request: Request, caller: Caller) -> Response:
    """Some keys of a stream: those that contain a text, from a place on."""
    facts = facts_of(service, request)
    asked = query_of(request, "search", "after", "limit")
    after = strict_json.digits(after=asked.get("after", "0"))
    limit = strict_json.digits(limit=asked.get("limit", "100"), least=1, most=_MOST)
    search = asked.get("search", "")
    if len(search) > 200:
        raise Malformed("search must have at most 200 characters")
    found = await run_sync(key_selection.page, facts, search, after, limit, limiter=service.lookups)
    return answer({"keys": found.keys, "next": found.following, "matching": found.matching})


async def scrape(service: Service, request: Request, caller: Caller) -> Response:
    """The newest releases for Prometheus, of all streams and keys or of some.  Nothing is drawn."""
    _, lists = query_with_lists(request, (), ("stream", "key"))
    if max(map(len, lists.values())) > _MOST:
        raise Malformed(f"stream and key must be given at most {_MOST} times")
    asked = metrics.Scraped(frozenset(lists["stream"]), tuple(dict.fromkeys(lists["key"])))
    size = metrics.size(service.registry, asked)
    large = size > limits.SMALL
    own = {
        "hushfade_clock_held": int(service.watch.hold is not None),
        "hushfade_clock_offset_seconds": round(service.watch.difference, 3),
        "hushfade_store_available": int(not service.writer.failed),
        "hushfade_listeners": service.hub.count,
        "hushfade_listeners_dropped": service.hub.dropped,
        "hushfade_response_bytes": service.responses.taken,
    }
    lags = service.schedule.lags()

    def make() -> Iterator[bytes]:
        return metrics.pieces(service.registry, lags, asked, own)

    return Pieces(
        make,
        media_type=metrics.KIND,
        room=service.responses.room(caller.name, 4 * json_pieces.PIECE) if large else None,
        limiter=service.formatting if large else service.lookups,
    )


async def ready(service: Service, request: Request, caller: Caller) -> Response:
    """Whether the service accepts changes, and how many streams are away from the clock."""
    await service.recovery.check()
    lags = service.schedule.lags().values()
    behind, ahead = sum(lag > 1 for lag in lags), sum(lag < 0 for lag in lags)
    return answer({"status": "ready", "streams_behind": behind, "streams_ahead": ahead})


async def confirm_clock(service: Service, request: Request, caller: Caller) -> Response:
    """Trust the wall clock as it is now: held steps close."""
    await service.confirm_clock()
    return answer({"status": "confirmed"})
