"""Theory: the cost of a certificate in FFT products, and of the optimum in decompositions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hushfade.check import Column
from hushfade.theory import certificates, optimum
from lab.benchmarks.power_series import DECAYS, ONE_PRODUCT, N, fft_product
from lab.benchmarks.report import Section, goal_cells, ratio_section
from lab.benchmarks.timing import Job, interleaved, ratio
from lab.progress import progress

STEPS = 512


def sections(rounds: int) -> Iterator[Section]:
    """One evaluation of the certificate at n = 2^20, and the optimum at n = 512."""
    yield certificate(rounds)
    yield dense(min(rounds, 3))


def certificate(rounds: int) -> Section:
    """A certificate's evaluation point at n = 2^20 against one FFT product."""
    v = certificates.profile(N, 0.1, 0.7)
    jobs: dict[str, Job] = {ONE_PRODUCT: fft_product(N)}
    for name, decay in DECAYS.items():
        jobs[f"one evaluation, {name}"] = _evaluation(decay.weights(N), v)
    jobs["the weights of a point"] = lambda: certificates.profile(N, 0.1, 0.7)
    times = interleaved(jobs, rounds)
    unit = times.pop(ONE_PRODUCT)
    return ratio_section(
        "Theory: lower certificate at n = 2^20",
        "Yardstick: one FFT product of that length.  A search takes 3 to 20 evaluations at full "
        "length.",
        [ratio(name, taken, unit, 10.0) for name, taken in times.items()],
    )


def dense(rounds: int) -> Section:
    """γ2 at n = 512 to a gap of 1e-4: in seconds, and relative to one symmetric decomposition."""
    rows = []
    matrix = np.random.default_rng(1).normal(size=(STEPS, STEPS))
    symmetric = matrix + matrix.T
    for name, decay in DECAYS.items():
        f = decay.weights(STEPS)
        jobs: dict[str, Job] = {"eigh": lambda: np.linalg.eigh(symmetric), name: _solve(f)}
        times = interleaved(jobs, rounds)
        gap = optimum.solve(f).bracket.gap
        progress(f"gap of {name}: {gap:.1e}")
        best = min(times[name])
        row = (name, f"{gap:.1e}", f"{best / min(times['eigh']):.0f}×", f"{best:.2f}")
        rows.append((*row, *goal_cells(best, 60.0, " s")))
    return Section(
        f"Theory: the optimum at n = {STEPS}",
        "γ2 with a certified relative gap of at most 1e-4.  Yardstick: one `eigh` of that size.",
        ("decay", "gap", "against one eigh", "seconds", "goal", "verdict"),
        rows,
    )


def _evaluation(f: Column, v: Column) -> Job:
    return lambda: certificates.trace_norm(f, v[::-1], v)


def _solve(f: Column) -> Job:
    def again() -> None:
        optimum._solved.cache_clear()  # otherwise the cached result would be timed
        optimum.solve(f)

    return again
