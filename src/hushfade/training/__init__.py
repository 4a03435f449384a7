"""Correlated noise for model training: the noise series w = R⁻¹ z.

correlated_noise    CorrelatedNoise: the series, step by step
noise_series        its factors, shape and level
saved_series        its document, digest and saved state
loop_coefficients   the coefficients of its loop in float32 or float64, and the taps that have them
right_inverse       w = R⁻¹ z, compiled
"""
