"""Requests to the service without a socket, and whether an answer is what the document declares."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import unquote

import jsonschema_rs
from starlette.types import ASGIApp, Message

PATIENCE = 60.0  # seconds until an answer that does not come is one that is wrong
LOST = (404, 405)  # what an address may lead to that is none of the document's
ERROR = {"$ref": "#/components/schemas/Error"}


@dataclass(frozen=True)
class Request:
    """What is sent, byte by byte, and the operation of the document that it is for."""

    method: str
    path: bytes  # as it stands in the first line, without the query
    operation: str  # the path in the document
    query: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""

    @property
    def routed(self) -> bool:
        """Is its address one of the operation's?"""
        parts, told = unquote(self.path.decode("latin-1")).split("/"), self.operation.split("/")
        if self.operation == "/page/{path}":
            return len(parts) >= len(told)
        return len(parts) == len(told) and all(parts[1:]) == all(told[1:])

    def header(self, name: bytes) -> bytes | None:
        """The header of that name, if there is one."""
        return dict(self.headers).get(name)


@dataclass(frozen=True)
class Answer:
    """What comes back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def kind(self) -> str:
        """The body's kind, without its parameters."""
        return self.headers.get("content-type", "").split(";")[0].strip()


async def ask(app: ASGIApp, request: Request) -> Answer:
    """The application's answer; of one without an end the beginning.

    An error that the application lets out is an answer with the status 500.
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
            (method.upper(), path, told["security"][0]["token"][0] if told["security"] else None)
            for path, methods in self._document["paths"].items()
            for method, told in methods.items()
        ]

    def scope(self, request: Request) -> str | None:
        """The scope that the request needs; None: everybody may."""
        security = self._operation(request)["security"]
        return str(security[0]["token"][0]) if security else None

    def fault(self, request: Request, answer: Answer) -> str | None:
        """What is undeclared about the answer, or None."""
        told = self._told(request, answer.status)
        if told is None:
            return f"status {answer.status}"
        for header, rule in told.get("headers", {}).items():
            if rule.get("required") and header.lower() not in answer.headers:
                return f"no header {header}"
        if request.method == "HEAD" or "content" not in told:
            return "a body" if answer.body else None
        kinds = {kind.split(";")[0]: media for kind, media in told["content"].items()}
        media = kinds.get(answer.kind, kinds.get("*/*"))
        if media is None:
            return f"content of the kind {answer.kind!r}"
        if answer.kind != "application/json" or "schema" not in media:
            return None
        return self._misfit(answer.body, json.dumps(media["schema"]))

    def _told(self, request: Request, status: int) -> dict[str, Any] | None:
        if not request.routed:  # its address is none of the document's: refused as nothing
            return {"content": {"application/json": {"schema": ERROR}}} if status in LOST else None
        told: dict[str, Any] | None = self._operation(request)["responses"].get(str(status))
        if told is not None and "$ref" in told:
            name = told["$ref"].rpartition("/")[2]
            told = self._document["components"]["responses"][name]
        return told

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
