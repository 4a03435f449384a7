"""The paper's theory as objects that compute: norms, bounds, certificates, implications.

norms          γ2, γ_F at n steps, bracketed; the limit of γ2
bounds         every bound of the paper on them, corrected
accuracy       what they mean for the error: expected maximum, mean square
membership     is √g without negative coefficients (the paper's class F)
bell           Bell polynomials, Faà di Bruno, the paper's formula for a_n
certificates   explicit bounds for any decay and up to millions of steps
optimum, dense the best factorization of all, with a proof on either side
discrepancy    hereditary discrepancy, searched and bounded
completion     positive completions, and witnesses that there is none
"""

from __future__ import annotations

from hushfade.theory.bound_values import Bound, Bracket
from hushfade.theory.norms import gamma2, gamma2_limit, gamma_f

__all__ = ["Bound", "Bracket", "gamma2", "gamma2_limit", "gamma_f"]
