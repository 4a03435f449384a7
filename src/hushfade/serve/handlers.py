"""The handlers of most routes: each checks a request, calls the service, and makes a response.

`record_handlers` has the handlers of records and releases, `status_handlers` those that show what
there is.
"""

from __future__ import annotations

from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from hushfade.errors import Malformed
from hushfade.planning.joint_charge import JointCharge
from hushfade.planning.joint_loss import MOST
from hushfade.serve import openapi, planner, strict_json
from hushfade.serve.declarations import (
    check_step,
    enforces,
    guarantee_of,
    least_count,
    length_text,
    neighbours_of,
    plan_of,
    step_times,
)
from hushfade.serve.error_responses import answer, busy
from hushfade.serve.guard import Caller
from hushfade.serve.registry import BY_HAND, Facts
from hushfade.serve.request_parts import document_of, facts_of
from hushfade.serve.service import Service, budget
from hushfade.store.tokens import SCOPES

_WAITING = 8  # requests for plans that may wait


# Datasets and streams -----------------------------------------------------------------------


async def add_dataset(service: Service, request: Request, caller: Caller) -> Response:
    """Add a dataset, and return its account."""
    content = await document_of(service, request, caller)
    unit = ("neighbours", "protects", "every")
    asked = strict_json.fields(content, needed=("name", "epsilon", "delta"), more=unit)
    name = strict_json.name(name=asked["name"])
    every = None if asked.get("every") is None else length_text(asked["every"])
    account = await service.add_dataset(name, guarantee_of(asked, **neighbours_of(asked)), every)
    return answer(budget(account, {}), 201)


async def list_datasets(service: Service, request: Request, caller: Caller) -> Response:
    """All accounts."""

    def listed() -> Response:
        accounts, reserved = service.reads.accounts()
        return answer([budget(account, reserved) for account in accounts.values()])

    return await run_sync(listed, limiter=service.history)


async def charge_together(service: Service, request: Request, caller: Caller) -> Response:
    """Charge several streams together, and return the dataset's budget."""
    content = await document_of(service, request, caller)
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
    content = await document_of(service, request, caller)
    more = ("every", "start", "suppress_below", "limits")
    asked = strict_json.fields(content, needed=("name", "dataset", "plan"), more=more)
    name = _place(asked["name"])
    dataset = strict_json.name(dataset=asked["dataset"])
    every, start = step_times(asked.get("every"), asked.get("start"), service.clock())
    plan = await run_sync(plan_of, asked["plan"])
    check_step(plan, asked.get("every"))
    by_hand = asked.get("every") == BY_HAND
    below = least_count(plan, asked.get("suppress_below"))
    enforced = enforces(plan, asked.get("limits"))
    facts = await service.add_stream(
        Facts(
            name,
            dataset,
            plan,
            every,
            start,
            by_hand=by_hand,
            suppress_below=below,
            enforced=enforced,
        ),
        started=asked.get("start") is not None,
    )
    return answer(service.described(facts), 201)


def _place(given: Any) -> str:
    """The name of a stream, which must be usable in a URL."""
    name = strict_json.name(name=given)
    if "/" in name or name in (".", ".."):
        raise Malformed(
            "name must not contain '/', nor be '.' or '..', because it is part of a URL"
        )
    return name


async def end_stream(service: Service, request: Request, caller: Caller) -> Response:
    """End a stream, and return its description."""
    facts = facts_of(service, request)
    await service.end(facts.name)
    return answer(service.described(facts))


# Tokens -------------------------------------------------------------------------------------


async def add_token(service: Service, request: Request, caller: Caller) -> Response:
    """Create a token, and return it this one time."""
    content = await document_of(service, request, caller)
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
    content = await document_of(service, request, caller)
    if service.planning.statistics().tasks_waiting >= _WAITING:
        raise busy()
    return answer(await run_sync(planner.answer, content, limiter=service.planning))


async def health(service: Service, request: Request, caller: Caller) -> Response:
    """The response of a running process."""
    return answer({"status": "up"})


async def interface(service: Service, request: Request, caller: Caller) -> Response:
    """The OpenAPI document."""
    return Response(openapi.text(), media_type="application/json")


async def page(service: Service, request: Request, caller: Caller) -> Response:
    """A file of the page."""
    path = request.path_params.get("path", "index.html")
    return service.pages.response(path, request.headers.get("if-none-match"))
