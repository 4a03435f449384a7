"""The limits of the service, with defaults for a machine with two cores and some gigabytes."""

from __future__ import annotations

from dataclasses import dataclass

from hushfade import check

SMALL = 1 << 16  # bytes of a small response or body: small responses are never limited


@dataclass(frozen=True)
class Limits:
    """What the service keeps in memory for its clients, and for how long it waits for them.

    Sizes are in bytes, times in seconds.
    """

    responses: int = 256 << 20  # large responses in flight, all together
    responses_each: int = 64 << 20  # of one token or address
    waiting_each: int = 250  # large responses of one token or address that wait for room
    listeners: int = 1000  # connections that receive events
    listeners_each: int = 250  # of one token or address
    listener: int = 8 << 20  # that one listener has not read; then it is disconnected
    connections: int = 12_000  # open at a time, if the operating system allows them
    head: float = 10.0  # for the head of a request to arrive
    idle: float = 15.0  # between two requests of a connection
    stalled: float = 60.0  # without any progress of a client that reads
    clock_jump: float = 10.0  # by which the wall clock may jump before all steps are held

    def __post_init__(self) -> None:
        for name in ("responses", "responses_each", "listener"):
            check.count(**{name: getattr(self, name)}, least=1 << 20)
        for name in ("listeners", "listeners_each", "waiting_each"):
            check.count(**{name: getattr(self, name)}, least=0)
        check.count(connections=self.connections, least=10)
        for name in ("head", "idle", "stalled", "clock_jump"):
            check.positive(**{name: getattr(self, name)})
