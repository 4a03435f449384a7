"""A service that gives prepared answers: what the page may ask, and how it is refused."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = files("hushfade") / "serve" / "page"

_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


class Service:
    """The answers, to be set by a test; `asked` keeps (method, path, headers, body)."""

    def __init__(
        self, streams: list[dict[str, Any]], datasets: list[dict[str, Any]],
        releases: dict[str, list[dict[str, Any]]], plan: Callable[[Any], dict[str, Any]],
    ) -> None:  # fmt: skip
        self.streams = streams
        self.datasets = datasets
        self.releases = releases
        self.plan = plan
        self.clock: str | None = None
        self.keys: dict[str, list[str]] = {}  # of streams with very many keys
        self.token: str | None = None
        self.public = False  # what is read needs no token
        self.refusal: tuple[int, str] | None = None
        self.asked: list[tuple[str, str, dict[str, str], Any]] = []
        self.changed = threading.Condition()
        self.over: set[str] = set()
        self.ended = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self._server.server_port}/"

    def publish(self, stream: str, release: dict[str, Any]) -> None:
        """A new release, told to all that follow."""
        with self.changed:
            self.releases[stream].append(release)
            self.changed.notify_all()

    def end(self, stream: str) -> None:
        """The stream has no more releases; those that follow are told."""
        with self.changed:
            self.over.add(stream)
            self.changed.notify_all()

    def paths(self, method: str = "GET") -> list[str]:
        """The paths asked for under /v1."""
        return [path for verb, path, _, _ in self.asked if verb == method and "/v1/" in path]

    def close(self) -> None:
        """Ends it, and every connection."""
        with self.changed:
            self.ended = True
            self.changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Says nothing."""

        def handle(self) -> None:
            # The browser may go while it is answered: tests end while it listens.
            with suppress(BrokenPipeError, ConnectionResetError):
                super().handle()

        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, body: Any) -> None:
            service.asked.append((self.command, self.path, dict(self.headers), body))
            address = urlsplit(self.path)
            if not address.path.startswith("/v1/"):
                self._file(address.path)
                return
            sent = self.headers["Authorization"]
            shared = service.public and sent is None and self.command == "GET"
            if service.token is not None and not shared and sent != f"Bearer {service.token}":
                self._json(401, {"error": "token must be known", "code": "unauthorised"})
            elif service.refusal is not None:
                self._json(service.refusal[0], {"error": service.refusal[1], "code": "x"})
            else:
                parts = [unquote(part) for part in address.path.split("/")[2:]]
                self._interface(parts, parse_qs(address.query), body)

        def _interface(self, parts: list[str], query: dict[str, list[str]], body: Any) -> None:
            match parts:
                case ["streams"]:
                    self._json(200, {"streams": service.streams, "clock": service.clock})
                case ["datasets"]:
                    self._json(200, service.datasets)
                case ["plan"]:
                    self._json(200, service.plan(body))
                case ["streams", name, "releases"]:
                    after, limit = int(query["after"][0]), int(query["limit"][0])
                    found = [r for r in service.releases[name] if r["step"] > after][:limit]
                    keys = next(s["keys"] for s in service.streams if s["name"] == name)
                    if "key" in query:
                        lanes = [service.keys[name].index(key) for key in query["key"]]
                        keys = query["key"]
                        found = [r | {"value": [r["value"][x] for x in lanes]} for r in found]
                    newest = max(r["step"] for r in service.releases[name])
                    told = {"stream": name, "keys": keys, "newest": newest, "releases": found}
                    self._json(200, told)
                case ["streams", name, "keys"]:
                    listed = service.keys[name]
                    sought = query.get("search", [""])[0].lower()
                    after, limit = int(query["after"][0]), int(query["limit"][0])
                    match_ = [n for n, key in enumerate(listed) if sought in key.lower()]
                    rest = [n for n in match_ if n >= after]
                    following = rest[limit] if len(rest) > limit else None
                    keys = [listed[n] for n in rest[:limit]]
                    self._json(200, {"keys": keys, "next": following, "matching": len(match_)})
                case ["streams", name, "events"]:
                    self._events(name, int(self.headers["Last-Event-ID"]))
                case _:
                    self._json(404, {"error": "there is no such path", "code": "missing"})

        def _events(self, name: str, after: int) -> None:
            self._head(200, "text/event-stream")
            self.wfile.write(b": welcome\n\n")
            while True:
                with service.changed:
                    found = [r for r in service.releases[name] if r["step"] > after]
                    if service.ended or service.refusal is not None:
                        return
                    if not found and name in service.over:
                        self.wfile.write(b"event: end\ndata: {}\n\n")
                        return
                    if not found:
                        service.changed.wait()
                        continue
                for release in found:
                    after = release["step"]
                    text = f"id: {after}\nevent: release\ndata: {json.dumps(release)}\n\n"
                    self.wfile.write(text.encode())

        def _file(self, path: str) -> None:
            name = "index.html" if path == "/" else path.removeprefix("/page/")
            file = PAGE.joinpath(*name.split("/"))
            if ".." in name or not file.is_file():
                self._json(404, {"error": "there is no such file", "code": "missing"})
                return
            content = file.read_bytes()
            self._head(200, _TYPES[name.rsplit(".", 1)[-1]], len(content))
            self.wfile.write(content)

        def _json(self, status: int, document: Any) -> None:
            content = json.dumps(document).encode()
            self._head(status, "application/json", len(content))
            self.wfile.write(content)

        def _head(self, status: int, kind: str, length: int | None = None) -> None:
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Security-Policy", "default-src 'self'")
            if length is not None:
                self.send_header("Content-Length", str(length))
            self.end_headers()

    return Handler
