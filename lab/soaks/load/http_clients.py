"""Many HTTP clients in one event loop, each with one connection."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle


@dataclass
class Tally:
    """What clients saw: statuses, and how long each response took."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    @property
    def refused(self) -> int:
        """Responses with another status than 200."""
        return self.statuses.total() - self.statuses[200]

    @property
    def slowest(self) -> float:
        """The longest time of a response, in seconds."""
        return max(self.seconds, default=0.0)

    def quantile(self, share: float) -> float:
        """The time within which this share of the responses came."""
        return sorted(self.seconds)[int(share * (len(self.seconds) - 1))] if self.seconds else 0.0


def request(path: str, *headers: str) -> bytes:
    """A GET request."""
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""]
    return "\r\n".join(lines).encode()


async def answer(reader: asyncio.StreamReader) -> int:
    """The status of the next response, after it was read; 0 if the connection has ended."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        found = re.search(rb"content-length: (\d+)", head.lower())
        if found:
            await reader.readexactly(int(found[1]))
            return status
        while size := int((await reader.readuntil(b"\r\n")).strip(), 16):
            await reader.readexactly(size + 2)
        await reader.readexactly(2)
        return status
    except (asyncio.IncompleteReadError, ConnectionError):
        return 0


async def polling(
    port: int,
    paths: Sequence[str],
    until: float,
    tally: Tally,
    *,
    pause: float = 0.0,
    wait: float = 0.0,
) -> None:
    """Send requests for these paths in turn on one connection, until a time of the loop's clock."""
    loop, turns = asyncio.get_running_loop(), cycle(paths)
    await asyncio.sleep(wait)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        while loop.time() < until:
            began = time.monotonic()
            writer.write(request(next(turns)))
            status = await answer(reader)
            tally.statuses[status] += 1
            tally.seconds.append(time.monotonic() - began)
            if status == 0:
                writer.close()
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.sleep(pause)
    finally:
        writer.close()
