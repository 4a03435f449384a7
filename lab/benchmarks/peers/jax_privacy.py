"""JAX Privacy: correlated noise by buffered (BLT), banded and full Toeplitz factors, on the CPU.

All jobs count.  The noise is float32.  A live step is one compiled call.  Many steps are one
compiled scan after drawing all normals, which is far faster than drawing them within the scan.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from lab.benchmarks.peers.protocol import Work, serve

jax: Any = import_module("jax")
jnp: Any = import_module("jax.numpy")
privacy: Any = import_module("jax_privacy.noise_addition")
factors: Any = import_module("jax_privacy.matrix_factorization")

HORIZON = 1 << 20
LIVE, WIDE_LIVE = 2000, 256
BANDS = 64


@cache
def blt() -> Any:
    """The library's best BLT for 2^20 steps in float32, cached; the search takes about 30 s."""
    found = factors.buffered_toeplitz.optimize(n=HORIZON)
    single = jax.tree.map(lambda part: jnp.asarray(part, jnp.float32), found)
    return single.inverse_as_streaming_matrix()


def optimised() -> Work:
    """The search for this BLT with its compilation, which every search repeats."""

    def again() -> None:
        blt.cache_clear()
        blt()

    return Work(again, warm=False)


def live(width: int | None = None, steps: int = LIVE) -> Work:
    """One compiled update per step; each step waits for its result."""
    privatizer = privacy.matrix_factorization_privatizer(blt(), stddev=1.0, prng_key=1)
    update = jax.jit(privatizer.update)
    gradient = jnp.zeros(() if width is None else (width,), jnp.float32)
    state = privatizer.init(gradient)

    def some() -> None:
        nonlocal state
        for _ in range(steps):
            noisy, state = update(gradient, state)
            noisy.block_until_ready()

    return Work(some, steps)


def scan(matrix: Any, steps: int) -> Work:
    """The values plus one scan of the matrix over normals that are drawn before."""
    values = jnp.zeros(steps, jnp.float32)

    key = jax.random.key(1)
    noisy = jax.jit(lambda key, values: values + matrix @ jax.random.normal(key, (steps,)))
    return Work(lambda: noisy(key, values).block_until_ready(), steps)


def scan_of_updates(steps: int) -> Work:
    """A scan of live updates, which draw normals one by one."""
    privatizer = privacy.matrix_factorization_privatizer(blt(), stddev=1.0, prng_key=1)

    def noisy(values: Any, state: Any) -> Any:
        return jax.lax.scan(lambda state, x: privatizer.update(x, state)[::-1], state, values)[1]

    compiled = jax.jit(noisy)
    values = jnp.zeros(steps, jnp.float32)
    state = privatizer.init(values[0])
    return Work(lambda: compiled(values, state).block_until_ready(), steps)


def toeplitz(taps: int, steps: int) -> Work:
    """The square root's first taps; with as many taps as steps the work is quadratic."""
    coefficients = factors.toeplitz.optimal_max_error_strategy_coefs(taps)
    return scan(factors.toeplitz.inverse_as_streaming_matrix(coefficients), steps)


def banded(bands: int, steps: int) -> Work:
    """The library's `banded`: the same taps with normalized columns."""
    matrix = factors.banded.ColumnNormalizedBanded.default(steps, bands)
    return scan(matrix.inverse_as_streaming_matrix(), steps)


def normals(count: int) -> Work:
    """Draws of float32 normals alone."""
    draw = jax.jit(lambda key: jax.random.normal(key, (count,)))
    key = jax.random.key(1)
    return Work(lambda: draw(key).block_until_ready(), count)


if __name__ == "__main__":
    serve(
        {
            "optimise BLT, n = 2^20": optimised,
            "BLT step": live,
            "BLT step, width 10^6": lambda: live(10**6, WIDE_LIVE),
            "BLT scan, 10^6 steps": lambda: scan(blt(), 10**6),
            "BLT scan of updates, 10^5 steps": lambda: scan_of_updates(10**5),
            "Toeplitz scan, 2^14 steps": lambda: toeplitz(1 << 14, 1 << 14),
            "Toeplitz scan, 64 bands, 10^5 steps": lambda: toeplitz(BANDS, 10**5),
            "banded scan, 64 bands, 10^5 steps": lambda: banded(BANDS, 10**5),
            "normals, float32": lambda: normals(10**6),
        },
        ["jax-privacy", "jax", "numpy"],
    )
