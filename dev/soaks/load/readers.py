"""Readers: many connections that poll small responses."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dev.findings import Finding, Part
from dev.progress import progress
from dev.soaks.load.http_clients import Tally, polling
from dev.soaks.load.places import directory, new_store, plan
from dev.soaks.load.served import served

PATH = "/v1/streams/late/releases?last=1"


def readers(connections: int, seconds: float, pollers: int) -> Part:
    """Readers without a pause, a public page with many polling readers, and the control."""
    findings = []
    with directory() as place:
        store = new_store(place / "releases.db")
        store.add_stream("late", plan(), dataset="d")
        for step in range(1, 20):
            store.close_step("late", step, closed=step)
        store.close()
        for build, count, pause in (
            ("as_it_is", connections, 0.0),
            ("as_it_is", pollers, 2.0),
            ("counting_readers", connections, 0.0),
        ):
            tally = _polled(place, build, count, seconds, pause)
            progress(f"readers, {build}, {count}: {dict(tally.statuses)}")
            findings.append(_finding(tally, build, count, pause))
    return Part(
        "Readers",
        f"Clients of one address read `{PATH}`, each on its own connection.  Some send the next "
        "request as soon as they have a response.  The others wait two seconds, as a page does.",
        findings,
    )


def _polled(place: Path, build: str, count: int, seconds: float, pause: float) -> Tally:
    async def work(port: int) -> Tally:
        tally, until = Tally(), asyncio.get_running_loop().time() + seconds
        clients = (
            polling(port, PATH, until, tally, pause=pause, wait=pause * n / count)
            for n in range(count)
        )
        await asyncio.gather(*clients)
        return tally

    with served(place / "releases.db", place, build) as service:
        return asyncio.run(work(service.port))


def _finding(tally: Tally, build: str, count: int, pause: float) -> Finding:
    total, control = tally.statuses.total(), build != "as_it_is"
    how = "polling every 2 s" if pause else "without a pause"
    return Finding(
        f"{'a build that counts responses, ' if control else ''}{count} connections, {how}",
        "refuses small responses" if control else "0 refused",
        f"{tally.refused} of {total} refused; median {1000 * tally.quantile(0.5):.0f} ms, "
        f"99 % within {1000 * tally.quantile(0.99):.0f} ms",
        passed=(tally.refused > 0) if control else (tally.refused == 0 and total >= count),
        is_bug=control,
    )
