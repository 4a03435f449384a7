"""Listeners: a wide stream with many of them, some of which never read."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from lab.findings import Finding, Part
from lab.progress import progress
from lab.soaks.load.health import Health, watched
from lab.soaks.load.http_clients import request
from lab.soaks.load.places import directory, new_store, plan
from lab.soaks.load.served import Served, served


@dataclass
class Outcome:
    """What listeners and /health saw."""

    health: Health
    events: int
    peak: int  # bytes above the memory before the first event
    dropped: int


def listeners(count: int, steps: int, keys: int) -> Part:
    """Listeners to a wide stream, the same with selected keys, and the control."""
    findings = []
    for build, query in (
        ("as_it_is", ""),
        ("as_it_is", "?key=key%207"),
        ("serialising_for_each", ""),
    ):
        control = build != "as_it_is"
        with directory() as place:
            store = new_store(place / "releases.db")
            store.add_stream("wide", plan(keys), dataset="d")
            store.close()
            with served(place / "releases.db", place, build) as service:
                found = asyncio.run(_heard(service, count, 2 if control else steps, query))
        progress(f"listeners, {build}{query}: {found.health.words}, {found.events}")
        findings.append(
            Finding(
                ("a build that serialises for each listener, " if control else "")
                + f"{count} listeners, {keys} keys"
                + (", each selects one key" if query else ", a tenth never reads"),
                "/health takes longer than 100 ms" if control else "/health within 100 ms",
                f"{found.events} events; {found.health.words}; memory +{found.peak / 2**20:.0f} "
                f"MiB; {found.dropped} dropped",
                passed=found.health.in_time != control,
                is_bug=control,
            )
        )
    return Part(
        "Listeners",
        "Clients receive each release as an event, on loopback, after a first step that loads the "
        "compiled code.  A tenth of them never read.  Meanwhile one client asks `/health` every 20 "
        "ms.  On a busy machine `/health` may take twice as long as an idle server does.",
        findings,
    )


async def _heard(service: Served, count: int, steps: int, query: str) -> Outcome:
    loop = asyncio.get_running_loop()
    lines = []
    await asyncio.to_thread(service.ask, "POST", "/v1/streams/wide/steps/1/close", timeout=120)
    for number in range(count):
        buffer = 1 << 24 if number % 10 else 1 << 14  # a client's own buffer reads ahead
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port, limit=buffer)
        writer.write(request(f"/v1/streams/wide/events{query}"))
        lines.append((reader, writer))
    for reader, _ in lines:
        await reader.readuntil(b"retry: 2000")
    before, events = service.memory(), [0]
    health = asyncio.create_task(watched(service.port, 3.0 * steps))
    reading = [
        asyncio.create_task(_counted(reader, events))
        for number, (reader, _) in enumerate(lines)
        if number % 10
    ]
    for step in range(2, steps + 2):
        began = loop.time()
        close = f"/v1/streams/wide/steps/{step}/close"
        await asyncio.to_thread(service.ask, "POST", close, timeout=60)  # the control may be late
        await asyncio.sleep(max(0.0, began + 2.5 - loop.time()))
    tally = await health
    peak = service.peak() - before
    _, text = await asyncio.to_thread(service.ask, "GET", "/metrics?stream=none", timeout=300)
    for task in reading:
        task.cancel()
    await asyncio.gather(*reading, return_exceptions=True)
    for _, writer in lines:
        writer.close()
    found = [
        line for line in text.decode().split("\n") if line.startswith("hushfade_listeners_dropped ")
    ]
    return Outcome(tally, events[0], peak, int(found[0].split()[1]))


async def _counted(reader: asyncio.StreamReader, events: list[int]) -> None:
    """Count the events that arrive."""
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        tail = b""
        while piece := await reader.read(1 << 18):
            text = tail + piece
            events[0] += text.count(b"event: release")
            tail = text[-13:]
