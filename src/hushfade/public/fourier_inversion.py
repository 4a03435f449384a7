"""The tails of weighted sums of noise, computed from its transform by one FFT per sum.

The density p of e = Σ_k w_k z_k, tilted by c, is the inverse transform along the line Re s = c:

    p(x) e^(c x - K(c)) = (1/2π) ∫ e^(K(c - iu) - K(c)) e^(iux) du,   e^K(s) = Π_k M(w_k s)

The product is sampled on a grid of frequencies u, and an FFT returns p on a grid of x.  Further
weights only multiply the product by more factors, so the sums of many steps share a grid.

- Tails above 1e-6 need no tilt: c = 0, and all numbers are real.  For smaller tails, c is half the
  saddlepoint, which gives a small relative error even at 1e-12.
- If all weights are multiples of one of them, e lies on a lattice.  The product is periodic, the
  grid of x is the lattice, and the tails are exact.
- If the product does not vanish within the largest grid, e is smoothed by two cells.  Quantiles
  are then enlarged by three times the smoothing, if e has atoms that matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from hushfade.check import Column, ComplexColumn, Signed
from hushfade.laws import Law
from hushfade.public.cumulants import Weights
from hushfade.public.tail_curves import TailCurve, Tilt, tilt

_UNTILTED = math.log(1e-6)
_SIZES = (1 << 11, 1 << 13, 1 << 16)  # sizes of the grid to try, until the product vanishes
_LATTICE = 1 << 16  # the most cells of a lattice
_FADED = 1e-8  # the product counts as 0 below this; the tail has a relative error of about 1e-7
_ROUGH = 1e-4  # a relative change of the tail between atoms that matters
_MULTIPLES = 64  # the largest weight of a lattice, in units of the smallest
_EQUAL = 1e-9  # relative difference of weights that differ by rounding only
_TOGETHER = 1 << 16  # evaluations of M at a time


def tail_curves(
    law: Law, pieces: Sequence[Column], log_level: float, *, copies: int = 1
) -> Iterator[TailCurve]:
    """For each piece, the tail curve of the sum over the weights of this and all earlier pieces.

    Each weight occurs `copies` times, with independent noise.  The curves are accurate near
    P[|e| > x] = e^log_level.  Cost: one evaluation of M per frequency and large weight, and one
    FFT per piece.
    """
    every = Weights(np.concatenate(pieces), copies)
    chosen = tilt(law, every, log_level)
    spacing = lattice_spacing(every)
    if spacing is not None and 2.0 * chosen.end <= _LATTICE * spacing:
        cells = max(16, 1 << math.ceil(math.log2(2.0 * chosen.end / spacing)))
        product = _Product(law, chosen, log_level, spacing * cells, cells)
        for piece in pieces:
            product.extend(Weights(piece, copies))
            yield TailCurve(spacing, product.log_tails(itself=0.0), lattice=True)
        return
    first = Weights(pieces[0], copies)
    for cells in _SIZES:
        product = _Product(law, chosen, log_level, 2.0 * chosen.end, cells)
        product.extend(first)
        if product.faded():
            break
    largest = 0.0
    for i, piece in enumerate(pieces):
        if i:
            product.extend(Weights(piece, copies))
        largest = max(largest, float(np.max(np.abs(piece))))
        yield product.curve(chosen.saddle, largest)


class _Product:
    """Π_k M(w_k s) / M(w_k c) at s = c - iu, for the frequencies u of a grid."""

    def __init__(self, law: Law, chosen: Tilt, log_level: float, period: float, cells: int) -> None:
        self._law, self._cells, self._step = law, cells, period / cells
        self._c = 0.0 if log_level >= _UNTILTED else chosen.saddle / 2.0
        self._k = 0.0  # K(c)
        self._floor = _FADED * 1e-4 * (1.0 if self._c == 0.0 else math.exp(log_level / 2.0))
        self._u: Column = np.arange(cells // 2 + 1.0) * (2.0 * np.pi / period)
        self._values: Column | ComplexColumn = np.ones(len(self._u))
        if self._c != 0.0:
            self._values = self._values.astype(np.complex128)
        self._active = np.arange(len(self._u))  # above the floor; later factors are ≤ 1

    def extend(self, weights: Weights) -> None:
        """Multiply by the factors of more weights."""
        at = 0
        while at < len(weights.sizes) and len(self._active):
            u: Column = self._u[self._active]
            large = weights.large(self._law, math.hypot(self._c, float(u[-1])))
            if at >= large:
                self._multiply(self._small(weights, u, at))
                break
            rows = max(1, _TOGETHER // len(u))
            block = slice(at, min(large, at + rows))
            self._multiply(self._large(weights.sizes[block], weights.counts[block], u))
            at = block.stop

    def _large(self, sizes: Column, counts: Signed, u: Column) -> Column | ComplexColumn:
        law, c = self._law, self._c
        factors: Column | ComplexColumn
        if c == 0.0:
            factors = law.characteristic(sizes[:, None] * u[None, :])
        else:
            factors = law.transform(sizes[:, None] * (c - 1j * u)[None, :])
            top = law.transform((sizes * c).astype(np.complex128)).real
            self._k += float(counts @ np.log(top))
            factors = factors / top[:, None]
        repeated = counts > 1
        if repeated.any():
            factors[repeated] **= counts[repeated, None]
        return np.asarray(np.prod(factors, axis=0))

    def _small(self, weights: Weights, u: Column, first: int) -> Column | ComplexColumn:
        law, c = self._law, self._c
        logs = weights.series(law, np.asarray(c - 1j * u, dtype=np.complex128), first)
        top = float(weights.series(law, np.array([c]), first)[0])
        self._k += top
        factors = np.exp(logs - top)
        return factors.real if c == 0.0 else factors

    def _multiply(self, factors: Column | ComplexColumn) -> None:
        self._values[self._active] *= factors
        kept = np.abs(self._values[self._active]) > self._floor
        if not kept.all():
            self._values[self._active[~kept]] = 0.0
            self._active = self._active[kept]

    def faded(self) -> bool:
        """Whether the product vanishes in the last quarter of the frequencies."""
        return float(np.max(np.abs(self._values[3 * self._cells // 8 :]))) < _FADED

    def curve(self, saddle: float, largest: float) -> TailCurve:
        """The tails of a sum that is not on a lattice; its largest weight is `largest`."""
        if self.faded():
            return TailCurve(self._step, self.log_tails(itself=0.5), lattice=False)
        # the largest weight has atoms at a distance of `largest`, with the frequency 2π / largest
        atoms = np.abs(self._values[self._u >= np.pi / largest])
        rough = saddle * largest * float(np.max(atoms, initial=0.0)) > _ROUGH
        width = 2.0 * self._step
        smoothed = self.log_tails(itself=0.5, width=width)
        widening = min(3.0 * width, largest / 2.0) if rough else 0.0
        return TailCurve(self._step, smoothed, lattice=False, widening=widening)

    def log_tails(self, *, itself: float, width: float = 0.0) -> Column:
        """ln P[|e| > x] at the points x ≥ 0 of the grid, smoothed by a normal law of `width`.

        `itself` is the share of the mass at x that belongs to the tail: 0 for an atom, and one half
        for a cell of a density (the trapezoidal rule, with the first Euler-Maclaurin correction).
        """
        tilted = np.fft.irfft(self._values * np.exp(-((width * self._u) ** 2) / 2.0))
        x = self._step * np.arange(len(tilted) // 2)
        mass = tilted[: len(x)] * np.exp(self._k - self._c * x)
        beyond = np.append(np.cumsum(mass[:0:-1])[::-1], 0.0)
        if itself:
            beyond = beyond + itself * mass + np.gradient(mass) / 12.0
        return np.log(np.maximum(2.0 * beyond, 5e-324))


def lattice_spacing(weights: Weights) -> float | None:
    """The smallest weight, if all weights are small multiples of it, so that e lies on a lattice.

    >>> lattice_spacing(Weights(np.array([1.0, 0.5, 1.5]))), lattice_spacing(Weights([1.0, 0.7]))
    (0.5, None)
    """
    least, largest = float(weights.sizes[-1]), float(weights.sizes[0])
    if not largest <= _MULTIPLES * least * (1.0 + _EQUAL):
        return None
    multiples = weights.sizes / least
    if not bool(np.all(np.abs(multiples - np.rint(multiples)) < _EQUAL)):
        return None
    binary = math.ldexp(round(math.ldexp(least, 30)), -30)  # exact for most lattices
    return binary if abs(binary - least) < _EQUAL * least else least
