"""Requests to the service without a socket, and a check of its answers against the document."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import unquote

import jsonschema_rs
from starlette.types import ASGIApp, Message

PATIENCE = 60.0  # seconds; a later answer counts as a failure
LOST = (404, 405)  # the allowed answers for addresses that the document does not have
ERROR = {"$ref": "#/components/schemas/Error"}


@dataclass(frozen=True)
class Request:
    """The bytes of a request, and its operation in the document."""

    method: str
    path: bytes  # as in the request line, without the query
    operation: str  # the path in the document
    query: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""

    @property
    def routed(self) -> bool:
        """True if the address matches the operation."""
        parts, expected = unquote(self.path.decode("latin-1")).split("/"), self.operation.split("/")
        if self.operation == "/page/{path}":
            return len(parts) >= len(expected)
        return len(parts) == len(expected) and all(parts[1:]) == all(expected[1:])

    def header(self, name: bytes) -> bytes | None:
        """The header with this name, or None."""
        return dict(self.headers).get(name)


@dataclass(frozen=True)
class Answer:
    """The answer to a request."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def kind(self) -> str:
        """The content type of the body, without parameters."""
        return self.headers.get("content-type", "").split(";")[0].strip()


async def ask(app: ASGIApp, request: Request) -> Answer:
    """The application's answer, or the beginning of an endless answer.

    If the application raises an error, the status is 500.
    """
    gone, left = asyncio.Event(), [request.body]
    status, headers, body = 500, {}, b""

    async def receive() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal status, headers, body
        if message["type"] == "http.response.start":
            status = message["status"]
            headers = {n.decode("latin-1"): v.decode("latin-1") for n, v in message["headers"]}
        elif message["type"] == "http.response.body":
            body += message.get("body", b"")
            if message.get("more_body"):
                gone.set()

    host = () if request.header(b"host") is not None else ((b"host", b"127.0.0.1"),)
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
        "method": request.method, "path": unquote(request.path.decode("latin-1")),
        "raw_path": request.path, "query_string": request.query, "root_path": "",
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        "headers": [*host, *request.headers],
    }  # fmt: skip
    try:
        async with asyncio.timeout(PATIENCE):
            await app(scope, receive, send)
    except Exception:
        status = 500
    return Answer(status, headers, body)


class Declared:
    """The answers that an OpenAPI document declares."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._validator = cache(self._compiled)

    def operations(self) -> list[tuple[str, str, str | None]]:
        """Every operation's method, path and scope."""
        return [
            (method.upper(), path, rules["security"][0]["token"][0] if rules["security"] else None)
            for path, methods in self._document["paths"].items()
            for method, rules in methods.items()
        ]

    def scope(self, request: Request) -> str | None:
        """The scope that the request needs; None for a public operation."""
        security = self._operation(request)["security"]
        return str(security[0]["token"][0]) if security else None

    def fault(self, request: Request, answer: Answer) -> str | None:
        """A description of an undeclared part of the answer, or None."""
        rules = self._rules(request, answer.status)
        if rules is None:
            return f"status {answer.status}"
        for header, rule in rules.get("headers", {}).items():
            if rule.get("required") and header.lower() not in answer.headers:
                return f"no header {header}"
        if request.method == "HEAD" or "content" not in rules:
            return "a body" if answer.body else None
        kinds = {kind.split(";")[0]: media for kind, media in rules["content"].items()}
        media = kinds.get(answer.kind, kinds.get("*/*"))
        if media is None:
            return f"content of the kind {answer.kind!r}"
        if answer.kind != "application/json" or "schema" not in media:
            return None
        return self._misfit(answer.body, json.dumps(media["schema"]))

    def _rules(self, request: Request, status: int) -> dict[str, Any] | None:
        if not request.routed:  # the document does not have this address
            return {"content": {"application/json": {"schema": ERROR}}} if status in LOST else None
        rules: dict[str, Any] | None = self._operation(request)["responses"].get(str(status))
        if rules is not None and "$ref" in rules:
            name = rules["$ref"].rpartition("/")[2]
            rules = self._document["components"]["responses"][name]
        return rules

    def _misfit(self, body: bytes, schema: str) -> str | None:
        try:
            found = json.loads(body)
        except ValueError:
            return "no JSON"
        error = next(iter(self._validator(schema).iter_errors(found)), None)
        return None if error is None else f"{list(error.instance_path)}: {error.message}"[:300]

    def _operation(self, request: Request) -> dict[str, Any]:
        method = "get" if request.method == "HEAD" else request.method.lower()
        found: dict[str, Any] = self._document["paths"][request.operation][method]
        return found

    def _compiled(self, schema: str) -> Any:
        whole = {**json.loads(schema), "components": self._document["components"]}
        return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
