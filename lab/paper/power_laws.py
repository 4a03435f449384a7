"""Power laws n^-c: the sums of Theorem 3, and Theorems 19 and 20."""

from __future__ import annotations

import math

import numpy as np

from hushfade.decays import CustomDecay, PowerLaw
from hushfade.factors import factorization
from hushfade.theory import gamma2, gamma_f
from lab.paper.class_f import LAST
from lab.paper.document import Blocks, Claim, Extent, Figure, Panel, Prose, holds, line
from lab.paper.theory.bounds import for_ever, two_steps
from lab.paper.theory.families import power_closed, power_sum, power_zeta

POWERS = 1, 2, 3, 4, 5


def blocks(extent: Extent) -> Blocks:
    """The chapter."""
    yield Prose(
        "For f(n) = n^-c, Theorem 3 bounds γ2 by 1 + (H - 1)/4 with a harmonic sum H, which is at "
        "most ζ(2c).  Theorem 19 (c = 1) and Theorem 20 have closed forms.  We compare these sums "
        "and closed forms, `theory.families.power_sum`, `power_zeta` and `power_closed`, with "
        "`theory.gamma2` and `theory.gamma_f`."
    )
    yield _shifted()
    yield from _harmonic(extent)
    yield from _nineteen(extent)
    yield from _twenty(extent)
    yield _drawn()


def _shifted() -> Claim:
    shifted = gamma2(CustomDecay(tuple(PowerLaw(1).weights(3)[1:])), 2, gap=1e-6)
    return Claim(
        "Section 3.5",
        "f(n) = (n+1)^-c, in the proof of Theorem 6",
        "f(1) = 1, and therefore γ2 > 1",
        f"f(1) = {PowerLaw(1).weights(2)[1]:g} for c = 1, and γ2 ≤ {shifted.upper:.6g} at T = 2",
        holds(shifted.upper > 1),
        "f(n) = n^-c",
    )


def _harmonic(extent: Extent) -> Blocks:
    T = range(2, 17)
    low = {(c, t): gamma2(PowerLaw(c), t, gap=1e-8) for c in POWERS for t in T}
    # the sum to T - 1 is the correct sum for one step less
    broken = [(c, t) for (c, t), x in low.items() if power_sum(PowerLaw(c), t - 1).value < x.lower]
    first = low[1, 2]
    yield Claim(
        "Theorem 3",
        "γ2 ≤ 1 + (H - 1)/4 with H = Σ n^-2c over n ≤ T - 1",
        f"γ2 ≤ {power_sum(PowerLaw(1), 1).value:g} at T = 2, c = 1",
        f"γ2 ≥ {first.lower:.6g}; false at {len(broken)} of {len(low)} pairs of c = 1, ..., 5 and "
        f"T = 2, ..., {T[-1]}, all with T = "
        f"{', '.join(str(t) for t in sorted({t for _, t in broken}))}",
        holds(not broken),
        "n ≤ T",
    )
    slack = min(power_sum(PowerLaw(c), t).value - x.lower for (c, t), x in low.items())
    yield Claim(
        "Theorem 3, corrected",
        "γ2 ≤ 1 + (H - 1)/4 with H = Σ n^-2c over n ≤ T",
        "never below γ2",
        f"smallest difference {slack:.3g}, c = 1, ..., 5, T = 2, ..., {T[-1]}",
        holds(slack >= 0),
    )
    last = extent.horizon
    gaps = [power_zeta(PowerLaw(c)).value - power_sum(PowerLaw(c), last).value for c in POWERS]
    yield Claim(
        "Theorem 3",
        "1 + (H - 1)/4 ≤ 1 + (ζ(2c) - 1)/4",
        "ζ is never below",
        f"difference {min(gaps):.1g} to {max(gaps):.2g} at T = {last}, c = 1, ..., 5",
        holds(min(gaps) >= -LAST),
    )


def _nineteen(extent: Extent) -> Blocks:
    from scipy.special import hyp2f1

    decay, steps = PowerLaw(1), extent.powers(2)
    a = factorization.square_root(decay).right(extent.horizon + 1)
    late = float(a[1:] @ a[1:])
    yield Claim(
        "Theorem 19",
        "γ2 ≤ Σ_{n=1}^{T} a_n² for f(n) = 1/n",
        "at least γ2, which exceeds 1",
        f"{late:.6g} at T = {extent.horizon}",
        holds(late >= 1),
        "n from 0 to T - 1: Σ a_n² of Theorem 2",
    )
    sums = {t: 1 + float(np.sum(1 / (4 * np.arange(2.0, t + 2) ** 2))) for t in (1, 3, *steps)}
    over = {t: total - (9 / 8 - 1 / (4 * (t + 1))) for t, total in sums.items()}
    yield Claim(
        "Theorem 19",
        "1 + Σ_{n≤T} 1/(4(n+1)²) ≤ 9/8 - 1/(4(T+1))",
        f"at most {sums[3] - over[3]:.6g} at T = 3",
        f"{sums[3]:.6g}; too large by {min(over.values()):.3g} to {max(over.values()):.3g} at all "
        f"{len(over)} T up to {steps[-1]}",
        holds(max(over.values()) <= 0),
        "5/4 - 1/(4(T+1))",
    )
    right = min(5 / 4 - 1 / (4 * (t + 1)) - total for t, total in sums.items())
    yield Claim(
        "Theorem 19, corrected",
        "1 + Σ_{n≤T} 1/(4(n+1)²) ≤ 5/4 - 1/(4(T+1))",
        "never below",
        f"smallest difference {right:.3g}",
        holds(right >= 0),
    )
    below = max(for_ever(decay).value - 9 / 8, *(
        gamma2(decay, t, gap=1e-8).upper - (9 / 8 - 1 / (4 * (t + 1))) for t in (2, 3, 4, 8, 16)
    ))  # fmt: skip
    yield Claim.new(
        "γ2 itself is below 9/8 - 1/(4(T+1)) for f(n) = 1/n, although the sum is not",
        "T = 2, 3, 4, 8, 16, and the limit",
        f"largest γ2 - bound: {below:.3g}",
        holds(below < 0),
    )
    x = 0.5
    wanted, minus, plus = -math.log(1 - x) / x, *(float(hyp2f1(1, 1, 2, s * x)) for s in (-1, 1))
    yield Claim(
        "Appendix B",
        "Li_1(x)/x = -ln(1-x)/x = ₂F₁(1, 1; 2; -x)",
        f"{wanted:.6g} at x = {x}",
        f"{minus:.6g}; {plus:.6g} with +x",
        holds(math.isclose(wanted, minus, rel_tol=1e-12)),
        "₂F₁(1, 1; 2; x)",
    )
    yield Claim(
        "Appendix B, corrected",
        "-ln(1-x)/x = ₂F₁(1, 1; 2; x)",
        f"{wanted:.6g} at x = {x}",
        f"{plus:.6g}",
        holds(math.isclose(wanted, plus, rel_tol=1e-12)),
    )


def _twenty(extent: Extent) -> Blocks:
    n = np.arange(1.0, extent.horizon)
    loose, tight, sums = [], [], []
    for c in POWERS[1:]:
        a = factorization.square_root(PowerLaw(c)).right(extent.horizon)[1:]
        loose.append(float(np.max(2 * a * (n + 1))))
        tight.append(float(np.max(2 * a * (n + 1) ** c)))
        sums.append(power_sum(PowerLaw(c), extent.horizon).value)
    plain = 1 + float(np.sum(1 / (4 * (n + 1) ** 2)))
    yield Claim(
        "Theorem 20",
        "a_n ≤ 1/(2(n+1)) for f(n) = n^-c gives the closed form",
        f"γ2 ≤ {sums[0]:.6g} for c = 2",
        f"true, 2(n+1) a_n ≤ {max(loose):.4g}, but its squares sum to {plain:.6g} for every c",
        "false" if max(loose) > 1 else "weak" if plain - 1 > 2 * (sums[0] - 1) else "holds",
        "a_n ≤ 1/(2(n+1)^c)",
    )
    yield Claim(
        "Theorem 20, corrected",
        "a_n ≤ 1/(2(n+1)^c)",
        "2(n+1)^c a_n ≤ 1",
        f"at most {max(tight):.12g}, c = 2, ..., 5, n < {extent.horizon}",
        holds(max(tight) <= 1 + 1e-11),
    )
    pairs = [(c, T) for c in POWERS for T in extent.powers(2)]
    spare = {(c, T): _closed(c, T) - power_sum(PowerLaw(c), T + 1).value for c, T in pairs}
    yield Claim(
        "Theorem 20",
        "1 + Σ_{n≤T} 1/(4(n+1)^2c) ≤ 1 + (1 - (T+1)^(1-2c))/(4(2c-1))",
        "never below",
        f"smallest difference {min(spare.values()):.2g}, largest {max(spare.values()):.2g}, "
        f"c = 1, ..., 5, T = 2, ..., {pairs[-1][1]}",
        holds(min(spare.values()) >= 0),
    )
    c, T = 2, 16
    found, printed = gamma_f(PowerLaw(c), T, gap=1e-6), math.sqrt(T) * (1 + T * _closed(c, T))
    yield Claim(
        "Theorem 20",
        "γ_F ≤ √T (1 + Σ_{n=1}^{T} b), where b is the closed form",
        f"{printed:.6g} at c = {c}, T = {T}",
        f"γ_F ≤ {found.upper:.6g}, smaller by a factor of {printed / found.upper:.1f}",
        "false" if printed < found.lower else "weak" if printed > 2 * found.upper else "holds",
        "γ_F ≤ √T b: b already includes the sum over n",
    )
    ratio = math.sqrt(T) * power_closed(PowerLaw(c), T).value / found.upper
    yield Claim(
        "Theorem 20, corrected",
        "γ_F ≤ √T (1 + (1 - T^(1-2c))/(4(2c-1)))",
        "never below γ_F",
        f"{ratio:.6g} times γ_F at c = {c}, T = {T}",
        holds(ratio >= 1),
    )


def _closed(c: float, T: int) -> float:
    return float(1 + (1 - (T + 1.0) ** (1 - 2 * c)) / (4 * (2 * c - 1)))


def _drawn() -> Figure:
    c = np.linspace(0.6, 5.0, 45)
    decays = [PowerLaw(x) for x in c]
    exact = np.array([for_ever(x).value for x in decays])
    lines = (
        line("Theorem 2, lower", c, np.array([two_steps(x, 2).value for x in decays]) / exact),
        line("Theorem 3", c, np.array([power_zeta(x).value for x in decays]) / exact),
        line("closed form", c, (1 + 1 / (4 * (2 * c - 1))) / exact),
        line("exact", c, 1.0),
    )
    return Figure(
        "power-laws-bounds",
        "How far are the bounds from Σ a_n² over all n, the limit of γ2?  The closed form is the "
        "one of Theorem 20 for T → ∞.",
        (Panel("power laws n^-c", "c", "bound over Σ a_n²", lines),),
    )
