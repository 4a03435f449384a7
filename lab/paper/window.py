"""Theorem 7 and Section 3.6: the sliding window as printed, corrected, and as a square root."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hushfade.baselines.window_blocks import window_blocks
from hushfade.check import Column, Matrix
from hushfade.decays import NoDecay, SlidingWindow
from hushfade.factors import factorization
from lab.paper.document import Blocks, Claim, Extent, Figure, Panel, Prose, Table, holds, line
from lab.paper.theory import families
from lab.paper.theory.bounds import for_ever

ROOT, MENDED = "square root of the window", "blocks, corrected"
PROMISE = "Theorem 7, √2 (1 + ln(w)/π + 2/w)"


def blocks(extent: Extent) -> Blocks:
    """The chapter: the printed and the corrected output, the weights, and the error factors."""
    yield Prose(_OPENING)
    yield from _output()
    yield from _weights()
    yield Prose(_FACTORS)
    yield from _energy(extent)
    yield from _theorem(extent)
    yield from _plain(extent)


_OPENING = """\
Section 3.6 divides the stream into blocks of w steps and counts within each block by L_1² = M_1,
where L_1 is the square root for counting. It publishes u[t] for t ≤ w and u[t] - u[t-w] after that,
where u is the noisy count since the start of the block. We compare three outputs: this one; the
same blocks with the corrected output u[t] + u[end of the previous block] - u[t-w]
(`baselines.window_blocks`); and the square root of the window's own symbol (1 - x^w)/(1 - x), which
needs neither blocks nor a horizon. The printed output omits the records between t-w and the end of
that block, and subtracts the records before. On a constant stream it is 0 from the second block
on."""

_FACTORS = """\
The error factor is the largest standard deviation of a step for unit noise multiplier and unit
change. The two bounds of Theorem 7 are √2 E and 2E² with E = 1 + ln(w)/π + 2/w, which corresponds
to two counts with independent noise. The window's sum needs three counts, two of which share their
noise. Let S = Σ r(i)² over one block, and let ℓ_j be the rows of L_1. The variance is
S (‖ℓ_j‖² + ‖ℓ_w - ℓ_j‖²). Since ‖ℓ_w - ℓ_j‖² = S + ‖ℓ_j‖² - 2⟨ℓ_w, ℓ_j⟩ ≤ 2S, it is at most 3S².
So the correct constant is √3, where the paper has √2."""


# The output ---------------------------------------------------------------------------------


def block_counts(x: Column, w: int) -> Column:
    """u without noise: the count since the start of each block.

    >>> block_counts(np.arange(1, 7), 3)
    array([ 1.,  3.,  6.,  4.,  9., 15.])
    """
    _, R = window_blocks(SlidingWindow(w), len(x)).matrices()
    return np.asarray(R @ (R @ np.asarray(x, dtype=np.float64))).round(9)


def printed_output(u: Matrix, w: int) -> Matrix:
    """u[t] for t ≤ w, then u[t] - u[t-w]."""
    out = u.copy()
    out[w:] -= u[:-w]
    return out


def mended_output(u: Matrix, w: int) -> Matrix:
    """u[t] for t ≤ w, then u[t] + u[end of the previous block] - u[t-w]."""
    out = printed_output(u, w)
    out[w:] += u[np.arange(w, len(u)) // w * w - 1]
    return out


def _output() -> Blocks:
    x, w = np.arange(1.0, 10.0), 3
    truth = np.convolve(x, np.ones(w))[: len(x)]
    u = block_counts(x, w)
    printed, mended = printed_output(u, w), mended_output(u, w)
    yield Claim(
        "Section 3.6",
        "the output u[t] - u[t-w] is the window's sum (x = 1, ..., 9, w = 3, no noise)",
        _listed(truth),
        _listed(printed),
        holds(np.array_equal(printed, truth)),
        "u[t] + u[end of the previous block] - u[t-w]",
    )
    yield Claim(
        "Section 3.6, corrected",
        "u[t] + u[end of the previous block] - u[t-w] is the window's sum",
        _listed(truth),
        _listed(mended),
        holds(np.array_equal(mended, truth)),
    )
    ones = printed_output(block_counts(np.ones(12), w), w)
    yield Claim.new(
        "on a constant stream the printed output is 0 after the first block (w = 3)",
        "0 from t = 4 on",
        _listed(ones),
        holds(not np.any(ones[w:])),
    )


def _weights() -> Blocks:
    w = 16
    n = np.arange(1, 2 * w)
    summed, block = int(np.sum(n < w)), int(SlidingWindow(w).weights(2 * w).sum())
    yield Claim(
        "Section 3.6",
        f"f(n) = 1 for n < w is the window of w records (w = {w})",
        f"{w} records",
        f"{summed} records",
        holds(summed == w),
        "n ≤ w, as in Theorem 7 and in its blocks of w steps",
    )
    yield Claim(
        "Theorem 7",
        f"f(n) = 1 for n ≤ w is the window of w records (w = {w})",
        f"{w} records",
        f"{block} records",
        holds(block == w == int(np.sum(n <= w))),
    )


# Error factors ------------------------------------------------------------------------------


def promised(w: int) -> float:
    """E = 1 + ln(w)/π + 2/w."""
    return 1.0 + math.log(w) / math.pi + 2.0 / w


def steady_square(w: int) -> float:
    """The mean squared error of the corrected blocks as T → ∞: S times a block's mean variance."""
    found = window_blocks(SlidingWindow(w), 2 * w)
    return found.sensitivity**2 * float(np.mean(found.errors[w:] ** 2))


def _energy(extent: Extent) -> Blocks:
    last = extent.horizon
    r = factorization.square_root(NoDecay()).right(last)
    S = np.cumsum(r * r)
    w = np.arange(1.0, last + 1)
    E = 1.0 + np.log(w) / math.pi + 2.0 / w
    first, always = _first(S > E)
    yield Claim(
        "Section 3.6",
        f"Σ r(i)² ≤ 1 + ln(w)/π + 2/w, w ≤ {last}",
        f"{E[first - 1]:.6f} at w = {first}",
        f"{S[first - 1]:.6f}; {_from(first, always)}",
        holds(not np.any(S > E)),
        "1 + H_(w-1)/π; Σ r(i)² - ln(w)/π tends to (γ + ln 16)/π = "
        f"{(np.euler_gamma + math.log(16)) / math.pi:.4f}, not to 1",
    )
    right = 1.0 + np.concatenate([[0.0], np.cumsum(1.0 / w[:-1])]) / math.pi
    yield Claim(
        "Section 3.6, corrected",
        f"Σ r(i)² ≤ 1 + H_(w-1)/π, w ≤ {last} (`theory.families.counting_sum`)",
        f"{families.counting_sum(last).value:.6f} at w = {last}",
        f"{S[-1]:.6f}; the smallest difference is {float(np.min((right - S)[1:])):.4f}, for w ≥ 2",
        # equal at w = 1; sums of up to 2^20 terms are accurate to 1e-10
        holds(bool(np.all(right * (1.0 + 1e-10) >= S))),
    )
    size, T = 16, 1024
    yield Claim(
        "Section 3.6",
        f"the ℓ2 sensitivity is √(Σ r(i)²) with i up to T (w = {size}, T = {T}, unit change)",
        f"{math.sqrt(S[T - 1]):.4f}",
        f"{window_blocks(SlidingWindow(size), T).sensitivity:.4f}",
        holds(math.isclose(S[T - 1], S[size - 1])),
        f"i up to w: √(Σ r(i)²) = {math.sqrt(S[size - 1]):.4f}; L'_f is not a Toeplitz matrix",
    )


def _theorem(extent: Extent) -> Blocks:
    last = 1024 if extent.full else 128
    sizes = range(1, last + 1)
    E = np.array([promised(w) for w in sizes])
    largest = np.array([families.window_blocks(SlidingWindow(w), 2 * w).value for w in sizes])
    mean = np.array([steady_square(w) for w in sizes])
    S = np.cumsum(factorization.square_root(NoDecay()).right(last) ** 2)
    for what, found, bound in (
        ("largest standard deviation √2 E", largest, math.sqrt(2.0) * E),
        ("mean squared error 2E² as T → ∞", mean, 2.0 * E**2),
    ):
        first, always = _first(found > bound)
        yield Claim(
            "Theorem 7",
            f"{what}, for the corrected blocks, w ≤ {last}",
            f"{bound[first - 1]:.4f} at w = {first}",
            f"{found[first - 1]:.4f}; {_from(first, always)}",
            holds(not np.any(found > bound)),
            "√3 S and 3S² with S = Σ r(i)² over the block; or the plain square root",
        )
    yield Claim(
        "Theorem 7, corrected",
        f"the corrected blocks have at most √3 S, and mean squared error at most 3S², w ≤ {last}",
        f"{math.sqrt(3.0) * S[-1]:.4f}, {3.0 * S[-1] ** 2:.4f} at w = {last}",
        f"{largest[-1]:.4f}, {mean[-1]:.4f}",
        holds(bool(np.all(largest <= math.sqrt(3.0) * S) and np.all(mean <= 3.0 * S**2))),
    )


def _plain(extent: Extent) -> Blocks:
    sizes = [1 << k for k in range(1, 17 if extent.full else 13)]
    rows = []
    for w in sizes:
        block = families.window_blocks(SlidingWindow(w), 2 * w).value
        root = for_ever(SlidingWindow(w)).value
        rows.append((w, block, root, math.sqrt(2.0) * promised(w), 100 * (1 - root / block)))
    yield Table(
        "window-error-factors",
        "Error factors on unbounded streams, and by how much the error of the plain square root is "
        "smaller than the error of the corrected blocks.",
        ("w", MENDED, ROOT, PROMISE, "smaller by %"),
        tuple(rows),
        digits=5,
    )
    x, blocked, plain, promise, better = np.array(rows, dtype=np.float64).T
    yield Claim.new(
        "the plain square root satisfies the bound of Theorem 7 on the largest standard deviation, "
        f"w = 2^k ≤ {sizes[-1]}",
        f"{promise[-1]:.4f} at w = {sizes[-1]}",
        f"{plain[-1]:.4f}; smallest margin {float(np.min(1 - plain / promise)) * 100:.1f} %",
        holds(bool(np.all(plain <= promise))),
    )
    late = better[x >= 16]
    yield Claim.new(
        "the error of the plain square root is smaller than the error of the corrected blocks by "
        "about 27 %, w ≥ 16, and it needs no horizon",
        "about 27 %",
        f"{late.min():.1f} to {late.max():.1f} %",
        holds(bool(np.all(np.abs(late - 27.0) < 0.5)) and SlidingWindow(16).horizon_free),
    )
    slope = (plain[-1] - plain[-2]) / math.log(2.0)
    yield Claim(
        "Section 1.2",
        "the algorithm for windows is tight with respect to constants",
        "the smallest possible",
        f"{blocked[-1] / plain[-1]:.4f} times the smallest possible on unbounded streams at "
        f"w = {sizes[-1]}",
        "holds" if blocked[-1] <= 1.01 * plain[-1] else "false",
        "the plain square root: its factor is the limit of γ2 (Bennett 1977), and grows like "
        f"{slope:.4f} ln w = (4/π²) ln w, against √3/π = {math.sqrt(3) / math.pi:.4f} for the "
        f"blocks and √2/π = {math.sqrt(2) / math.pi:.4f} as printed",
    )
    yield Claim.new(
        "the factor of the plain square root grows like (4/π²) ln w",
        f"{4 / math.pi**2:.6f}",
        f"{slope:.6f} between the last two w",
        holds(math.isclose(slope, 4 / math.pi**2, rel_tol=1e-4)),
    )
    yield Figure(
        "window-factors",
        "Error factor against the length of the window: the corrected blocks exceed the bound of "
        "Theorem 7, and the plain square root is below it.",
        (
            Panel(
                "Error factor on unbounded streams",
                "w",
                "largest standard deviation, unit noise",
                (line(MENDED, x, blocked), line(PROMISE, x, promise), line(ROOT, x, plain)),
                x_log=True,
            ),
            Panel(
                "Relative to the plain square root",
                "w",
                "ratio",
                (line(MENDED, x, blocked / plain), line(PROMISE, x, promise / plain)),
                x_log=True,
            ),
        ),
    )


def _first(wrong: NDArray[np.bool_]) -> tuple[int, bool]:
    """The first w = 1, 2, ... that is wrong (1 if none is), and whether all later ones are too."""
    at = int(np.argmax(wrong))
    return at + 1, bool(np.all(wrong[at:]))


def _from(first: int, always: bool) -> str:
    return f"exceeded from w = {first} on" if always else f"w = {first} is the first to exceed it"


def _listed(x: Column) -> str:
    return ", ".join(f"{value:g}" for value in x)
