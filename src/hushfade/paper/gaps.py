"""The gaps between upper and lower bound for f(n) = n^-c, c = 1, ..., 5, for all T."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushfade.check import Column
from hushfade.decay import PowerLaw
from hushfade.factors import factorization
from hushfade.paper.document import Blocks, Claim, Extent, Figure, Panel, Prose, Table, holds, line
from hushfade.theory import certificates, gamma2
from hushfade.theory.bounds import for_ever, two_steps
from hushfade.theory.families import power_sum, power_zeta

CLAIMED = {1: 0.13, 2: 0.0125, 3: 0.003, 4: 5e-4, 5: 1.25e-4}  # Section 1.1
GAP = 1e-8  # of the brackets, relatively


@dataclass(frozen=True)
class Gap:
    """Upper minus lower bound at T = 2, 3, ... for one power, and its least upper bound."""

    power: int
    half: Column  # 1 + Σ f²/4, Theorem 3 corrected, minus 2/√(4 - f(2)²)
    root: Column  # Σ a_n², Theorem 2, minus the same
    half_limit: float
    root_limit: float

    @property
    def claimed(self) -> float:
        """What the paper says that it is at most."""
        return CLAIMED[self.power]

    def first(self, gap: Column) -> int | None:
        """The first T at which the gap is above what is claimed."""
        above = np.flatnonzero(gap > self.claimed)
        return int(above[0]) + 2 if above.size else None


def blocks(extent: Extent) -> Blocks:
    """The chapter."""
    gaps = [_gap(c, extent.horizon) for c in CLAIMED]
    yield Prose(
        "The paper says that for f(n) = n^-c its upper and lower bound differ by no more than a "
        "small number, for all T.  Its upper bound is Theorem 3's 1 + Σ f(n+1)²/4, summed over "
        "n < T (as printed, one term is missing, and the bound is then false: see the chapter "
        "on power laws), its lower bound 2/√(4 - f(2)²).  The gap grows with T.  It is computed at "
        f"every T up to {extent.horizon}; its limit is `families.power_zeta` minus "
        "`bounds.two_steps`.  "
        "With Σ a_n² of Theorem 2 in place of Theorem 3 the limit is `bounds.for_ever` minus the "
        "same."
    )
    yield Table(
        "gaps-largest",
        "The largest gap over all T, and the first T at which it is above what is claimed; also "
        "for the sum to T - 1, as printed",
        ("c", "claimed", "Theorem 3", "first T", "to T - 1", "Theorem 2", "first T, Theorem 2"),
        tuple(
            (x.power, x.claimed, x.half_limit, _named(x.first(x.half)),
             _named(_after(x.first(x.half))), x.root_limit, _named(x.first(x.root)))
            for x in gaps
        ),
    )  # fmt: skip
    for x in gaps:
        yield _claim(x)
    for x in gaps:
        if x.half_limit > x.claimed:
            yield _corrected(x)
    saved = [x.power for x in gaps if x.root_limit <= x.claimed]
    broken = [x.power for x in gaps if x.root_limit > x.claimed]
    yield Claim(
        "Section 1.1",
        "The same levels, with Theorem 2's Σ a_n² for the upper bound",
        "at most " + ", ".join(f"{x.claimed:g}" for x in gaps),
        ", ".join(f"{x.root_limit:.4g}" for x in gaps)
        + f": c = {_listed(saved)} hold, {_listed(broken)} do not",
        holds(not broken),
        "the corrected levels, which hold for it too, as Σ a_n² is below Theorem 3's bound",
    )
    yield _drawn(gaps, extent)
    yield from _true(gaps, extent)
    yield from _excess(gaps)


def _gap(c: int, horizon: int) -> Gap:
    decay = PowerLaw(c)
    f, a = decay.weights(horizon), factorization.square_root(decay).right(horizon)
    lower = two_steps(decay, 2).value
    return Gap(
        c,
        1.0 + np.cumsum(f[1:] ** 2) / 4 - lower,
        np.cumsum(a**2)[1:] - lower,
        power_zeta(decay).value - lower,
        for_ever(decay).value - lower,
    )


def _claim(x: Gap) -> Claim:
    first, decay = x.first(x.half), PowerLaw(x.power)
    found = f"rises to {x.half_limit:.4g}"
    if first is not None:
        lower = two_steps(decay, 2).value
        before, at = (power_sum(decay, T).value - lower for T in (first - 1, first))
        found += f"; {before:.6g} at T = {first - 1}, {at:.6g} at T = {first}"
    return Claim(
        "Section 1.1",
        f"c = {x.power}: upper minus lower bound, for all T",
        f"at most {x.claimed:g}",
        found,
        holds(first is None and x.half_limit <= x.claimed),
        "" if x.half_limit <= x.claimed else f"at most {_rounded_up(x.half_limit):g}",
    )


def _corrected(x: Gap) -> Claim:
    level = _rounded_up(x.half_limit)
    return Claim(
        "Section 1.1, corrected",
        f"c = {x.power}: upper minus lower bound, for all T",
        f"at most {level:g}",
        f"largest up to T = {len(x.half) + 1}: {np.max(x.half):.6g}; limit {x.half_limit:.6g}",
        holds(max(float(np.max(x.half)), x.half_limit) <= level),
    )


def _rounded_up(value: float) -> float:
    """The value to three digits, upward."""
    unit = 10.0 ** (np.floor(np.log10(value)) - 2)
    return float(f"{np.ceil(value / unit) * unit:.3g}")


def _named(first: int | None) -> int | str:
    return "never" if first is None else first


def _after(first: int | None) -> int | None:
    return None if first is None else first + 1


def _listed(powers: list[int]) -> str:
    return ", ".join(map(str, powers)) or "none"


def _drawn(gaps: list[Gap], extent: Extent) -> Figure:
    T = np.arange(2.0, min(extent.horizon, 64) + 1)
    panels = []
    for title, name in (("upper bound of Theorem 3", "half"), ("upper bound of Theorem 2", "root")):
        lines = [line(f"c = {x.power}", T, getattr(x, name)[: len(T)] / x.claimed) for x in gaps]
        lines.append(line("as claimed", T, 1.0))
        panels.append(Panel(title, "T", "gap over the claimed level", tuple(lines), x_log=True))
    caption = "For which c, and from which T on, is the gap above what is claimed?"
    return Figure("gaps-claimed", caption, tuple(panels))


def _true(gaps: list[Gap], extent: Extent) -> Blocks:
    """Σ a_n² minus the certified lower bound: how far γ2 can be from the upper bound at all."""
    steps = sorted({2, 32, *extent.powers(4)})
    exact = 128 if extent.full else 32
    found = {x.power: [_left(x.power, T, exact) for T in steps] for x in gaps}
    yield Prose(
        "The lower bound does not move after T = 2, so most of the gap is not the upper bound's "
        f"fault.  With a lower bound at every T (`theory.gamma2` with a gap of {GAP:g} up to "
        f"T = {exact}, `certificates.lower` beyond) what is left between it and Σ a_n² falls."
    )
    rows = tuple((x.power, float(x.root[32 - 2]), *(
        found[x.power][steps.index(T)] for T in (2, 32, steps[-1]))) for x in gaps)  # fmt: skip
    yield Table(
        "gaps-true",
        "Σ a_n² minus a proven lower bound of γ2",
        ("c", "printed lower, T = 32", "ours, T = 2", "ours, T = 32", f"ours, T = {steps[-1]}"),
        rows,
        4,
    )
    T = np.array(steps, dtype=np.float64)
    panels = tuple(
        Panel(title, "T", "Σ a_n² minus lower bound", lines, x_log=True, y_log=True)
        for title, lines in (
            ("the paper's lower bound",
             tuple(line(f"c = {x.power}", T, x.root[np.array(steps) - 2]) for x in gaps)),
            ("ours", tuple(line(f"c = {x.power}", T, np.array(found[x.power])) for x in gaps)),
        )
    )  # fmt: skip
    yield Figure(
        "gaps-left",
        "What is left of the gap with a lower bound that grows with T?  Near 1e-10 it is the "
        "rounding that the certificate is charged for.",
        panels,
    )
    last = {c: left[-1] for c, left in found.items()}
    worst = max(last, key=lambda c: last[c])
    yield Claim.new(
        f"With the certified lower bound the gap at T = {steps[-1]} is below a hundredth of the "
        "paper's",
        "c = 1, ..., 5",
        f"at most {last[worst]:.2g} (c = {worst}) for {gaps[worst - 1].root_limit:.4g}",
        holds(all(0 <= last[x.power] < 0.01 * x.root_limit for x in gaps)),
    )


def _left(c: int, T: int, exact: int) -> float:
    decay = PowerLaw(c)
    a = factorization.square_root(decay).right(T)
    if exact >= T:
        lower = gamma2(decay, T, gap=GAP).lower
    else:
        f = decay.weights(T)
        lower = certificates.lower(f, weight_error=certificates.rounding(decay, f)).value
    return float(a @ a) - lower


def _excess(gaps: list[Gap]) -> Blocks:
    upper, lower, above = [], [], []
    for x in gaps:
        decay = PowerLaw(x.power)
        true = for_ever(decay).value - 1
        above.append(x.half_limit - x.root_limit)
        upper.append((power_zeta(decay).value - 1) / true)
        lower.append((two_steps(decay, 2).value - 1) / true)
    yield Prose(
        "All these numbers tend to 1 as c grows, for M tends to I: small gaps are no merit.  What "
        "tells is the part above 1: each bound minus 1, over the limit of γ2 - 1, Σ a_n² - 1."
    )
    yield Claim(
        "Section 1.1",
        "The upper bound converges to the exact value as c increases",
        "the gap to the limit of γ2 falls",
        "Theorem 3's bound minus it: " + ", ".join(f"{x:.2g}" for x in above),
        holds(all(np.diff(above) < 0)),
    )
    yield Claim.new(
        "By what exceeds 1 the upper bound is exact in the limit of large c, the lower bound half "
        "of it: 4^-c/8 against 4^-c/4",
        "1 and 0.5",
        f"{upper[-1]:.4f} and {lower[-1]:.4f} at c = {gaps[-1].power}; the lower one's: "
        + ", ".join(f"{ratio:.4f}" for ratio in lower),
        holds(abs(upper[-1] - 1) < 0.01 and abs(lower[-1] - 0.5) < 0.01),
    )
