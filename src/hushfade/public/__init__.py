"""The public half: s = L y in floats, from what crossed, and the releases made of it.

left_quotient     u = y / r, compiled
decayed_sum       s = M u, compiled
left_product      both together, for one lane
recursion         a decay as poles, windows and listed weights
constants         the constants of a plan's loops
deviations        the standard deviation of the error, step by step
release           Release: the published result of one step
"""
