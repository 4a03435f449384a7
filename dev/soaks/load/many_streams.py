"""Many streams: two thousand with a clock of one second."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

from dev.findings import Finding, Part
from dev.progress import progress
from dev.soaks.load.places import directory, every_second, new_store, plan
from dev.soaks.load.served import Served, served


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
    for build in ("as_it_is", "fifty_steps_at_once"):
        control = build != "as_it_is"
        with directory() as place:
            shutil.copytree(template, place, dirs_exist_ok=True)
            _begin(place / "releases.db")
            with served(place / "releases.db", place, build) as service:
                began = time.monotonic()
                time.sleep(seconds)
                steps, lags = _state(service)
                took = time.monotonic() - began
                log = service.log.read_text(encoding="utf-8", errors="replace")
        spread = max(steps) - min(steps)
        progress(f"streams, {build}: steps {min(steps)} to {max(steps)}, lag {max(lags)}")
        rate = sum(steps) / took
        findings.append(
            Finding(
                ("a build that closes up to 50 steps of one stream, " if control else "")
                + f"{count} streams, steps of 1 s, {seconds:.0f} s",
                "some streams are far ahead of others" if control else "all streams within 2 steps",
                f"steps {min(steps)} to {max(steps)}, {rate:.0f} per second; lag 0 to {max(lags)}; "
                f"log mentions the lag: {'yes' if 'behind the clock' in log else 'no'}",
                passed=spread > 2 if control else spread <= 2,
                is_bug=control,
            )
        )
        if not control:
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
        "of each stream, in transactions of up to 250 steps.",
        findings,
    )


def _begin(path: object) -> None:
    """Let all streams begin in two seconds."""
    import apsw

    connection = apsw.Connection(str(path))
    start = time.time_ns() + 2 * 10**9
    settings = json.dumps({"dataset": "d", "every": 10**9, "start": start})
    connection.execute("UPDATE streams SET settings = ?", (settings,))
    connection.close()


def _state(service: Served) -> tuple[list[int], list[int]]:
    status, found = service.ask("GET", "/v1/streams", timeout=120)
    assert status == 200, status
    listed = found["streams"]
    return [x["step"] for x in listed], [max(0, x["lag"]) for x in listed]


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
