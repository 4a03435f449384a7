"""Noise: the cost of a draw from AES-256 and the exact tables, compared with numpy's normals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from dev.benchmarks.report import Section, ratio_section
from dev.benchmarks.timing import Job, interleaved, ratio, repeated
from hushfade import UnsafeSeededNoise
from hushfade.crossing.sampling_tables import table
from hushfade.laws import Gaussian

DRAWS, LANES = 10**6, 10**5
SIGMAS = {"σ = 300, a table": 300.0, "σ = 1.5e6, cells": 1.5e6}
NORMALS = "numpy normals"
GOAL = 1.0


def sections(rounds: int) -> Iterator[Section]:
    """Draws for many steps of one lane, and for one step of many lanes."""
    yield steps(rounds)
    yield lanes(rounds)


def normals(count: int) -> Job:
    """The yardstick: numpy's normals by PCG64, which are not private."""
    generator = np.random.Generator(np.random.PCG64(1))
    return lambda: generator.standard_normal(count)


def steps(rounds: int) -> Section:
    """10^6 steps of one lane; beside them, what the random bits alone cost."""
    generator = np.random.Generator(np.random.PCG64(1))
    jobs: dict[str, Job] = {NORMALS: normals(DRAWS)}
    for name, sigma in SIGMAS.items():
        jobs[name] = _draws(sigma, DRAWS, 1)
    context = {
        "bits only: AES-256, 16 bytes a draw": _aes(DRAWS),
        "bits only: numpy PCG64, 8 bytes a draw": lambda: generator.integers(
            2**64, size=DRAWS, dtype=np.uint64
        ),
    }
    return _section(
        "Noise: 10^6 steps of one lane", jobs | context, DRAWS, rounds, goals=list(SIGMAS)
    )


def lanes(rounds: int) -> Section:
    """One step of 10^5 lanes."""
    calls = DRAWS // LANES
    jobs = {NORMALS: repeated(normals(LANES), calls)}
    for name, sigma in SIGMAS.items():
        jobs[name] = repeated(_draws(sigma, 1, LANES), calls)
    return _section(
        "Noise: one step of 10^5 lanes", jobs, calls * LANES, rounds, goals=list(SIGMAS)
    )


def _section(
    title: str, jobs: dict[str, Job], count: int, rounds: int, *, goals: list[str]
) -> Section:
    times = interleaved(jobs, rounds)
    unit = times.pop(NORMALS)
    drawn = ", ".join(f"{name} {min(times[name]) / count * 1e9:.1f}" for name in goals)
    return ratio_section(
        title,
        "Yardstick: as many numpy standard_normal by PCG64, not private, "
        f"{min(unit) / count * 1e9:.1f} ns each at best.  Nanoseconds a draw: {drawn}.",
        [
            ratio(name, taken, unit, GOAL if name in goals else None)
            for name, taken in times.items()
        ],
    )


def _draws(sigma: float, steps: int, lanes: int) -> Job:
    drawer = UnsafeSeededNoise(1).bound(b"")
    law = table(Gaussian(sigma))
    return lambda: drawer.draws(law, 0, steps, lanes)


def _aes(draws: int) -> Job:
    """The cipher alone, in pieces that stay in the cache."""
    encryptor = Cipher(algorithms.AES(bytes(range(32))), modes.ECB()).encryptor()
    piece, out = bytes(1 << 19), bytearray((1 << 19) + 15)
    return repeated(lambda: encryptor.update_into(piece, out), 16 * draws // len(piece))
