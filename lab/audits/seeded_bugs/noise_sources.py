"""Seeded bugs in the noise of one source only: default, fresh or keyed noise."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from hushfade import FreshNoise, KeyedNoise, Plan, UnsafeSeededNoise
from hushfade.audit.subject import Live
from hushfade.check import Signed
from hushfade.crossing.noise_sources import NoiseSource
from hushfade.crossing.random_bits import Drawer
from hushfade.crossing.sampling_tables import table
from hushfade.laws import Gaussian
from lab.audits.seeded_bugs.subjects import (
    KEYED,
    SINGLE,
    TEN,
    Bug,
    ChangedDrawer,
    ChangeDraws,
    Seeded,
    first_lane_for_all,
)

Break = Callable[[Any], None]
"""Puts a bug into a stream."""

DEFAULT: tuple[type, ...] = (type(None),)
FRESH: tuple[type, ...] = (FreshNoise,)
KEY: tuple[type, ...] = (KeyedNoise,)
ANY: tuple[type, ...] = (object,)


class Only(Seeded):
    """Streams with noise from some sources are wrong, all others are right."""

    def __init__(self, kinds: tuple[type, ...], change: Break) -> None:
        self.kinds, self.change = kinds, change

    def wrong(self, stream: Any, plan: Plan, noise: NoiseSource | None) -> Any:
        """A stream that is wrong if its noise is of these kinds."""
        if isinstance(noise, self.kinds):
            self.change(stream)
        return stream


class Loaded(Only):
    """Only loaded streams are wrong."""

    def start(self, plan: Plan, noise: NoiseSource | None) -> Live:
        """A right stream at step 0."""
        return plan.start(noise)


def hundredth(stream: Any) -> None:
    """Draw with a hundredth of sigma."""
    stream._engine.law = table(Gaussian(stream.plan.sigma / 100))


def from_a_seed(stream: Any) -> None:
    """Draw from a constant seed."""
    stream._engine.drawer = UnsafeSeededNoise(0).bound(stream.plan.digest)


def drawn_by(change: ChangeDraws) -> Break:
    """Pass the draws through a function."""

    def changed(stream: Any) -> None:
        stream._engine.drawer = ChangedDrawer(stream._engine.drawer, change)

    return changed


def keyed_by(secret: Callable[[], bytes]) -> Break:
    """Draw with a key made from this secret."""

    def changed(stream: Any) -> None:
        stream._engine.drawer = Drawer(hashlib.sha256(secret()).digest(), fresh=True)

    return changed


def positive(z: Signed, step: int) -> Signed:
    """Noise with a mean."""
    return np.abs(z) // 2


def last_is_minus_the_third(z: Signed, step: int) -> Signed:
    """Of ten keys the last has the third one's noise with the opposite sign."""
    z = z.copy()
    if z.shape[1] % 10 == 0:
        z[:, 9::10] = -z[:, 2::10]
    return z


BUGS: dict[str, Bug] = {
    "default noise a hundredth": Bug(Only(DEFAULT, hundredth), SINGLE),
    "default noise from a seed": Bug(Only(DEFAULT, from_a_seed), SINGLE),
    "default noise with a mean": Bug(Only(DEFAULT, drawn_by(positive)), KEYED),
    "fresh noise a hundredth": Bug(Only(FRESH, hundredth), SINGLE),
    "fresh noise with a mean": Bug(Only(FRESH, drawn_by(positive)), KEYED),
    "fresh noise shared between keys": Bug(Only(FRESH, drawn_by(first_lane_for_all)), KEYED),
    "keyed noise a hundredth": Bug(Only(KEY, hundredth), SINGLE),
    "keyed noise shared between keys": Bug(Only(KEY, drawn_by(first_lane_for_all)), KEYED),
    "streams with default noise from 16 bits": Bug(
        Only(DEFAULT, keyed_by(lambda: os.urandom(2))), SINGLE
    ),
    "streams with fresh noise from 16 bits": Bug(
        Only(FRESH, keyed_by(lambda: os.urandom(2))), SINGLE
    ),
    "loaded with default noise, a hundredth": Bug(Loaded(DEFAULT, hundredth), SINGLE),
    "loaded with fresh noise, a hundredth": Bug(Loaded(FRESH, hundredth), SINGLE),
    "loaded with fresh noise, the same key": Bug(Loaded(FRESH, keyed_by(lambda: b"")), SINGLE),
    "the noise of two of ten keys is opposite": Bug(
        Only(ANY, drawn_by(last_is_minus_the_third)), TEN
    ),
}
