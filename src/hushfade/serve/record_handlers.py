"""The handlers of records and releases: send, close a step, read, follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from hushfade.errors import Malformed
from hushfade.serve import (
    batches,
    json_pieces,
    key_selection,
    limits,
    release_formats,
    server_sent_events,
    statistic_formats,
    strict_json,
)
from hushfade.serve.error_responses import Refusal, answer, busy
from hushfade.serve.guard import Caller
from hushfade.serve.key_selection import ALL, Selection
from hushfade.serve.large_answers import Making, Pieces
from hushfade.serve.registry import Facts
from hushfade.serve.request_parts import facts_of, media_type, query_of, query_with_lists
from hushfade.serve.server_sent_events import Subscription
from hushfade.serve.service import Service
from hushfade.store import Batch, Published
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
        limiter = service.reading_small if len(body) <= limits.SMALL else service.reading
        read = partial(batches.batch, facts, kind, body, asked)
        batch = await run_sync(read, limiter=limiter)
    return replace(batch, sender=caller.sending(batch.sender))


async def close_step(service: Service, request: Request, caller: Caller) -> Response:
    """Close a step, and return its release.  A closed step has the same release every time."""
    facts = facts_of(service, request)
    step = strict_json.digits(step=request.path_params["step"], least=1)
    release = await service.close_step(facts.name, step)

    def make() -> Iterator[bytes]:
        shown = release_formats.unlisted(facts, release, facts.suppress_below)
        return json_pieces.gathered(json_pieces.texts({"stream": facts.name, **shown}))

    large = release_formats.size(facts, 1) > limits.SMALL
    room = service.responses.room(caller.name, release_formats.held(facts, 1)) if large else None
    return Pieces(make, media_type=batches.JSON, room=room)


def _below(facts: Facts, asked: dict[str, str]) -> float | None:
    """The noisy count below which values are suppressed: the stream's, or a larger one."""
    text = asked.pop(_BELOW, None)
    if text is None:
        return facts.suppress_below
    if facts.plan.statistic is None:
        raise Malformed(f"{_BELOW} is for streams with a statistic, such as a mean")
    return statistic_formats.minimum(facts, strict_json.decimal(suppress_below=text))


async def _chosen(service: Service, facts: Facts, keys: list[str]) -> Selection:
    """The selected keys.  The first search of very many keys takes time, so a thread does it."""
    if not keys or key_selection.cells(facts) <= key_selection.MOST:
        return key_selection.selection(facts, keys)
    return await run_sync(key_selection.selection, facts, keys, limiter=service.lookups)


async def read_releases(service: Service, request: Request, caller: Caller) -> Response:
    """The releases after a step, or the newest releases, in the accepted format."""
    facts = facts_of(service, request)
    asked, lists = query_with_lists(request, ("after", "limit", "last", _BELOW), ("key",))
    below = _below(facts, asked)
    if "last" in asked and len(asked) > 1:
        raise Malformed("last must be given without after and limit")
    after = strict_json.digits(after=asked.get("after", "0"))
    limit = strict_json.digits(limit=asked.get("limit", "1000"), least=1, most=release_formats.MOST)
    if "last" in asked:
        limit = strict_json.digits(last=asked["last"], least=1, most=release_formats.MOST)
    kind = release_formats.wanted(",".join(request.headers.getlist("accept")))
    chosen = await _chosen(service, facts, lists["key"])
    most = release_formats.most(facts, limit, chosen)
    newest = service.registry.step(facts.name)
    if "last" in asked:
        after = max(0, newest - most)
    count = min(most, max(0, newest - after))
    make: Making | list[bytes]
    make = partial(_made, service, facts, (after, count, newest), kind, below, chosen)
    size, held = release_formats.size(facts, count, chosen), release_formats.held(facts, count)
    last = service.registry.newest(facts.name)
    usual = chosen is ALL and below == facts.suppress_below
    shareable = usual or size <= limits.SMALL
    if count == 1 and last is not None and after == last.step - 1:  # in memory
        make = partial(release_formats.pieces, facts, [[last]], newest, kind, below, chosen)
        if shareable:  # all who poll share it
            make = await service.shared.pieces((kind, facts.name, below, chosen), newest, make)
    else:  # what it reads counts, also if the response is small
        read = release_formats.read(facts, count)
        size, held = max(size, read), held if chosen is ALL else max(held, read)
    return Pieces(
        make,
        media_type=kind,
        headers=release_formats.VARIES,
        room=None if size <= limits.SMALL else service.responses.room(caller.name, held),
        limiter=service.history if size <= limits.SMALL else service.formatting,
        patience=service.limits.stalled,
    )


def _made(
    service: Service,
    facts: Facts,
    steps: tuple[int, int, int],
    kind: str,
    below: float | None,
    chosen: Selection,
) -> Iterator[bytes]:
    """The response with `count` releases after a step."""
    after, count, newest = steps
    size = max(1, release_formats.CHUNK // facts.plan.grid.lanes)

    def chunks() -> Iterator[list[Published]]:
        at = after
        while at < after + count:
            found = service.releases(facts.name, after=at, most=min(size, after + count - at))
            if not found:
                return
            yield found
            at = found[-1].step

    return release_formats.pieces(facts, chunks(), newest, kind, below, chosen)


async def follow(service: Service, request: Request, caller: Caller) -> Response:
    """The releases after a step, and all later releases as events."""
    facts = facts_of(service, request)
    asked, lists = query_with_lists(request, ("after", _BELOW), ("key",))
    below = _below(facts, asked)
    said = request.headers.get("last-event-id", asked.get("after"))
    after = service.registry.step(facts.name) if said is None else strict_json.digits(after=said)
    chosen = await _chosen(service, facts, lists["key"])
    if service.hub.full(caller.name):
        raise busy()
    if request.method == "HEAD":
        return Response(media_type=server_sent_events.KIND)
    most = max(1, min(server_sent_events.PIECE, release_formats.CHUNK // facts.plan.grid.lanes))

    async def read(last: int) -> list[Published]:
        get = partial(service.releases, facts.name, after=last, most=most)
        return await run_sync(get, limiter=service.history)

    held = release_formats.held(facts, most)
    large = release_formats.size(facts, most) > limits.SMALL
    return server_sent_events.Events(
        service.hub,
        service.registry,
        service.shared,
        Subscription(facts, after, below, chosen),
        read,
        caller=caller.name,
        may=partial(service.guard.knows, caller),
        room=partial(service.responses.room, caller.name, held) if large else None,
        threads=service.history,
        stalled=service.limits.stalled,
    )
