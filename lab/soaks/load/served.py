"""A build of the service in a process of its own: `python -m lab.soaks.load.served BUILD ...`."""

from __future__ import annotations

import http.client
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Served:
    """A running service."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def ask(
        self, method: str, path: str, content: Any = None, *, timeout: float = 30.0
    ) -> tuple[int, Any]:
        """The status and the document of a response; status 0 if there is none in time."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        body = None if content is None else json.dumps(content)
        headers = {} if content is None else {"Content-Type": "application/json"}
        try:
            line.request(method, path, body, headers)
            answer = line.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            return 0, None
        finally:
            line.close()
        with suppress(ValueError):
            return answer.status, json.loads(text)
        return answer.status, text

    def memory(self) -> int:
        """The memory of the process in bytes."""
        fields = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def peak(self) -> int:
        """The largest memory of the process so far, in bytes."""
        for line in (
            Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii").split("\n")
        ):
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
        return 0

    def stop(self, patience: float = 60.0) -> tuple[float, int | None]:
        """Send SIGTERM; the seconds until the process ended, and its status, None if it did not."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            status: int | None = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            status = None
        return time.monotonic() - began, status


@contextmanager
def served(
    where: str | Path, directory: Path, build: str = "as_it_is", *, clock: Path | None = None
) -> Iterator[Served]:
    """A build that serves the store at `where`, until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = int(found.getsockname()[1])
    log = directory / f"log-{build}"
    command = [sys.executable, "-m", "lab.soaks.load.served", build, str(where), str(port)]
    environment = dict(os.environ) | ({} if clock is None else {"HUSHFADE_SOAK_CLOCK": str(clock)})
    if str(where).startswith("postgresql"):
        command.append(str(directory / "mark"))
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
    made = Served(process, port, log)
    try:
        deadline = time.monotonic() + 120
        while made.ask("GET", "/health", timeout=5)[0] != 200:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(log.read_text(encoding="utf-8", errors="replace")[-2000:])
            time.sleep(0.1)
        yield made
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()


def main() -> None:
    """Serve until a signal stops the process."""
    from hushfade.serve.process import serve
    from hushfade.store import Store
    from lab.soaks.load.builds import BUILDS

    build, where, port, *mark = sys.argv[1:]
    logging.basicConfig(level=logging.WARNING)
    store = Store.open(where, mark=mark[0] if mark else None)
    serve(BUILDS[build](store), "127.0.0.1", int(port))
    store.close()


if __name__ == "__main__":
    main()
