"""Schur products and completion: what the paper derives from γ2 in Appendix E.2."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from hushfade.check import Matrix
from hushfade.decays import Decay, NoDecay
from hushfade.theory import certificates, norms, optimum
from lab.paper.discrepancy import SMALL
from lab.paper.document import Blocks, Claim, Extent, Figure, Panel, Prose, Table, holds, line
from lab.paper.theory import completion, families
from lab.paper.theory.completion import Completion, Witness

RANDOM = 200  # random matrices with N(0, 1) entries, to test a maximum


def blocks(extent: Extent) -> Blocks:
    """The chapter."""
    yield from _dual(12)
    yield from _completion(48 if extent.full else 16)
    yield from _mathias(extent)


# Duality and completion ------------------------------------------------------------------------


def _dual(steps: int) -> Blocks:
    rng = np.random.default_rng(27)
    norm_excess = trace_excess = schur_excess = 0.0
    reached = trace_reached = math.inf
    for decay in SMALL.values():
        best = optimum.solve(decay.weights(steps))
        M = optimum.matrix(decay.weights(steps))
        Q = rng.standard_normal((RANDOM, steps, steps))
        norm_excess = max(norm_excess, _largest(M * Q, 2, Q) / best.upper)
        trace_excess = max(trace_excess, _largest(M * Q, "nuc", Q) / best.upper)
        schur_excess = max(schur_excess, _largest(M * Q, 2, Q) / float(np.linalg.norm(M, 2)))
        reached = min(reached, completion.stretch(decay.weights(steps)).value / best.upper)
        P = np.sqrt(np.outer(best.row_weights, best.column_weights))
        trace_reached = min(trace_reached, _largest((M * P)[None], "nuc", P[None]) / best.upper)
    yield Prose(
        "Appendix E.2 asks whether a partial matrix that contains M_f has a positive completion, "
        "and whether X ↦ M_f • X is a contraction. It rests on three facts about Schur products. "
        f"We test them on {RANDOM} random Q for each of {len(SMALL)} decays at T = {steps}, and on "
        "the Q and P from the dual of `theory.optimum`: P = √p √qᵀ has rank one, and Q is the "
        "polar factor of M • P."
    )
    yield Claim(
        "Theorem 21",
        "γ2(A) = max ‖A • Q‖/‖Q‖ (Haagerup)",
        "1 after division by γ2",
        f"random Q: at most {norm_excess:.4f}; Q of the dual: at least {reached:.6f}",
        holds(norm_excess <= 1.0 and 1.0 - 2e-4 <= reached <= 1.0),
    )
    yield Claim(
        "Lemma 26",
        "γ2(C) = max ‖C • P‖₁/‖P‖₁, trace norms",
        "1 after division by γ2",
        f"random P: at most {trace_excess:.4f}; P of the dual: at least {trace_reached:.6f}",
        holds(trace_excess <= 1.0 and 1.0 - 2e-4 <= trace_reached <= 1.0 + 1e-12),
    )
    yield Claim(
        "Theorem 27",
        "‖A • B‖ ≤ ‖A‖ ‖B‖ (Schur)",
        "at most 1 after division",
        f"at most {schur_excess:.4f} for A = M_f and random B",
        holds(schur_excess <= 1.0),
    )


def _largest(products: Matrix, order: Literal[2, "nuc"], factors: Matrix) -> float:
    """The largest ‖product‖/‖factor‖."""
    return max(
        float(np.linalg.norm(product, order) / np.linalg.norm(one, order))
        for product, one in zip(products, factors, strict=True)
    )


class _Case(NamedTuple):
    """Whether P(M_f) can be completed, and whether P(M_f/γ2) can."""

    floor: float  # of the known blocks
    norm: float
    gamma2: float  # a lower bound
    product: float  # ⟨W, P⟩ for every completion P; 1 where no valid witness was found
    completed: bool  # M_f/γ2, with a proof
    divided_norm: float
    stretch: float


def _case(decay: Decay, steps: int) -> _Case:
    f, gamma2 = decay.weights(steps), norms.gamma2(decay, steps)
    M, below = optimum.matrix(f), f / (gamma2.upper * (1.0 + 1e-9))
    witness, divided = completion.complete(f), completion.complete(below)
    return _Case(
        completion.Partial(M).block_floor,
        float(np.linalg.norm(M, 2)),
        gamma2.lower,
        witness.inner_product if isinstance(witness, Witness) and witness.valid else 1.0,
        isinstance(divided, Completion) and divided.valid,
        float(np.linalg.norm(optimum.matrix(below), 2)),
        completion.stretch(f).value,
    )


def _completion(steps: int) -> Blocks:
    found = [_case(decay, steps) for decay in SMALL.values()]
    yield Prose(
        "P(M) is the symmetric matrix with the off-diagonal block M and two diagonal blocks Q, of "
        "which only the ones on the diagonal are known. Appendix E.2 asks whether the rest of Q "
        "can be chosen so that P is positive semidefinite. `theory.completion.complete` answers "
        "with a proof: either a completion with a lower bound on its smallest eigenvalue, or a "
        "W ⪰ 0 that is zero wherever P is unknown and has ⟨W, P⟩ < 0. Both checks account for "
        "rounding. A completion exists if and only if γ2(M) ≤ 1."
    )
    yield Table(
        "completion-positive",
        f"P(M_f) at T = {steps}: the smallest eigenvalue of its known blocks, norms, the witness "
        "that it has no completion, whether M_f/γ2 has one, the norm of M_f/γ2, and the largest "
        "‖M_f • X‖ found for an X of norm 1.",
        ("decay", "smallest known", "‖M_f‖", "γ2 ≥", "⟨W, P⟩ ≤", "M_f/γ2 completed", "‖M_f/γ2‖",
         "stretch ≥"),
        tuple((name, *x) for name, x in zip(SMALL, found, strict=True)),
        digits=5,
    )  # fmt: skip
    yield Claim(
        "Appendix E.2",
        "P(M_f) is partially positive definite",
        "all known blocks have eigenvalues > 0",
        f"smallest eigenvalue {max(x.floor for x in found):g}: the block [[1, 1], [1, 1]], because "
        "M_f[i,i] = 1",
        holds(min(x.floor for x in found) > 0),
        "it is partially positive semidefinite",
    )
    yield Claim(
        "Appendix E.2, corrected",
        "P(M_f) is partially positive semidefinite",
        "≥ 0",
        f"{min(x.floor for x in found):g}",
        holds(min(x.floor for x in found) >= 0),
    )
    yield Claim(
        "Appendix E.2",
        "no choice of Q makes P(M_f) positive",
        f"for every decay, T = {steps}",
        f"{sum(x.product < 0 for x in found)} of {len(found)} refuted by a witness; "
        f"⟨W, P⟩ ≤ {max(x.product for x in found):.6f}",
        holds(all(x.product < 0 for x in found)),
    )
    yield Claim(
        "Appendix E.2",
        "γ2(X) ≤ ‖X‖, so ‖M_f‖ ≥ γ2(M_f) > 1",
        "1 < γ2 ≤ ‖M_f‖",
        f"γ2 ≥ {min(x.gamma2 for x in found):.5f}; "
        f"‖M_f‖/γ2 from {min(x.norm / x.gamma2 for x in found):.4f} "
        f"to {max(x.norm / x.gamma2 for x in found):.4f}",
        holds(all(1.0 < x.gamma2 <= x.norm for x in found)),
    )
    longer = [x for x in found if x.divided_norm > 1.0]
    yield Claim.new(
        "γ2 decides, not ‖M‖: M_f/γ2 has a completion, although its norm is above 1",
        f"{len(found)} completions, all norms > 1",
        f"{sum(x.completed for x in found)} completions, {len(longer)} norms > 1, "
        f"at most {max(x.divided_norm for x in found):.4f}",
        holds(all(x.completed for x in found) and len(longer) == len(found)),
    )
    identity = completion.complete(np.array([1.0, 0.0]))
    X = 2.0 * np.eye(2)
    size = float(np.linalg.norm(np.eye(2) * X, 2))
    yield Claim(
        "Appendix E.2",
        "P has a positive completion only if ‖A • X‖ ≤ 1 for all X",
        "≤ 1 for A = I, which has a completion",
        f"{size:g} for X = 2I",
        holds(size <= 1.0 or not isinstance(identity, Completion)),
        "for all X with ‖X‖ ≤ 1",
    )
    yield Claim(
        "Appendix E.2, last paragraph",
        "X ↦ M_f • X is not a contraction",
        "some ‖X‖ ≤ 1 with ‖M_f • X‖ > 1",
        f"‖M_f • X‖ ≥ {min(x.stretch for x in found):.5f} for all decays",
        holds(all(x.stretch > 1.0 for x in found)),
    )


# Mathias ---------------------------------------------------------------------------------------


def _mathias(extent: Extent) -> Blocks:
    exact = [1, 2, 3, 4, 6, *(1 << k for k in range(3, extent.exact.bit_length()))]
    far = [1 << k for k in range(extent.exact.bit_length(), extent.horizon.bit_length())]
    counting, rows = NoDecay(), []
    for n in [*exact, *far]:
        if n <= extent.exact:
            low, high = (x := norms.gamma2(counting, n)).lower, x.upper
        else:
            low = certificates.lower(np.ones(n)).value
            high = certificates.upper(np.ones(n)).value
        corrected = families.mathias_lower(n).value, families.mathias_upper(n).value
        log = math.log(n) / math.pi
        rows.append((n, 0.5 / n + log, 0.5 + log, corrected[0], low, high, corrected[1]))
    T, old_low, old_high, new_low, low, high, new_high = np.array(rows).T
    yield Table(
        "completion-mathias",
        "γ2 of counting: the footnote on Mathias as printed and corrected, and our bracket (a "
        f"primal and a dual up to T = {extent.exact}, certificates beyond).",
        ("T", "printed lower", "printed upper", "corrected lower", "γ2 ≥", "γ2 ≤",
         "corrected upper"),
        tuple((int(row[0]), *row[1:]) for row in rows),
        digits=5,
    )  # fmt: skip
    at_two = rows[exact.index(2)]
    wrong = int(np.sum(old_high < low))
    yield Claim(
        "Appendix E.2, footnote",
        "γ2 ≤ 1/2 + ln(T)/π for counting",
        f"{at_two[2]:.4f} at T = 2",
        f"γ2 ≥ {at_two[4]:.4f} at T = 2; γ2 exceeds the bound at {wrong} of {len(rows)} T",
        holds(wrong == 0),
        "γ2 ≤ 1/2 + γ̂/2 with γ̂ = T⁻¹ Σ csc((2j-1)π/2T)",
    )
    yield Claim(
        "Appendix E.2, footnote",
        "γ2 ≥ 1/(2T) + ln(T)/π for counting",
        f"{at_two[1]:.4f} at T = 2",
        f"γ2 ≤ {at_two[5]:.4f} at T = 2; the bound is too low by {np.min(high - old_low):.3f} to "
        f"{np.max(high - old_low):.3f}",
        "false" if np.any(old_low > high) else "weak" if np.min(low - old_low) > 0.4 else "holds",
        "γ2 ≥ (1/2 + 1/2T) γ̂",
    )
    yield Claim(
        "Appendix E.2, footnote, corrected",
        "(1/2 + 1/2T) γ̂ ≤ γ2 ≤ 1/2 + γ̂/2",
        f"{at_two[3]:.4f} and {at_two[6]:.4f} at T = 2",
        f"consistent with every bracket up to T = {rows[-1][0]}",
        holds(bool(np.all(new_low <= high) and np.all(low <= new_high))),
    )
    log, near, beyond = np.log(T) / math.pi, slice(len(exact)), slice(len(exact), None)
    yield Figure(
        "completion-mathias-difference",
        "γ2 of counting minus ln(T)/π.  Both printed bounds are below it.",
        (
            Panel(
                "counting", "T", "bound - ln(T)/π",
                (
                    line("γ2", T[near], (low - log)[near], "points"),
                    line("corrected upper", T, new_high - log),
                    line("corrected lower", T, new_low - log),
                    line("printed upper", T, old_high - log),
                    line("printed lower", T, old_low - log),
                    line("γ2, certified", T[beyond], (low - log)[beyond], "band",
                         (high - log)[beyond]),
                ),
                x_log=True,
            ),
        ),
    )  # fmt: skip
