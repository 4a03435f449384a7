"""The plans that `hushfade audit` uses by default: a few, or every decay, method and law."""

from __future__ import annotations

from collections.abc import Iterator

from hushfade.decays import (
    CustomDecay,
    Decay,
    Exponential,
    Mixture,
    NoDecay,
    PowerLaw,
    SlidingWindow,
)
from hushfade.planning.exact_factors import Method
from hushfade.planning.mechanism_search import LawName
from hushfade.planning.plan import Plan
from hushfade.planning.planner import plan
from hushfade.privacy.guarantee import Guarantee, Neighbours
from hushfade.privacy.unit import Person

DECAYS: dict[str, Decay] = {
    "counting": NoDecay(),
    "exponential": Exponential(half_life=8),
    "power ½": PowerLaw(power=0.5),
    "power 1": PowerLaw(power=1),
    "power 2": PowerLaw(power=2),
    "window": SlidingWindow(length=7),
    "list": CustomDecay((1, 0.5, 0.25, 0.1)),
    "mixture": Mixture(((0.7, Exponential(half_life=12)), (0.3, PowerLaw(power=1)))),
}
HORIZON = 64
EXPECTED = 1 << 16  # steps: with a thousand lanes the default would need too much memory
RELATIONS: tuple[Neighbours, ...] = ("add_remove", "replace")


# Every law with a method that uses it; normalized and unbounded need a horizon or no decay.
MECHANISMS: tuple[tuple[Method, LawName], ...] = (
    ("square_root", "gaussian"),
    ("input", "laplace"),
    ("blend", "huber"),
)


def few() -> dict[str, Plan]:
    """Eight plans that differ in as many ways as possible.

    Three have Gaussian noise, three Laplace noise, and two Huber noise.
    """
    return {
        "exponential / 3 keys": plan(
            Exponential(half_life=8),
            Guarantee(1, 1e-6),
            keys=["at", "ch", "de"],
            method="square_root",
        ),
        "power 1 / replaced": plan(
            PowerLaw(power=1),
            Guarantee(2, 1e-8, neighbours="replace"),
            low=-1,
            high=2,
            law="laplace",
        ),
        "window / twice": plan(
            SlidingWindow(length=5),
            Guarantee(1, 1e-5, neighbours="replace", protects=Person(steps=2, apart=4)),
            keys=["north", "south"],
            law="huber",
        ),
        "exponential / 2 keys, replaced": plan(
            Exponential(half_life=24),
            Guarantee(1, 1e-6, neighbours="replace"),
            keys=["north", "south"],
            method="blend",
        ),
        "window / whole numbers, pure": plan(
            SlidingWindow(length=7), Guarantee(1, 0), resolution=1.0
        ),
        "counting / block sums, pure": plan(NoDecay(), Guarantee(1, 0), horizon=64),
        "counting / whole numbers": plan(
            NoDecay(), Guarantee(0.5, 1e-6), horizon=48, method="normalized", resolution=1.0
        ),
        "vectors / 3 times 2": plan(
            Exponential(half_life=3),
            Guarantee(1, 1e-6, protects=Person(steps=3, apart=2, records_per_step=2)),
            width=3,
            norm=1.0,
        ),
    }


def every_kind() -> dict[str, Plan]:
    """Plans for every decay, neighbouring relation, method and law, and for several records."""
    return dict(_all())


def _all() -> Iterator[tuple[str, Plan]]:
    for name, decay in DECAYS.items():
        for neighbours in RELATIONS:
            guarantee = Guarantee(1, 1e-6, neighbours=neighbours)
            free = decay.horizon_free
            title = f"{name} / {neighbours}"
            horizon = None if free else HORIZON
            for method, law in MECHANISMS:
                made = plan(decay, guarantee, horizon=horizon, method=method, law=law)
                yield f"{title} / {method} / {law}", made
            yield (
                f"{title} / normalized",
                plan(decay, guarantee, horizon=HORIZON, method="normalized"),
            )
            if not free:
                counting = plan(decay, guarantee, method="unbounded", expect=EXPECTED)
                yield f"{title} / unbounded", counting
    one, several = Guarantee(1, 1e-6), Guarantee(1, 1e-6, protects=Person(steps=4, apart=3))
    yield "window / input / gaussian", plan(DECAYS["window"], one, method="input", law="gaussian")
    yield "exponential / 4 times", plan(DECAYS["exponential"], several, method="square_root")
    yield "window / 4 times", plan(DECAYS["window"], several, method="square_root")
    yield "window / 4 times / laplace", plan(DECAYS["window"], several, law="laplace")
    yield (
        "counting / 4 times / normalized",
        plan(NoDecay(), several, horizon=HORIZON, method="normalized", resolution=2.0**-6),
    )
    moved = Guarantee(1, 1e-6, neighbours="replace", protects=Person(records_per_step=2))
    yield "power 1 / moved keys", plan(PowerLaw(power=1), moved, keys=["a", "b", "c", "d"])
