"""Piecewise constant taps by a tolerance: the simple rule that the search of a plan must beat."""

import numpy as np

from hushfade.factors.factorization import LONGEST
from hushfade.planning import piecewise_taps


def starts_within(r, tolerance):
    """Where pieces start: each runs while |r_n - r_s| ≤ tolerance |r_s|, s its first tap."""
    starts = [0]
    for n in range(1, len(r)):
        first = r[starts[-1]]
        if abs(r[n] - first) > tolerance * abs(first):
            starts.append(n)
    return np.array(starts)


def stepped(pair, bits, tolerance=0.12, longest=LONGEST):
    """The pair with integer taps over 2^bits, constant within the tolerance."""
    r = pair.right(min(longest, pair.horizon or longest))
    last = np.flatnonzero(np.abs(r) >= 0.5 * 2.0**-bits)[-1]
    r = r[: min(len(r), 1 << (2 * int(last)).bit_length())]
    return pair.with_integers(piecewise_taps.merged(r, starts_within(r, tolerance), bits), bits)
