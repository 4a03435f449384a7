"""The class F: which decays belong to it, and the bound of Theorem 3 for all members."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from hushfade.decays import CustomDecay, Decay, PowerLaw, SlidingWindow
from hushfade.factors import factorization
from hushfade.theory import gamma_f
from lab.paper.decays import DECAYS
from lab.paper.document import Blocks, Claim, Extent, Prose, Table, holds
from lab.paper.theory.bounds import half_weights, root
from lab.paper.theory.class_f import enclosed_root, membership

OTHERS: dict[str, Decay] = {
    "power 0.01": PowerLaw(0.01),
    "power 1.5": PowerLaw(1.5),
    "power π": PowerLaw(math.pi),
    "(1, 1, 0, 0, ...)": SlidingWindow(2),
    "(1, 1/2, 1/16, 0, ...)": CustomDecay((1.0, 0.5, 0.0625)),
    "(1, 1/2, 1/8, 0, ...)": CustomDecay((1.0, 0.5, 0.125)),
}
LAST = 2.0**-48  # relative rounding error of a sum of squares


def blocks(extent: Extent) -> Blocks:
    """The chapter."""
    yield from _members(extent)
    yield from _half_weights(extent)
    T = extent.exact // 2
    halves = {x: half_weights(x, T).value for x in DECAYS.values() if x.log_convex}
    says = "γ_F ≤ √T (1 + Σ f(n+1)²/4)"
    yield never_below_gamma_f("Theorem 3, (4)", says, T, halves)


def _members(extent: Extent) -> Blocks:
    n = 4097  # the length of the longest window, plus one
    found = {name: membership(decay, n) for name, decay in (DECAYS | OTHERS).items()}
    yield Prose(
        "A decay is in the class F if √g has no negative coefficient.  For log-convex weights "
        "`theory.class_f` proves this at every n by Kaluza's theorem (1928).  It decides the "
        f"other decays up to n = {n}: in integers for the first coefficients, and with a bound on "
        "the rounding errors for the later ones.  The weights (1, 1/2, 1/16, 0, ...) are the "
        "coefficients of (1 + x/4)²: they are in F, but not log-convex."
    )
    yield Table(
        "membership-members",
        "Is the decay in the class F?",
        ("decay", "in F", "reason"),
        tuple((name, _word(x.verdict), x.reason) for name, x in found.items()),
    )
    ours = [x for x in found if x.startswith(("power", "exponential", "counting"))]
    yield Claim(
        "Section 1.1",
        "α^-(n-1) with α ≥ 1, and n^-c with c = 1, 2, ..., are in F",
        "in F",
        f"proven for all n for {sum(found[x].verdict == 'proven' for x in ours)} of {len(ours)} "
        "decays, including fractional powers",
        holds(all(found[x].verdict == "proven" for x in ours)),
    )
    grid, n = np.arange(0.1, 5.05, 0.35), 2048 if extent.full else 512
    least = min(float(np.min(np.subtract(*enclosed_root(PowerLaw(c).weights(n))))) for c in grid)
    yield Claim.new(
        "n^-c is in F for every real c > 0 (Kaluza)",
        "a_n > 0",
        f"a_n minus its rounding bound is at least {least:.2g}, n < {n}, at {len(grid)} values of "
        f"c from {grid[0]:g} to {grid[-1]:g}",
        holds(least > 0),
    )
    windows = {x: y for x, y in found.items() if x.startswith(("window", "(1, 1, 0"))}
    refuted = sum(x.verdict == "refuted" for x in windows.values())
    yield Claim.new(
        "A window of two or more steps is not in F, so Theorem 3 does not apply to windows",
        "some a_n < 0",
        f"{refuted} of {len(windows)} windows; of length 2: {found['(1, 1, 0, 0, ...)'].reason}",
        holds(refuted == len(windows)),
    )


def _word(verdict: str) -> str:
    return {"proven": "yes", "refuted": "no", "up to n": "as far as checked"}[verdict]


def _half_weights(extent: Extent) -> Blocks:
    members = {x: d for x, d in DECAYS.items() if d.log_convex}
    T = extent.horizon
    rows, shares = [], {}
    for name, decay in members.items():
        f, a = decay.weights(T), factorization.square_root(decay).right(T)
        seen = f > 1e-290  # smaller ones are rounded to 0
        share = 2 * a[seen] / f[seen]
        shares[name] = float(np.max(share[1:]))
        half, squares = half_weights(decay, T).value, root(decay, T).value
        rows.append((name, squares, half, half / squares, float(np.max(share[2:]))))
    yield Table(
        "membership-half-weights",
        f"Theorem 3 at T = {T}: 1 + Σ f(n+1)²/4 in place of Σ a_n²",
        ("decay", "Σ a_n²", "Theorem 3", "ratio", "largest 2a_n/f(n+1), n ≥ 2"),
        tuple(rows),
    )
    top = max(shares, key=lambda name: shares[name])
    yield Claim(
        "Section 3.2",
        "a_n ≤ f(n+1)/2 for f in F",
        "2a_n/f(n+1) ≤ 1",
        f"{shares[top]:.12g} at n = 1 ({top}), at most {max(row[4] for row in rows):.4g} from "
        f"n = 2 to {T - 1}",
        holds(shares[top] <= 1 + 1e-11),
    )
    close, far = (pick(rows, key=lambda row: row[3]) for pick in (min, max))
    yield Claim(
        "Theorem 3, (4)",
        "γ2 ≤ 1 + Σ f(n+1)²/4 for f in F",
        "never below γ2",
        f"{close[3]:.6g} ({close[0]}) to {far[3]:.4g} ({far[0]}) times Σ a_n² at T = {T}",
        holds(all(row[3] >= 1 - LAST for row in rows)),
    )
    yield Claim(
        "Section 1.1",
        "Theorem 3 relies on a tight upper bound on a_n",
        "1 + Σ f(n+1)²/4 is close to Σ a_n²",
        f"more than twice as large for {sum(row[3] > 2 for row in rows)} of {len(rows)} members",
        "weak" if far[3] > 2 else "holds",
        "for slow decays use Σ a_n² itself, by power_series.square_root",
    )


def never_below_gamma_f(where: str, says: str, T: int, bounds: Mapping[Decay, float]) -> Claim:
    """γ_F ≤ √T times each bound, at T steps."""
    norms = {decay: gamma_f(decay, T, gap=1e-5).upper for decay in bounds}
    over = [math.sqrt(T) * bound / norms[decay] for decay, bound in bounds.items()]
    found = f"{min(over):.6g} to {max(over):.4g} times γ_F at T = {T}, {len(over)} decays"
    return Claim(where, says, "never below γ_F", found, holds(min(over) >= 1))
