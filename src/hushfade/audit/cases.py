"""The plans that are audited where none is given: a few, or all decays, neighbours and methods."""

from __future__ import annotations

from collections.abc import Iterator

from hushfade.decay import (
    CustomDecay,
    Decay,
    Exponential,
    Mixture,
    NoDecay,
    PowerLaw,
    SlidingWindow,
)
from hushfade.planning.plan import Plan
from hushfade.planning.planner import plan
from hushfade.privacy.guarantee import Guarantee, Neighbours

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
EXPECTED = 1 << 16  # steps: with a thousand lanes the default would ask for too much memory
RELATIONS: tuple[Neighbours, ...] = ("add_remove", "replace")


def few() -> dict[str, Plan]:
    """Five plans that differ in as much as five can."""
    return {
        "exponential / 3 keys": plan(
            Exponential(half_life=8), Guarantee(1, 1e-6), keys=["at", "ch", "de"]
        ),
        "power 1 / replaced": plan(
            PowerLaw(power=1), Guarantee(2, 1e-8, neighbours="replace"), low=-1, high=2
        ),
        "window / twice": plan(
            SlidingWindow(length=5),
            Guarantee(1, 1e-5, neighbours="replace", participations=2, separation=4),
            keys=["north", "south"],
        ),
        "counting / whole numbers": plan(
            NoDecay(), Guarantee(0.5, 1e-6), horizon=48, method="normalized", resolution=1.0
        ),
        "vectors / 3 times 2": plan(
            Exponential(half_life=3),
            Guarantee(1, 1e-6, participations=3, separation=2, records_per_step=2),
            width=3,
            norm=1.0,
        ),
    }


def every_kind() -> dict[str, Plan]:
    """Every decay × neighbours × method, and besides them several records of one person."""
    return dict(_all())


def _all() -> Iterator[tuple[str, Plan]]:
    for name, decay in DECAYS.items():
        for neighbours in RELATIONS:
            guarantee = Guarantee(1, 1e-6, neighbours=neighbours)
            free = decay.horizon_free
            said = f"{name} / {neighbours}"
            yield said, plan(decay, guarantee, horizon=None if free else HORIZON)
            yield (
                f"{said} / normalized",
                plan(decay, guarantee, horizon=HORIZON, method="normalized"),
            )
            if not free:
                counting = plan(decay, guarantee, method="unbounded", expect=EXPECTED)
                yield f"{said} / unbounded", counting
    several = Guarantee(1, 1e-6, participations=4, separation=3)
    yield "exponential / 4 times", plan(Exponential(half_life=8), several)
    yield "window / 4 times", plan(SlidingWindow(length=7), several)
    yield (
        "counting / 4 times / normalized",
        plan(NoDecay(), several, horizon=HORIZON, method="normalized", resolution=2.0**-6),
    )
    moved = Guarantee(1, 1e-6, neighbours="replace", records_per_step=2)
    yield "power 1 / moved keys", plan(PowerLaw(power=1), moved, keys=["a", "b", "c", "d"])
