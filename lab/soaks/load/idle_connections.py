"""Idle and slow connections: ten thousand of them must not keep others out."""

from __future__ import annotations

import resource
import socket
import time

from lab.findings import Finding, Part
from lab.progress import progress
from lab.soaks.load.places import directory, new_store, plan
from lab.soaks.load.served import Served, served


def idle_connections(count: int) -> Part:
    """Requests while many connections are idle, the end of slow ones, and the control."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + 1000), hard))
    findings = []
    with directory() as place:
        store = new_store(place / "releases.db")
        store.add_stream("late", plan(), dataset="d")
        store.close()
        for build, number in (("as_it_is", count), ("refusing_at_2000", 2500)):
            control = build != "as_it_is"
            with served(place / "releases.db", place, build) as service:
                before = service.memory()
                idle = _connected(service, number)
                grown = service.memory() - before
                statuses, slowest = _asked(service)
                for line in idle:
                    line.close()
            progress(f"idle, {build}: {statuses}, {slowest:.3f} s")
            right = statuses.count(200)
            findings.append(
                Finding(
                    ("a build that refuses at 2000 connections, " if control else "")
                    + f"{len(idle)} idle connections",
                    "others are refused" if control else "others are answered",
                    f"{right} of {len(statuses)} requests answered, at most "
                    f"{1000 * slowest:.0f} ms; memory +{grown / 2**20:.0f} MiB, "
                    f"{grown / len(idle) / 1024:.0f} KiB per connection",
                    passed=right == 0 if control else right == len(statuses),
                    is_bug=control,
                )
            )
        with served(place / "releases.db", place, "small_limits") as service:
            findings.append(_slow(service))
    return Part(
        "Idle connections",
        f"One client opens {count} connections on loopback and sends nothing.  Another client "
        "opens a connection for each of 50 requests.",
        findings,
    )


def _connected(service: Served, count: int) -> list[socket.socket]:
    found = []
    for _ in range(count):
        line = socket.create_connection(("127.0.0.1", service.port), timeout=30)
        found.append(line)
    time.sleep(0.5)
    return found


def _asked(service: Served) -> tuple[list[int], float]:
    statuses, slowest = [], 0.0
    for _ in range(50):
        began = time.monotonic()
        statuses.append(service.ask("GET", "/v1/streams", timeout=10)[0])
        slowest = max(slowest, time.monotonic() - began)
    return statuses, slowest


def _slow(service: Served) -> Finding:
    """Connections that send nothing, half a head, or a head byte by byte."""
    lines = [socket.create_connection(("127.0.0.1", service.port), timeout=30) for _ in range(3)]
    began = time.monotonic()
    lines[1].sendall(b"GET /health HTTP/1.1\r\nHost")
    ended: dict[int, float] = {}
    while len(ended) < 3 and time.monotonic() < began + 20:
        for number, line in enumerate(lines):
            if number in ended:
                continue
            line.settimeout(0.1)
            try:
                if number == 2:
                    line.sendall(b"G" if time.monotonic() < began + 0.1 else b"x")
                if line.recv(100) == b"":
                    ended[number] = time.monotonic() - began
            except TimeoutError:
                pass
            except OSError:
                ended[number] = time.monotonic() - began
    for line in lines:
        line.close()
    longest = max(ended.values(), default=0.0)
    return Finding(
        "connections that send nothing, half a head, or single bytes; limit 2 s",
        "the service closes them", f"{len(ended)} of 3 closed, the last after {longest:.1f} s",
        passed=len(ended) == 3,
    )  # fmt: skip
