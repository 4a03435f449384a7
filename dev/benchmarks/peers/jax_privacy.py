"""JAX Privacy: correlated noise by buffered (BLT), banded and full Toeplitz factors, on the CPU.

All of it is for counting.  Noise is float32.  A live step is one compiled call; many steps are one
compiled scan, with all normals drawn before it, which is far faster than drawing them within.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from dev.benchmarks.peers.protocol import Work, serve

jax: Any = import_module("jax")
jnp: Any = import_module("jax.numpy")
privacy: Any = import_module("jax_privacy.noise_addition")
factors: Any = import_module("jax_privacy.matrix_factorization")

HORIZON = 1 << 20
LIVE, WIDE_LIVE = 2000, 256
BANDS = 64


@cache
def blt() -> Any:
    """Its best BLT for 2^20 steps, as float32: found once, some 30 s."""
    found = factors.buffered_toeplitz.optimize(n=HORIZON)
    single = jax.tree.map(lambda part: jnp.asarray(part, jnp.float32), found)
    return single.inverse_as_streaming_matrix()


def optimised() -> Work:
    """That BLT found, compilation included: every search compiles anew."""

    def anew() -> None:
        blt.cache_clear()
        blt()

    return Work(anew, warm=False)


def live(width: int | None = None, steps: int = LIVE) -> Work:
    """One compiled update a step, waited for each time."""
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
    """All normals, then one scan of the matrix over them, added to the values."""
    values = jnp.zeros(steps, jnp.float32)

    key = jax.random.key(1)
    noisy = jax.jit(lambda key, values: values + matrix @ jax.random.normal(key, (steps,)))
    return Work(lambda: noisy(key, values).block_until_ready(), steps)


def scan_of_updates(steps: int) -> Work:
    """The update of a live step within a scan: normals are drawn one by one."""
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
    """The same taps with columns of one length, the library's `banded`."""
    matrix = factors.banded.ColumnNormalizedBanded.default(steps, bands)
    return scan(matrix.inverse_as_streaming_matrix(), steps)


def normals(count: int) -> Work:
    """Normals in float32 alone."""
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
