"""Prints the errors of five decays in one table.

python -m examples.first_look
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import hushfade as hf
from hushfade.theory import gamma2_limit

STEPS = 1024
GUARANTEE = hf.Guarantee(epsilon=1, delta=1e-6)

DECAYS: dict[str, hf.Decay] = {
    "count, no decay": hf.NoDecay(),
    "half-life 24": hf.Exponential(half_life=24),
    "power law 1": hf.PowerLaw(power=1),
    "power law 1/2": hf.PowerLaw(power=0.5),
    "window 64": hf.SlidingWindow(length=64),
}


@dataclass(frozen=True)
class Row:
    """The figures of one decay; error factors are for the first STEPS steps."""

    for_ever: float | None  # Σ a_n²; None if it is infinite
    square_root: float
    normalized: float
    output_noise: float  # √(Σ f_k²)
    jumps: int
    memory: int
    loss: float  # of the plan's integer taps, relative to the square root


def measured(decay: hf.Decay) -> Row:
    """The figures of one decay, without a horizon if it needs none."""
    horizon = None if decay.horizon_free else STEPS
    root = hf.factors.square_root(decay, horizon).error_factor(STEPS)
    plan = hf.plan(decay, GUARANTEE, horizon=horizon)
    return Row(
        for_ever=gamma2_limit(decay).value if decay.horizon_free else None,
        square_root=root,
        normalized=hf.factors.normalized(decay, STEPS).error_factor(STEPS),
        output_noise=float(np.linalg.norm(decay.weights(STEPS))),
        jumps=plan.jumps,
        memory=plan.taps.support,
        loss=plan.error_factor(STEPS) / root - 1,
    )


def main() -> None:
    """Print the table."""
    print(f"The largest error over {STEPS} steps, as a standard deviation")
    print("(noise multiplier 1; a record changes a total by at most 1)")
    print()
    print(f"{'':16} {'square root':>22} {'normal-':>8} {'output':>8} {'integer taps':>27}")
    names = ["no horizon", f"at {STEPS}", "ized", "noise", "jumps", "memory", "loss"]
    widths = [11, 10, 8, 8, 8, 8, 9]
    heads = " ".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
    print(f"{'decay':16} {heads}")
    for name, decay in DECAYS.items():
        row = measured(decay)
        for_ever = "infinite" if row.for_ever is None else f"{row.for_ever:.4f}"
        print(
            f"{name:16} {for_ever:>11} {row.square_root:10.4f} {row.normalized:8.4f} "
            f"{row.output_noise:8.4f} {row.jumps:8} {row.memory:8} {row.loss:9.3%}"
        )
    print()
    print("square root   taps √g before and after the noise; without a horizon: Σ a_n² over all n")
    print(f"normalized    a gain per step, for a horizon of {STEPS} steps")
    print("output noise  independent noise on every released sum: √(Σ f_k²)")
    print("integer taps  the taps of hushfade's plan, in a few constant pieces;")
    print("              jumps: additions per step; memory: past totals kept;")
    print("              loss: the error relative to the square root, minus 1")


if __name__ == "__main__":
    main()
