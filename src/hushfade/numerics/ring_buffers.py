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
    """The block into the ring, from row `here` on; of a longer block, what its end leaves there."""
    if len(block) > len(ring):
        here = (here + len(block)) % len(ring)
        block = block[len(block) - len(ring) :]
    k = min(len(block), len(ring) - here)
    rows, rest = ring[here : here + k], block[k:]  # their indices are never negative
    for i in range(k):
        rows[i] = block[i]
    for i in range(len(rest)):
        ring[i] = rest[i]
