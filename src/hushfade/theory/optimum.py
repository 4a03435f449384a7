"""γ2 and γ_F at n steps by matching primal and dual bounds, and the optimal factorization.

For the n × n matrix M of the column f, and weights p, q ≥ 0 with Σ p = Σ q = 1,

    γ2(M)  = max_{p,q} ‖D_p^½ M D_q^½‖_*     (Lee, Shraibman, Špalek 2008)
    γ_F(M) = max_q ‖M D_q^½‖_*

and every p, q gives a factorization: with B = D_p^½ M D_q^½ = W Σ Vᵀ let L = D_p^-½ W Σ^½ and
R = Σ^½ Vᵀ D_q^-½.  Their squared row and column norms are diag(W Σ Wᵀ)/p and diag(V Σ Vᵀ)/q.  At
the optimum these are constant.  This is a fixed point, p ∝ p · (diag/p).  The code finds it by
Anderson acceleration (1965) in log p, in about twenty decompositions instead of hundreds.

M is persymmetric, so q is p reversed, and with the reversal J the matrix J M is symmetric.  An
iteration needs one `eigh` for γ2 and one `svd` for γ_F, O(n³).

Guarantee: the bracket is valid despite rounding.  Lower: the computed polar factor U satisfies
‖U‖ ≤ 1 + ‖UᵀU - I‖_F / 2, and ‖B‖_* ≥ ⟨B, U⟩ / ‖U‖.  Upper: γ(M) ≤ γ(L R) + γ(M - L R), and γ2 of
the residual is at most its largest column norm.  The bounds include the worst-case rounding of all
sums and products (Higham 2002, chapters 3 and 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from hushfade import check
from hushfade.check import Column, Matrix
from hushfade.errors import InvalidValue
from hushfade.theory.bound_values import Bracket, Bracketed

UNIT = 2.0**-53  # the relative rounding error of one operation
LARGEST = 2048  # an eigh of this size takes seconds
_DEPTH, _ITERATIONS, _FLOOR = 10, 200, -25.0


@dataclass(frozen=True, eq=False)
class Optimum(Bracketed):
    """A certified bracket of a factorization norm, with proofs of both bounds.

    lower: row_weights, column_weights, contraction with ‖U‖ ≤ 1: Σ √p_i √q_j U_ij M_ij ≥ lower;
    upper: left · right = M, both lower triangular, so the mechanism can run online.
    For γ_F the row weights are ones.
    """

    bracket: Bracket
    row_weights: Column = field(repr=False)
    column_weights: Column = field(repr=False)
    contraction: Matrix = field(repr=False)
    left: Matrix = field(repr=False)
    right: Matrix = field(repr=False)


def solve(f: Column, *, gap: float = 1e-4) -> Optimum:
    """A bracket of γ2 of the lower triangular Toeplitz matrix of f, with a relative `gap`.

    After 200 iterations the bracket may still be wider; it is valid in any case.  The last result
    is cached.

    >>> found = solve(np.array([1.0, 0.5]), gap=1e-9)  # 2/√(4 - f_1²)
    >>> round(found.lower, 6), round(found.upper, 6)
    (1.032796, 1.032796)
    """
    f, gap = _checked(f, gap)
    return _solved(f.tobytes(), gap)


@lru_cache(maxsize=1)
def _solved(column: bytes, gap: float) -> Optimum:
    f = np.frombuffer(column)
    M = matrix(f)
    JM = np.ascontiguousarray(M[::-1])

    def attempt(p: Column) -> tuple[float, Column]:
        root = np.sqrt(p)
        values, vectors = np.linalg.eigh(root[:, None] * JM * root[None, :])
        size = np.abs(values)
        return float(np.sum(size)), (vectors * vectors) @ size

    q = _fixed_point(attempt, len(f), gap)
    root = np.sqrt(q)
    values, vectors = np.linalg.eigh(root[:, None] * JM * root[None, :])
    U = ((vectors * np.sign(values)) @ vectors.T)[::-1]
    R = np.sqrt(np.abs(values))[:, None] * vectors.T / root[None, :]
    L, R = _balanced(*_causal(M, R, _rows))
    lower = _inner(M, U, root[::-1], root) / (math.fsum(root * root) * (1.0 + 8.0 * UNIT))
    upper = _rows(L) * _columns(R) * (1.0 + 4.0 * len(f) * UNIT) + _residual(M, L, R)
    found = Optimum(Bracket(lower, upper), q[::-1], q, U / _norm(U), L, R)
    for part in (found.column_weights, found.contraction, found.left, found.right):
        part.flags.writeable = False
    return found


def solve_frobenius(f: Column, *, gap: float = 1e-4) -> Optimum:
    """A bracket of γ_F = min ‖L‖_F ‖R‖₁→₂ of the lower triangular Toeplitz matrix of f.

    >>> found = solve_frobenius(np.array([2.0]))
    >>> round(found.lower, 9), round(found.upper, 9)
    (2.0, 2.0)
    """
    f, gap = _checked(f, gap)
    n, M = len(f), matrix(f)

    def attempt(q: Column) -> tuple[float, Column]:
        _, sizes, V = np.linalg.svd(M * np.sqrt(q)[None, :])
        return float(np.sum(sizes)), sizes @ (V * V)

    # The upper bound is √(value · largest), so twice the gap suffices for the largest ratio.
    q = _fixed_point(attempt, n, 2.0 * gap)
    root = np.sqrt(q)
    W, sizes, V = np.linalg.svd(M * root[None, :])
    R = np.sqrt(sizes)[:, None] * V / root[None, :]
    L, R = _causal(M, R, length)
    R, L = R / _columns(R), L * _columns(R)
    upper = length(L) * _columns(R) * (1.0 + 4.0 * n * UNIT)
    upper += math.sqrt(n) * _residual(M, L, R)
    U, ones = W @ V, np.ones(n)
    lower = _inner(M, U, ones, root) / (math.sqrt(math.fsum(root * root)) * (1.0 + 8.0 * UNIT))
    return Optimum(Bracket(lower, upper), ones, q, U / _norm(U), L, R)


def _fixed_point(attempt: Callable[[Column], tuple[float, Column]], n: int, gap: float) -> Column:
    """Weights p with max(d/p) ≤ (1 + gap) Σd, where attempt(p) = (Σd, d): Anderson in log p."""
    x = (np.arange(n) + 0.5) / n
    log_p = np.log(np.sin(np.pi * x)) + 0.3 * (np.log1p(-x) - np.log(x))
    places: list[Column] = []
    steps: list[Column] = []
    best, best_ratio = np.full(n, 1.0 / n), math.inf
    for _ in range(_ITERATIONS):
        # weights may vanish at the optimum; below 1e-11 of the largest, eigh cannot resolve d/p
        log_p = np.maximum(log_p - np.max(log_p), _FLOOR)
        p = np.exp(log_p)
        p /= np.sum(p)
        value, d = attempt(p)
        ratio = float(np.max(d / p)) / value
        if ratio < best_ratio:
            best, best_ratio = p, ratio
        if best_ratio <= 1.0 + 0.9 * gap:
            break
        if ratio > 3.0 * best_ratio:  # a bad step: restart from the best weights
            log_p, places, steps = np.log(best), [], []
            continue
        step = np.log(np.maximum(d, 1e-300) / (p * value))
        step[(log_p == _FLOOR) & (step < 0.0)] = 0.0
        places = [*places[-_DEPTH:], log_p]
        steps = [*steps[-_DEPTH:], step]
        log_p = log_p + step
        if len(steps) > 1:
            dx, dg = np.diff(places, axis=0).T, np.diff(steps, axis=0).T
            weight = np.sqrt(p)[:, None]
            mix = np.linalg.lstsq(weight * dg, weight[:, 0] * step, rcond=1e-10)[0]
            log_p = log_p - (dx + dg) @ mix
    return best


def _causal(M: Matrix, R: Matrix, size: Callable[[Matrix], float]) -> tuple[Matrix, Matrix]:
    """L and R, where R is rotated to lower triangular form, which keeps RᵀR, and L = M R⁻¹.

    If M is so nearly singular that rounding spoils the pair, the result is M and I, noise on the
    inputs.
    """
    from scipy.linalg import qr, solve_triangular

    flipped = qr(R[:, ::-1], mode="r")[0]
    R = np.tril(flipped[::-1, ::-1])
    R = R * np.where(np.diag(R) < 0, -1.0, 1.0)[:, None]
    try:
        L = np.tril(solve_triangular(R, M.T, trans="T", lower=True).T)
    except np.linalg.LinAlgError:
        return M, np.eye(len(M))
    return (L, R) if size(L) * _columns(R) < size(M) else (M, np.eye(len(M)))


def _balanced(L: Matrix, R: Matrix) -> tuple[Matrix, Matrix]:
    scale = math.sqrt(_columns(R) / _rows(L))
    return L * scale, R / scale


def _inner(M: Matrix, U: Matrix, u: Column, v: Column) -> float:
    """A proven lower bound of Σ u_i U_ij M_ij v_j / ‖U‖, and so of ‖D_u M D_v‖_*."""
    terms = u[:, None] * M * U * v[None, :]
    # pairwise summation of up to 2^24 terms, with four roundings per term
    value = float(np.sum(terms)) - 64.0 * UNIT * float(np.sum(np.abs(terms)))
    return value / _norm(U)


def _norm(U: Matrix) -> float:
    """A proven upper bound of ‖U‖ for nearly orthogonal U: ‖U‖² ≤ 1 + ‖UᵀU - I‖_F."""
    n = len(U)
    off = float(np.linalg.norm(U.T @ U - np.eye(n))) + 2.0 * (n + 2) * UNIT * n
    return math.sqrt(1.0 + off) * (1.0 + 4.0 * UNIT)


def _residual(M: Matrix, L: Matrix, R: Matrix) -> float:
    """A proven upper bound of the largest column norm of M - L R, and so of its γ2."""
    n = len(M)
    rounding = (n + 2) * UNIT * (np.abs(L) @ np.abs(R))
    return _columns(np.abs(M - L @ R) + 2.0 * rounding)


def _rows(L: Matrix) -> float:
    return float(np.max(np.linalg.norm(L, axis=1)))


def _columns(R: Matrix) -> float:
    return float(np.max(np.linalg.norm(R, axis=0)))


def matrix(f: Column) -> Matrix:
    """M, the lower triangular Toeplitz matrix of the column."""
    from scipy.linalg import toeplitz

    return np.asarray(toeplitz(f, np.zeros(len(f))))


def scaled(f: Column) -> Column:
    """The column, after checking that the square of its largest weight is within range."""
    f = check.coefficients(f=f)
    if not 1e-100 <= float(np.max(np.abs(f))) <= 1e100:
        raise InvalidValue("f must have its largest weight between 1e-100 and 1e100")
    return f


def length(x: Column) -> float:
    """‖x‖ by pairwise summation, accurate to 64 units; a BLAS norm is less accurate."""
    return math.sqrt(float(np.sum(x * x)))


def _checked(f: Column, gap: float) -> tuple[Column, float]:
    f = scaled(f)
    if not f[0] > 0:
        raise InvalidValue("f must start with a weight > 0", got=f[0])
    check.count(n=len(f), most=LARGEST)
    return f, check.positive(gap=gap)
