"""TensorFlow Privacy: cumulative sums by a binary tree, step by step."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lab.benchmarks.peers.protocol import Work, serve

tensorflow: Any = import_module("tensorflow")
queries: Any = import_module("tensorflow_privacy.privacy.dp_query.tree_aggregation_query")

STEPS = 200
BEFORE = 1 << 10  # steps in which the library compiles each new level of the tree


def tree() -> Work:
    """Honaker's tree, the library's default; each step reads the sum so far as a number."""
    query = queries.TreeCumulativeSumQuery.build_l2_gaussian_query(
        clip_norm=1.0, noise_multiplier=1.0, record_specs=tensorflow.TensorSpec([]), noise_seed=1
    )
    total = tensorflow.constant(0.5)
    state = query.initial_global_state()

    def steps(count: int = STEPS) -> None:
        nonlocal state
        for _ in range(count):
            released, state, _ = query.get_noised_result(total, state)
            released.numpy()

    steps(BEFORE)
    return Work(steps, STEPS)


if __name__ == "__main__":
    serve({"tree": tree}, ["tensorflow-privacy", "tensorflow", "numpy"])
