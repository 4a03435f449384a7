"""Noise: the cost of a draw from AES-256 and the exact tables, compared with numpy's normals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from hushfade import UnsafeSeededNoise
from hushfade.crossing.sampling_tables import table
from hushfade.laws import Gaussian, Huber, Laplace, Law
from lab.benchmarks.report import Section, ratio_section
from lab.benchmarks.timing import Job, interleaved, ratio, repeated

DRAWS, LANES = 10**6, 10**5
LAWS: dict[str, Law] = {
    "Gaussian, σ = 300, a table": Gaussian(300.0),
    "Gaussian, σ = 1.5e6, cells": Gaussian(1.5e6),
    "Laplace, slope 0.05, a table": Laplace(0.05),
    "Laplace, slope 1e-6, cells": Laplace(1e-6),
    "Laplace, slope 1.9e-6, the widest cells": Laplace(1.9e-6),
    "Huber, slope 0.05, core 20, a table": Huber(0.05, 20),
    "Huber, slope 1e-6, core 10^6, cells": Huber(1e-6, 10**6),
}
NORMALS = "numpy normals"
GOAL = 0.6


def sections(rounds: int) -> Iterator[Section]:
    """Draws for many steps of one lane, and for one step of many lanes."""
    yield steps(rounds)
    yield lanes(rounds)


def normals(count: int) -> Job:
    """The yardstick: numpy's normals by PCG64, which are not private."""
    generator = np.random.Generator(np.random.PCG64(1))
    return lambda: generator.standard_normal(count)


def steps(rounds: int) -> Section:
    """10^6 steps of one lane, and the cost of the random bits alone."""
    generator = np.random.Generator(np.random.PCG64(1))
    jobs: dict[str, Job] = {NORMALS: normals(DRAWS)}
    for name, law in LAWS.items():
        jobs[name] = _draws(law, DRAWS, 1)
    context = {
        "bits only: AES-256, 16 bytes per draw": _aes(DRAWS),
        "bits only: numpy PCG64, 8 bytes per draw": lambda: generator.integers(
            2**64, size=DRAWS, dtype=np.uint64
        ),
    }
    return _section(
        "Noise: 10^6 steps of one lane", jobs | context, DRAWS, rounds, goals=list(LAWS)
    )


def lanes(rounds: int) -> Section:
    """One step of 10^5 lanes."""
    calls = DRAWS // LANES
    jobs = {NORMALS: repeated(normals(LANES), calls)}
    for name, law in LAWS.items():
        jobs[name] = repeated(_draws(law, 1, LANES), calls)
    return _section("Noise: one step of 10^5 lanes", jobs, calls * LANES, rounds, goals=list(LAWS))


def _section(
    title: str, jobs: dict[str, Job], count: int, rounds: int, *, goals: list[str]
) -> Section:
    times = interleaved(jobs, rounds)
    unit = times.pop(NORMALS)
    drawn = ", ".join(f"{name} {min(times[name]) / count * 1e9:.1f}" for name in goals)
    return ratio_section(
        title,
        "Yardstick: as many numpy standard_normal draws with PCG64, not private, "
        f"{min(unit) / count * 1e9:.1f} ns each at best.  Nanoseconds per draw: {drawn}.",
        [
            ratio(name, taken, unit, GOAL if name in goals else None)
            for name, taken in times.items()
        ],
    )


def _draws(law: Law, steps: int, lanes: int) -> Job:
    drawer, made = UnsafeSeededNoise(1).bound(b""), table(law)
    return lambda: drawer.draws(made, 0, steps, lanes)


def _aes(draws: int) -> Job:
    """The cipher alone, in pieces that stay in the cache."""
    encryptor = Cipher(algorithms.AES(bytes(range(32))), modes.ECB()).encryptor()
    piece, out = bytes(1 << 19), bytearray((1 << 19) + 15)
    return repeated(lambda: encryptor.update_into(piece, out), 16 * draws // len(piece))
