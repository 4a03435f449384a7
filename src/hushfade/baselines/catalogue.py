"""The baselines that apply to a decay and a horizon."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import get_args

from hushfade.baselines.banded import banded_inverse_root, banded_root
from hushfade.baselines.binary_tree import binary_tree
from hushfade.baselines.bolot_exponential import bolot_exponential, decayed_tree
from hushfade.baselines.bolot_power import best_beta, bolot_power
from hushfade.baselines.bolot_window import bolot_window
from hushfade.baselines.circulant import circulant
from hushfade.baselines.honaker import honaker_full, honaker_online
from hushfade.baselines.independent_noise import input_noise, one_shot, output_noise
from hushfade.baselines.mechanism import Mechanism, Noise
from hushfade.baselines.smooth_binary import smooth_binary
from hushfade.baselines.square_roots import (
    column_normalized_root,
    compact_root,
    max_optimum,
    mean_optimum,
    normalized_root,
    square_root,
    square_root_laplace,
)
from hushfade.baselines.window_blocks import window_blocks
from hushfade.decays import Decay, Exponential, NoDecay, PowerLaw, SlidingWindow
from hushfade.errors import InvalidType, InvalidValue

DENSE = 1024  # the most steps for the dense optima, which take seconds
NORMALIZED = 8192  # the most steps for the column-normalized root, which costs O(T² log T)
BIAS = 0.1  # for Bolot et al.'s power law, in addition to its best bias, which forgets almost all
BANDS = 32  # of the banded roots; more bands are better and cost more


def mechanisms(decay: Decay, horizon: int, *, pure: bool = False) -> Iterator[Mechanism]:
    """The baselines that apply to the decay; if `pure`, only the ones without delta.

    The baselines without delta come last.  Cost: seconds, most of it for the dense optima, which
    are omitted beyond 1024 steps.

    >>> [rival.name for rival in mechanisms(NoDecay(), 8) if rival.pure][:3]
    ['binary tree', 'smooth binary', 'input noise']
    """
    if not pure:
        yield from _gaussian(decay, horizon)
    yield from (rival for rival in _of_family(decay, horizon) if rival.pure or not pure)
    for noise in (input_noise, output_noise, one_shot, honaker_online):
        yield noise(decay, horizon, noise="laplace")
    with suppress(InvalidValue):
        yield square_root_laplace(decay, horizon)


def _gaussian(decay: Decay, horizon: int) -> Iterator[Mechanism]:
    """The baselines with Gaussian noise that apply to every decay."""
    with suppress(InvalidValue):  # the root grows beyond float64
        yield square_root(decay, horizon)
        yield normalized_root(decay, horizon)
        if horizon <= NORMALIZED:
            yield column_normalized_root(decay, horizon)
    yield circulant(decay, horizon)
    if horizon > BANDS:
        for banded in (banded_root, banded_inverse_root):
            with suppress(InvalidValue):  # no stable pair with this number of bands
                yield banded(decay, horizon, bands=BANDS)
    with suppress(InvalidValue, InvalidType):  # not completely monotone
        yield compact_root(decay, horizon)
    if horizon <= DENSE:
        yield max_optimum(decay, horizon)
        yield mean_optimum(decay, horizon)
    for plain in (input_noise, output_noise, one_shot):
        yield plain(decay, horizon)
    yield honaker_online(decay, horizon)
    yield honaker_full(decay, horizon)


def _of_family(decay: Decay, horizon: int) -> Iterator[Mechanism]:
    match decay:
        case NoDecay():
            for tree in (binary_tree, smooth_binary):
                yield tree(decay, horizon)
                yield tree(decay, horizon, noise="laplace")
        case Exponential():
            # outside the range of Bolot et al.'s proof, use the tree of their construction
            with suppress(InvalidValue):
                yield bolot_exponential(decay, horizon)
                yield bolot_exponential(decay, horizon, noise="laplace")
                return
            yield decayed_tree(decay, horizon)
            yield decayed_tree(decay, horizon, noise="laplace")
        case PowerLaw():
            for beta in (BIAS, best_beta(decay)):
                for noise in get_args(Noise):
                    made = bolot_power(decay, horizon, beta=beta, noise=noise)
                    yield replace(made, name=f"{made.name}, β = {beta:.2g}")
        case SlidingWindow():
            yield bolot_window(decay, horizon)
            yield bolot_window(decay, horizon, noise="laplace")
            yield window_blocks(decay, horizon)
        case _:
            return
