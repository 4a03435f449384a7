"""The mechanisms that hushfade is compared with: the mechanisms in the paper, and the best since.

independent_noise   noise on the output, on the input, one-shot releases
binary_tree, honaker, smooth_binary
bolot_window, bolot_exponential, bolot_power
window_blocks       the paper's own window construction, corrected
square_roots        square root, normalized, column-normalized, compact; the dense optima
circulant, banded   other factor pairs
mechanism           the interface of all of them
catalogue           the mechanisms that apply to a decay
comparison          compare(...): the table and the figure
"""

from __future__ import annotations

from hushfade.baselines.catalogue import mechanisms
from hushfade.baselines.comparison import Comparison, Row, compare
from hushfade.baselines.mechanism import Mechanism

__all__ = ["Comparison", "Mechanism", "Row", "compare", "mechanisms"]
