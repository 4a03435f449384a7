"""The parts of a request that handlers read: its stream, media type, document and query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyio.to_thread import run_sync
from starlette.requests import Request

from hushfade.errors import Malformed
from hushfade.serve import batches, strict_json
from hushfade.serve.error_responses import Refusal

if TYPE_CHECKING:
    from hushfade.serve.guard import Caller
    from hushfade.serve.registry import Facts
    from hushfade.serve.service import Service


def facts_of(service: Service, request: Request) -> Facts:
    """The facts of the stream in the path.  Raise if it does not exist."""
    return service.registry.facts(request.path_params["name"])


def media_type(request: Request, *kinds: str) -> str:
    """The media type of the body.  Raise unless it is one of these."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in kinds:
        raise Refusal(415, "media_type", f"the body must be {' or '.join(kinds)}")
    return kind


async def document_of(service: Service, request: Request, caller: Caller) -> Any:
    """The JSON document in the body."""
    media_type(request, batches.JSON)
    async with service.guard.body(request, caller) as body:
        return await run_sync(strict_json.read, body, limiter=service.reading)


def query_of(request: Request, *names: str) -> dict[str, str]:
    """The query.  Raise unless it has each of these names at most once, and no others."""
    if not request.scope["query_string"]:
        return {}
    pairs = request.query_params.multi_items()
    found = dict(pairs)
    if len(found) < len(pairs) or not found.keys() <= set(names):
        rule = f"must have each of {', '.join(names)} at most once" if names else "must be empty"
        raise Malformed(f"the query {rule}")
    return found
