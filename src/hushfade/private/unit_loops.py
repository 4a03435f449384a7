"""Compiled loops over step totals: conversion from floats to units, and the bound on units."""

from __future__ import annotations

import math

from hushfade.check import Column, Signed
from hushfade.compiled import short

ON_GRID, OFF_GRID, TOO_LARGE = range(3)


@short("int64(float64[::1], float64, float64, int64[::1])")
def convert(totals: Column, resolution: float, limit: float, units: Signed) -> int:
    """Write each total divided by the resolution to `units`, and return whether all are valid.

    Valid quotients are integers, and not too large.  The resolution is a power of two, so a
    quotient is exact or underflows to 0.
    """
    per_one = 1.0 / resolution  # multiplying is faster
    verdict = ON_GRID
    for i in range(len(totals)):
        total = totals[i]
        if not -limit <= total <= limit:  # true for nan; check before scaling, which may overflow
            return TOO_LARGE
        scaled = total * per_one if math.isfinite(per_one) else total / resolution
        unit = int(scaled)
        if unit != scaled or (unit == 0 and total != 0.0):
            verdict = OFF_GRID
        units[i] = unit
    return verdict


@short("boolean(int64[::1], int64)")
def bounded(units: Signed, most: int) -> bool:
    """Whether every total is at most `most` units in magnitude."""
    low = high = 0
    for i in range(len(units)):
        low, high = min(low, units[i]), max(high, units[i])
    return low >= -most and high <= most
