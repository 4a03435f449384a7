"""Positive completions: which M can be the off-diagonal block of a semidefinite matrix.

    P(M) = [[Q, M], [Mᵀ, Q']],  where Q and Q' have ones on the diagonal and are free elsewhere.

A completion is a Gram matrix of unit vectors x_i, y_j with ⟨x_i, y_j⟩ = M_ij.  So P(M) has a
completion if and only if γ2(M) ≤ 1.  Equivalently, the Schur map X ↦ M∘X maps every X with
‖X‖ ≤ 1 to a matrix of norm at most 1 (Paulsen, Power, Smith 1989, Proposition 3.1).  The module
returns proofs of both:

    complete(f)    a Completion, a Witness that there is none, or Undecided within rounding
    stretch(f)     an X with ‖X‖ ≤ 1 and ‖M∘X‖ > 1, if γ2 > 1

The paper's appendix calls P(M) partially positive *definite*.  With M_ii = f_0 = 1 the specified
block [[1, 1], [1, 1]] is singular, so P(M) is only partially positive semidefinite.  Then also
x_i = y_i, so Q = M, and a completion exists only if M is symmetric, that is, M = I.  The paper
argues with ‖M‖ ≥ γ2(M) > 1.  But γ2 decides, since M may have ‖M‖ > 1 and a completion.

Guarantee: `valid` is a proof that accounts for rounding.  Eigenvalues are bounded by a Cholesky
factorization, whose success bounds its own error (Demmel 1989; Rump 2006).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from hushfade import check
from hushfade.check import Column, Matrix
from hushfade.theory import optimum
from hushfade.theory.bound_values import Bracket
from hushfade.theory.optimum import UNIT, Optimum


@dataclass(frozen=True, eq=False)
class Partial:
    """P(M): only M and the ones on the diagonal are specified.

    >>> Partial(np.array([[1.0, 0.0], [0.5, 1.0]])).values
    array([[1. , nan, 1. , 0. ],
           [nan, 1. , 0.5, 1. ],
           [1. , 0.5, 1. , nan],
           [0. , 1. , nan, 1. ]])
    """

    block: Matrix

    def __post_init__(self) -> None:
        check.settle(self, block=check.matrix(block=self.block))

    @property
    def values(self) -> Matrix:
        """The matrix, with NaN for unspecified entries."""
        m, n = self.block.shape
        out = np.full((m + n, m + n), math.nan)
        out[:m, m:], out[m:, :m] = self.block, self.block.T
        np.fill_diagonal(out, 1.0)
        return out

    @property
    def block_floor(self) -> float:
        """The smallest eigenvalue of all fully specified principal blocks: 1 - max |M_ij|.

        Off-diagonal entries of Q and Q' are never specified.  So these blocks are [1] and
        [[1, M_ij], [M_ij, 1]], with eigenvalues 1 ± M_ij.  P(M) is partially positive semidefinite
        if the result is ≥ 0, and its sign is exact.
        """
        return 1.0 - float(np.max(np.abs(self.block)))


@dataclass(frozen=True, eq=False)
class Completion:
    """A matrix that agrees with all specified entries of P(M), and is semidefinite if valid."""

    partial: Partial
    matrix: Matrix = field(repr=False)

    @property
    def floor(self) -> float:
        """A proven lower bound of the smallest eigenvalue, after removing duplicate rows.

        Equal rows belong to the same vector.  They add a zero eigenvalue and do not affect
        semidefiniteness.  Without them the floor can be > 0 although the matrix is singular.
        """
        distinct = np.sort(np.unique(self.matrix, axis=0, return_index=True)[1])
        return _floor(self.matrix[np.ix_(distinct, distinct)])

    @property
    def valid(self) -> bool:
        """Whether this proves that P(M) has a positive semidefinite completion."""
        values = self.partial.values
        return (
            self.matrix.shape == values.shape
            and np.array_equal(self.matrix, self.matrix.T)
            and bool(np.all(np.isnan(values) | (self.matrix == values)))
            and self.floor >= 0.0
        )


@dataclass(frozen=True, eq=False)
class Witness:
    """W ⪰ 0, zero where P(M) is unspecified, with ⟨W, P⟩ < 0: no completion P is semidefinite.

    W = [[D_p, -Y], [-Yᵀ, D_q]] with Y = D_p^½ U D_q^½ and ‖U‖ ≤ 1, so ⟨W, P⟩ = 2 - 2 ⟨Y, M⟩.
    """

    partial: Partial
    matrix: Matrix = field(repr=False)

    @property
    def floor(self) -> float:
        """A proven lower bound of the smallest eigenvalue of W: slightly below 0 by rounding."""
        return _floor(self.matrix)

    @property
    def inner_product(self) -> float:
        """A proven upper bound of ⟨W + s I, P⟩ for every completion P, where s = -floor.

        The shift makes W + s I ⪰ 0.  The trace of P is its number of rows, so the shift adds s per
        row.
        """
        values = self.partial.values
        terms = (self.matrix * values)[~np.isnan(values)]
        rounding = 8.0 * UNIT * math.fsum(np.abs(terms))
        shift = max(0.0, -self.floor) * len(values) * (1.0 + 4.0 * UNIT)
        return math.fsum(terms) + rounding + shift

    @property
    def valid(self) -> bool:
        """Whether this proves that P(M) has no positive semidefinite completion."""
        values = self.partial.values
        return (
            self.matrix.shape == values.shape
            and bool(np.all(np.isfinite(self.matrix)))
            and np.array_equal(self.matrix, self.matrix.T)
            and not np.any(self.matrix[np.isnan(values)])
            and self.inner_product < 0.0
        )


@dataclass(frozen=True, eq=False)
class Undecided:
    """Neither attempt is valid: γ2(M) is 1 within rounding, or the bracket is too wide."""

    gamma2: Bracket
    completion: Completion
    witness: Witness


@dataclass(frozen=True, eq=False)
class Stretch:
    """X and vectors u, v that bound ‖M∘X‖: value > 1 proves that X ↦ M∘X is not a contraction."""

    block: Matrix
    contraction: Matrix = field(repr=False)
    left: Column = field(repr=False)
    right: Column = field(repr=False)

    @property
    def value(self) -> float:
        """A proven lower bound of ‖M∘X‖/‖X‖ and of γ2(M), by uᵀ(M∘X)v / (‖u‖ ‖v‖ ‖X‖)."""
        m, n = self.block.shape
        X = np.zeros((m + n, m + n))  # its eigenvalues are ± the singular values of X
        X[:m, m:], X[m:, :m] = self.contraction, self.contraction.T
        terms = self.left[:, None] * (self.block * self.contraction) * self.right
        image = math.fsum(terms.flat) - 8.0 * UNIT * math.fsum(np.abs(terms).flat)
        sizes = (math.fsum(vector**2) for vector in (self.left, self.right))
        return image / (math.sqrt(math.prod(sizes)) * -_floor(X)) * (1.0 - 16.0 * UNIT)


def complete(f: Column) -> Completion | Witness | Undecided:
    """A completion of P(M) for the Toeplitz matrix M of f, or a proof that there is none.

    If γ2 ≤ 1, M = L R with rows and columns of norm ≤ 1 gives [[L Lᵀ, M], [Mᵀ, RᵀR]], and raising
    the diagonal to 1 keeps it semidefinite.  If γ2 > 1, the weights and the contraction of the dual
    give W.  Undecided means that γ2 is within about 1e-15 n² of 1, or that the bracket of
    `optimum.solve` still contains 1.  Cost: up to three calls of `solve`, and two `eigh` of size
    2n.

    >>> found = complete(np.array([1.0, 0.5]))  # ⟨W, P⟩ = 2 - 2 γ2 = 2 - 4/√3.75
    >>> type(found).__name__, round(found.inner_product, 6)
    ('Witness', -0.065591)
    >>> complete(np.array([1.0, 0.0])).matrix  # M = I
    array([[1., 0., 1., 0.],
           [0., 1., 0., 1.],
           [1., 0., 1., 0.],
           [0., 1., 0., 1.]])
    """
    for gap in (1e-4, 1e-7, 1e-10):
        best = optimum.solve(f, gap=gap)
        completion, witness = _completion(f, best), _witness(f, best)
        if witness.valid:
            return witness
        if completion.valid:
            return completion
    return Undecided(best.bracket, completion, witness)


def stretch(f: Column) -> Stretch:
    """An X of norm 1 for which ‖M∘X‖ is nearly γ2, where M is the Toeplitz matrix of f.

    Σ √p_i U_ij M_ij √q_j = ‖D_p^½ M D_q^½‖_*: X is the contraction U of the dual, and √p and √q
    are the unit vectors.

    >>> found = stretch(np.array([1.0, 0.5]))
    >>> 2 / 3.75**0.5 - 1e-4 < found.value < 2 / 3.75**0.5
    True
    """
    best = optimum.solve(f)
    root_p, root_q = np.sqrt(best.row_weights), np.sqrt(best.column_weights)
    return Stretch(optimum.matrix(f), best.contraction, root_p, root_q)


def _completion(f: Column, best: Optimum) -> Completion:
    L, R, M = best.left, best.right, optimum.matrix(f)
    Q, Q2 = L @ L.T, R.T @ R
    for i, j in np.argwhere(M == 1.0):  # then x_i = y_j, and their products are entries of M
        Q[i, :] = Q[:, i] = M[:, j]
        Q2[j, :] = Q2[:, j] = M[i, :]
    P = np.block([[Q, M], [M.T, Q2]])
    np.fill_diagonal(P, 1.0)
    return Completion(Partial(M), np.tril(P) + np.tril(P, -1).T)


def _witness(f: Column, best: Optimum) -> Witness:
    p, q = best.row_weights, best.column_weights
    Y = np.sqrt(p)[:, None] * best.contraction * np.sqrt(q)
    return Witness(Partial(optimum.matrix(f)), np.block([[np.diag(p), -Y], [-Y.T, np.diag(q)]]))


def _floor(A: Matrix) -> float:
    """A proven lower bound of the smallest eigenvalue of A = Aᵀ; -inf if none is found.

    If the Cholesky factorization of A + s I, of size N, succeeds, then A + s I ⪰ -c tr(A + s I)
    with c = γ/(1 - γ), γ = (N + 1) u/(1 - (N + 1) u) (Demmel 1989; Higham 2002, Theorem 10.5).
    The code doubles c, which also covers the rounding of A + s I.
    """
    if not np.all(np.isfinite(A)):
        return -math.inf
    N = len(A)
    least, largest = np.linalg.eigvalsh(A)[[0, -1]]
    slack = 4.0 * N * UNIT * max(abs(float(least)), abs(float(largest)), 1e-290)
    for _ in range(20):
        shift = slack - float(least)
        B = A + shift * np.eye(N)
        try:
            np.linalg.cholesky(B)
        except np.linalg.LinAlgError:
            slack *= 2.0
            continue
        return -shift - 2.0 * (N + 4) * UNIT * (float(np.trace(B)) + abs(shift))
    return -math.inf
