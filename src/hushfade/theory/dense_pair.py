"""A factor pair stored as two matrices, with the interface of `Factorization`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hushfade import check
from hushfade.check import Column, Matrix
from hushfade.decays import Decay
from hushfade.errors import InvalidValue
from hushfade.factors.sensitivity import Sensitivity
from hushfade.theory import optimum


@dataclass(frozen=True, eq=False)
class DenseFactorization:
    """L R = M for `horizon` steps, both lower triangular, so y = R x + z and L y can run online.

    The leading n × n blocks are a factorization for the first n steps.
    """

    decay: Decay
    left: Matrix = field(repr=False)
    right: Matrix = field(repr=False)

    def __post_init__(self) -> None:
        n = len(self.left)
        if not (self.left.shape == self.right.shape == (n, n)):
            raise InvalidValue(
                "left and right must be square matrices of the same size",
                got=f"{self.left.shape} and {self.right.shape}",
            )
        if np.any(np.triu(self.left, 1)) or np.any(np.triu(self.right, 1)):
            raise InvalidValue("left and right must be lower triangular")
        f = self.decay.weights(n)
        off = float(np.max(np.abs(self.left @ self.right - optimum.matrix(f))))
        if not off <= 1e-9 * float(np.max(np.abs(f))):
            raise InvalidValue(
                f"left times right must be the decay's matrix, but differs by {off:.3g}"
            )

    @property
    def horizon(self) -> int:
        """The number of steps."""
        return len(self.left)

    @property
    def memory(self) -> int:
        """The number of past step totals that the private half keeps: all of them."""
        return self.horizon

    def errors(self, n: int) -> Column:
        """‖L_t‖ for t = 0, ..., n-1: the standard deviation of the error for unit noise."""
        n = self._steps(n)
        return np.asarray(np.linalg.norm(self.left[:n, :n], axis=1))

    def sensitivity(self, n: int | None = None, *, participations: int = 1) -> Sensitivity:
        """‖R‖₁→₂ over the first n steps (default: all), times k as a bound for k participations."""
        n = self._steps(self.horizon if n is None else n)
        k = min(check.count(participations=participations), n)
        longest = float(np.max(np.linalg.norm(self.right[:n, :n], axis=0)))
        return Sensitivity(k * longest, exact=k == 1)

    def error_factor(self, n: int) -> float:
        """‖L‖₂→∞ · ‖R‖₁→₂ of the first n steps."""
        return float(np.max(self.errors(n))) * self.sensitivity(n).value

    def matrices(self, n: int) -> tuple[Matrix, Matrix]:
        """L and R of the first n steps."""
        n = self._steps(n)
        return self.left[:n, :n], self.right[:n, :n]

    def _steps(self, n: int) -> int:
        return check.count(n=n, most=self.horizon)


def optimal(decay: Decay, horizon: int, *, gap: float = 1e-4) -> DenseFactorization:
    """The pair with the smallest ‖L‖₂→∞ ‖R‖₁→₂ for `horizon` steps, to a relative `gap`.

    Cost: about twenty `eigh` of that size, and n² numbers of memory; a step costs O(n).

    >>> from hushfade.decays import NoDecay
    >>> round(optimal(NoDecay(), 64).error_factor(64), 3)
    2.111
    """
    found = optimum.solve(decay.weights(check.count(horizon=horizon)), gap=gap)
    return DenseFactorization(decay, found.left, found.right)


def mean_optimal(decay: Decay, horizon: int, *, gap: float = 1e-4) -> DenseFactorization:
    """The pair with the smallest ‖L‖_F ‖R‖₁→₂, and so the smallest mean squared error.

    >>> from hushfade.decays import NoDecay
    >>> pair = mean_optimal(NoDecay(), 64)
    >>> round(float(np.linalg.norm(pair.errors(64))) * pair.sensitivity().value, 2)
    16.8
    """
    found = optimum.solve_frobenius(decay.weights(check.count(horizon=horizon)), gap=gap)
    return DenseFactorization(decay, found.left, found.right)
