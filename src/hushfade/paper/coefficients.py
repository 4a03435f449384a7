"""Figures 1 and 2: how near the estimate f(n+1)/2 comes to the coefficient a_n of √g.

f(n+1) is the weight of age n: `weights(N)[n]`, in the letters of the code f_n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hushfade.check import Column
from hushfade.decay import PowerLaw
from hushfade.numerics import power_series
from hushfade.paper.document import Blocks, Claim, Extent, Figure, Panel, Prose, Table, holds, line
from hushfade.theory.class_f import enclosed_root

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

        c = 1: √g = (ln(1/(1-x))/x)^½ gives 1/(2n √(ln n + γ)), as Flajolet and Odlyzko 1990 have it
        to two terms.  c = 2: g is finite at 1, and f_n/(2√g(1)) with g(1) = ζ(2) remains.
        """
        if self.power == 1:
            return np.asarray(0.5 / (n * np.sqrt(np.log(n) + np.euler_gamma)))
        return np.asarray(0.5 / ((n + 1.0) ** 2 * math.sqrt(math.pi**2 / 6.0)))


def blocks(extent: Extent) -> Blocks:
    """The numbers printed beside Figures 1 and 2, and what the figures would show."""
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
Theorem 3 rests on 0 ≤ a_n ≤ f(n+1)/2. Section 1.1 and Appendix F say how near the estimate
comes to the coefficient for f(n) = n^-c with c = 1 and c = 2. By their captions Figures 1 and 2
plot the gap against n up to {LAST}, the second magnified from n = {MAGNIFIED} on; the pictures
themselves are not in the source that we have, and what follows judges the numbers quoted beside
them. Here a_n comes from `power_series.square_root`, and the gap is f(n+1)/2 - a_n."""


def _what_is_plotted(found: list[Found]) -> str:
    one, two = (f"2^{math.log2(PRINTED[one.power]):g}" for one in found)
    return f"""\
The two printed numbers are powers of two, {one} and {two}: f({LAST})²/4 to the last digit. That is
the square of the estimate of one coefficient, its term in the bound of Theorem 3, and nothing is
subtracted from it. Whether the pictures plot it too we cannot see: the first and third figure below
draw what they would show then, f(n)²/4, which ends at the printed numbers. The second and fourth
draw the gap."""


def _claims(one: Found) -> Blocks:
    c, n = one.power, LAST
    printed, gap = PRINTED[c], float(one.gap[n])
    squared = float(one.estimate[n - 1] ** 2)
    yield Claim(
        "Appendix F",
        f"c = {c}: the gap between f(n+1)/2 and a_n falls to this at n = {n} (Section 1.1: "
        f"{ROUNDED[c]})",
        repr(printed),
        f"{gap:.4g}, {gap / printed:.3g} times as much",
        holds(math.isclose(gap, printed, rel_tol=0.05)),
        f"the gap is {gap:.4g}; what is printed is f({n})²/4 = {squared!r}",
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
        f"c = {c}: the recurrence of Remark 12, term by term, has the same gap at n = {n}",
        f"{gap:.10g}",
        f"{again:.10g}",
        holds(math.isclose(gap, again, rel_tol=1e-9)),  # either a_n is good to 1e-11
    )
    share = one.gap[1:] / one.estimate[1:]
    least, where = float(np.min(share)), 1 + int(np.argmin(share))
    yield Claim(
        "Theorem 3",
        f"c = {c}: 0 ≤ a_n ≤ f(n+1)/2 for 1 ≤ n ≤ {len(one.a) - 1}",
        "a_n ≤ f(n+1)/2",
        f"least gap {least:.2g} of the estimate, at n = {where}",
        # the coefficients are good to 1e-11
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
        "The coefficient, its estimate and the gap; the last column is what the paper prints at "
        f"n = {LAST}.",
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
            f"What Figure {number} would show if it plots what the printed numbers are, {view}: "
            "f(n)²/4. It is no gap.",
            tuple(
                Panel(
                    f"c = {one.power}",
                    "n",
                    "“gap”",
                    (line("f(n)²/4, as the printed numbers", x, one.estimate[n - 1] ** 2),),
                )
                for one in found
            ),
        )
        yield Figure(
            f"coefficients-figure-{number}-corrected",
            f"What Figure {number} should show by its caption, {view}: the gap itself.",
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
A small gap between small numbers says little; the ratio does. For c = 1 the symbol
g = ln(1/(1-x))/x grows beyond all bounds at x = 1, and a_n behaves like 1/(2n √(ln n + γ)) with
Euler's γ: the estimate is too large by √(ln n + γ), which has no limit. The ratio is {words}. For
c = 2, g(1) = ζ(2) is finite and the ratio tends to √ζ(2) = {math.pi / math.sqrt(6.0):.4f}; at
n = {LAST} it is {float(two.estimate[LAST] / two.a[LAST]):.4f}. In Σ a_n² this matters little:
a_1 and a_2 alone are {_early(one):.0f} % of what is added to 1 for c = 1, and {_early(two):.0f} %
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
        f"a_n is near f(n+1)/2 at n = {n}",
        f"f(n+1)/2 is {ratio:.3f} a_n",
        "holds" if ratio <= 1.05 else "weak",
        f"the bound on the sum is near: 1 + Σ f(n+1)²/4 = {bound:.5f} against Σ a_n² = {exact:.5f}",
    )


def _law(one: Found) -> Claim:
    n = np.array([MAGNIFIED, LAST, len(one.a) - 1])
    off = np.abs(one.asymptotic(n) / one.a[n] - 1.0)
    law = {1: "1/(2n √(ln n + γ))", 2: "f(n+1)/(2√ζ(2))"}[one.power]
    return Claim.new(
        f"c = {one.power}: a_n is within 2 % of {law} from n = {MAGNIFIED} on, nearer as n grows",
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
                line("f(n)²/4, as the printed numbers", x, one.estimate[n - 1] ** 2),
            ),
            x_log=True,
            y_log=True,
        )
        for one in found
    )
    return Figure(
        "coefficients-logarithmic",
        "Coefficient, estimate, gap and f(n)²/4, the printed “gap”, on logarithmic axes: the gap "
        "is a steady share of the coefficient, or grows beyond it.",
        panels,
    )
