"""Correlated noise for model training: the noise series w = R⁻¹ z.

correlated_noise    CorrelatedNoise: the series, step by step
noise_series        the factors, shape and level of a series
saved_series        the document, digest and saved state of a series
loop_coefficients   the coefficients of the loop in float32 or float64, and the corresponding taps
compact_taps        the decay's own factors with constant memory: `compact`
exponential_fit     the exponentials nearest to a square root
exponentials        sums of exponentials, and the taps that consist of them
right_inverse       w = R⁻¹ z, compiled
"""

from hushfade.training.compact_taps import compact

__all__ = ["compact"]
