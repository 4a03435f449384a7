"""The smallest error of any factorization.

norms          brackets of γ2 and γ_F at n steps; the limit of γ2
certificates   explicit bounds for any decay, up to millions of steps
optimum        the best factorization for n steps, with matching primal and dual bounds
dense_pair     a factorization stored as two matrices
bound_values   a bound and a bracket
"""

from __future__ import annotations

from hushfade.theory.bound_values import Bound, Bracket
from hushfade.theory.norms import gamma2, gamma2_limit, gamma_f

__all__ = ["Bound", "Bracket", "gamma2", "gamma2_limit", "gamma_f"]
