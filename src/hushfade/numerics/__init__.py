"""Numerics without any notion of privacy: power series, FFT products, fast division, zeros.

power_series        multiply, inverse, power, square_root, accurate in every coefficient
fft_products        products of columns by FFT, in one float64 word or two
geometric_scaling   columns scaled to one magnitude
fast_division       quotients of series, in one word
unit_disk           zeros inside the unit disk
polylogarithm       the polylogarithm on the unit circle
blocks              the sizes of groups of steps
cached_columns      sums over long columns, part by part
stepped_division    a compiled loop for quotients by piecewise constant series
ring_buffers        compiled loops on ring buffers
block_levels        compiled loops over the levels of nested blocks of steps
"""

from hushfade.numerics import power_series

__all__ = ["power_series"]
