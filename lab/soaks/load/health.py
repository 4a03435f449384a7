"""Asks /health every 20 ms, in a process: `python -m lab.soaks.load.health PORT SECONDS`.

The same process also asks a server that does nothing else, as a reference: on a busy machine its
responses are late too.  With `serve` in place of the port the process is that server.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lab.soaks.load.http_clients import Tally, polling

LATEST = 0.1  # seconds within which /health must respond
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


@dataclass
class Health:
    """The responses of /health, and of the reference meanwhile."""

    own: Tally
    reference: Tally

    @property
    def in_time(self) -> bool:
        """Whether /health was in time, or as late as twice the reference on a busy machine."""
        return self.own.slowest <= max(LATEST, 2 * self.reference.slowest)

    @property
    def words(self) -> str:
        """The slowest responses."""
        own, reference = (1000 * tally.slowest for tally in (self.own, self.reference))
        most = 1000 * self.own.quantile(0.99)
        return (
            f"/health at most {own:.0f} ms, 99 % within {most:.0f} ms (an idle server on this "
            f"machine: at most {reference:.0f} ms)"
        )


async def watched(port: int, seconds: float) -> Health:
    """What a process of its own sees of /health, and of an idle server, for some seconds."""
    server = await _started("serve")
    assert server.stdout is not None
    reference = int(await server.stdout.readline())
    try:
        watchers = [await _started(str(one), str(seconds)) for one in (port, reference)]
        outs = await asyncio.gather(*(watcher.communicate() for watcher in watchers))
    finally:
        server.kill()
        await server.wait()
    return Health(*(_tally(json.loads(out)) for out, _ in outs))


async def _started(*arguments: str) -> asyncio.subprocess.Process:
    command = [sys.executable, "-m", "lab.soaks.load.health", *arguments]
    return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)


def _tally(content: list[Any]) -> Tally:
    tally = Tally()
    for status, took in content:
        tally.statuses[status] += 1
        tally.seconds.append(took)
    return tally


async def _watch(port: int, seconds: float) -> None:
    tally = Tally()
    until = asyncio.get_running_loop().time() + seconds
    await polling(port, ["/health"], until, tally, pause=0.02)
    statuses = [status for status, count in tally.statuses.items() for _ in range(count)]
    print(json.dumps(list(zip(statuses, tally.seconds, strict=True))))


async def _serve() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):  # the client has left
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(_ANSWER)

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(_serve())
    else:
        asyncio.run(_watch(int(sys.argv[1]), float(sys.argv[2])))
