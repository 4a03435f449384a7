"""Readers: many connections that poll small responses."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from lab.findings import Finding, Part
from lab.progress import progress
from lab.soaks.load.http_clients import Tally, polling
from lab.soaks.load.places import directory, new_store, plan
from lab.soaks.load.served import served

PATH = "/v1/streams/late/releases?last=1"
PAGE = ("/v1/streams", "/v1/datasets")  # a browser asks for both every 5 seconds


def readers(connections: int, seconds: float, pollers: int) -> Part:
    """Readers without a pause, a public page with many polling readers, and the control."""
    findings = []
    with directory() as place:
        store = new_store(place / "releases.db")
        store.add_stream("late", plan(), dataset="d")
        for step in range(1, 20):
            store.close_step("late", step, closed=step)
        store.close()
        for build, paths, count, pause in (
            ("as_it_is", [PATH], connections, 0.0),
            ("as_it_is", [PATH], pollers, 2.0),
            ("as_it_is", PAGE, pollers, 2.5),
            ("counting_readers", [PATH], connections, 0.0),
        ):
            tally = _polled(place, build, paths, count, seconds, pause)
            progress(f"readers, {build}, {count}: {dict(tally.statuses)}")
            page = paths is PAGE
            findings.append(_finding(tally, build, count, pause, page=page))
    return Part(
        "Readers",
        f"Clients of one address read `{PATH}`, each on its own connection.  Some send the next "
        "request as soon as they have a response.  The others wait two seconds.  Open pages ask "
        f"for `{PAGE[0]}` and `{PAGE[1]}` instead, each every five seconds, as browsers do.",
        findings,
    )


def _polled(
    place: Path, build: str, paths: Sequence[str], count: int, seconds: float, pause: float
) -> Tally:
    async def work(port: int) -> Tally:
        tally, until = Tally(), asyncio.get_running_loop().time() + seconds
        clients = (
            polling(port, paths, until, tally, pause=pause, wait=pause * n / count)
            for n in range(count)
        )
        await asyncio.gather(*clients)
        return tally

    with served(place / "releases.db", place, build) as service:
        return asyncio.run(work(service.port))


def _finding(tally: Tally, build: str, count: int, pause: float, *, page: bool) -> Finding:
    total, control = tally.statuses.total(), build != "as_it_is"
    how = "polling every 2 s" if pause else "without a pause"
    who = f"{count} open pages" if page else f"{count} connections, {how}"
    return Finding(
        f"{'a build that counts responses, ' if control else ''}{who}",
        "refuses small responses" if control else "0 refused",
        f"{tally.refused} of {total} refused; median {1000 * tally.quantile(0.5):.0f} ms, "
        f"99 % within {1000 * tally.quantile(0.99):.0f} ms",
        passed=(tally.refused > 0) if control else (tally.refused == 0 and total >= count),
        is_bug=control,
    )
