"""Figures 1 and 2: how close the estimate f(n+1)/2 is to the coefficient a_n of √g.

f(n+1) is the weight at age n: `weights(N)[n]`, which the code calls f_n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hushfade.check import Column
from hushfade.decays import PowerLaw
from hushfade.factors import power_series
from lab.paper.document import Blocks, Claim, Extent, Figure, Panel, Prose, Table, holds, line
from lab.paper.theory.class_f import enclosed_root

LAST = 2048  # the paper's last coefficient
MAGNIFIED = 1024  # where its second figure begins
PRINTED = {1: 5.960464477539063e-8, 2: 1.4210854715202004e-14}
ROUNDED = {1: "≈ 6·10^-8", 2: "≈ 1.4·10^-14"}


@dataclass(frozen=True)
class Found:
    """One power law: f_n/2 and a_n for n = 0, ..., N."""

    power: int
    estimate: Column
    a: Column

    @property
    def gap(self) -> Column:
        """f_n/2 - a_n."""
        return self.estimate - self.a

    def asymptotic(self, n: Column) -> Column:
        """a_n for large n, by the singularity of √g at x = 1.

        c = 1: √g = (ln(1/(1-x))/x)^½ gives 1/(2n √(ln n + γ)), with two terms of Flajolet and
        Odlyzko 1990.  c = 2: g is finite at 1, which gives f_n/(2√g(1)) with g(1) = ζ(2).
        """
        if self.power == 1:
            return np.asarray(0.5 / (n * np.sqrt(np.log(n) + np.euler_gamma)))
        return np.asarray(0.5 / ((n + 1.0) ** 2 * math.sqrt(math.pi**2 / 6.0)))


def blocks(extent: Extent) -> Blocks:
    """The chapter: the numbers quoted with Figures 1 and 2, and what the figures would show."""
    found = [_found(power, max(extent.horizon, LAST)) for power in PRINTED]
    yield Prose(_OPENING)
    for one in found:
        yield from _claims(one)
    yield _table(found)
    yield Prose(_what_is_plotted(found))
    yield from _pictures(found)
    yield Prose(_far_off(found))
    yield from (_tightness(one) for one in found)
    yield from (_law(one) for one in found)
    yield _logarithmic(found)


def _found(power: int, horizon: int) -> Found:
    f = PowerLaw(power).weights(horizon + 1)
    return Found(power, f / 2.0, power_series.square_root(f))


_OPENING = f"""\
Theorem 3 rests on 0 ≤ a_n ≤ f(n+1)/2. Section 1.1 and Appendix F state how close the estimate is
to the coefficient for f(n) = n^-c with c = 1 and c = 2. According to their captions, Figures 1 and
2 plot the gap against n up to {LAST}; the second shows only n ≥ {MAGNIFIED}. Our source of the
paper does not include the figures, so this chapter judges the numbers quoted with them. We compute
a_n by `power_series.square_root`; the gap is f(n+1)/2 - a_n."""


def _what_is_plotted(found: list[Found]) -> str:
    one, two = (f"2^{math.log2(PRINTED[one.power]):g}" for one in found)
    return f"""\
The two printed numbers are powers of two, {one} and {two}: they equal f({LAST})²/4 to the last
digit. This is the square of the estimate of one coefficient, its term in the bound of Theorem 3. It
is not a difference. We cannot see whether the figures plot this quantity too. If so, they look like
the first and third figure below, which show f(n)²/4 and end at the printed numbers. The second and
fourth figure show the gap."""


def _claims(one: Found) -> Blocks:
    c, n = one.power, LAST
    printed, gap = PRINTED[c], float(one.gap[n])
    squared = float(one.estimate[n - 1] ** 2)
    yield Claim(
        "Appendix F",
        f"c = {c}: the gap between f(n+1)/2 and a_n decreases to this value at n = {n} "
        f"(Section 1.1: {ROUNDED[c]})",
        repr(printed),
        f"{gap:.4g}, larger by a factor of {gap / printed:.3g}",
        holds(math.isclose(gap, printed, rel_tol=0.05)),
        f"the gap is {gap:.4g}; the printed number is f({n})²/4 = {squared!r}",
    )
    yield Claim.new(
        f"c = {c}: the printed number is f({n})²/4, the estimate of a_n² at n = {n - 1}, "
        "to all its digits",
        repr(printed),
        repr(squared),
        holds(math.isclose(squared, printed, rel_tol=1e-15)),
    )
    slow, _ = enclosed_root(2.0 * one.estimate[: n + 1])
    again = float(one.estimate[n] - slow[n])
    yield Claim(
        "Appendix F, corrected",
        f"c = {c}: the recurrence of Remark 12, term by term, gives the same gap at n = {n}",
        f"{gap:.10g}",
        f"{again:.10g}",
        holds(math.isclose(gap, again, rel_tol=1e-9)),  # either a_n is accurate to 1e-11
    )
    share = one.gap[1:] / one.estimate[1:]
    least, where = float(np.min(share)), 1 + int(np.argmin(share))
    yield Claim(
        "Theorem 3",
        f"c = {c}: 0 ≤ a_n ≤ f(n+1)/2 for 1 ≤ n ≤ {len(one.a) - 1}",
        "a_n ≤ f(n+1)/2",
        f"the smallest gap is {least:.2g} of the estimate, at n = {where}",
        # the coefficients are accurate to 1e-11
        holds(least >= -1e-11 and float(np.min(one.a)) >= 0.0),
    )


def _table(found: list[Found]) -> Table:
    longest = len(found[0].a) - 1
    steps = [1, 2, 10, 100, MAGNIFIED, LAST, *([longest] if longest > LAST else [])]
    rows = tuple(
        (
            one.power,
            n,
            float(one.a[n]),
            float(one.estimate[n]),
            float(one.gap[n]),
            float(one.estimate[n] / one.a[n]),
            float(one.estimate[n - 1] ** 2),
        )
        for one in found
        for n in steps
    )
    return Table(
        "coefficients-gaps",
        "The coefficient, its estimate and the gap.  The last column is the quantity that the "
        f"paper prints at n = {LAST}.",
        ("c", "n", "a_n", "f(n+1)/2", "gap", "estimate / a_n", "f(n)²/4"),
        rows,
        digits=4,
    )


def _pictures(found: list[Found]) -> Blocks:
    for number, first in ((1, 2), (2, MAGNIFIED)):
        n = np.arange(first, LAST + 1)
        x = n.astype(np.float64)
        view = f"n from {first} to {LAST}"
        yield Figure(
            f"coefficients-figure-{number}-printed",
            f"What Figure {number} would show if it plots the same quantity as the printed "
            f"numbers, f(n)²/4, which is not a gap; {view}.",
            tuple(
                Panel(
                    f"c = {one.power}",
                    "n",
                    "“gap”",
                    (line("f(n)²/4, like the printed numbers", x, one.estimate[n - 1] ** 2),),
                )
                for one in found
            ),
        )
        yield Figure(
            f"coefficients-figure-{number}-corrected",
            f"What Figure {number} should show according to its caption: the gap, {view}.",
            tuple(
                Panel(f"c = {one.power}", "n", "gap", (line("f(n+1)/2 - a_n", x, one.gap[n]),))
                for one in found
            ),
        )


def _far_off(found: list[Found]) -> str:
    one, two = found
    last = len(one.a) - 1
    far = [(n, float(one.estimate[n] / one.a[n])) for n in dict.fromkeys((LAST, last))]
    words = " and ".join(f"{ratio:.3f} at n = {n}" for n, ratio in far)
    return f"""\
A small gap between small numbers means little. The ratio is more informative. For c = 1 the symbol
g = ln(1/(1-x))/x is unbounded near x = 1, and a_n behaves like 1/(2n √(ln n + γ)) with Euler's γ.
So the estimate is too large by a factor of √(ln n + γ), which is unbounded. The ratio is {words}.
For c = 2, g(1) = ζ(2) is finite, and the ratio tends to √ζ(2) = {math.pi / math.sqrt(6.0):.4f}; at
n = {LAST} it is {float(two.estimate[LAST] / two.a[LAST]):.4f}. This has little effect on Σ a_n²:
a_1 and a_2 alone contribute {_early(one):.0f} % of Σ a_n² - 1 for c = 1, and {_early(two):.0f} %
for c = 2."""


def _early(one: Found) -> float:
    squares = one.a[1:] ** 2
    return 100.0 * float(np.sum(squares[:2]) / np.sum(squares))


def _tightness(one: Found) -> Claim:
    n = LAST
    ratio = float(one.estimate[n] / one.a[n])
    exact = 1.0 + float(np.sum(one.a[1 : n + 1] ** 2))
    bound = 1.0 + float(np.sum(one.estimate[1 : n + 1] ** 2))
    return Claim(
        "Section 1.1",
        f"c = {one.power}: the upper bound on a_n is tight",
        f"a_n is close to f(n+1)/2 at n = {n}",
        f"f(n+1)/2 is {ratio:.3f} a_n",
        "holds" if ratio <= 1.05 else "weak",
        f"the bound on the sum is close: 1 + Σ f(n+1)²/4 = {bound:.5f} against Σ a_n² = "
        f"{exact:.5f}",
    )


def _law(one: Found) -> Claim:
    n = np.array([MAGNIFIED, LAST, len(one.a) - 1])
    off = np.abs(one.asymptotic(n) / one.a[n] - 1.0)
    law = {1: "1/(2n √(ln n + γ))", 2: "f(n+1)/(2√ζ(2))"}[one.power]
    return Claim.new(
        f"c = {one.power}: a_n is within 2 % of {law} from n = {MAGNIFIED} on, and closer as n "
        "grows",
        law,
        ", ".join(f"{100 * x:.2g} % off at n = {i}" for i, x in zip(n, off, strict=True)),
        holds(bool(np.all(off < 0.02) and np.all(np.diff(off) < 0))),
    )


def _logarithmic(found: list[Found]) -> Figure:
    last = len(found[0].a) - 1
    n = np.unique(np.geomspace(2, last, 200).astype(np.int64))
    x = n.astype(np.float64)
    panels = tuple(
        Panel(
            f"c = {one.power}",
            "n",
            "value",
            (
                line("estimate f(n+1)/2", x, one.estimate[n]),
                line("coefficient a_n", x, one.a[n]),
                line("gap f(n+1)/2 - a_n", x, one.gap[n]),
                line("f(n)²/4, like the printed numbers", x, one.estimate[n - 1] ** 2),
            ),
            x_log=True,
            y_log=True,
        )
        for one in found
    )
    return Figure(
        "coefficients-logarithmic",
        "Coefficient, estimate, gap and f(n)²/4, the printed “gap”, on logarithmic axes.  For "
        "c = 2 the gap tends to a fixed share of the coefficient; for c = 1 it grows beyond the "
        "coefficient.",
        panels,
    )
