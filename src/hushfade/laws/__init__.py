"""Noise laws: symmetric log-concave distributions on the integers, as values.

gaussian    the normal law, rounded to the integers
laplace     the two-sided geometric law
huber       between both: normal in the core, geometric in the tails; rounded to the integers

A law describes noise; it draws none.  `crossing` draws, and nothing else does.
"""

from __future__ import annotations

from hushfade.laws.gaussian import Gaussian
from hushfade.laws.huber import Huber
from hushfade.laws.laplace import Laplace
from hushfade.laws.law import Law

__all__ = ["Gaussian", "Huber", "Laplace", "Law"]
