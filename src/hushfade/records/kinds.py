"""The kinds of values that have a type of their own, in JSON and in columns of Python objects.

Which kinds a value may be depends on its role alone, never on the values of other rows.
"""

from __future__ import annotations

import numpy as np

from hushfade.records.faults import Codes

MISSING, NULL, TEXT, INTEGER, NUMBER, OTHER, FLOAT, TIME = range(8)
"""NUMBER is a decimal text with a point or an exponent, and FLOAT a number in binary."""


def table(code: int, *kinds: int) -> Codes:
    """The code of each kind: the fault's for these kinds, 0 for the others.

    >>> table(7, NULL, OTHER)[[NULL, TEXT, OTHER]]
    array([7, 0, 7], dtype=uint8)
    """
    found: Codes = np.zeros(TIME + 1, dtype=np.uint8)
    found[list(kinds)] = code
    return found
