"""Seeded bugs in the binding of noise to its key, plan, stream name and epoch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any

from hushfade import KeyedNoise, Plan
from hushfade.check import Signed
from hushfade.crossing.noise_sources import NoiseSource
from hushfade.crossing.random_bits import Drawer
from hushfade.crossing.sampling_tables import Table
from lab.audits.seeded_bugs.subjects import SINGLE, Bug, Seeded

Bind = Callable[[KeyedNoise, bytes], Any]
"""From keyed noise and the digest of a plan to a drawer."""


class SameName(Seeded):
    """The name of the stream, or its epoch, has no part in the key."""

    def __init__(self, **same: Any) -> None:
        self.same = same

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream with the noise of another name or epoch."""
        if isinstance(noise, KeyedNoise):
            stream._engine.drawer = bound_to(noise, plan.digest, **self.same)
        return stream


class Redrawing(Seeded):
    """Keyed noise takes a new key every time: a re-run draws again."""

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream with a new key."""
        if isinstance(noise, KeyedNoise):
            stream._engine.drawer = Drawer(os.urandom(32), fresh=False)
        return stream


class Rekeyed(Seeded):
    """Keyed noise is bound to less than it should be."""

    def __init__(self, bind: Bind) -> None:
        self.bind = bind

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream with wrongly bound noise."""
        if isinstance(noise, KeyedNoise):
            stream._engine.drawer = self.bind(noise, plan.digest)
        return stream

    def bound(self, noise: NoiseSource, digest: bytes) -> Any:
        """Wrongly bound noise."""
        return self.bind(noise, digest) if isinstance(noise, KeyedNoise) else noise.bound(digest)


def bound_to(
    noise: KeyedNoise,
    digest: bytes,
    *,
    key: bytes | None = None,
    stream: str | None = None,
    epoch: int | None = None,
) -> Drawer:
    """The noise bound to another key, name or epoch."""
    return KeyedNoise(
        noise._key if key is None else key,
        stream=noise.stream if stream is None else stream,
        epoch=noise.epoch if epoch is None else epoch,
    ).bound(digest)


def without_a_boundary(noise: KeyedNoise, digest: bytes) -> Drawer:
    """Name and epoch are joined as text: ("n", 10) and ("n1", 0) give the same key."""
    material = noise._key + digest + f"{noise.stream}{noise.epoch}".encode()
    return Drawer(hashlib.sha256(material).digest(), fresh=False)


class ShiftedDrawer:
    """A drawer that draws for a later step."""

    def __init__(self, drawer: Drawer, by: int) -> None:
        self.drawer, self.by = drawer, by

    def draws(self, law: Table, step: int, steps: int, lanes: int, *, lane: int = 0) -> Signed:
        """The draws of later steps."""
        return self.drawer.draws(law, step + self.by, steps, lanes, lane=lane)


def later(noise: KeyedNoise, digest: bytes) -> ShiftedDrawer:
    """An epoch has the noise of the first epoch, ten steps later per epoch."""
    return ShiftedDrawer(bound_to(noise, digest, epoch=0), 10 * min(noise.epoch, 10**6))


BUGS: dict[str, Bug] = {
    "redraw on replay: keyed noise": Bug(Redrawing(), SINGLE),
    "key reuse across streams": Bug(SameName(stream="same"), SINGLE),
    "epoch without effect": Bug(SameName(epoch=0), SINGLE),
    "stream's name cut to 2 letters": Bug(
        Rekeyed(lambda noise, digest: bound_to(noise, digest, stream=noise.stream[:2])), SINGLE
    ),
    "stream's name cut to 40 letters": Bug(
        Rekeyed(lambda noise, digest: bound_to(noise, digest, stream=noise.stream[:40])), SINGLE
    ),
    "epoch modulo 2": Bug(
        Rekeyed(lambda noise, digest: bound_to(noise, digest, epoch=noise.epoch % 2)), SINGLE
    ),
    "epoch of 32 bits": Bug(
        Rekeyed(lambda noise, digest: bound_to(noise, digest, epoch=noise.epoch % 2**32)), SINGLE
    ),
    "the plan is not in the key": Bug(Rekeyed(lambda noise, digest: bound_to(noise, b"")), SINGLE),
    "31 bytes of the key": Bug(
        Rekeyed(
            lambda noise, digest: bound_to(
                noise, digest, key=hashlib.sha256(noise._key[:31]).digest()
            )
        ),
        SINGLE,
    ),
    "name and epoch joined without a separator": Bug(Rekeyed(without_a_boundary), SINGLE),
    "an epoch is another epoch, some steps later": Bug(Rekeyed(later), SINGLE),
}
