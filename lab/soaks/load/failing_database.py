"""Database failures: a stopped server process, a full disk, and what senders and readers see."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hushfade.store import Store
from lab import postgres_server
from lab.findings import Finding, Part
from lab.progress import progress
from lab.soaks.load.places import directory, new_store, plan
from lab.soaks.load.served import Served, served

RECORDS = "/v1/streams/s/records"
WAIT = 12.0  # seconds that a client waits for a response


def failing_database(rounds: int) -> Part:
    """Stops of PostgreSQL's process, and full disks, with their controls."""
    findings: list[Finding] = []
    if postgres_server.programs() is not None:
        with postgres_server.server() as server:
            findings += _stopped(server, rounds)
    findings += _full(rounds)
    return Part(
        "Database failures",
        "A sender repeats each batch until it is acknowledged.  On PostgreSQL the soak stops the "
        "server process of the service's connection with SIGSTOP, so that it neither answers nor "
        "ends.  On SQLite it limits the size of the service's files with RLIMIT_FSIZE, so that "
        "writes fail as on a full disk.",
        findings,
    )


class Sender:
    """Sends batches of one record, each until it is acknowledged."""

    def __init__(self, service: Served) -> None:
        self.service, self.acknowledged = service, 0

    def send(self, timeout: float = WAIT) -> tuple[int, float]:
        """Send the next batch once; the status, and the seconds that it took."""
        began = time.monotonic()
        content = {"sender": "a", "sequence": self.acknowledged, "records": [1]}
        status, _ = self.service.ask("POST", RECORDS, content, timeout=timeout)
        self.acknowledged += status == 200
        return status, time.monotonic() - began


def _stopped(server: postgres_server.Server, rounds: int) -> Iterator[Finding]:
    for build in ("as_it_is", "without_deadlines"):
        control = build != "as_it_is"
        with directory() as place:
            where = server.new_database(f"load_{build}")
            store = new_store(where, place / "mark")
            store.add_stream("s", plan(), dataset="d")
            store.close()
            found = _stops(server, where, place, build, 1 if control else rounds)
            counted = None if control else _counted(where, place / "mark")
        progress(f"stopped, {build}: {found}, {counted}")
        slowest = max(found["refusals"])
        measured = (
            f"first response after {slowest:.1f} s, status {found['status']}; /ready "
            f"{found['ready']}; SIGTERM: "
            + ("did not end" if found["exit"] is None else f"status {found['exit']}")
            + f" after {found['took']:.1f} s"
        )
        if control:
            passed = found["status"] != 503 and found["exit"] is None
            yield Finding(
                "a build without time limits, 1 stop", "neither answers nor ends", measured,
                passed=passed, is_bug=True,
            )  # fmt: skip
        else:
            ok = found["status"] == 503 and slowest < 10 and found["exit"] == 0
            yield Finding(
                f"{rounds} stops of the server process", "503 within 10 s, status 0 at SIGTERM",
                measured, passed=ok and found["ready"] == 503,
            )  # fmt: skip
            yield Finding(
                f"{rounds} stops of the server process, then SIGCONT",
                "reconnects; 0 lost, 0 counted twice",
                f"{found['acknowledged']} batches acknowledged, {counted} counted; reconnected "
                f"within {max(found['back']):.1f} s",
                passed=counted == found["acknowledged"],
            )


def _stops(
    server: postgres_server.Server, where: str, place: Path, build: str, rounds: int
) -> dict[str, Any]:
    refusals, back, status, ready = [], [], 0, 0
    with served(where, place, build) as service:
        sender = Sender(service)
        for number in range(rounds):
            for _ in range(20):
                sender.send()
            process = _writer(where)
            os.kill(process, signal.SIGSTOP)
            try:
                status, seconds = sender.send()
                refusals.append(seconds)
                ready, _ = service.ask("GET", "/ready", timeout=5)
                if number == rounds - 1:  # the last one is stopped while the service ends
                    took, code = service.stop(25)
                    break
            finally:
                os.kill(process, signal.SIGCONT)
            began = time.monotonic()
            while sender.send()[0] != 200 and time.monotonic() < began + 60:
                time.sleep(0.1)
            back.append(time.monotonic() - began)
    return {
        "refusals": refusals, "status": status, "ready": ready, "exit": code, "took": took,
        "back": back or [0.0], "acknowledged": sender.acknowledged,
    }  # fmt: skip


def _writer(where: str) -> int:
    """The server process that holds the lock of the store."""
    import psycopg

    with psycopg.connect(where, autocommit=True) as connection:
        (found,) = connection.execute(
            "SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
            " WHERE l.locktype = 'advisory' AND d.datname = current_database()"
        ).fetchall()
    return int(found[0])


def _counted(where: str | Path, mark: Path | None = None) -> int:
    """The records that the store has accepted."""
    deadline = time.monotonic() + 30
    while True:
        try:
            store = Store.open(where, mark=mark)
            break
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
    try:
        store.verify()
        store.check()
        return store.live("s").records
    finally:
        store.close()


def _full(rounds: int) -> Iterator[Finding]:
    for build in ("as_it_is", "exiting"):
        control = build != "as_it_is"
        with directory() as place:
            where = place / "releases.db"
            store = new_store(where)
            store.add_stream("s", plan(), dataset="d")
            store.close_step("s", 1, closed=1)
            store.close()
            reads, ready, alive, back = [], [], True, [0.0]
            with served(where, place, build) as service:
                sender = Sender(service)
                for _ in range(1 if control else rounds):
                    for _ in range(20):
                        sender.send()
                    _limit(service, 1)  # the disk is full
                    refused = [sender.send()[0] for _ in range(3)]
                    time.sleep(1.0)
                    ready.append(service.ask("GET", "/ready", timeout=5)[0])
                    reads.append(service.ask("GET", "/v1/streams/s/releases", timeout=5)[0])
                    alive = reads[-1] == 200
                    if not alive:
                        break
                    _limit(service, resource.RLIM_INFINITY)
                    began = time.monotonic()
                    while sender.send()[0] != 200 and time.monotonic() < began + 30:
                        time.sleep(0.1)
                    back.append(time.monotonic() - began)
                code = service.stop(30)[1]
            counted = _counted(where)
        progress(
            f"full, {build}: {reads}, {ready}, {refused}, {code}, {counted}, {sender.acknowledged}"
        )
        measured = (
            f"changes {refused[-1]}, reads {reads[-1]}, /ready {ready[-1]}; available again within "
            f"{max(back):.1f} s; {sender.acknowledged} acknowledged, {counted} counted; status "
            f"{code} at the end"
        )
        if control:
            yield Finding(
                "a build that ends when its store fails", "reads end too", measured,
                passed=not alive, is_bug=True,
            )  # fmt: skip
        else:
            fine = set(reads) == {200} and set(ready) == {503} and code == 0
            yield Finding(
                f"{rounds} full disks", "reads go on, /ready 503; 0 lost, 0 counted twice",
                measured, passed=fine and counted == sender.acknowledged,
            )  # fmt: skip


def _limit(service: Served, size: int) -> None:
    _, hard = resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (size, hard))
