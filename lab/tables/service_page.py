"""Photographs the live page of the service: docs/images/service-page.png.

The service has the stream of the tutorial docs/tutorials/as-a-service.md.  Its noise is fresh, so
every run draws another series.  The page is taken by a headless Chromium.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from threading import Thread

import numpy as np

import hushfade as hf
from hushfade import demo
from hushfade.serve import Service
from hushfade.serve.process import Server
from hushfade.store import Batch, Store
from lab.paths import IMAGES
from lab.progress import progress

PICTURE = IMAGES / "service-page.png"
FIRST, STEPS = 24 * 31, 24 * 21  # three weeks from the first of February


def main() -> None:
    """Serve three weeks of late departures, and photograph the page."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        progress("not drawn: docs/images/service-page.png, since Chromium is not installed")
        return
    with tempfile.TemporaryDirectory() as directory, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
        free.close()
        server = Server(Service(stored(Path(directory) / "releases.db")), "127.0.0.1", port)
        thread = Thread(target=server.run)
        thread.start()
        try:
            while not server.started:
                time.sleep(0.1)
            photograph(chromium, f"http://127.0.0.1:{port}/", Path(directory))
        finally:
            server.should_exit = True
            thread.join()
    progress("written: docs/images/service-page.png")


def stored(place: Path) -> Store:
    """The store of the tutorial after three weeks."""
    store = Store.open(place)
    store.add_dataset("flights", hf.Guarantee(epsilon=2, delta=1e-6))
    plan = hf.plan(hf.Exponential(half_life=24), hf.Guarantee(epsilon=1, delta=1e-6), resolution=1)
    store.add_stream("late", plan, dataset="flights")
    start = time.time_ns() - STEPS * 3600 * 10**9
    for step, count in enumerate(late_by_hour()[FIRST : FIRST + STEPS].tolist(), 1):
        units = np.array([count], dtype=np.int64)
        batch = Batch("late", "airports", step, count, lanes=np.array([0]), units=units)
        store.accept([batch])
        store.close_step("late", step, closed=start + step * 3600 * 10**9)
    return store


def late_by_hour() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The number of late departures of all airports in each hour of the year."""
    hours = np.zeros(24 * 365, dtype=np.int64)
    start = np.datetime64("2013-01-01T00", "h")
    for line in demo.events().decode().splitlines()[1:]:
        hour, _, delay = line.split(",")
        if delay and int(delay) > 15:
            hours[int((np.datetime64(hour, "h") - start).astype(int))] += 1
    return hours


def photograph(chromium: str, address: str, directory: Path) -> None:
    """Write the page as a picture, a few seconds after it was opened."""
    options = (
        "--headless --no-sandbox --disable-gpu --no-first-run --hide-scrollbars "
        "--disable-background-networking --disable-component-update --disable-sync "
        "--virtual-time-budget=8000 --window-size=1100,760"
    )
    command = [
        chromium, *options.split(), f"--user-data-dir={directory / 'browser'}",
        f"--screenshot={PICTURE}", address,
    ]  # fmt: skip
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120
    )
