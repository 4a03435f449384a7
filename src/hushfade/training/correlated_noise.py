"""Correlated noise for training: the noise that a factorization adds to clipped gradient sums.

    noise = CorrelatedNoise(NoDecay(), width, guarantee=guarantee, norm=1.0, horizon=steps)
    gradient_sum += noise.next()             # in every step, before any other code reads it

With M = L R the series is w = R⁻¹ z, where z are independent Gaussians.  Decayed sums of x + w are
M x + L z, as the mechanism releases them, and L z is far smaller than the decayed sum of
independent noise.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike

from hushfade import check
from hushfade.crossing import key_file
from hushfade.crossing.exact_probabilities.gaussian import LARGEST
from hushfade.crossing.key_file import Noise
from hushfade.crossing.sampling_tables import table
from hushfade.decays import Decay
from hushfade.errors import InvalidType, InvalidValue, Refused
from hushfade.factors.factorization import Factorization
from hushfade.laws import Gaussian
from hushfade.privacy.guarantee import Guarantee
from hushfade.privacy.loss import PrivacyLoss
from hushfade.stream.ownership import turn_of
from hushfade.stream.saved_state import check_noise
from hushfade.training.loop_coefficients import Floats
from hushfade.training.noise_series import Correlation, correlation
from hushfade.training.saved_series import SavedSeries, packed, read

GRID = LARGEST  # grid units per standard deviation of z: the finest table
FINER = 2.0**-30  # the second grid of float64, relative to the first
_DRAWS = 1 << 15  # draws at a time, so that they stay in the cache
_AHEAD = 1 << 10  # draws prepared together for single steps


class CorrelatedNoise:
    """The series w = R⁻¹ z, step by step: w_t = (z_t - Σ_{n≥1} r_n w_{t-n}) / r_0.

    `factors` is a decay, for which the compact pair is used, or a Factorization whose taps are
    compact or finite.  `width` is the length or the shape of the gradients.  `norm` is the ℓ2 norm
    to which the caller clips one person's gradient in one step.  Compact taps keep a few numbers
    per lane, however long the series is; finite taps keep one number per tap.

    Guarantee: for gradient sums x that differ in one person's gradients, as `guarantee` defines it,
    the series x + w is (epsilon, delta)-differentially private in real arithmetic, even if later
    gradients depend on earlier sums.  The standard deviation of z is `stddev` = `sensitivity` / mu,
    where `sensitivity` is the largest ℓ2 change of R x.  docs/how-to/training.md describes the
    effect of floating point.

    >>> from hushfade.decays import Exponential
    >>> guarantee = Guarantee(epsilon=1, delta=1e-6)
    >>> noise = CorrelatedNoise(Exponential(half_life=24), 3, guarantee=guarantee, norm=0.5)
    >>> noise.next().shape, noise.next_many(4).shape, noise.steps
    ((3,), (4, 3), 5)
    >>> noise.memory  # bytes: two exponentials, three lanes, float32
    24
    """

    __slots__ = (
        "_ahead", "_ahead_from", "_correlation", "_drawer", "_identity", "_law", "_mix",
        "_noise", "_sound", "_state", "_steps", "_turn", "_unit",
    )  # fmt: skip

    def __init__(
        self,
        factors: Decay | Factorization,
        width: int | Sequence[int],
        *,
        guarantee: Guarantee,
        norm: float,
        horizon: int | None = None,
        dtype: DTypeLike = np.float32,
        noise: Noise | None = None,
    ) -> None:
        found = correlation(
            factors, width, guarantee=guarantee, norm=norm, horizon=horizon, dtype=dtype
        )
        state = np.zeros((found.rows, found.lanes), dtype=found.dtype)
        self._begin(found, key_file.checked(noise), os.urandom(16), 0, state)

    def _begin(
        self, found: Correlation, noise: Noise, identity: bytes, steps: int, state: Floats
    ) -> None:
        from hushfade.training.right_inverse import (
            mix_of,  # compiled; loaded with the first series
        )

        self._steps = steps
        self._correlation = found
        self._mix = mix_of(found.loop)
        self._unit = found.stddev / GRID / float(found.used.right(1)[0])
        self._law = table(Gaussian(GRID))
        self._drawer = key_file.drawer(noise, found.digest, identity)
        self._noise = noise.identity
        self._identity = identity
        self._state = state
        self._ahead, self._ahead_from = state[:0], 0
        self._turn = turn_of(identity)
        self._sound = True

    # Properties ------------------------------------------------------------------------------

    @property
    def pair(self) -> Factorization:
        """The factors in use: decayed sums of w have standard deviations stddev · pair.errors(n).

        They are the declared factors with the coefficients of the loop, rounded to its dtype.
        """
        return self._correlation.used

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the series."""
        return self._correlation.guarantee

    @property
    def norm(self) -> float:
        """The largest ℓ2 norm of one person's gradient in one step."""
        return self._correlation.norm

    @property
    def sensitivity(self) -> float:
        """The ℓ2 sensitivity: the largest change of R x by one person's gradients."""
        return self._correlation.sensitivity

    @property
    def stddev(self) -> float:
        """The standard deviation of z: sensitivity / mu."""
        return self._correlation.stddev

    @property
    def horizon(self) -> int | None:
        """The number of steps that the guarantee covers; None if there is no limit."""
        return self.pair.horizon

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one step's noise."""
        return self._correlation.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the noise and of the state."""
        return self._correlation.dtype

    @property
    def steps(self) -> int:
        """The number of steps returned so far."""
        return self._steps

    @property
    def privacy_so_far(self) -> PrivacyLoss:
        """The privacy loss of the most exposed person in the steps so far, an upper bound.

        It is 0 before the first step.  It assumes that the caller published only sums to which it
        added the noise of these steps.
        """
        return self._correlation.privacy_after(self.steps)

    @property
    def memory(self) -> int:
        """The number of bytes kept from step to step."""
        return self._state.nbytes

    # Stepping --------------------------------------------------------------------------------

    def next(self, out: Floats | None = None) -> Floats:
        """The noise of the next step, written to `out` if given.

        Cost per lane: one draw, and two multiply-adds for each exponential or one for each tap.
        """
        if out is None:
            return self._taken(1).reshape(self.shape)
        if not (isinstance(out, np.ndarray) and out.dtype == self.dtype):
            raise InvalidType(f"out must be an array of {self.dtype}")
        if not (out.shape == self.shape and out.flags.c_contiguous and out.flags.writeable):
            raise InvalidValue(f"out must be contiguous, of shape {self.shape}", got=out.shape)
        self._taken(1, out)
        return out

    def next_many(self, n: int) -> Floats:
        """The noise of the next n steps, (n, *shape), with the same bits as one by one."""
        return self._taken(check.count(n=n)).reshape(n, *self.shape)

    def _taken(self, n: int, out: Floats | None = None) -> Floats:
        """The next n steps, (n, lanes), written to `out` if given."""
        with self._turn.own():
            self._admit(n)
            lanes = self._correlation.lanes
            series = np.empty((n, lanes), self.dtype) if out is None else out.reshape(n, lanes)
            before, self._turn.taken = self._turn.taken, self.steps + n
            self._sound = False
            try:
                self._fill(series)
            except BaseException:
                if out is None:  # nothing was returned, so a saved state may take the steps again
                    self._turn.taken = before
                raise
            self._steps += n
            self._sound = True
            return series

    def _admit(self, steps: int) -> None:
        if not self._sound:
            raise Refused("an earlier step was interrupted: load the last saved state")
        if steps and self._turn.taken > self.steps:
            raise Refused(
                "another copy of this noise has already returned the next step: use that copy"
            )
        if self.horizon is not None and self.steps + steps > self.horizon:
            raise Refused(f"steps must stay within the horizon {self.horizon}")
        self._turn.remember()

    def _fill(self, out: Floats) -> None:
        """Draw and mix tile by tile of lanes; threads share large series."""
        n, lanes = out.shape
        if n == 1 and 2 * lanes <= _AHEAD:
            out[0] = self._next_white()
            self._mix(self.steps, 0, lanes, self._state, out)
            return
        block = min(n, max(_DRAWS // lanes, 32))
        tile = _DRAWS // block

        def work(start: int) -> None:
            stop = min(start + tile, lanes)
            for i in range(0, n, block):
                part = out[i : i + block]
                self._white(self.steps + i, start, part[:, start:stop])
                self._mix(self.steps + i, start, stop, self._state, part)

        tiles = range(0, lanes, tile)
        if len(tiles) < 4:
            for start in tiles:
                work(start)
        else:
            with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
                list(pool.map(work, tiles))

    def _white(self, step: int, lane: int, out: Floats) -> None:
        """Fill `out`, (steps, lanes), with z / r_0 / gain, beginning at `step` and `lane`.

        For float32 z is a multiple of stddev / 2^34.  In float64 this grid would be visible, so a
        second draw, from separate lanes, is added on a grid of 2^-64, with 2^-30 of the standard
        deviation.
        """
        n, lanes = out.shape
        gain = self.pair.gain
        unit = self._unit / (1.0 if gain is None else gain[step : step + n, None])
        z = self._drawer.draws(self._law, step, n, lanes, lane=lane)
        np.multiply(z, unit, out=out, casting="unsafe")
        if self.dtype == np.float64:
            further = self._correlation.lanes + lane
            z = self._drawer.draws(self._law, step, n, lanes, lane=further)
            out += z * (unit * FINER)

    def _next_white(self) -> Floats:
        at = self.steps - self._ahead_from
        if not 0 <= at < len(self._ahead):
            lanes = self._correlation.lanes
            rows = min(_AHEAD // lanes, (self.horizon or 2**62) - self.steps)
            self._ahead = np.empty((rows, lanes), dtype=self.dtype)
            self._white(self.steps, 0, self._ahead)
            self._ahead_from, at = self.steps, 0
        found: Floats = self._ahead[at]
        return found

    # Saving ----------------------------------------------------------------------------------

    def save(self) -> bytes:
        """The state as bytes, without the noise key.

        It reveals past noise: protect it like the data.
        """
        with self._turn.own():
            self._turn.saved = True
            self._admit(0)
            series = self._correlation
            return packed(SavedSeries(series, self._noise, self._identity, self.steps, self._state))

    @classmethod
    def load(cls, data: bytes, *, noise: Noise | None = None) -> CorrelatedNoise:
        """The series that `save` wrote; with the same keyed noise it continues with the same bits.

        Raises Refused for another format or version, changed bytes, another kind of noise, and a
        state from before the last step that this process has returned.  `load` cannot know of
        later states elsewhere.
        """
        saved = read(data)
        source = key_file.checked(noise)
        check_noise(saved.noise, source, "series")
        if saved.steps < turn_of(saved.identity).taken:
            raise Refused(
                "the saved state is older than the last returned step: load the latest state"
            )
        found = cls.__new__(cls)
        found._begin(saved.correlation, source, saved.identity, saved.steps, saved.state)
        found._turn.saved = True
        return found

    def __repr__(self) -> str:
        return f"CorrelatedNoise(steps={self.steps}, shape={self.shape}, stddev={self.stddev:.6g})"

    def __reduce__(self) -> NoReturn:
        raise InvalidType("noise cannot be pickled: use save and load")
