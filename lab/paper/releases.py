"""Algorithm 1 at work: thousands of simulated streams, compared with the paper's bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from hushfade.check import Column
from hushfade.decays import Decay, Exponential, NoDecay, PowerLaw
from hushfade.factors.factorization import square_root
from lab.paper import samples
from lab.paper.document import Blocks, Claim, Extent, Figure, Panel, Prose, Table, holds, line
from lab.paper.samples import CHANGE, GUARANTEE, PICTURED, Sample
from lab.paper.theory import accuracy, families

SHOWN = 192  # steps in a figure


def blocks(extent: Extent) -> Blocks:
    """The chapter."""
    known = samples.known(extent)
    yield from _streams(known, samples.endless(extent))
    yield from _largest(known)
    yield from _mean_square(known)


def _streams(known: Mapping[str, Sample], endless: Mapping[str, Sample]) -> Blocks:
    one = known["counting"]
    prices = {name: x.plan.noise_stddev / known[name].plan.noise_stddev
              for name, x in endless.items()}  # fmt: skip
    loss = max(x.plan.loss for x in known.values())
    dearest = max(prices, key=lambda name: prices[name])
    yield Prose(
        f"For each decay we made a plan (ε = {GUARANTEE.epsilon:g}, δ = {GUARANTEE.delta:g}, "
        f"records in [-1, 1], one record replaced, so 2Δ = {CHANGE:g}) and ran {one.releases} "
        f"streams of {len(one.truth)} steps through `plan`, `Stream` and `run`, with independent "
        "noise. These streams differ from Algorithm 1 as follows. Records are rounded to a grid, "
        "and everything before the noise is computed in integers. The noise is a Gaussian rounded "
        "to that grid, and it is added to R x, not to L R x. The taps are rounded, which costs up "
        f"to {100 * loss:.2f} % of the largest error and no privacy. σ is the smallest possible. "
        f"Every plan has the horizon T, as in Algorithm 1; {len(endless)} decays also have a plan "
        "without a horizon. Algorithm 1 requires T in every case, but of these decays only "
        "counting needs it. A plan without a horizon has at most "
        f"{100 * (prices[dearest] - 1):.1f} % more noise ({dearest}), and "
        f"{100 * (prices['power 1'] - 1):.3f} % more for power 1."
    )
    panels = []
    for name in PICTURED:
        x = endless.get(name, known[name])
        t, first, reach = np.arange(1.0, SHOWN + 1.0), x.first[:SHOWN], 1.96 * x.stddevs[:SHOWN]
        panels.append(
            Panel(
                name + (", horizon known" if name not in endless else ", no horizon"),
                "step",
                "decayed sum",
                (
                    line("released", t, first),
                    line("truth", t, x.truth[:SHOWN]),
                    line("95 % band", t, first - reach, "band", first + reach),
                ),
            )
        )
    yield Figure(
        "releases-streams",
        f"One stream per decay, {SHOWN} steps: the true decayed sum, the release, and the band "
        "that contains the true sum with probability 95 % at each step.",
        tuple(panels),
    )


# The largest error -------------------------------------------------------------------------------


def _largest(known: Mapping[str, Sample]) -> Blocks:
    rows = []
    ratios: dict[str, Column] = {}
    below = kept = above = 0.0
    chances: list[tuple[float, str, int, float]] = []
    for name, x in known.items():
        sizes = np.maximum.accumulate(x.stddevs)[x.ends - 1]
        scaled = x.largest / sizes[:, None]
        mean = np.mean(scaled, axis=1)
        error = np.std(scaled, axis=1) / math.sqrt(x.releases)
        energy = np.cumsum(square_root(x.plan.decay).right(len(x.truth) + 1) ** 2)
        printed = np.sqrt(np.log(x.ends)) * energy[x.ends] / energy[x.ends - 1]
        union = np.sqrt(2.0 * np.log(2.0 * x.ends))
        ratios[name] = mean
        below = max(below, float(np.max((mean - 6.0 * error) / printed)))
        above = max(above, float(np.max((mean - 6.0 * error) / union)))
        normal = _independent(x.ends)
        kept = max(kept, float(np.max((mean - 6.0 * error) / normal)))
        rows.append((name, mean[-1], error[-1], printed[-1], normal[-1], union[-1],
                     float(np.mean(scaled[0])), printed[0]))  # fmt: skip
        inside = np.mean(scaled <= printed[:, None], axis=1)
        right = np.mean(scaled <= np.sqrt(2.0 * np.log(3.0 * x.ends))[:, None], axis=1)
        k = int(np.argmin(inside))
        chances.append((float(inside[k]), name, int(x.ends[k]), float(np.min(right))))
    some = known["counting"]
    steps, ends, n = len(some.truth), some.ends, some.releases
    yield Prose(
        "Equation (8) and Theorems 5 and 6 bound E max|error| by σ Δ γ2 √(log T), where σ Δ γ2 "
        "is the largest standard deviation of a step. We divide everything by this standard "
        "deviation, which is σ Δ Σ_{n<T} a_n² for the square root; the sum in Theorem 5 has one "
        "more term. We call a bound violated only if the measured value minus six standard errors "
        "exceeds it."
    )
    yield Table(
        "releases-largest",
        "E max|error| over the first T steps, divided by the largest standard deviation among "
        f"them; {n} streams per decay.",
        ("decay", f"measured, T = {steps}", "standard error", "Theorem 5", "independent",
         "√(2 ln 2T)", "measured, T = 2", "Theorem 5, T = 2"),
        tuple(rows),
        digits=4,
    )  # fmt: skip
    broken = sum(float(row[1]) - 6 * float(row[2]) > float(row[3]) for row in rows)
    yield Claim(
        "Theorem 5",
        "E max|error| ≤ σ Δ (1 + Σ a_n²) √(log T)",
        "at most 1 after division",
        f"up to {below:.3f}, and {below * math.sqrt(math.log(2)):.3f} if log has base 2; at "
        f"T = {steps} violated by {broken} of {len(rows)} decays",
        holds(below <= 1.0),
        "√(2 ln 2T) in place of √(log T)",
    )
    yield Claim(
        "Theorem 5, corrected",
        "E max|error| ≤ σ Δ ‖L‖ ‖R‖ √(2 ln 2T), and at most the value for independent errors "
        "(Šidák)",
        "at most 1 after division",
        f"{above:.3f} and {kept:.3f}",
        holds(above <= 1.0 and kept <= 1.0),
    )
    least, name, end, right = min(chances)
    counted = next(chance for chance in chances if chance[1] == "counting")
    # a frequency of n streams is within 6/(2√n) of its probability
    yield Claim(
        "Theorem 15",
        "with probability ≥ 2/3 all |error| ≤ σ ‖L‖ ‖R‖ √(log T); Section 3.5 uses it for all f",
        "≥ 0.667",
        f"{counted[0]:.3f} for counting at T = {counted[2]}, {least:.3f} for {name} at T = {end}",
        holds(counted[0] + 3.0 / math.sqrt(n) >= 2.0 / 3.0),
        "√(2 ln 3T) in place of √(log T)",
    )
    yield Claim(
        "Theorem 15, corrected",
        "with probability ≥ 2/3 all |error| ≤ σ ‖L‖ ‖R‖ √(2 ln 3T)",
        "≥ 0.667",
        f"at least {min(chance[3] for chance in chances):.3f}, for all decays and T",
        holds(min(chance[3] for chance in chances) >= 2.0 / 3.0),
    )
    shown = "exponential, α = 2", "power 1", "window 16", "counting"
    yield Figure(
        "releases-largest-by-steps",
        "The mean largest error over the first T steps, divided by the largest standard deviation: "
        "measured, printed, corrected.",
        (
            Panel(
                f"{n} streams per decay", "T", "E max|error| / largest standard deviation",
                (
                    line("√ln T, printed", ends, np.sqrt(np.log(ends))),
                    line("√(2 ln 2T), corrected", ends, np.sqrt(2 * np.log(2 * ends))),
                    line("independent errors", ends, _independent(ends)),
                    *(line(name, ends, ratios[name], "points") for name in shown),
                ),
                x_log=True,
            ),
        ),
    )  # fmt: skip


def _independent(ends: Column) -> Column:
    """The expected maximum of T independent |N(0, 1)|."""
    one = accuracy.sharper_expected_maximum
    return np.array([one(1.0, int(n), noise_multiplier=1.0, change=1.0).value for n in ends])


# The mean square ---------------------------------------------------------------------------------


def _mean_square(known: Mapping[str, Sample]) -> Blocks:
    unit = (GUARANTEE.noise_multiplier * CHANGE) ** 2
    rows, over, losses, fifth = [], [], [], []
    sixth: dict[str, float] = {}
    for name, x in known.items():
        steps, decay = len(x.truth), x.plan.decay
        pair = square_root(decay)
        exact = unit * _exact(decay, steps)
        measured, planned = float(np.mean(x.square)), float(np.mean(x.stddevs**2))
        printed = unit * float(np.sum(pair.right(steps + 1) ** 2)) ** 2
        special = _theorem_6(decay, steps)
        bound: float | str = "-" if special is None else unit * special**2
        rows.append((name, measured, planned, exact, printed, bound))
        over.append(measured / planned)
        losses.append(planned / exact)
        fifth.append(printed / exact)
        if special is not None:
            sixth[name] = unit * special**2 / exact
    yield Table(
        "releases-mean-square",
        f"Mean squared error over T = {len(known['counting'].truth)} steps: measured, stated by "
        "the plan, of the exact square root, and the paper's bounds, all with the same noise.",
        ("decay", "measured", "plan", "√g exactly", "Theorem 5", "Theorem 6"),
        tuple(rows),
        digits=5,
    )
    away = max(abs(x - 1.0) for x in over)
    # errors of neighbouring steps are correlated: allow for it as if all steps were one
    allowed = 6.0 * math.sqrt(2.0 / known["counting"].releases)
    yield Claim.new(
        "the mean squared error agrees with the plan, and is within 0.5 % of the mean squared "
        "error of the exact square root",
        f"ratio of measured to plan within {allowed:.3f} of 1",
        f"within {away:.4f}; ratio of plan to exact at most {max(losses):.5f}",
        holds(away <= allowed and max(losses) <= 1.005),
    )
    yield Claim(
        "Theorem 5",
        "mean squared error ≤ σ² Δ² (1 + Σ a_n²)²",
        "at least 1 after division by the exact one",
        f"{min(fifth):.4f} to {max(fifth):.4f}",
        holds(min(fifth) >= 1.0),
    )
    yield from _closed_forms(sixth)


def _closed_forms(over: Mapping[str, float]) -> Blocks:
    """The claims of Theorem 6, from the ratios of its bounds to the exact mean squared errors."""
    steep = [x for name, x in over.items() if name.startswith("exponential")]
    others = {name: x for name, x in over.items() if not name.startswith("exponential")}
    divided = "at least 1 after division by the exact one"
    says = "mean squared error ≤ σ² Δ² (1 + S/π)² for α^-n"
    yield Claim("Theorem 6", says, divided, _range(steep), holds(min(steep) >= 1))
    pairs = [(PowerLaw(c), T) for c in (1, 2, 3) for T in range(2, 17)]
    early, right = (
        [families.power_sum(decay, T - less).value ** 2 / _exact(decay, T) for decay, T in pairs]
        for less in (1, 0)
    )
    broken = sorted({T for (_, T), x in zip(pairs, early, strict=True) if x < 1.0})
    says = (
        "mean squared error ≤ σ² Δ² (1 + (H-1)/4)² for n^-c, c = 1, 2, 3, T ≤ 16, H = Σ n^-2c to "
    )
    yield Claim(
        "Theorem 6",
        says + "T - 1, as in Theorem 3",
        divided,
        f"{_range(early)}; below 1 at T = {', '.join(map(str, broken))}",
        holds(not broken),
        "n ≤ T in H",
    )
    yield Claim("Theorem 6, corrected", says + "T", divided, _range(right), holds(min(right) >= 1))
    far = max(others, key=lambda name: others[name])
    yield Claim(
        "Theorem 6",
        "mean squared error ≤ σ² Δ² (1 + Σ f(n+1)²/4)² for every f in F",
        divided,
        f"{_range(list(others.values()))} ({far})",
        "false" if min(others.values()) < 1.0 else "weak" if others[far] > 4.0 else "holds",
        "σ² Δ² ‖R‖² ‖L‖_F²/T exactly, `theory.accuracy.exact_mean_squared_error`",
    )


def _exact(decay: Decay, steps: int) -> float:
    """The mean squared error of √g for unit noise multiplier and unit change."""
    pair = square_root(decay)
    return accuracy.exact_mean_squared_error(pair, steps, noise_multiplier=1.0, change=1.0)


def _range(values: list[float]) -> str:
    return f"{min(values):.4f} to {max(values):.4g}"


def _theorem_6(decay: Decay, steps: int) -> float | None:
    """The bound of Theorem 6 on γ2, with the sum to T; None for windows, which are not in F."""
    match decay:
        case NoDecay():
            return 1.0 + steps / 4.0
        case PowerLaw():
            return families.power_sum(decay, steps).value
        case Exponential():
            return families.exponential_sum(decay, steps).value
    return None
