"""Some weights of a decay, and where they end."""

from __future__ import annotations

import numpy as np

from hushfade.check import Column
from hushfade.decay.custom_decay import CustomDecay
from hushfade.decay.exponential import Exponential
from hushfade.decay.mixture import Mixture
from hushfade.decay.no_decay import NoDecay
from hushfade.decay.power_law import PowerLaw
from hushfade.decay.protocol import Decay
from hushfade.decay.sliding_window import SlidingWindow


def weights_between(decay: Decay, first: int, last: int) -> Column:
    """f_first, ..., f_{last-1}.

    >>> weights_between(PowerLaw(power=1), 3, 5)
    array([0.25, 0.2 ])
    """
    match decay:
        case Exponential() | PowerLaw():
            return decay.at(np.arange(first, last, dtype=np.float64))
        case Mixture():
            return np.asarray(sum(w * weights_between(d, first, last) for w, d in decay.parts))
        case NoDecay():
            return np.ones(last - first)
        case SlidingWindow():
            return (np.arange(first, last) < decay.length).astype(np.float64)
        case _:
            return decay.weights(last)[first:]


def reach(decay: Decay) -> int:
    """The smallest age from which all weights are 0; 0 if the weights never end."""
    match decay:
        case SlidingWindow():
            return decay.length
        case CustomDecay():
            return len(decay.values)
        case Mixture():
            return max(reach(part) for _, part in decay.parts)
        case _:
            return 0
