"""The mechanisms that a plan can use, each with its expected error.

    Gaussian noise on the square root     no Gaussian factorization is better in the long run
    the same with a gain per step         for a known horizon
    Gaussian noise, unbounded counting    for counting without a horizon
    Laplace noise on the inputs           R = 1: for short memories, and for delta = 0
    Laplace noise on block sums           for long memories and a small delta, or 0
    Huber noise on the inputs             R = 1: for several records per person
    Huber noise on a blend                R between the inputs and the square root

The errors belong to the exact factors; integer taps add about 0.1 % at most.  The search rounds
errors before it compares them, and the order above decides between equal errors.  So the choice is
the same on every machine.
"""

from __future__ import annotations

import math
from contextlib import suppress

from hushfade import check
from hushfade.decays import Decay
from hushfade.errors import InvalidValue
from hushfade.factors.block_factors import BlockSums
from hushfade.factors.factorization import Factorization
from hushfade.planning import refusals
from hushfade.planning.exact_factors import Method, exact_factors
from hushfade.planning.mechanism_search import Candidate, LawName, Search, settled
from hushfade.privacy.guarantee import Guarantee
from hushfade.private.grid import Grid

_SIMPLE = 1.01  # noise on the inputs is preferred within this factor of the smallest error
_HOPELESS = 0.45  # if noise on the inputs has this share of the Gaussian error, no blend is better


def candidates(
    decay: Decay,
    guarantee: Guarantee,
    grid: Grid,
    horizon: int | None,
    law: LawName | None,
    expect: int | None = None,
) -> list[Candidate]:
    """The mechanisms that can give the guarantee with this law, or with any law; the best first.

    Noise on the inputs comes first if it is within 1 % of the best, because it is the simplest.
    """
    refusals.check_law(guarantee, grid, law)
    search = Search(decay, guarantee, grid, horizon, expect)
    several: list[Candidate] = []
    if law in (None, "gaussian") and not guarantee.pure:
        several += search.gaussian()
    if law in (None, "laplace") and search.bounded:
        several.append(search.on_inputs("laplace"))
    if law in (None, "huber") and search.bounded and search.times > 1 and not guarantee.pure:
        several.append(search.on_inputs("huber"))
    if law == "huber" and search.blends:
        several.append(search.blend())
    elif law is None and search.blends and not _hopeless(several):
        with suppress(InvalidValue):  # its loss is too large to compute: other noise is better
            several.append(search.blend())
    if law in (None, "laplace") and search.blocks_may_win(law):
        blocks = search.blocks()
        several += [blocks] if blocks.error < min(one.error for one in several) else []
    if not several:
        raise refusals.endless(decay)
    several.sort(key=lambda one: settled(one.error))
    least = several[0].error
    simple = [one for one in several if one.method == "input" and one.error <= _SIMPLE * least]
    return simple + [one for one in several if one not in simple]


def given(
    decay: Decay,
    guarantee: Guarantee,
    grid: Grid,
    horizon: int | None,
    method: Method | Factorization,
    law: LawName | None,
    expect: int | None = None,
) -> Candidate:
    """The candidate for a method that the caller has chosen.

    The default law is Laplace for noise on the inputs and on block sums, Huber for a blend, and
    Gaussian for all other methods.
    """
    if isinstance(method, BlockSums) and method.horizon is not None:
        horizon = check.count(horizon=horizon or method.horizon, most=method.horizon)
    search = Search(decay, guarantee, grid, horizon, expect)
    if law not in (None, "gaussian"):
        refusals.check_law(guarantee, grid, law)
    if method == "blocks" or isinstance(method, BlockSums):
        return search.given_blocks(method if isinstance(method, BlockSums) else None, law)
    if method == "blend":
        refusals.check_blend(guarantee, search.times, law)
        search.check_bounded("huber")
        return search.blend()
    factors, name = exact_factors(decay, horizon, method, expect)
    search.steps = min(search.steps, factors.horizon or search.steps)
    if law is None:
        law = "laplace" if name == "input" and search.allowed else "gaussian"
    if law == "gaussian":
        refusals.check_gaussian(guarantee, name)
        return Candidate(name, law, math.nan, factors, steps=search.steps)  # no comparison
    return search.with_law(factors, name, law)


def _hopeless(several: list[Candidate]) -> bool:
    """Whether noise on the inputs is so good that no blend can be better."""
    inputs = [one.error for one in several if one.method == "input"]
    others = [one.error for one in several if one.method != "input"]
    return bool(inputs and others and min(inputs) <= _HOPELESS * min(others))
