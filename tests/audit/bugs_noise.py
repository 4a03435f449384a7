"""More seeded bugs: behind one source of noise, one way to step, one part of a key, one pair."""

from __future__ import annotations

import hashlib
import math
import os

import numpy as np

from hushfade import Exponential, FreshNoise, KeyedNoise, Refused, Stream, UnsafeSeededNoise, plan
from hushfade.crossing.laws import gaussian
from hushfade.crossing.noise_sources import Drawer
from hushfade.public.release import Release
from hushfade.stream.saved_state import read
from tests.audit.bugs import ENDING, KEYED, ONE, SINGLE, Bug, Proxy, Seeded, Wrapped

TEN = plan(Exponential(half_life=8), ONE, keys=[f"key {place}" for place in range(10)])


class Only(Seeded):
    """Streams of some sources are changed, the others are right."""

    def __init__(self, kinds, change):
        self.kinds, self.change = kinds, change

    def wrong(self, stream, plan, noise):
        if isinstance(noise, self.kinds):
            self.change(stream)
        return stream


class Loaded(Only):
    """Only what is loaded is wrong."""

    def start(self, plan, noise):
        return plan.start(noise)


DEFAULT, FRESH, KEY = (type(None),), (FreshNoise,), (KeyedNoise,)


def small(stream):
    stream._engine.law = gaussian.table(stream.plan.sigma / 100)


def drawn_by(change):
    def changed(stream):
        stream._engine.drawer = Wrapped(stream._engine.drawer, change)

    return changed


def keyed_by(secret):
    def changed(stream):
        stream._engine.drawer = Drawer(hashlib.sha256(secret()).digest(), fresh=True)

    return changed


def seeded(stream):
    stream._engine.drawer = UnsafeSeededNoise(0).bound(stream.plan.digest)


def positive(z, step):
    return np.abs(z) // 2


def one_for_all(z, step):
    return np.repeat(z[:, :1], z.shape[1], axis=1)


# Ways to step --------------------------------------------------------------------------------


class Door:
    """A stream whose `step`, `step_total` or `run` does something else."""

    def __init__(self, stream, **other):
        self.stream = stream
        self.__dict__.update({name: work(stream) for name, work in other.items()})

    def __getattr__(self, name):
        return getattr(self.stream, name)


class Doors(Seeded):
    def __init__(self, **other):
        self.other = other

    def wrong(self, stream, plan, noise):
        return Door(stream, **self.other)


def without_noise(stream):
    def step(records=()):
        drawer, stream._ahead_until = stream._engine.drawer, stream.steps
        stream._engine.drawer = Wrapped(drawer, lambda z, step: z * 0)
        try:
            return stream.step(records)
        finally:
            stream._engine.drawer, stream._ahead_until = drawer, stream.steps

    return step


def told_small(method):
    def made(stream):
        def step(records=()):
            found = getattr(stream, method)(records)
            return found._replace(stddev=found.stddev / 10)

        return step

    return made


def past_the_end(method):
    def made(stream):
        def step(records=()):
            if stream.steps >= (stream.plan.horizon or math.inf):
                return Release(stream.steps + 1, 0.0, 1.0)
            return getattr(stream, method)(records)

        return step

    return made


def also_in_children(method):
    def made(stream):
        process = os.getpid()

        def step(records=()):
            if os.getpid() != process:
                return Release(stream.steps + 1, 0.0, 1.0)
            return getattr(stream, method)(records)

        return step

    return made


class TakenByStep(Seeded):
    """An older state is refused by run and by step_total, and taken by step."""

    def load(self, data, noise, traces=()):
        try:
            return super().load(data, noise, traces)
        except Refused:
            found = read(data)
            stream = Stream(found.plan, noise, os.urandom(16), found)

            def refuse(stream):
                def refused(totals):
                    raise Refused("not again")

                return refused

            return Door(stream, run=refuse, step_total=refuse)


# Floats ---------------------------------------------------------------------------------------


def both(one, other):
    return len(one).to_bytes(8, "little") + one + other


def parted(data):
    length = 8 + int.from_bytes(data[:8], "little")
    return data[8:length], data[length:]


class Added(Proxy):
    """M x and L z, each right and from integers, as floats, and only then added."""

    def __init__(self, truth, noise):
        super().__init__(truth, truth.plan)
        truth._engine.drawer, self.noise = (
            Wrapped(truth._engine.drawer, lambda z, step: 0 * z),
            noise,
        )

    def added(self, release):
        return release._replace(value=release.value + self.noise.step().value)

    def step(self, records=()):
        return self.added(self.stream.step(records))

    def step_total(self, total):
        return self.added(self.stream.step_total(total))

    def run(self, totals):
        return self.stream.run(totals) + self.noise.run(np.zeros(np.shape(totals)))

    def save(self):
        return both(self.stream.save(), self.noise.save())

    def trace(self):
        return both(self.stream.trace(), self.noise.trace())


class Adding(Seeded):
    """What crosses is right; how a release is rounded tells the true sum."""

    none = UnsafeSeededNoise(0)

    def start(self, plan, noise):
        return Added(plan.start(self.none), plan.start(noise))

    def load(self, data, noise, traces=()):
        states, since = parted(data), [parted(trace) for trace in traces]
        right = Seeded().load
        return Added(
            right(states[0], self.none, [trace for trace, _ in since]),
            right(states[1], noise, [trace for _, trace in since]),
        )


# Parts of a key ------------------------------------------------------------------------------


class Rekeyed(Seeded):
    """Keyed noise is bound to less than it should be."""

    def __init__(self, bind):
        self.bind = bind

    def wrong(self, stream, plan, noise):
        if isinstance(noise, KeyedNoise):
            stream._engine.drawer = self.bind(noise, plan.digest)
        return stream

    def bound(self, noise, digest):
        return self.bind(noise, digest) if isinstance(noise, KeyedNoise) else noise.bound(digest)


def named(noise, digest, **said):
    return KeyedNoise(
        said.get("key", noise._key),
        stream=said.get("stream", noise.stream),
        epoch=said.get("epoch", noise.epoch),
    ).bound(digest)


def joined(noise, digest):
    said = noise._key + digest + f"{noise.stream}{noise.epoch}".encode()
    return Drawer(hashlib.sha256(said).digest(), fresh=False)


class Shifted:
    def __init__(self, drawer, by):
        self.drawer, self.by = drawer, by

    def draws(self, law, step, steps, lanes, *, lane=0):
        return self.drawer.draws(law, step + self.by, steps, lanes, lane=lane)


def later(noise, digest):
    return Shifted(named(noise, digest, epoch=0), 10 * min(noise.epoch, 10**6))


# Correlation ---------------------------------------------------------------------------------


class Moving:
    """The mean of two draws, so many steps apart."""

    def __init__(self, drawer, lag):
        self.drawer, self.lag = drawer, lag

    def draws(self, law, step, steps, lanes, *, lane=0):
        one = self.drawer.draws(law, step, steps, lanes, lane=lane)
        two = self.drawer.draws(law, step + self.lag, steps, lanes, lane=lane)
        return np.rint((one + two) / math.sqrt(2)).astype(np.int64)


class Correlated(Seeded):
    def __init__(self, lag):
        self.lag = lag

    def wrong(self, stream, plan, noise):
        stream._engine.drawer = Moving(stream._engine.drawer, self.lag)
        return stream


def last_is_minus_the_third(z, step):
    z = z.copy()
    if z.shape[1] % 10 == 0:
        z[:, 9::10] = -z[:, 2::10]
    return z


ANY = (object,)

NOISE_BUGS: dict[str, Bug] = {
    "default noise a hundredth": Bug(Only(DEFAULT, small), SINGLE),
    "default noise from a seed": Bug(Only(DEFAULT, seeded), SINGLE),
    "default noise with a mean": Bug(Only(DEFAULT, drawn_by(positive)), KEYED),
    "fresh noise a hundredth": Bug(Only(FRESH, small), SINGLE),
    "fresh noise with a mean": Bug(Only(FRESH, drawn_by(positive)), KEYED),
    "fresh noise shared between keys": Bug(Only(FRESH, drawn_by(one_for_all)), KEYED),
    "keyed noise a hundredth": Bug(Only(KEY, small), SINGLE),
    "keyed noise shared between keys": Bug(Only(KEY, drawn_by(one_for_all)), KEYED),
    "streams with default noise from 16 bits": Bug(
        Only(DEFAULT, keyed_by(lambda: os.urandom(2))), SINGLE
    ),
    "streams with fresh noise from 16 bits": Bug(
        Only(FRESH, keyed_by(lambda: os.urandom(2))), SINGLE
    ),
    "loaded with default noise, a hundredth": Bug(Loaded(DEFAULT, small), SINGLE),
    "loaded with fresh noise, a hundredth": Bug(Loaded(FRESH, small), SINGLE),
    "loaded with fresh noise, the same key": Bug(Loaded(FRESH, keyed_by(lambda: b"")), SINGLE),
    "step without noise": Bug(Doors(step=without_noise), SINGLE),
    "step without noise, keys": Bug(Doors(step=without_noise), KEYED),
    "stddev of step a tenth": Bug(Doors(step=told_small("step")), SINGLE),
    "stddev of step_total a tenth": Bug(Doors(step_total=told_small("step_total")), SINGLE),
    "step after the horizon": Bug(Doors(step=past_the_end("step")), ENDING),
    "step_total after the horizon": Bug(Doors(step_total=past_the_end("step_total")), ENDING),
    "an older state taken by step": Bug(TakenByStep(), SINGLE),
    "fork by step": Bug(Doors(step=also_in_children("step")), SINGLE),
    "fork by step_total": Bug(Doors(step_total=also_in_children("step_total")), SINGLE),
    "stream's name cut to 2 letters": Bug(
        Rekeyed(lambda noise, digest: named(noise, digest, stream=noise.stream[:2])), SINGLE
    ),
    "stream's name cut to 40 letters": Bug(
        Rekeyed(lambda noise, digest: named(noise, digest, stream=noise.stream[:40])), SINGLE
    ),
    "epoch modulo 2": Bug(
        Rekeyed(lambda noise, digest: named(noise, digest, epoch=noise.epoch % 2)), SINGLE
    ),
    "epoch of 32 bits": Bug(
        Rekeyed(lambda noise, digest: named(noise, digest, epoch=noise.epoch % 2**32)), SINGLE
    ),
    "the plan not in the key": Bug(Rekeyed(lambda noise, digest: named(noise, b"")), SINGLE),
    "31 bytes of the key": Bug(
        Rekeyed(
            lambda noise, digest: named(noise, digest, key=hashlib.sha256(noise._key[:31]).digest())
        ),
        SINGLE,
    ),
    "name and epoch without a boundary": Bug(Rekeyed(joined), SINGLE),
    "an epoch is another, some steps later": Bug(Rekeyed(later), SINGLE),
    "noise correlated at lag 100": Bug(Correlated(100), SINGLE),
    "the noise of two of ten keys is opposite": Bug(
        Only(ANY, drawn_by(last_is_minus_the_third)), TEN
    ),
    "true sum and noise added as floats": Bug(Adding(), SINGLE),
}
