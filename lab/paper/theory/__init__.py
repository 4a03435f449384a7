"""The statements of the paper as code.

bounds         the paper's bounds on γ2 and γ_F, corrected: Theorems 2 and 3
families       the bounds for power laws, exponentials, counting and windows: Theorems 3, 4 and 7
accuracy       the error that a factor implies: expected maximum, mean squared error
class_f        whether √g has no negative coefficient (the paper's class F)
bell_polynomials    Bell polynomials, Faà di Bruno's formula, the paper's formula for a_n
discrepancy    hereditary discrepancy: search and bounds
completion     positive completions, and proofs that none exists
"""
