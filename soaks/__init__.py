"""Soaks: a store under load that is killed again and again, and what is left of it.

child     the process that is killed: accepts, closes steps, says what it has done
kills     the process that kills it, and knows what was acknowledged and published
logs      a write-ahead log that is cut and flipped at every offset
"""
