"""opake-dpftrl: correlated noise for PyTorch, by buffered Toeplitz factors (BLT)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from lab.benchmarks.peers.protocol import Work, serve

torch: Any = import_module("torch")
noise: Any = import_module("opake.dpftrl.noise")
random: Any = import_module("opake.random")
types: Any = import_module("opake.types")

HORIZON = 1 << 12  # for four times as many steps its optimiser takes minutes
COUNTING, HALF_LIFE_24 = 1.0, 2.0 ** (-1 / 24)  # as momentum: f_k = momentum^k
STEPS, WIDE_STEPS = 400, 16


def optimised(momentum: float) -> Work:
    """The search for the factors, without the library's cache."""
    module: Any = import_module("opake.api.dpftrl.noise._blt")

    def again() -> None:
        module._blt_optimize_cached.cache_clear()
        noise.blt_strategy(momentum=momentum).streaming_matrix(
            n_steps=HORIZON, min_sep=HORIZON, max_participations=1
        )

    return Work(again, warm=False)


def live(momentum: float, width: int = 1, steps: int = STEPS) -> Work:
    """Single steps in float32; a new series starts before the horizon."""
    gradient = types.ClippedPytree(torch.zeros(width), 1.0)
    add, state = _series(momentum, width)
    taken = 0

    def some() -> None:
        nonlocal add, state, taken
        if taken + steps > HORIZON:
            add, state = _series(momentum, width)
            taken = 0
        for _ in range(steps):
            _, state = add(gradient, state)
        taken += steps

    return Work(some, steps)


def _series(momentum: float, width: int) -> tuple[Callable[..., Any], Any]:
    made: tuple[Callable[..., Any], Any] = noise.mf_gaussian_noise(
        torch.zeros(width),
        noise.blt_strategy(momentum=momentum),
        n_steps=HORIZON,
        min_sep=HORIZON,
        max_participations=1,
        noise_multiplier=1.0,
        key=random.key(1),
    )
    return made


if __name__ == "__main__":
    serve(
        {
            "optimise BLT, counting, n = 2^12": lambda: optimised(COUNTING),
            "optimise BLT, half-life 24, n = 2^12": lambda: optimised(HALF_LIFE_24),
            "BLT step, counting": lambda: live(COUNTING),
            "BLT step, half-life 24": lambda: live(HALF_LIFE_24),
            "BLT step, counting, width 10^6": lambda: live(COUNTING, 10**6, WIDE_STEPS),
        },
        ["opake-dpftrl", "torch", "numpy"],
    )
