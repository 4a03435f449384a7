"""Power series, FFT products, fast division, and zeros in the unit disk."""

from hushfade.numerics import power_series

__all__ = ["power_series"]
