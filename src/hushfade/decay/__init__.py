"""Decays: the weight f_k of a record that is k steps old, for k = 0, 1, 2, ...

    NoDecay            f_k = 1                        continual counting
    Exponential        f_k = 2^(-k / half_life)       rates, moving averages
    PowerLaw           f_k = (k + 1)^-power           long memories
    SlidingWindow      f_k = 1 for k < length         'the last 7 days'
    CustomDecay        f_k as listed, then zeros
    Mixture            Σ w_i f_i:  0.7 * Exponential(half_life=24) + 0.3 * PowerLaw(power=1)

The paper writes f(k+1) for f_k, and calls g(x) = Σ f_k x^k the associated symbol.  Every object
with the attributes of the `Decay` protocol is a decay.
"""

from hushfade.decay.custom_decay import CustomDecay
from hushfade.decay.exponential import Exponential
from hushfade.decay.mixture import Mixable, Mixture
from hushfade.decay.no_decay import NoDecay
from hushfade.decay.power_law import PowerLaw
from hushfade.decay.protocol import ComplexColumn, Decay, checked_decay, checked_weights, of_kind
from hushfade.decay.sliding_window import SlidingWindow
from hushfade.decay.weight_ranges import reach, weights_between

__all__ = [
    "ComplexColumn",
    "CustomDecay",
    "Decay",
    "Exponential",
    "Mixable",
    "Mixture",
    "NoDecay",
    "PowerLaw",
    "SlidingWindow",
    "checked_decay",
    "checked_weights",
    "of_kind",
    "reach",
    "weights_between",
]
