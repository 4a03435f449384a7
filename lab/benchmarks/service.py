"""The service: records stored per second, compared with plain SQLite commits, and a store's size.

The yardstick is the plain program: a row for each record, one transaction for each batch, with a
write-ahead log and synchronous = FULL.  The service does the same for 64 clients at a time over
HTTP on loopback: it parses, clips and sums records, remembers each sender's sequence, commits the
waiting batches together, and answers.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import apsw
import numpy as np

import hushfade as hf
from hushfade.store import Batch, Store
from lab.benchmarks import memory
from lab.benchmarks.report import Section, ratio_section, seconds
from lab.benchmarks.timing import Job, interleaved, ratio

GOAL = 2.0  # times as long as plain commits: half as many records per second
SIZES = {1: 2000, 100: 1000, 10_000: 64}  # records per batch, and batches per round
CLIENTS = 64
STREAM = "late"
STEPS = 1000
ONE = hf.Guarantee(epsilon=1, delta=1e-6)
HUNDRED = [f"k{number:02d}" for number in range(100)]
PLANS = {
    "exponential": hf.plan(hf.Exponential(half_life=24), ONE),
    "exponential, 100 keys": hf.plan(hf.Exponential(half_life=24), ONE, keys=HUNDRED),
    "window of 168": hf.plan(hf.SlidingWindow(length=168), ONE),
    "power 1, 100 keys": hf.plan(hf.PowerLaw(power=1), ONE, keys=HUNDRED),
}


def sections(rounds: int) -> Iterator[Section]:
    """The records accepted per second, and the size of a store."""
    yield accepted(rounds)
    yield kept()


def accepted(rounds: int) -> Section:
    """Batches of three sizes, each over HTTP and as plain commits."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        port = stack.enter_context(_service(Path(directory) / "releases.db"))
        jobs: dict[str, Job] = {}
        for size, batches in SIZES.items():
            path = Path(directory) / f"plain-{size}.db"
            jobs[f"plain, {size}"] = _plain(path, size, batches)
            jobs[f"service, {size}"] = _sent(port, size, batches)
        times = interleaved(jobs, rounds)
    rates = "; ".join(
        f"batches of {size}: {size * batches / min(times[f'service, {size}']):.3g} over HTTP, "
        f"{size * batches / min(times[f'plain, {size}']):.3g} plain"
        for size, batches in SIZES.items()
    )
    return ratio_section(
        "Service: records on the disk",
        "Yardstick: as many batches committed to SQLite without a service, one row per record, "
        f"synchronous FULL.  {CLIENTS} clients send over HTTP on the same machine, and each waits "
        f"for its answer.  Records per second at best: {rates}.",
        [
            ratio(
                f"batches of {size}",
                times[f"service, {size}"],
                times[f"plain, {size}"],
                GOAL,
            )
            for size in SIZES
        ],
    )


def kept() -> Section:
    """The size of a store for some plans, after STEPS steps with a batch each."""
    rows = []
    for name, plan in PLANS.items():
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "releases.db"
            store = _made(path, plan)
            empty, began = path.stat().st_size, time.perf_counter()
            for step in range(1, STEPS + 1):
                lanes = np.arange(plan.grid.lanes)
                batch = Batch(STREAM, "client", step, len(lanes), lanes, np.ones_like(lanes))
                store.accept([batch])
                store.close_step(STREAM, step, closed=0)
            took = (time.perf_counter() - began) / STEPS
            store.close()  # copies the log into the file
            size = (path.stat().st_size - empty) / STEPS
            again = time.perf_counter()
            store = Store.open(path)
            store.live(STREAM)
            again = time.perf_counter() - again
            held = memory.array_bytes(store.live(STREAM)._stream)
            store.close()
        rows.append((name, f"{size:.0f}", f"{held:.0f}", seconds(took), seconds(again)))
    return Section(
        "Service: size of a store",
        f"SQLite, {STEPS} steps with one batch each: the bytes of the file per step with its "
        "release and its ledger entry, the bytes in memory, the time of a durable batch and close, "
        "and the time to open the store.",
        ("plan", "bytes per step", "bytes in memory", "batch and close", "time to open"),
        rows,
    )


def _plain(path: Path, size: int, batches: int) -> Job:
    connection = apsw.Connection(str(path))
    for pragma in ("journal_mode=WAL", "synchronous=FULL"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("CREATE TABLE records (value REAL NOT NULL)")
    rows = [(1.0,)] * size

    def job() -> None:
        for _ in range(batches):
            with connection:
                connection.executemany("INSERT INTO records (value) VALUES (?)", rows)

    return job


@contextmanager
def _service(path: Path) -> Iterator[int]:
    """The port of `hushfade serve` in a separate process, with one stream."""
    _made(path, PLANS["exponential"]).close()
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = int(found.getsockname()[1])
    command = [sys.executable, "-m", "hushfade", "serve", "--store", str(path), "--rate", "1e6"]
    process = subprocess.Popen([*command, "--port", str(port)], stderr=subprocess.DEVNULL)
    try:
        while not _answers(port):
            if process.poll() is not None:
                raise RuntimeError("the service ended before it answered")
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


def _made(path: Path, plan: hf.Plan) -> Store:
    store = Store.open(path)
    store.add_dataset("clinics", plan.guarantee)
    store.add_stream(STREAM, plan, dataset="clinics")
    return store


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


def _sent(port: int, size: int, batches: int) -> Job:
    numbers = [count() for _ in range(CLIENTS)]

    async def client(name: int, waiting: Iterator[int]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in waiting:
            batch = {"sender": f"{size} {name}", "sequence": next(numbers[name])}
            batch["records"] = [1] * size
            body = json.dumps(batch).encode()
            head = (
                f"POST /v1/streams/{STREAM}/records HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            (length,) = re.findall(rb"content-length: (\d+)", answer)
            content = json.loads(await reader.readexactly(int(length)))
            assert content["status"] == "accepted", content
        writer.close()

    async def all_of_them() -> None:
        waiting = iter(range(batches))
        await asyncio.gather(*(client(name, waiting) for name in range(CLIENTS)))

    return lambda: asyncio.run(all_of_them())
