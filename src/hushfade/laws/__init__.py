"""Noise laws: symmetric log-concave distributions on the integers.

gaussian    the normal law, rounded to the integers
laplace     the two-sided geometric law
huber       between the two: normal in the core, geometric in the tails; rounded to the integers

A law describes noise but does not draw it.  Only `crossing` draws noise.
"""

from __future__ import annotations

from hushfade.laws.gaussian import Gaussian
from hushfade.laws.huber import Huber
from hushfade.laws.laplace import Laplace
from hushfade.laws.law import Law

__all__ = ["Gaussian", "Huber", "Laplace", "Law"]
