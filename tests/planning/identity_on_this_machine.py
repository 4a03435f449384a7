"""What must be the same on every machine, as JSON.

Run with `python -m tests.planning.identity_on_this_machine DIRECTORY`.  The first argument names a
directory: the first process to use it writes saved streams there, the others continue them.  A
second argument, --loss-in-digest, puts in a bug.
"""

import hashlib
import json
import sys
from itertools import islice
from pathlib import Path

import numpy as np

from hushfade import (
    CorrelatedNoise,
    CustomDecay,
    Exponential,
    Guarantee,
    KeyedNoise,
    NoDecay,
    Person,
    PowerLaw,
    SlidingWindow,
    Stream,
    plan,
)
from hushfade.audit.subject import right
from hushfade.crossing.sampling_tables import table
from hushfade.factors import factorization
from hushfade.planning import plan_file, search_taps
from hushfade.training import compact
from tests.decays import ALL_DECAYS
from tests.noise_laws import ALL_LAWS

ONE = Guarantee(epsilon=1, delta=1e-6)
PERSON = {"protects": Person(steps=5, apart=3)}
NOISE = KeyedNoise(bytes(range(1, 33)), stream="visits")
STEPS = 1000
SOME_DECAYS = ALL_DECAYS[::4]
_FEW = 20  # plans that show the bug


def plans():
    """Every decay and method; horizons, persons, gains, keys and vectors."""
    for decay in ALL_DECAYS:
        unstable = repr(decay).startswith("CustomDecay(values=(0.99")
        heavy = any(repr(decay).endswith(name) for name in ("power=0.25)", "power=0.3)"))
        horizon = 2000 if heavy else None if decay.horizon_free else 12 if unstable else 300
        yield f"{decay!r}", plan(decay, ONE, horizon=horizon)
        if not unstable:
            yield f"{decay!r}, the paper", plan(decay, ONE, horizon=100, method="square_root")
            yield (
                f"{decay!r}, gain",
                plan(decay, ONE, horizon=100, method="normalized", resolution=0.25),
            )
        if decay in SOME_DECAYS:
            yield (
                f"{decay!r}, person",
                plan(decay, Guarantee(1, 1e-6, **PERSON), horizon=100, resolution=0.25),
            )
    day, week = Exponential(half_life=24), SlidingWindow(length=7)
    pure = Guarantee(epsilon=1, delta=0)
    yield "blocks, counting", plan(NoDecay(), pure, horizon=1 << 14)
    for decay in (SlidingWindow(length=500), Exponential(half_life=500), PowerLaw(power=0.25)):
        yield f"blocks, {decay!r}", plan(decay, pure)
    yield "blocks, delta", plan(day, ONE, method="blocks", keys=["a", "b"])
    yield "unbounded", plan(NoDecay(), ONE, method="unbounded")
    yield "many steps", plan(NoDecay(), ONE, horizon=1 << 15)
    yield "many steps, gain", plan(NoDecay(), ONE, horizon=2000, method="normalized")
    yield (
        "a person, gain",
        plan(
            NoDecay(),
            Guarantee(1, 1e-6, **PERSON),
            horizon=60,
            method="normalized",
            resolution=1 / 64,
        ),
    )
    yield "keys", plan(day, ONE, low=-1, high=3, keys=["at", "ch", "de"])
    replacing = Guarantee(2, 1e-5, neighbours="replace", protects=Person(records_per_step=3))
    yield "keys, replace", plan(week, replacing, low=-1, high=1, keys=["b", "a"])
    yield "vectors", plan(day, ONE, width=3, norm=2.5)
    yield "given", plan(week, ONE, method=factorization.from_right(week, np.ones(7)))
    yield "compact", plan(day, ONE, method=compact(day))
    yield "mu", plan(day, Guarantee.from_mu(0.3))
    yield "rho", plan(day, Guarantee.from_rho(0.02, delta=1e-9))


def streamed():
    """Plans of which a stream is compared, with the digits to which their releases agree.

    None is: to the last bit.  The public half of an exponential or a power law has constants from
    the platform's exp, log and gamma.
    """
    return {
        "count": (plan(NoDecay(), ONE, horizon=STEPS), None),
        "gain": (plan(NoDecay(), ONE, horizon=STEPS, method="normalized"), None),
        "window": (plan(SlidingWindow(length=7), ONE), None),
        "custom": (plan(CustomDecay([1, 0.5, 0.25, 0.1]), ONE, low=-5, high=100), None),
        "keys": (plan(SlidingWindow(length=24), ONE, keys=["a", "b", "c"]), None),
        "vectors": (plan(CustomDecay([1, 0.5]), ONE, width=2, norm=1.0), None),
        "day": (plan(Exponential(half_life=24), ONE), 12),
        "power": (plan(PowerLaw(power=1), ONE, keys=["a", "b"]), 12),
    }


def streams(folder):
    """Private integers, noise and releases of 1000 keyed steps; the second half after a save."""
    for name, (made, digits) in streamed().items():
        lanes, unit = made.grid.lanes, made.grid.resolution
        units = np.random.default_rng(5).integers(-4000, 4000, size=(STEPS, lanes))
        z = NOISE.bound(made.digest).draws(table(made.law), 0, STEPS, lanes)
        stream = made.start(NOISE)
        first = stream.run(units[: STEPS // 2] * unit)
        saved = folder / f"{name}.state"
        if not saved.exists():
            saved.write_bytes(stream.save())
        continued = Stream.load(saved.read_bytes(), plan=made, noise=NOISE)
        released = np.concatenate([first, continued.run(units[STEPS // 2 :] * unit)])
        yield (
            name,
            {
                "private": hashed(right(made, units)),
                "noise": hashed(z),
                "digits": digits,
                "released": hashed(released) if digits is None else released.ravel().tolist(),
                "scale": made.noise_stddev,
            },
        )


def series():
    """Correlated noise: its digest, its level and 300 steps, to the last bit."""
    factors = {
        "counting": (NoDecay(), 10_000),
        "counting, long": (NoDecay(), 1 << 36),
        "day": (Exponential(half_life=24), None),
        "slow": (Exponential(half_life=1e9), None),
        "window": (SlidingWindow(length=64), None),
        "ending": (factorization.square_root(PowerLaw(power=1)).rounded(12), None),
    }
    for name, (factor, horizon) in factors.items():
        for dtype in ("float32", "float64") if name == "day" else ("float32",):
            noise = CorrelatedNoise(
                factor, 3, guarantee=ONE, norm=0.7, horizon=horizon, dtype=dtype, noise=NOISE
            )
            values = hashed(noise.next_many(300))
            yield f"{name}, {dtype}", [noise._correlation.digest.hex(), noise.stddev.hex(), values]
    person = Guarantee(1, 1e-6, **PERSON)
    noise = CorrelatedNoise(NoDecay(), 3, guarantee=person, norm=1.0, horizon=5000, noise=NOISE)
    yield "a person", [noise._correlation.digest.hex(), noise.stddev.hex()]


def draws():
    """Draws of every law and scale, with enough of each that some are decided by their share."""
    for law in ALL_LAWS:
        yield repr(law), hashed(NOISE.bound(b"").draws(table(law), 0, 50, 200))


def hashed(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def put_the_loss_into_the_digest():
    """The bug: a figure of floating point, as it was computed, is a part of identity."""
    covered = plan_file._covered
    search_taps._settled = lambda value, scale=1.0: value
    plan_file._covered = lambda plan: {**covered(plan), "loss": plan.loss}


def main(folder, *bugs):
    if bugs:
        put_the_loss_into_the_digest()
    several = islice(plans(), _FEW if bugs else None)
    found = {
        "plans": {name: [made.digest.hex(), made.grid.largest_total] for name, made in several}
    }
    if not bugs:
        found["mu"] = {
            f"{epsilon}, {delta}": Guarantee(epsilon, delta).mu.hex()
            for epsilon in (0.01, 0.3, 1, 5, 40)
            for delta in (1e-15, 1e-6, 0.1)
        }
        found["draws"] = dict(draws())
        found["series"] = dict(series())
        found["streams"] = dict(streams(Path(folder)))
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
