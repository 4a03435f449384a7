"""Hereditary discrepancy: how evenly signs can balance a matrix's columns, and bounds by γ2.

    disc(A)    = min over signs x of ‖A x‖∞
    herdisc(A) = max over sets S of *columns* of disc(A restricted to S)

    discrepancy, hereditary_discrepancy     by search, for small matrices
    determinant_bound                       max |det B|^(1/k) over k×k submatrices, by search
    lower_from_gamma2, upper_from_gamma2    γ2/(2 h) ≤ herdisc ≤ γ2 √(2 ln 2m), for any size

The paper prints 'max over S ⊆ [m]', sets of rows.  Removing rows never increases ‖A x‖∞, so this
maximum is just disc(A).  It is 0 for two equal columns, so no lower bound by γ2 can hold for it.

For a non-increasing decay the value is known.  Alternating signs along S keep all sums at most f_0
in absolute value, since the newest weight is the largest, and a single column gives f_0.  So
herdisc(M) = f_0, however large γ2(M) is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from hushfade import check
from hushfade.check import Matrix
from hushfade.errors import InvalidValue
from hushfade.theory.bound_values import Bound

_SIGNED, _TERNARY, _SUBMATRICES = 20, 14, 1_000_000  # limits of the three searches
_CORRECTION = "a maximum over sets of rows, which is disc; it must be over sets of columns"


@dataclass(frozen=True)
class Discrepancy:
    """‖A[:, columns] @ signs‖∞ = value, the minimum over all signs on these columns."""

    value: float
    columns: tuple[int, ...]
    signs: tuple[int, ...]


@dataclass(frozen=True)
class Determinant:
    """|det A[rows, columns]|^(1/k) = value, for k rows and k columns."""

    value: float
    rows: tuple[int, ...]
    columns: tuple[int, ...]


def discrepancy(A: Matrix) -> Discrepancy:
    """disc(A) = min over x in {-1, 1}^n of ‖A x‖∞, with signs that attain it.

    Cost: 2^(n-1) sums of columns, n ≤ 20.  The first sign is +1, since x and -x are equivalent.

    >>> discrepancy([[1, 1, 1], [1, 1, 0]])  # three ones cannot be balanced better than to 1
    Discrepancy(value=1.0, columns=(0, 1, 2), signs=(1, -1, 1))
    """
    A = _matrix(A, most=_SIGNED)
    n = A.shape[1]
    head, tail = _halves((1, -1), n)
    sums = A[:, head.shape[1] :] @ tail.T
    best, signs = math.inf, np.concatenate([head[0], tail[0]])
    for x in head:
        sizes = np.abs(sums + (A[:, : len(x)] @ x)[:, None]).max(axis=0)
        if sizes.min() < best:
            best, signs = float(sizes.min()), np.concatenate([x, tail[sizes.argmin()]])
    value = float(np.abs(A @ signs).max())
    return Discrepancy(value, tuple(range(n)), tuple(signs.tolist()))


def hereditary_discrepancy(A: Matrix) -> Discrepancy:
    """herdisc(A) = max over sets of columns of their disc, with the worst set and its best signs.

    A set of columns with signs is an x in {-1, 0, 1}^n.  The code minimises ‖A x‖∞ for each
    support, and takes the maximum over the supports.  Cost: 3^n/2 sums of columns, n ≤ 14.

    >>> A = [[1, 1, 0, 0], [0, 0, 1, 1]]
    >>> discrepancy(A).value
    0.0
    >>> hereditary_discrepancy(A)  # a column alone cannot be balanced
    Discrepancy(value=1.0, columns=(3,), signs=(1,))
    """
    A = _matrix(A, most=_TERNARY)
    n = A.shape[1]
    head, tail = _halves((1, 0, -1), n)
    bits = 1 << np.arange(n)[::-1]
    support = np.abs(tail) @ bits[head.shape[1] :]
    order = np.argsort(support, kind="stable")
    starts = np.searchsorted(support[order], np.arange(1 << tail.shape[1]))
    sums = A[:, head.shape[1] :] @ tail[order].T
    least = np.full((1 << head.shape[1], len(starts)), math.inf)
    for x in head:
        sizes = np.abs(sums + (A[:, : len(x)] @ x)[:, None]).max(axis=0)
        row = least[np.abs(x) @ bits[: len(x)] >> tail.shape[1]]
        np.minimum(row, np.minimum.reduceat(sizes, starts), out=row)
    worst = 1 + int(least.ravel()[1:].argmax())  # 0 is the empty set
    columns = np.flatnonzero(worst & bits)
    found = discrepancy(A[:, columns])
    return Discrepancy(found.value, tuple(columns.tolist()), found.signs)


def determinant_bound(A: Matrix) -> Determinant:
    """detlb(A) = max |det B|^(1/k) over the k×k submatrices B of A, with the best B.

    herdisc(A) ≥ detlb(A)/2 (Lovász, Spencer, Vesztergombi 1986).  Cost: one determinant per square
    submatrix, of which there are C(m + n, n) - 1, at most 10^6.

    >>> found = determinant_bound([[2, 1], [1, -2]])
    >>> found.rows, found.columns, round(found.value**2, 12)
    ((0, 1), (0, 1), 5.0)
    """
    A = check.matrix(A=A)
    m, n = A.shape
    if not math.comb(m + n, n) <= _SUBMATRICES:
        raise InvalidValue(
            f"A must have at most {_SUBMATRICES} square submatrices", got=f"shape {A.shape}"
        )
    best = Determinant(0.0, (0,), (0,))
    for k in range(1, min(m, n) + 1):
        columns = np.array(list(combinations(range(n), k)))
        for rows in combinations(range(m), k):
            parts = A[np.array(rows)[None, :, None], columns[:, None, :]]
            sizes = np.abs(np.linalg.det(parts)) ** (1 / k)
            j = int(sizes.argmax())
            if sizes[j] > best.value:
                best = Determinant(float(sizes[j]), rows, tuple(columns[j].tolist()))
    return best


def upper_from_gamma2(gamma2: float, *, rows: int) -> Bound:
    """herdisc(A) ≤ γ2 √(2 ln 2m) for m rows, where `gamma2` ≥ γ2(A).

    Write A = L R with columns of R of norm ≤ 1 and rows of L of norm ≤ γ2.  The Gram-Schmidt
    walk (Harshaw, Sävje, Spielman, Zhang 2024) draws signs x with E e^⟨u, R x⟩ ≤ e^(‖u‖²/2) for
    every u.  So the 2m numbers ±(A x)_i are subgaussian with parameter γ2, and their maximum has
    mean ≤ γ2 √(2 ln 2m).  Some choice of signs is at most the mean.  Removing columns of A removes
    columns of R, so the bound also holds for every subset of columns.

    >>> print(upper_from_gamma2(1.0, rows=8))
    hereditary discrepancy ≤ 2.35482 (Gram-Schmidt walk; Harshaw et al. 2024)
    """
    gamma2, rows = check.positive(gamma2=gamma2), check.count(rows=rows)
    return Bound(
        gamma2 * math.sqrt(2.0 * math.log(2.0 * rows)),
        "upper",
        "hereditary discrepancy",
        "Gram-Schmidt walk",
        "Harshaw et al. 2024",
        _CORRECTION,
    )


def lower_from_gamma2(gamma2: float, *, rows: int, columns: int) -> Bound:
    """herdisc(A) ≥ γ2/(2h) for m rows and n columns, where `gamma2` ≤ γ2(A).

    h = Σ_{k ≤ min(m, n)} √((m-k+1)(n-k+1)/(mn)) / k; for m = n this is (1 + 1/n) H_n - 1.

    herdisc ≥ detlb/2 (Lovász, Spencer, Vesztergombi 1986), and detlb ≥ γ2/h: let
    B = D_p^½ A D_q^½ with weights p, q that each sum to 1 and γ2 = ‖B‖_*.  By the Cauchy-Binet
    formula its singular values satisfy

        (σ_1 ⋯ σ_k)² ≤ Σ det(B_{S,T})² = Σ p_S q_T det(A_{S,T})² ≤ detlb^2k e_k(p) e_k(q)

    over sets S, T of size k, and by Maclaurin's inequality e_k(p) ≤ C(m,k)/m^k.  So σ_1 ⋯ σ_k ≤
    x_1 ⋯ x_k for every k, with x_k = detlb √((m-k+1)(n-k+1)/(mn)) / k.  Since x_k decreases, this
    implies the same inequality for the sums (Weyl 1949): γ2 = Σ σ_k ≤ Σ x_k = h detlb.

    >>> print(lower_from_gamma2(1.0, rows=2, columns=2))  # h = 5/4
    hereditary discrepancy ≥ 0.4 (determinants; Appendix E.1)
    """
    gamma2 = check.positive(gamma2=gamma2)
    m, n = check.count(rows=rows), check.count(columns=columns)
    k = np.arange(min(m, n), dtype=np.float64)
    h = float(np.sum(np.sqrt((1 - k / m) * (1 - k / n)) / (k + 1)))
    return Bound(
        gamma2 / (2.0 * h),
        "lower",
        "hereditary discrepancy",
        "determinants",
        "Appendix E.1",
        _CORRECTION,
    )


def _halves(values: tuple[int, ...], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first ⌈n/2⌉ and the other entries of all x in values^n, with one of each x and -x."""
    head, tail = (np.array(list(product(values, repeat=size))) for size in ((n + 1) // 2, n // 2))
    return head[: (len(head) + 1) // 2], tail.astype(np.int64)  # `product` mirrors x to -x


def _matrix(A: Matrix, most: int) -> Matrix:
    A = check.matrix(A=A)
    if not A.shape[1] <= most:
        raise InvalidValue(f"A must have at most {most} columns", got=f"shape {A.shape}")
    return A
