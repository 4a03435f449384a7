"""Guarantees, the unit that they protect, and the ledger of what was spent."""
