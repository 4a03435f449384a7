"""Compiled loops that write blocks of steps to ring buffers and add rows from them."""

from __future__ import annotations

from typing import Any

from hushfade.compiled import compiled, inlined


@inlined
def add_past(out: Any, factor: Any, ring: Any, row: int, n: int) -> None:
    """Add factor · ring to `out`, for n rows from `row`; a negative `row` counts from the end."""
    if row < 0:
        row += len(ring)
    k = min(n, len(ring) - row)
    past = ring[row : row + k]
    for i in range(k):
        out[i] += factor * past[i]
    for i in range(k, n):
        out[i] += factor * ring[i - k]


@compiled
def write(ring: Any, here: int, block: Any) -> None:
    """Write the block to the ring from row `here`; a longer block overwrites its own start."""
    if len(block) > len(ring):
        here = (here + len(block)) % len(ring)
        block = block[len(block) - len(ring) :]
    write_short(ring, here, block)


@inlined
def write_short(ring: Any, here: int, block: Any) -> None:
    """The same for a block that is at most as long as the ring."""
    k = min(len(block), len(ring) - here)
    for i in range(k):
        ring[here + i] = block[i]
    for i in range(k, len(block)):
        ring[i - k] = block[i]
