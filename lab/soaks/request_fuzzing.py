"""Two hundred thousand requests, most of them malformed, to a service with tokens.

The soak compares each answer with the OpenAPI document.  A refused request must leave the store
unchanged, and neither the answer nor the log may repeat its content.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hushfade.serve.openapi import openapi
from lab.soaks.http_answers import Answer, Request
from lab.soaks.request_cases import Marked, broken, made
from lab.soaks.watched_service import PLANS, Target, served

ROUND = 2000  # requests per store
FRESH, SEEDS = 20_000, 60  # requests between new seeds, and new seeds per operation

# relative frequencies of operations, 1 by default: computing a plan takes a second
_WEIGHTS = {("POST", "/v1/plan"): 0.1, ("DELETE", "/v1/streams/{name}"): 0.15}
_WEIGHTS[("POST", "/v1/streams/{name}/records")] = 6.0
_WEIGHTS[("POST", "/v1/streams")] = 0.7
_HELD = ("", "wrong", "ingest", "read", "admin", "admin", "admin", "admin", "admin")


@dataclass(frozen=True)
class Outcome:
    """Counts of requests and of faulty answers."""

    requests: int
    classes: dict[str, int]  # the numbers of answers 2xx, 3xx, 4xx, 5xx
    statuses: dict[int, int]
    refused: int
    failed: int  # 5xx, except for a 503 with a Retry-After header
    undeclared: int  # answers that the document does not declare
    unguarded: int  # requests without the required scope that were not refused for it
    leaks: int  # refusals or log lines that repeat content of a request
    changes: int  # refusals that changed the store, and stores that differ from their memory
    seconds: float
    faults: tuple[str, ...] = field(repr=False, default=())  # descriptions of the first few

    @property
    def clean(self) -> bool:
        """True if no answer was faulty."""
        wrong = (self.failed, self.undeclared, self.unguarded, self.leaks, self.changes)
        return not any(wrong)


def fuzzed(count: int, *, seed: int = 1, given: Sequence[Request] = ()) -> Outcome:
    """The outcome of `count` requests, with a new store every few thousand requests.

    The soak breaks the `given` requests, or requests made from the document.  The same seed gives
    the same requests.
    """
    return asyncio.run(_fuzzed(count, seed, given))


async def _fuzzed(count: int, seed: int, given: Sequence[Request]) -> Outcome:
    began, rng, tally = time.monotonic(), random.Random(seed), Tally()
    done = 0
    while done < count:
        if done % FRESH == 0:
            each = max(10, SEEDS * min(FRESH, count) // FRESH)
            seeds = by_operation(given or made(openapi(), each, number=seed + done))
        with tempfile.TemporaryDirectory() as directory:
            async with served(Path(directory) / "releases.db") as target:
                for _ in range(min(ROUND, count - done)):
                    done += 1
                    chosen = _chosen(seeds, rng)
                    places = (*PLANS, *PLANS, "none", "spare")
                    marked = broken(chosen, rng, places=places, number=done)
                    await tally.add(target, marked, rng.choice(_HELD))
            tally.note("changes", target.forgot, "memory and disk differ")
    return tally.outcome(time.monotonic() - began)


Seeds = dict[tuple[str, str], tuple[list[Request], list[Request]]]


def by_operation(requests: Sequence[Request]) -> Seeds:
    """For each operation, the requests made from the document, and the well-formed examples."""
    found: Seeds = {}
    for place, kind in enumerate((requests, examples())):
        for request in kind:
            key = request.method, request.operation
            found.setdefault(key, ([], []))[place].append(request)
    return found


def _chosen(seeds: Seeds, rng: random.Random) -> Request:
    keys = list(seeds)
    (key,) = rng.choices(keys, [_WEIGHTS.get(key, 1.0) for key in keys])
    generated, right = seeds[key]
    return rng.choice(right if right and rng.random() < 0.4 else generated)


def examples() -> list[Request]:
    """Well-formed requests of every operation that has a body."""
    return list(_EXAMPLES)


def _posted(path: str, operation: str, content: Any) -> Request:
    body = json.dumps(content).encode()
    headers = ((b"content-type", b"application/json"),)
    return Request("POST", path.encode(), operation, headers=headers, body=body)


def _sent(name: str, number: int, *records: Any) -> Request:
    content = {"sender": "gate", "sequence": number, "records": records}
    return _posted(f"/v1/streams/{name}/records", "/v1/streams/{name}/records", content)


def _lines(number: int) -> Request:
    query = f"sender=lines&sequence={number}".encode()
    kind = ((b"content-type", b"application/x-ndjson"),)
    place = "/v1/streams/{name}/records"
    return Request("POST", b"/v1/streams/late/records", place, query, kind, b"1\n0.5\n\n1\n")


_PLANNED = {"decay": {"kind": "window", "length": 8}, "epsilon": 1, "delta": 1e-6, "horizon": 16}
_EXAMPLES = (
    _posted("/v1/datasets", "/v1/datasets", {"name": "more", "epsilon": 2, "delta": 1e-6}),
    *(
        _posted(
            "/v1/streams",
            "/v1/streams",
            {"name": f"new-{name}", "dataset": "clinics", "plan": json.loads(plan.to_json())}
            | more,
        )
        for name, plan in PLANS.items()
        for more in ({}, {"name": f"timed-{name}", "every": "1h", "start": "2026-01-01T00:00:00Z"})
    ),
    *(_sent("late", number, 1, 0.5, 0) for number in (1, 2, 3)),
    *(_sent("flights", number, {"key": "at"}, {"key": "ch", "value": 0.5}) for number in (1, 2)),
    *(_sent("vectors", number, [0.5, 0.5], [0, 1]) for number in (1, 2)),
    *(_sent("shares", number, {"key": "at", "value": True}) for number in (1, 2)),
    *(_sent("ages", number, 17, 64.5, 300) for number in (1, 2)),
    *(_lines(number) for number in (1, 2)),
    _posted("/v1/tokens", "/v1/tokens", {"name": "spare", "scopes": ["ingest"]}),
    _posted("/v1/plan", "/v1/plan", _PLANNED),
    _posted("/v1/plan", "/v1/plan", _PLANNED | {"statistic": {"kind": "mean"}, "high": 9}),
)


# Faulty answers -----------------------------------------------------------------------------


class Tally:
    """Counts of answers and of their faults."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.wrong: Counter[str] = Counter()
        self.faults: list[str] = []

    def note(self, what: str, count: int, description: str) -> None:
        """Count faults of one kind, and keep the first descriptions."""
        self.wrong[what] += count
        if count and len(self.faults) < 20:
            self.faults.append(f"{what}: {description}")

    async def add(self, target: Target, marked: Marked, scope: str) -> Answer:
        """The answer to the request with a token of this scope; counts the answer's faults."""
        request = target.with_token(marked.request, scope)
        before = target.version()
        answer = await target.ask(request)
        self.statuses[answer.status] += 1
        for what, description in faults(target, marked, request, scope, answer):
            place = f"{request.method} {request.path[:80]!r} {request.body[:200]!r}"
            self.note(what, 1, f"{description}, {answer.status}, {place}")
        if (answer.status >= 400 or request.method == "GET") and target.version() != before:
            self.note("changes", 1, f"{answer.status} {request.method} {request.path[:80]!r}")
        return answer

    def outcome(self, seconds: float) -> Outcome:
        """The counts."""
        classes: Counter[str] = Counter()
        for status, count in self.statuses.items():
            classes[f"{status // 100}xx"] += count
        return Outcome(
            requests=self.statuses.total(),
            classes=dict(sorted(classes.items())),
            statuses=dict(sorted(self.statuses.items())),
            refused=sum(count for status, count in self.statuses.items() if status >= 400),
            failed=self.wrong["failed"],
            undeclared=self.wrong["undeclared"],
            unguarded=self.wrong["unguarded"],
            leaks=self.wrong["leaks"],
            changes=self.wrong["changes"],
            seconds=seconds,
            faults=tuple(self.faults),
        )


def faults(
    target: Target, marked: Marked, request: Request, scope: str, answer: Answer
) -> Iterator[tuple[str, str]]:
    """The faults of an answer: the kind and a description of each."""
    soon = answer.status == 503 and "retry-after" in answer.headers
    if answer.status >= 500 and not soon:
        yield "failed", str(target.lines[-2:])
    fault = target.declared.fault(request, answer)
    if fault is not None:
        yield "undeclared", fault
    needed = target.declared.scope(request) if request.routed else None
    if needed is not None and scope not in (needed, "admin"):
        wanted = (403,) if scope in ("ingest", "read") else (401, 403)
        if answer.status not in wanted:
            yield "unguarded", f"{scope or 'nobody'} for {needed}"
    if answer.status >= 400:
        text = answer.body.decode("utf-8", "replace") + "\n".join(target.lines)
        if any(mark in text for mark in marked.marks):
            yield "leaks", text[:200]
