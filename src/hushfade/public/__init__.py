"""The public half: s = L y in floats, computed from the noisy values y, and the releases.

left_quotient     u = y / r, compiled
block_differences u from the sums over blocks of steps, compiled
decayed_sum       s = M u, compiled
left_product      both together, for one lane
recursion         a decay as poles, windows and listed weights
constants         the constants of a plan's loops
deviations        the standard deviation of the error, step by step
cumulants         the cumulant function of a weighted sum of noise
tail_curves       the tails of a weighted sum of noise, and their exponential bound
fourier_inversion the tails from the transform of the noise
error_distribution    margins and tails of the error at one step
step_errors       margins at every step, and a bound for all steps
block_step_errors the same for block sums
release           Release: the published result of one step
"""
