"""Independent noise: on the outputs, on the inputs, or on every release separately.

    output noise   s = M x + z       L = I, R = M
    input noise    s = M (x + z)     L = M, R = I
    one-shot       s = M x + z       each release with its own part of the budget

All three keep only the sum M x.  With Laplace noise, noise on the inputs is the best Toeplitz pair:
for every pair f = l * r, ‖f‖₂ ≤ ‖l‖₂ ‖r‖₁ (Young 1912).  So no other Toeplitz pair, including the
square root, has a smaller error at the last step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hushfade import check
from hushfade.baselines.mechanism import Matrices, Mechanism, Noise, norm_order
from hushfade.check import Column
from hushfade.decays import Decay, checked_decay
from hushfade.errors import InvalidType
from hushfade.factors import factorization
from hushfade.factors.factorization import Factorization

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Cost(NamedTuple):
    """The cost of a streaming implementation."""

    memory: int  # numbers kept between steps
    work: float  # additions and multiplications per step, on average


def output_noise(decay: Decay, horizon: int, *, noise: Noise = "gaussian") -> Mechanism:
    """The sums with independent noise, for the sensitivity of all sums together: L = I, R = M.

    ‖L_t‖ = 1,  ‖R‖₁→₂ = √(Σ_{k<T} f_k²),  ‖R‖₁→₁ = Σ_{k<T} |f_k|

    This is the Gaussian mechanism (Dwork, Kenthapadi, McSherry, Mironov, Naor 2006), or with
    Laplace noise the Laplace mechanism (Dwork, McSherry, Nissim, Smith 2006).  It applies to any
    decay.  Cost: O(T).

    >>> from hushfade import NoDecay
    >>> output_noise(NoDecay(), 4).error_factor  # √4
    2.0
    """
    f = weights(decay, horizon)
    name, source = "output noise", "Dwork, McSherry, Nissim, Smith 2006"
    return from_columns(name, source, decay, _identity(f), f, _noisy_sum(decay, f), noise)


def input_noise(decay: Decay, horizon: int, *, noise: Noise = "gaussian") -> Mechanism:
    """The sums of noisy step totals: L = M, R = I.

    ‖L_t‖² = Σ_{k≤t} f_k²,  ‖R‖₁→₂ = ‖R‖₁→₁ = 1

    With Gaussian noise it is as good as noise on the output at the last step, and better before.
    With Laplace noise it is the best Toeplitz pair; for counting trees are better.  It applies to
    any decay.  Cost: O(T).

    >>> from hushfade import NoDecay
    >>> input_noise(NoDecay(), 4).errors ** 2
    array([1., 2., 3., 4.])
    >>> round(input_noise(NoDecay(), 4, noise="laplace").error_factor, 6)  # √2 · √4
    2.828427
    """
    f = weights(decay, horizon)
    name, source = "input noise", "Dwork, McSherry, Nissim, Smith 2006"
    return from_columns(name, source, decay, f, _identity(f), _noisy_sum(decay, f), noise)


def one_shot(decay: Decay, horizon: int, *, noise: Noise = "gaussian") -> Mechanism:
    """The sums as separate releases, each with an equal part of epsilon and delta.

    A record changes a release by at most max |f_k|.  It affects one release for each weight f_k ≠ 0
    with k < T.  These releases share the budget: all T releases, unless the decay ends sooner.  A
    library for single releases does this if a program calls it at every step: basic composition
    (Dwork, Kenthapadi, McSherry, Mironov, Naor 2006).  It applies to any decay.  Cost: O(T).

    `sensitivity` is for one release, so `error_factor` does not include the sharing; compare
    `stddevs` instead.  With Laplace noise the deviation is √2 · releases · max |f_k| / epsilon.

    >>> from hushfade import Guarantee, NoDecay
    >>> one_shot(NoDecay(), 4, noise="laplace").stddevs(Guarantee(2, 1e-6)).round(6)  # √2 · 4 / 2
    array([2.828427, 2.828427, 2.828427, 2.828427])
    """
    f = weights(decay, horizon)
    return replace(
        output_noise(decay, horizon, noise=noise),
        name="one-shot releases",
        source="Dwork, Kenthapadi, McSherry, Mironov, Naor 2006",
        sensitivity=float(np.max(np.abs(f))),
        releases=int(np.count_nonzero(f)),
        pair=None,
    )


def from_columns(
    name: str,
    source: str,
    decay: Decay,
    left: Column,
    right: Column,
    cost: Cost,
    noise: Noise = "gaussian",
) -> Mechanism:
    """The mechanism of the lower triangular Toeplitz matrices with these first columns.

    ‖L_t‖² = Σ_{k≤t} l_k²,  ‖R‖₁→p = ‖r‖_p.  With Gaussian noise a plan can release it.
    """

    def matrices() -> Matrices:
        return lower_toeplitz(left), lower_toeplitz(right)

    def pair() -> Factorization:
        return factorization.from_right(decay, right, len(right))

    return Mechanism(
        name,
        source,
        decay,
        np.sqrt(np.cumsum(left * left)),
        float(np.linalg.norm(right, norm_order(noise))),
        *cost,
        matrices,
        noise,
        pair=pair if noise == "gaussian" else None,
    )


def sum_cost(decay: Decay, horizon: int) -> Cost:
    """The cost of s = M u: the smaller of the decay's recursion and its plain weights.

    Counting and exponentials need a running sum, windows a ring buffer, power laws about 100
    running sums (to 1e-10), and other decays Σ_k f_k u_{t-k}.

    >>> from hushfade import Exponential, NoDecay, SlidingWindow
    >>> [tuple(sum_cost(d, 100)) for d in (NoDecay(), Exponential(24), SlidingWindow(7))]
    [(1, 1.0), (1, 2.0), (8, 2.0)]
    """
    f = weights(decay, horizon)
    n, reach = len(f), int(np.flatnonzero(f)[-1]) + 1
    reached = np.minimum(np.arange(1, n + 1), reach)
    direct = Cost(reach - 1, 2.0 * float(np.mean(reached)) - 1.0)
    try:
        parts = decay.recursion()
    except InvalidType:  # a user-defined decay
        return direct
    poles = [(q, w) for q, w in zip(parts.fades, parts.pole_weights, strict=True) if w != 0.0]
    listed = [w for w in parts.listed[:n] if w != 0.0]
    scales = [w for _, w in poles] + list(parts.window_weights) + listed
    memory = len(poles) + sum(min(w, n) + 1 for w in parts.windows)
    memory += max(0, min(n, len(parts.listed)) - 1)
    work = sum(1 + (q != 0.0) for q, _ in poles) + 2 * len(parts.windows)
    work += sum(w != 1.0 for w in scales) + len(scales) - 1
    return min(direct, Cost(memory, float(work)), key=lambda cost: cost.work)


def lower_toeplitz(column: Column) -> csr_array:
    """The sparse lower triangular Toeplitz matrix with this first column.

    >>> lower_toeplitz(np.array([1.0, 2.0, 0.0])).toarray()
    array([[1., 0., 0.],
           [2., 1., 0.],
           [0., 2., 1.]])
    """
    from scipy.sparse import coo_array

    n = len(column)
    lags = np.flatnonzero(column)
    lag = np.repeat(lags, n - lags)
    starts = np.cumsum(n - lags) - (n - lags)
    where = np.arange(len(lag)) - np.repeat(starts, n - lags)
    return coo_array((column[lag], (where + lag, where)), shape=(n, n)).tocsr()


def weights(decay: Decay, horizon: int) -> Column:
    """f_0, ..., f_{T-1}; checks the decay and the horizon."""
    return checked_decay(decay).weights(check.count(horizon=horizon))


def _identity(f: Column) -> Column:
    """The first column of the identity matrix, as long as f."""
    return np.asarray(np.eye(1, len(f))[0])


def _noisy_sum(decay: Decay, f: Column) -> Cost:
    memory, work = sum_cost(decay, len(f))
    return Cost(memory, work + 1.0)
