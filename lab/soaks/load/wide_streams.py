"""Wide streams: 100,000 keys in every format, for several readers at a time."""

from __future__ import annotations

import asyncio
import time

from lab.findings import Finding, Part
from lab.progress import progress
from lab.soaks.load.health import Health, watched
from lab.soaks.load.http_clients import request
from lab.soaks.load.places import directory, new_store, plan
from lab.soaks.load.served import Served, served

KINDS = {
    "JSON": ("/v1/streams/wide/releases?after=0&limit=1", "application/json"),
    "CSV": ("/v1/streams/wide/releases?after=0&limit=1", "text/csv"),
    "Arrow": ("/v1/streams/wide/releases?after=0&limit=1", "application/vnd.apache.arrow.stream"),
    "metrics": ("/metrics", "*/*"),
}


def wide_streams(keys: int, readers: int) -> Part:
    """Memory and /health while several clients read all keys slowly, and the control."""
    findings = []
    with directory() as place:
        store = new_store(place / "releases.db")
        store.add_stream("wide", plan(keys), dataset="d")
        for step in (1, 2):  # the first is not the newest, so it is read from the store
            store.close_step("wide", step, closed=step)
        store.close()
        for build in ("as_it_is", "whole_responses"):
            for name, (path, accept) in KINDS.items():
                control = build != "as_it_is"
                if control and name != "CSV":
                    continue
                with served(place / "releases.db", place, build) as service:
                    size, grown, health, took = asyncio.run(_read(service, path, accept, readers))
                progress(f"wide, {build}, {name}: {size} bytes, +{grown}, {health.words}")
                each = grown / readers
                findings.append(
                    Finding(
                        ("a build that makes whole responses, " if control else "")
                        + f"{name}, {readers} readers",
                        "memory grows by whole responses" if control
                        else "at most 3 MiB per reader, /health within 100 ms",
                        f"{size / 2**20:.1f} MiB each in {took:.1f} s; memory "
                        f"+{grown / 2**20:.0f} MiB; {health.words}",
                        passed=each > size / 2 if control else each <= 3 * 2**20 and health.in_time,
                        is_bug=control,
                    )
                )  # fmt: skip
            if build == "as_it_is":
                findings.append(_selected(place))
    return Part(
        "Wide streams",
        f"{keys} keys.  Clients on loopback read all keys of a release, stop for a second in the "
        "middle, and read the rest.",
        findings,
    )


def _selected(place: object) -> Finding:
    """The size and time of responses with some keys."""
    from pathlib import Path

    where = Path(str(place)) / "releases.db"
    with served(where, Path(str(place))) as service:
        sizes = []
        began = time.monotonic()
        for path in (
            "/v1/streams/wide/releases?last=1&key=key%207&key=key%208",
            "/metrics?stream=wide&key=key%207",
            "/v1/streams/wide/keys?search=99&limit=100",
        ):
            status, found = service.ask("GET", path)
            assert status == 200, status
            sizes.append(len(str(found)))
        took = (time.monotonic() - began) / 3
    return Finding(
        "selected keys: releases, metrics, a page of a search", "at most 8 KiB each",
        f"{max(sizes)} characters at most; {1000 * took:.0f} ms on average",
        passed=max(sizes) <= 8192,
    )  # fmt: skip


async def _read(
    service: Served, path: str, accept: str, readers: int
) -> tuple[int, int, Health, float]:
    """Bytes of a response, growth of the memory, /health, and seconds for all readers."""
    await _one(service.port, path, accept, 0.0)  # what stays in memory anyway
    before = service.memory()
    health = asyncio.create_task(watched(service.port, 4.0))
    await asyncio.sleep(0.5)  # until it has started
    began = time.monotonic()
    sizes = await asyncio.gather(*(_one(service.port, path, accept, 1.0) for _ in range(readers)))
    took = time.monotonic() - began
    grown = max(0, service.peak() - before)
    return max(sizes), grown, await health, took


async def _one(port: int, path: str, accept: str, pause: float) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request(path, f"Accept: {accept}", "Connection: close"))
    size = len(await reader.readexactly(1000))
    await asyncio.sleep(pause)
    while piece := await reader.read(1 << 16):
        size += len(piece)
    writer.close()
    return size
