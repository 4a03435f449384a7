"""The private half: hushfade turns records into integers, and computes v = R x in integers.

grid              declared bounds and a resolution; `Grid.units` turns records into integers
real_numbers      values of any type as arrays of real numbers
vectors           vectors on the grid, clipped by their norm
unit_sums         sums of units, with the one check against overflow
units             totals that are already units: checked, never converted
declared_totals   totals in the unit of the records, which must be multiples of the resolution
right_product     v = R x in int64, compiled
block_totals      the same for sums over blocks of steps
"""
