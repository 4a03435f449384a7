"""What the paper gets wrong: each printed formula fails here, and the corrected one holds.

Each test writes the printed formula down, shows the smallest counterexample found, and checks the
correction at the same place.  'Weak' in a name says that the printed formula is true but not what
is meant, or lacks an assumption that the paper makes elsewhere.  Letters: T steps, f(n) = f_{n-1}
weights, a_n the coefficients of √g.  The documentation lists them all: docs/paper/errata.md.
"""
