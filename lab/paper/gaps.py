"""The gaps between upper and lower bound for f(n) = n^-c, c = 1, ..., 5, for all T."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushfade.check import Column
from hushfade.decays import PowerLaw
from hushfade.factors import factorization
from hushfade.theory import certificates, gamma2
from lab.paper.document import Blocks, Claim, Extent, Figure, Panel, Prose, Table, holds, line
from lab.paper.theory.bounds import for_ever, two_steps
from lab.paper.theory.families import power_sum, power_zeta

CLAIMED = {1: 0.13, 2: 0.0125, 3: 0.003, 4: 5e-4, 5: 1.25e-4}  # Section 1.1
GAP = 1e-8  # relative gap of the brackets


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
        """The paper's bound on the gap."""
        return CLAIMED[self.power]

    def first(self, gap: Column) -> int | None:
        """The first T at which the gap exceeds the claimed bound."""
        above = np.flatnonzero(gap > self.claimed)
        return int(above[0]) + 2 if above.size else None


def blocks(extent: Extent) -> Blocks:
    """The chapter."""
    gaps = [_gap(c, extent.horizon) for c in CLAIMED]
    yield Prose(
        "The paper states that for f(n) = n^-c its upper and lower bounds differ by at most a "
        "small number, for all T.  The upper bound is 1 + Σ f(n+1)²/4 of Theorem 3, summed over "
        "n < T.  (As printed, one term is missing and the bound is false: see the chapter on "
        "power laws.)  The lower bound is 2/√(4 - f(2)²).  The gap grows with T.  We compute it at "
        f"every T up to {extent.horizon}.  Its limit is `families.power_zeta` minus "
        "`bounds.two_steps`.  With Σ a_n² of Theorem 2 as the upper bound the limit is "
        "`bounds.for_ever` minus `bounds.two_steps`."
    )
    yield Table(
        "gaps-largest",
        "The largest gap over all T, and the first T at which it exceeds the claimed bound; also "
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
        "The same bounds on the gap, with Σ a_n² of Theorem 2 as the upper bound",
        "at most " + ", ".join(f"{x.claimed:g}" for x in gaps),
        ", ".join(f"{x.root_limit:.4g}" for x in gaps)
        + f": true for c = {_listed(saved)}, false for c = {_listed(broken)}",
        holds(not broken),
        "the corrected bounds, which also hold here, since Σ a_n² is below the bound of Theorem 3",
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
    found = f"increases to {x.half_limit:.4g}"
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
    """The value, rounded up to three digits."""
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
    caption = "For which c, and from which T on, does the gap exceed the claimed bound?"
    return Figure("gaps-claimed", caption, tuple(panels))


def _true(gaps: list[Gap], extent: Extent) -> Blocks:
    """Σ a_n² minus the certified lower bound: the largest possible gap between Σ a_n² and γ2."""
    steps = sorted({2, 32, *extent.powers(4)})
    exact = 128 if extent.full else 32
    found = {x.power: [_left(x.power, T, exact) for T in steps] for x in gaps}
    yield Prose(
        "The lower bound does not change after T = 2, so most of the gap is not due to the upper "
        f"bound.  With a lower bound for each T (`theory.gamma2` with a gap of {GAP:g} up to "
        f"T = {exact}, `certificates.lower` beyond) the remaining gap to Σ a_n² decreases."
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
        "How large is the gap with a lower bound that grows with T?  Near 1e-10 it consists of the "
        "allowance for rounding in the certificate.",
        panels,
    )
    last = {c: left[-1] for c, left in found.items()}
    worst = max(last, key=lambda c: last[c])
    yield Claim.new(
        f"With the certified lower bound the gap at T = {steps[-1]} is below 1 % of the gap in the "
        "paper",
        "c = 1, ..., 5",
        f"at most {last[worst]:.2g} (c = {worst}) instead of {gaps[worst - 1].root_limit:.4g}",
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
        "All these bounds tend to 1 as c grows, because M tends to I, so a small gap means little. "
        " The informative number is the excess over 1: each bound minus 1, divided by Σ a_n² - 1, "
        "the limit of γ2 - 1."
    )
    yield Claim(
        "Section 1.1",
        "The upper bound converges to the exact value as c increases",
        "the gap to the limit of γ2 decreases",
        "bound of Theorem 3 minus the limit: " + ", ".join(f"{x:.2g}" for x in above),
        holds(all(np.diff(above) < 0)),
    )
    yield Claim.new(
        "As c grows, the excess of the upper bound over 1 becomes exact, and the excess of the "
        "lower bound becomes half of the exact one: 4^-c/8 against 4^-c/4",
        "1 and 0.5",
        f"{upper[-1]:.4f} and {lower[-1]:.4f} at c = {gaps[-1].power}; for the lower bound: "
        + ", ".join(f"{ratio:.4f}" for ratio in lower),
        holds(abs(upper[-1] - 1) < 0.01 and abs(lower[-1] - 0.5) < 0.01),
    )
