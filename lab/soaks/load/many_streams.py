"""Many streams: two thousand with a clock of one second."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

from hushfade.store import Reader
from lab.findings import Finding, Part
from lab.progress import progress
from lab.soaks.load.places import directory, every_second, new_store, plan
from lab.soaks.load.served import Served, served

BEHIND, CATCHING_UP = 300, 6.0  # steps, and the seconds after which some are still missing


def many_streams(count: int, seconds: float) -> Part:
    """The steps of many streams, the time to create a stream, and the control."""
    with directory(in_memory=True) as template:
        store = new_store(template / "releases.db")
        for number in range(count):
            store.add_stream(f"s{number}", plan(), dataset="d", settings=every_second())
        store.close()
        return _measured(template, count, seconds)


def _measured(template: Path, count: int, seconds: float) -> Part:
    findings = []
    for build, behind in (("as_it_is", 0), ("as_it_is", BEHIND), ("fifty_steps_at_once", BEHIND)):
        control = build != "as_it_is"
        if behind:
            seconds = CATCHING_UP
        with directory() as place:
            shutil.copytree(template, place, dirs_exist_ok=True)
            _begin(place / "releases.db", behind)
            with served(place / "releases.db", place, build) as service:
                began = time.monotonic()
                time.sleep(seconds)
                lags = _lags(service)
                took = time.monotonic() - began
                log = service.log.read_text(encoding="utf-8", errors="replace")
            steps = _steps(place / "releases.db")
        spread = max(steps) - min(steps)
        progress(f"streams, {build}: steps {min(steps)} to {max(steps)}, lag {max(lags)}")
        rate = sum(steps) / took
        findings.append(
            Finding(
                ("a build that closes up to 50 steps of one stream, " if control else "")
                + f"{count} streams, steps of 1 s, "
                + (f"{behind} steps behind, " if behind else "")
                + f"{seconds:.0f} s",
                "some streams are far ahead of others" if control else "all streams within 2 steps",
                f"steps {min(steps)} to {max(steps)}, {rate:.0f} per second; lag {min(lags)} to "
                f"{max(lags)}; "
                f"log mentions the lag: {'yes' if 'behind the clock' in log else 'no'}",
                passed=spread > 2 if control else spread <= 2,
                is_bug=control,
            )
        )
        if not behind:
            findings.append(
                Finding(
                    f"{count} streams on this machine", "lag of at most 2 steps",
                    f"lag 0 to {max(lags)} steps after {took:.0f} s",
                    passed=None if max(lags) > 2 else True,
                )
            )  # fmt: skip
    findings.append(_created(count))
    return Part(
        "Many streams",
        "Each stream has steps of one second, all due at the same moment.  A round closes one step "
        "of each stream, in transactions of up to 250 steps.  Streams that are behind, as after a "
        "pause of the service, catch up together.",
        findings,
    )


def _begin(path: object, behind: int) -> None:
    """Let all streams begin in two seconds, or some steps earlier."""
    import apsw

    connection = apsw.Connection(str(path))
    start = time.time_ns() + (2 - behind) * 10**9
    settings = json.dumps({"dataset": "d", "every": 10**9, "start": start})
    connection.execute("UPDATE streams SET settings = ?", (settings,))
    connection.close()


def _lags(service: Served) -> list[int]:
    """The lag of each stream, one stream after another while steps close."""
    status, found = service.ask("GET", "/v1/streams", timeout=120)
    assert status == 200, status
    return [max(0, stream["lag"]) for stream in found["streams"]]


def _steps(path: Path) -> list[int]:
    """The closed steps of each stream, after the service has ended."""
    reader = Reader.beside(path)
    try:
        return [reader.steps(name) for name in reader.streams()]
    finally:
        reader.close()


def _created(count: int) -> Finding:
    """The time to create the first and the last of many streams, each with a dataset."""
    times = []
    with directory(in_memory=True) as place:
        store = new_store(place / "releases.db")
        for number in range(count):
            store.add_dataset(f"d{number}", plan().guarantee)
            began = time.perf_counter()
            store.add_stream(f"s{number}", plan(), dataset=f"d{number}")
            times.append(time.perf_counter() - began)
        size = (place / "releases.db.mark").stat().st_size
        store.close()
    first, last = (sorted(part)[50] for part in (times[1:102], times[-101:]))
    progress(f"creation: {first:.5f} s, {last:.5f} s, mark {size} bytes")
    return Finding(
        f"creation of {count} streams, each with a dataset, in memory",
        "the last takes at most twice the time of the first",
        f"median of 101: first {1000 * first:.2f} ms, last {1000 * last:.2f} ms; mark "
        f"{size / 2**20:.2f} MiB",
        passed=last <= 2 * first,
    )
