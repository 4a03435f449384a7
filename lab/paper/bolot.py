"""Sections 4.2 and 4.3: the square root compared with the Gaussian mechanism and Bolot et al."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from hushfade.baselines.bolot_exponential import bolot_exponential
from hushfade.baselines.bolot_power import best_beta_for, bolot_power, worst_errors
from hushfade.baselines.independent_noise import input_noise, output_noise
from hushfade.baselines.mechanism import Mechanism
from hushfade.baselines.square_roots import square_root
from hushfade.decays import Exponential, PowerLaw
from hushfade.privacy.guarantee import Guarantee
from hushfade.theory import gamma2
from lab.paper.decays import DECAYS
from lab.paper.document import Blocks, Claim, Extent, Prose, Table, holds
from lab.paper.theory import accuracy, bounds, families

ROOT = "square root"
GUARANTEE = Guarantee(epsilon=1.0, delta=1e-6)


def blocks(extent: Extent) -> Blocks:
    """The chapter: the Gaussian mechanism, then Bolot et al. for power laws and exponentials."""
    yield Prose(_GAUSSIAN)
    yield from _gaussian(extent)
    yield Prose(_BOLOT)
    yield from _bolot(extent)


_GAUSSIAN = """\
Section 4.2 compares with the Gaussian mechanism, which adds noise to each output. We compute the
largest and the mean squared error exactly; they do not depend on the data
(`baselines.Mechanism.errors`). With noise multiplier 1 and change 1, the largest standard deviation
is ‖L‖₂→∞ ‖R‖₁→₂, and the mean squared error is ‖L‖_F² ‖R‖²₁→₂ / T."""

_BOLOT = """\
We give Bolot et al. Gaussian noise instead of Laplace noise, as Section 1.2 does. For power laws
they round the weights down to powers of 1 - β, which causes a relative error β in addition to the
noise. We had no access to the constants of their paper. `baselines.bolot_power` therefore uses the
best possible scales, in their favour. Section 4.3 compares additive errors on the all-zero stream.
There the rounding costs nothing, and with β near 1 their mechanism forgets all but the newest step;
a mechanism that always publishes 0 would be best. A fair comparison includes bias and noise, on
the worst stream of totals in [0, 1]. `baselines.bolot_power.best_beta_for` finds the best β, up to
1 - 2^-30."""


def mean_square(mechanism: Mechanism) -> float:
    """‖L‖_F² ‖R‖² / T: the mean squared error for unit noise multiplier and unit change."""
    return mechanism.sensitivity**2 * float(np.mean(mechanism.errors**2))


def _gaussian(extent: Extent) -> Blocks:
    T = extent.horizon
    rows = []
    for name, decay in DECAYS.items():
        plain, root, inputs = (make(decay, T) for make in (output_noise, square_root, input_noise))
        rows.append((
            name, plain.error_factor, root.error_factor, plain.error_factor / root.error_factor,
            mean_square(plain) / mean_square(root), mean_square(inputs) / mean_square(root),
        ))  # fmt: skip
    yield Table(
        "bolot-gaussian",
        f"The Gaussian mechanism and the square root at T = {T}: largest standard deviations, "
        "their ratio, and the ratio of the mean squared errors; the last column has the ratio of "
        "the mean squared errors for noise on the inputs.",
        ("decay", "Gaussian", ROOT, "ratio", "mean square ratio", "input noise, mean square ratio"),
        tuple(rows),
        digits=4,
    )
    least = min(
        min(plain.error_factor / root.error_factor, mean_square(plain) / mean_square(root))
        for decay in DECAYS.values()
        for n in (2, 3, 10, 100, 1000)
        for plain, root in [(output_noise(decay, n), square_root(decay, n))]
    )
    yield Claim(
        "Section 4.2",
        "the square root has a smaller error than the Gaussian mechanism, largest and mean "
        f"squared, for all {len(DECAYS)} decays of this report at T = 2, 3, 10, 100, 1000 and {T}",
        "ratio > 1",
        f"at least {min(least, *(min(row[3:5]) for row in rows)):.4f}",
        holds(least > 1.0 and all(min(row[3:5]) > 1.0 for row in rows)),
    )
    count = DECAYS["counting"]
    half, known = (
        [bound(count, n).value for n in range(2, 65)]
        for bound in (bounds.half_weights, bounds.output_noise)
    )
    first = next((n for n in range(2, 65) if half[n - 2] > known[n - 2]), None)
    yield Claim(
        "Section 4.2",
        "this follows from the bound of Theorem 6, for all of F (here counting, T ≤ 64)",
        "1 + Σ f(n+1)²/4 ≤ √(Σ f(n)²)",
        "at every T"
        if first is None
        else f"{half[first - 2]:.4f} exceeds {known[first - 2]:.4f} at "
        f"T = {first}; √g itself has {square_root(count, first).error_factor:.4f}",
        "holds" if first is None else "weak",
        "Lemma 16 proves it for n^-c and α^-n; for counting it follows from Σ a_n² of Theorem 2",
    )
    sample = PowerLaw(1)
    norm = output_noise(sample, T).sensitivity
    yield Claim(
        "Section 4.2",
        "the ℓ2 sensitivity of all sums together is √(Σ f(n)²) (power 1)",
        f"{bounds.output_noise(sample, T).value:.6f}",
        f"{norm:.6f}",
        holds(math.isclose(norm, bounds.output_noise(sample, T).value)),
    )


def _bolot(extent: Extent) -> Blocks:
    T = 1 << (14 if extent.full else 10)
    yield from _sensitivities(extent, T)
    rows = []
    for c in (1, 2, 3):
        decay = PowerLaw(c)
        root = square_root(decay, T)
        additive = [
            bolot_power(decay, T, beta=b).error_factor for b in (0.01, 0.1, 0.5, 0.9, 1 - 1e-6)
        ]
        rows.append((c, root.error_factor, *additive, *_with_bias(decay, T, GUARANTEE)))
    yield Table(
        "bolot-power",
        f"Power laws, T = {T}: additive error factors by β; then the largest root mean squared "
        "error including bias at the best β (ε = 1, δ = 10^-6, totals in [0, 1]), the error of "
        "the square root, and their ratio.",
        ("c", ROOT, "β = 0.01", "β = 0.1", "β = 0.5", "β = 0.9", "β = 1 - 10^-6", "1 - best β",
         "bias and noise", "square root, error", "ratio"),
        tuple(rows),
        digits=4,
    )  # fmt: skip
    yield Claim.new(
        "on the all-zero stream the additive error of the square root is smaller than in our "
        "reconstruction of Bolot et al. for β ≤ 0.9, but not as β → 1, where their mechanism "
        "forgets the past; c = 1, 2, 3",
        "below for β = 0.01, 0.1, 0.5, 0.9; above for β = 1 - 10^-6",
        "; ".join(
            f"c = {row[0]}: {row[1]:.4f} against at least {min(row[2:6]):.4f}, and {row[6]:.4f} at "
            "β = 1 - 10^-6"
            for row in rows
        ),
        holds(all(row[6] < row[1] < min(row[2:6]) for row in rows)),
    )
    yield Claim.new(
        "with bias and noise together, at the best β, ε = 1 and totals in [0, 1], the square root "
        "is better for c = 1.  For c = 2 and 3 it is worse by up to 0.8 %, as β → 1, where their "
        "mechanism publishes only the newest step",
        "ratio > 1.4 for c = 1, between 0.992 and 1 for c = 2, 3",
        ", ".join(f"{row[-1]:.4f} at 1 - β = {row[7]:.1g}" for row in rows),
        holds(rows[0][-1] > 1.4 and all(0.992 <= row[-1] < 1.0 for row in rows[1:])),
    )
    n = min(T, 1 << 12)
    missing, *_, ratio = _with_bias(PowerLaw(1), n, Guarantee(epsilon=0.1, delta=1e-6))
    yield Claim.new(
        f"with more noise, forgetting the past is better for c = 1 too: ε = 0.1, T = {n}",
        "ratio < 1",
        f"{ratio:.4f} at 1 - β = {missing:.1g}",
        holds(ratio < 1.0),
    )
    yield _uniform()
    yield from _bolot_exponential(T)


def _with_bias(decay: PowerLaw, T: int, guarantee: Guarantee) -> tuple[float, float, float, float]:
    """1 - β at the best β, their largest error including bias, the error of √g, the ratio."""
    beta = best_beta_for(decay, T, guarantee, largest=1.0)
    theirs = float(np.max(worst_errors(decay, T, guarantee, beta=beta, largest=1.0)))
    own = float(np.max(square_root(decay, T).stddevs(guarantee)))
    return 1.0 - beta, theirs, own, theirs / own


def _uniform() -> Claim:
    """Equation (9) for large c would distinguish the zero stream from a single 1."""
    epsilon, delta, beta, c, T = 0.5, 1e-6, 0.25, 1000, 2
    sigma = math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon
    additive = sigma * -math.log1p(-beta) / (c**1.5 * beta**3) * math.sqrt(math.log(T))
    least = (1.0 - beta) / 2.0
    chance = math.exp(epsilon) / 3.0 + delta
    return Claim(
        "Section 1.2, (9)",
        "the additive error of Bolot et al. is O(σ c^-3/2 β^-3 ln(1/(1-β)) √(log T))",
        f"{additive:.3g} with constant 1 at c = {c}, β = {beta:g}, ε = {epsilon:g}, T = {T}",
        f"below (1-β)/2 = {least:g}, so an answer distinguishes a single 1 from none; with "
        f"probability 2/3 on either stream, privacy requires 2/3 ≤ e^ε/3 + δ = {chance:.3f}",
        "weak" if additive < least and chance < 2.0 / 3.0 else "holds",
        "a constant that depends on c, which the O may hide; no absolute constant is possible for "
        "ε < ln 2. The paper quotes the bound from Bolot et al., which we could not consult",
    )


def _sensitivities(extent: Extent, T: int) -> Blocks:
    decays = {c: PowerLaw(c) for c in (1, 2, 3)}
    theirs = {c: accuracy.least_bolot_sensitivity(float(c)).value for c in decays}
    yield Claim(
        "Section 4.3",
        "the sensitivity 1/β + ln(1/(1-β))/(cβ²) of Bolot et al. is > 1 + 1/c for every β, "
        "c = 1, 2, 3",
        _joined(1 + 1 / c for c in decays),
        f"{_joined(theirs.values())} at the best β",
        holds(all(theirs[c] > 1 + 1 / c for c in decays)),
    )
    zetas = {c: families.power_zeta(decay).value for c, decay in decays.items()}
    yield Claim(
        "Section 4.3",
        "1 + (ζ(2c)-1)/4 ≤ 1 + 1/(4(2c-1)), c = 1, 2, 3",
        _joined(1 + 0.25 / (2 * c - 1) for c in decays),
        _joined(zetas.values()),
        holds(all(zetas[c] <= 1 + 0.25 / (2 * c - 1) for c in decays)),
    )
    n = extent.exact
    roots = {c: square_root(decay, n) for c, decay in decays.items()}
    least = {c: gamma2(decay, n).lower for c, decay in decays.items()}
    yield Claim(
        "Section 4.3",
        f"the sensitivity of the paper's algorithm is γ2(M_f), c = 1, 2, 3, T = {n}",
        f"γ2 ≥ {_joined(least.values())}",
        f"‖R‖₁→₂ = {_joined(root.sensitivity for root in roots.values())}",
        holds(all(least[c] <= roots[c].sensitivity for c in decays)),
        "√(Σ a_n²); the error is this times ‖L‖₂→∞, and the product is Σ a_n² ≥ γ2",
    )
    sums = {c: bounds.root(decay, n).value for c, decay in decays.items()}
    yield Claim(
        "Section 4.3, corrected",
        f"‖R‖₁→₂ = √(Σ a_n²), and the product ‖L‖₂→∞ ‖R‖₁→₂ = Σ a_n² ≥ γ2, c = 1, 2, 3, T = {n}",
        _joined(sums.values()),
        _joined(root.error_factor for root in roots.values()),
        holds(
            all(
                math.isclose(sums[c], roots[c].error_factor, rel_tol=1e-9)
                and math.isclose(sums[c], roots[c].sensitivity ** 2, rel_tol=1e-9)
                and sums[c] >= least[c]
                for c in decays
            )
        ),
    )


def _bolot_exponential(T: int) -> Blocks:
    steep = square_root(Exponential.from_alpha(2), T).error_factor
    rows = []
    for alpha in (1.0001, 1.001, 1.01, 1.1, 1.25, 1.49):
        decay = Exponential.from_alpha(alpha)
        tree, root, inputs = (f(decay, T) for f in (bolot_exponential, square_root, input_noise))
        rows.append((
            alpha, tree.error_factor, inputs.error_factor, root.error_factor,
            tree.error_factor / root.error_factor, mean_square(tree) / mean_square(root),
            bool(np.allclose(tree.errors * tree.sensitivity, inputs.errors * inputs.sensitivity)),
        ))  # fmt: skip
    flat = [row[0] for row in rows if row[-1]]
    yield Prose(
        "According to the paper, Bolot et al. analyse exponentials only for α in (1, 3/2).  The "
        f"square root works for every α; its error factor is {steep:.4f} at α = 2.  In our "
        "reconstruction their tree has a height, and we take the best one.  If the memory is short "
        "the best height is 0, and their mechanism is just noise on the inputs: here for α = "
        f"{', '.join(f'{x:g}' for x in flat)}."
    )
    yield Table(
        "bolot-exponential",
        f"Exponentials, T = {T}: largest standard deviations of Bolot et al. at the best height, "
        "of noise on the inputs and of the square root; the ratio of the first to the third, also "
        "for the mean squared errors; and whether the best height is 0.",
        ("α", "Bolot et al.", "input noise", ROOT, "ratio", "mean square ratio", "height 0"),
        tuple(rows),
        digits=5,
    )
    trees = [row for row in rows if not row[-1]]
    yield Claim(
        "Section 1.2",
        f"for α in (1, 3/2) the square root improves both errors by a constant, T = {T}",
        "ratios > 1",
        f"α = {', '.join(f'{row[0]:g}' for row in trees)}: largest "
        f"{spread([row[4] for row in trees])}, mean square {spread([row[5] for row in trees])}; "
        f"with height 0: {spread([row[4] for row in rows if row[-1]])} and "
        f"{spread([row[5] for row in rows if row[-1]])}",
        holds(all(row[4] > 1.0 and row[5] > 1.0 for row in rows)),
    )


def _joined(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.4f}" for value in values)


def spread(values: Sequence[float]) -> str:
    """The smallest and the largest value, to three decimals."""
    return f"{min(values):.3f} to {max(values):.3f}"
