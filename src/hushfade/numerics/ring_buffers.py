"""Compiled loops on ring buffers: blocks of steps are written to them and added from them."""

from __future__ import annotations

from typing import Any

from hushfade.compiled import compiled, inlined


@inlined
def add_past(out: Any, factor: Any, ring: Any, row: int, n: int) -> None:
    """out += factor · ring, over n rows from `row` on; a negative `row` counts from the end."""
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
    """The block into the ring, from row `here` on."""
    k = min(len(block), len(ring) - here)
    for i in range(k):
        ring[here + i] = block[i]
    for i in range(k, len(block)):
        ring[i - k] = block[i]
