"""The clients of a service that is killed: senders, a client that closes steps, and a reader.

Each client has one connection and knows only the answers it received.  A sender numbers its
batches and repeats a batch until it is acknowledged.  The batch with sequence s adds 4^(s mod 12).
No step can contain two batches with the same remainder, so the base-4 digits of a step's total show
how often each batch was counted.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from threading import Event, Lock
from typing import Any

STREAM = "late"
SLOTS = 12
BASE = 4


class Gone(Exception):
    """The service does not answer, so the round is over."""


class Link:
    """A connection to the service; waits until the service listens."""

    def __init__(self, port: int, over: Event) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=20)
        while True:
            try:
                self._connection.connect()
                return
            except OSError:
                if over.wait(0.005):
                    raise Gone from None

    def ask(self, method: str, path: str, content: Any = None) -> tuple[int, Any]:
        """The status and the JSON document of an answer."""
        body = None if content is None else json.dumps(content)
        headers = {} if content is None else {"Content-Type": "application/json"}
        try:
            self._connection.request(method, f"/v1/streams/{STREAM}{path}", body, headers)
            answer = self._connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, HTTPException):
            raise Gone from None

    def follow(self, path: str, heard: Callable[[Any], None]) -> None:
        """Call `heard` with each event's data, until the service is gone."""
        try:
            self._connection.request("GET", f"/v1/streams/{STREAM}{path}")
            answer = self._connection.getresponse()
            while line := answer.readline():
                if line.startswith(b"data: ") and line.endswith(b"\n"):
                    heard(json.loads(line.removeprefix(b"data: ")))
        except (OSError, HTTPException):
            raise Gone from None

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


@dataclass
class Sender:
    """A sender, and the first and last step in which each acknowledged batch may be counted."""

    name: str
    sequence: int = 0  # the first that is not acknowledged
    sent: bool = False  # True if it was sent without an answer so far
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    kills: list[int] = field(default_factory=list)  # `sequence` at each kill

    def records(self, at: int) -> list[dict[str, Any]]:
        """The records of a batch, which are the same each time it is sent."""
        return [{"key": self.name, "value": BASE ** (at % SLOTS)}]


@dataclass
class Seen:
    """What all clients of a service have seen, over all its processes."""

    senders: list[Sender]
    asked: int = 0  # the last step with a request to close it
    closed: int = 0  # the last step whose release was the answer to a request
    published: dict[int, set[str]] = field(default_factory=dict)  # all releases seen of a step
    followed: int = 0  # the last step of which the reader received an event
    events: int = 0
    odd: list[str] = field(default_factory=list)  # answers that no client should get
    _turn: Lock = field(default_factory=Lock)

    @property
    def acknowledged(self) -> int:
        """The number of acknowledged batches."""
        return sum(sender.sequence for sender in self.senders)

    def release(self, document: Any) -> None:
        """Record a release.  Its closing time, too, differs if the step was drawn twice."""
        said = json.dumps([document[name] for name in ("closed", "value", "stddev")])
        with self._turn:
            self.published.setdefault(document["step"], set()).add(said)


def send(link: Link, seen: Seen, sender: Sender) -> None:
    """Send the sender's first batch that is not acknowledged."""
    at = sender.sequence
    if len(sender.first) == at:
        sender.first.append(seen.closed + 1)
    sender.sent = True
    status, said = _post(link, sender, at)
    if status in (429, 503):  # retry later
        time.sleep(0.01)
        return
    if status != 200 or said["status"] != "accepted":  # for the first time or repeated
        seen.odd.append(f"records: {status} {said}")
        return
    sender.last.append(seen.asked + 1)
    sender.sequence, sender.sent = at + 1, False


def _post(link: Link, sender: Sender, at: int) -> tuple[int, Any]:
    content = {"sender": sender.name, "sequence": at, "records": sender.records(at)}
    return link.ask("POST", "/records", content)


def keep_repeating(link: Link, seen: Seen, rng: random.Random, over: Event) -> None:
    """Send batches again that were sent: the last one, with or without an answer."""
    while not over.wait(rng.uniform(0.0, 0.03)):
        sender = rng.choice(seen.senders)
        at = len(sender.first) - 1  # a batch that its sender is sending, or has sent
        if at >= 0:
            status, said = _post(link, sender, at)
            if status not in (429, 503) and (status != 200 or said["status"] != "accepted"):
                seen.odd.append(f"records again: {status} {said}")


def keep_sending(link: Link, seen: Seen, sender: Sender, over: Event) -> None:
    """Send batch after batch, at most SLOTS ahead of the closed steps."""
    while not over.is_set():
        before = sender.sequence - SLOTS
        if before < 0 or sender.last[before] <= seen.closed:
            send(link, seen, sender)
        else:
            time.sleep(0.001)


def close(link: Link, seen: Seen, step: int) -> None:
    """Close the step, or request its release again."""
    seen.asked = max(seen.asked, step)
    status, said = link.ask("POST", f"/steps/{step}/close")
    if status != 200:
        seen.odd.append(f"close: {status} {said}")
        return
    seen.release(said)
    seen.closed = max(seen.closed, step)


def keep_closing(link: Link, seen: Seen, rng: random.Random, over: Event, *, pause: float) -> None:
    """Close step after step, after a pause, and sometimes request an earlier one again."""
    over.wait(pause)
    while not over.wait(rng.uniform(0.0, 0.03)):
        close(link, seen, seen.closed + 1)
        if rng.random() < 0.2:
            close(link, seen, rng.randint(max(1, seen.closed - 5), seen.closed))


def read(link: Link, seen: Seen, after: int) -> int:
    """Read one page of releases after a step; return the last step of the page."""
    _, said = link.ask("GET", f"/releases?after={after}&limit=1000")
    for release in said["releases"]:
        seen.release(release)
        after = release["step"]
    return after


def keep_reading(link: Link, seen: Seen) -> None:
    """Read some earlier releases again, then follow new releases as events."""

    def heard(release: Any) -> None:
        seen.release(release)
        seen.events += 1
        if release["step"] != seen.followed + 1:
            seen.odd.append(f"event: step {release['step']} after {seen.followed}")
        seen.followed = release["step"]

    read(link, seen, max(0, seen.followed - 20))
    link.follow(f"/events?after={seen.followed}", heard)
