"""Seeded bugs in older states, forked processes and short seeds."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from hushfade import FreshNoise, Plan, Stream
from hushfade.audit import FULL, TINY
from hushfade.audit.subject import Live
from hushfade.crossing.noise_sources import NoiseSource
from hushfade.crossing.random_bits import Drawer
from hushfade.stream.saved_state import read
from lab.audits.seeded_bugs.subjects import SINGLE, Bug, Seeded


class Rolling(Seeded):
    """An older state is accepted, and its steps are drawn again."""

    def load(self, data: bytes, noise: NoiseSource | None, traces: Sequence[bytes] = ()) -> Live:
        """The stream of the state, however old."""
        older = read(data)
        return Stream(older.plan, noise, os.urandom(16), older)


class UnawareTurn:
    """Ownership of steps that does not notice forks."""

    def __init__(self, turn: Any) -> None:
        self.turn, self.lock = turn, Lock()

    @property
    def taken(self) -> int:
        """The number of steps that were taken."""
        taken: int = self.turn.taken
        return taken

    @taken.setter
    def taken(self, steps: int) -> None:
        self.turn.taken = steps

    @property
    def saved(self) -> bool:
        """True if there is a saved state."""
        saved: bool = self.turn.saved
        return saved

    @saved.setter
    def saved(self, value: bool) -> None:
        self.turn.saved = value

    def remember(self) -> None:
        """Remember the steps that a saved stream has taken."""
        self.turn.remember()

    def own(self) -> Any:
        """The lock, in any process."""
        return self.lock


class Inherited(Seeded):
    """A forked process continues its parent's stream with its parent's noise."""

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream that does not notice forks."""
        if isinstance(noise, FreshNoise):
            stream._engine.drawer = self.bound(noise, plan.digest)
        stream._turn = UnawareTurn(stream._turn)
        return stream

    def bound(self, noise: NoiseSource, digest: bytes) -> Drawer:
        """Noise that does not notice forks."""
        if isinstance(noise, FreshNoise):
            return Drawer(os.urandom(32), fresh=False)
        return noise.bound(digest)


class ShortSeeds(Seeded):
    """Fresh noise comes from a seed of a few bits."""

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def bound(self, noise: NoiseSource, digest: bytes) -> Drawer:
        """Noise from a short seed."""
        if isinstance(noise, FreshNoise):
            seed = int.from_bytes(os.urandom(8), "big") >> (64 - self.bits)
            return Drawer(hashlib.sha256(b"%d" % seed).digest(), fresh=True)
        return noise.bound(digest)


BUGS: dict[str, Bug] = {
    "redraw on replay: an older state": Bug(Rolling(), SINGLE),
    "fork sharing noise": Bug(Inherited(), SINGLE),
    "seeds of 16 bits": Bug(ShortSeeds(16), SINGLE),
    "seeds of 32 bits": Bug(ShortSeeds(32), SINGLE, replace(TINY, starts=FULL.starts)),
}
