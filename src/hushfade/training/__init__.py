"""Correlated noise for model training."""
