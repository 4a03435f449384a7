"""The parts of a request that handlers read: its stream, media type, document and query."""

from __future__ import annotations

from collections.abc import Sequence
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
    """The media type of the body.  Raise unless it is one of these, without a content encoding."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in kinds:
        raise Refusal(415, "media_type", f"the body must be {' or '.join(kinds)}")
    codings = ",".join(request.headers.getlist("content-encoding")).split(",")
    if not {coding.strip().lower() for coding in codings} <= {"", "identity"}:
        raise Refusal(
            415,
            "content_encoding",
            "the body must have no Content-Encoding: send it without compression",
            Accept_Encoding="identity",
        )
    return kind


async def document_of(service: Service, request: Request, caller: Caller) -> Any:
    """The JSON document in the body."""
    media_type(request, batches.JSON)
    async with service.guard.body(request, caller) as body:
        return await run_sync(strict_json.read, body, limiter=service.reading)


def query_of(request: Request, *names: str) -> dict[str, str]:
    """The query.  Raise unless it has each of these names at most once, and no others."""
    found, _ = query_with_lists(request, names, ())
    return found


def query_with_lists(
    request: Request, names: Sequence[str], lists: Sequence[str]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The query: names that may occur once, and names that may occur several times."""
    several: dict[str, list[str]] = {name: [] for name in lists}
    if not request.scope["query_string"]:
        return {}, several
    found: dict[str, str] = {}
    for name, text in request.query_params.multi_items():
        if name in several:
            several[name].append(text)
        elif name in found or name not in names:
            once = f"each of {', '.join(names)} at most once" if names else ""
            rule = " and ".join(part for part in (once, ", ".join(lists)) if part)
            raise Malformed(f"the query must {f'have {rule}' if rule else 'be empty'}")
        else:
            found[name] = text
    return found, several
