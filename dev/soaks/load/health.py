"""Asks /health every 20 ms, in a process: `python -m dev.soaks.load.health PORT SECONDS`."""

from __future__ import annotations

import asyncio
import json
import sys

from dev.soaks.load.http_clients import Tally, polling


async def watched(port: int, seconds: float) -> Tally:
    """What a process of its own sees of /health for this many seconds."""
    command = [sys.executable, "-m", "dev.soaks.load.health", str(port), str(seconds)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    tally = Tally()
    for status, took in json.loads(out):
        tally.statuses[status] += 1
        tally.seconds.append(took)
    return tally


async def _watch(port: int, seconds: float) -> None:
    tally = Tally()
    until = asyncio.get_running_loop().time() + seconds
    await polling(port, "/health", until, tally, pause=0.02)
    statuses = [status for status, count in tally.statuses.items() for _ in range(count)]
    print(json.dumps(list(zip(statuses, tally.seconds, strict=True))))


if __name__ == "__main__":
    asyncio.run(_watch(int(sys.argv[1]), float(sys.argv[2])))
