"""A service with tokens that receives requests without a socket, and its file and log."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
from starlette.types import ASGIApp

import hushfade as hf
from hushfade.serve import Service, application
from hushfade.serve.guard import Guard
from hushfade.serve.openapi import openapi
from hushfade.store import Store, tokens
from lab.soaks.http_answers import Answer, Declared, Request, ask

ONE = hf.Guarantee(epsilon=1, delta=1e-6)
PLANS = {
    "late": hf.plan(hf.Exponential(half_life=3), ONE),
    "flights": hf.plan(hf.SlidingWindow(length=3), ONE, keys=["at", "ch", "de"]),
    "vectors": hf.plan(hf.Exponential(half_life=3), ONE, width=2, norm=1),
    "short": hf.plan(hf.SlidingWindow(length=3), ONE, horizon=3, low=-2, high=6),
    "shares": hf.plan(hf.SlidingWindow(length=3), ONE, statistic=hf.Share(), keys=["at", "ch"]),
    "ages": hf.plan(hf.SlidingWindow(length=3), ONE, statistic=hf.Histogram([0, 18, 65, 120])),
    "ended": hf.plan(hf.Exponential(half_life=3), ONE),
}
NOW = 1_767_225_600 * 10**9  # the service's clock does not advance, so it closes no step


class Target:
    """A served store, its tokens, its log, and a second connection to its file."""

    def __init__(self, path: Path, app: ASGIApp, store: Store, texts: dict[str, str]) -> None:
        self.app, self.store, self._texts = app, store, texts
        self.declared = Declared(openapi())
        self.lines: list[str] = []
        self.forgot = 0
        self._view = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)

    def version(self) -> int:
        """A number that changes with every commit."""
        return int(self._view.pragma("data_version"))

    def dump(self) -> dict[str, list[Any]]:
        """All rows of all tables."""
        tables = self._view.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {
            name: list(self._view.execute(f"SELECT * FROM {name} ORDER BY 1, 2"))
            for (name,) in list(tables)
        }

    def with_token(self, request: Request, scope: str) -> Request:
        """The request with a token of this scope; '' means no token, 'wrong' an invalid one."""
        if not scope:
            return request
        text = b"Bearer " + self._texts.get(scope, "hushfade_" + "A" * 43).encode()
        return replace(request, headers=(*request.headers, (b"authorization", text)))

    async def ask(self, request: Request) -> Answer:
        """The answer; afterwards `lines` has the log lines of this request."""
        self.lines.clear()
        return await ask(self.app, request)

    def close(self) -> None:
        self._view.close()


@asynccontextmanager
async def served(path: Path) -> AsyncIterator[Target]:
    """A service with a token of each scope and seven streams, one of them ended."""
    store = Store.open(path)
    texts = {scope: tokens.add(store, f"our {scope}", [scope]) for scope in tokens.SCOPES}
    store.add_dataset("clinics", hf.Guarantee(epsilon=50, delta=1e-3))
    for name, plan in PLANS.items():
        store.add_stream(name, plan, dataset="clinics")
        store.close_step(name, 1, closed=NOW)
    store.end("ended")
    service = Service(
        store, Guard(tokens.kept(store), rate=1e9), clock=lambda: NOW, monotonic=lambda: 0
    )
    app = application(service)
    target = Target(path, app, store, texts)
    with logged(target.lines):
        async with app.router.lifespan_context(app):
            yield target
            before = memory(store)
    target.close()
    again = Store.open(path)
    again.verify()
    target.forgot = int(memory(again) != before)
    again.close()


def memory(store: Store) -> dict[str, Any]:
    """The state that a store keeps in memory for its streams."""
    lives = {name: store.live(name) for name in store.streams()}
    return {
        name: (live.totals.tolist(), live.records, dict(live.senders), live.steps, live.ended)
        for name, live in lives.items()
    }


@contextmanager
def logged(lines: list[str]) -> Iterator[None]:
    """A context that appends every log line to `lines`."""

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    root, keep, level = logging.getLogger(), Keep(), logging.getLogger("hushfade.serve").level
    root.addHandler(keep)
    logging.getLogger("hushfade.serve").setLevel(logging.INFO)
    try:
        yield
    finally:
        logging.getLogger("hushfade.serve").setLevel(level)
        root.removeHandler(keep)
