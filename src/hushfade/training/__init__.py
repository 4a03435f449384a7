"""Correlated noise for model training: the noise series w = R⁻¹ z.

correlated_noise    CorrelatedNoise: the series, step by step
noise_series        its factors, shape and level; its document and saved file
right_inverse       w = R⁻¹ z, compiled
"""
